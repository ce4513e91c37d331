// SPDX-License-Identifier: MIT
// The three layers as `update` sees them: tiles of weights.
#pragma once

#include "kernels/networks/mlp/parts/arguments.h"

namespace weft::kernels::fused_mlp {

constexpr int kLayers = 3;
constexpr int kUpdateColumns = 2 * kSide;  // of the kSide x kUpdateColumns weights of a block

// Where a layer's weights lie in the flat parameters. The bias is the column behind them.
struct LayerPlace {
  std::int64_t weight;
  int out, in;
  WEFT_HOST_DEVICE int column_tiles() const { return divide_up(in + 1, kUpdateColumns); }
  // Two rows of tiles at a time, for clusters of two.
  WEFT_HOST_DEVICE int tiles() const { return divide_up(out, 2 * kSide) * 2 * column_tiles(); }
};

WEFT_HOST_DEVICE inline LayerPlace place_of(const Training& t, int layer) {
  if (layer == 0) return {0, t.hidden1, t.inputs};
  if (layer == 1) return {t.weight2(), t.hidden2, t.hidden1};
  return {t.weight3(), t.classes, t.hidden2};
}

// A block of `update`: its layer and its first weight, or, where layer == kLayers, that it is the
// `row0`-th block without weights.
struct UpdateTile {
  int layer = 0, row0, column0 = 0;

  WEFT_HOST_DEVICE UpdateTile(const Training& t, int block) : row0(block) {
    for (; layer < kLayers; ++layer) {
      const LayerPlace place = place_of(t, layer);
      if (row0 < place.tiles()) {
        const int tile = row0;
        row0 = (tile / 2 / place.column_tiles() * 2 + tile % 2) * kSide;
        column0 = tile / 2 % place.column_tiles() * kUpdateColumns;
        return;
      }
      row0 -= place.tiles();
    }
  }
};

}  // namespace weft::kernels::fused_mlp
