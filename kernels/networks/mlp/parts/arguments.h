// SPDX-License-Identifier: MIT
// What the kernels of fused_mlp read, what they exchange, and where it lies in the workspace.
#pragma once

#include <type_traits>

#include "engine/extent.h"
#include "kernels/batch/parts/draw.h"
#include "kernels/bfloat16.h"
#include "kernels/half.h"
#include "kernels/networks/mlp/fused_mlp.h"

namespace weft::kernels::fused_mlp {

constexpr int kSide = 64;         // of a tile, and of a chunk along k
constexpr int kMostClasses = 16;  // two tiles of mma.sync
constexpr int kMostHidden = 512;
constexpr int kMostInputs = 4096;

struct Training {
  FusedMlpState state;
  std::int64_t ahead;  // steps since *state.step was written
  BatchOrder order;
  Augmentation augmentation;
  draw::Line line;
  bool distort;
  SgdOptions sgd;
  float label_smoothing;
  char* workspace;
  int rows, height, width, inputs, hidden1, hidden2, classes;

  WEFT_HOST_DEVICE std::int64_t weight2() const { return std::int64_t{hidden1} * (inputs + 1); }
  WEFT_HOST_DEVICE std::int64_t weight3() const {
    return weight2() + std::int64_t{hidden2} * (hidden1 + 1);
  }
};

// The powers of two by which the tiles of parts are scaled, one for each tile of 64 x 64. The
// images have one (image_shift), as have the gradients of the logits.
struct Shifts {
  std::int32_t *h1, *h2, *g1;  // (row tiles, columns / 64); h1 and h2 with the tile of the 1
  std::int32_t* g2;            // (hidden2 / 64,)
  std::int32_t *w1, *w2, *w3;  // (out / 64, in / 64), rounded up
};

// Rows of x, h1 and h2 end with a 1: the gradient of a bias is that of its weight. Their number is
// rounded up to whole tiles. Rows start on 128 bytes, a line of the L2 cache: many blocks read the
// same rows at once, which is faster by whole lines (networks/cnn/NOTES.md).
//
// In bfloat16 a value is one element. In fp16 it is two (kernels/device/halves.cuh): rows have 64
// big parts, the 64 small ones that belong to them, and so on. Pitches count elements.
template <class Element>
struct Exchange {
  static constexpr int kParts = std::is_same_v<Element, Half> ? 2 : 1;

  Element* x[2];            // (rows, pitch_x): of even steps and of odd ones, as are labels
  Element *h1, *h2;         // (rows, pitch of each): behind ReLU
  Element *g1, *g2;         // (rows, kParts * hidden): gradients in front of ReLU
  Element* g3;              // (rows, kParts * kSide): of the logits, zeros behind the classes
  Element *w1, *w2, *w3;    // (out, kParts * in); w1 (out, pitch_w1)
  std::int32_t* labels[2];  // (rows,)
  float* loss;              // (rows,)
  std::int32_t* hit;        // (rows,)
  std::int64_t pitch_x, pitch1, pitch2, pitch_w1;
  Shifts shifts = {};  // of parts

  // Lies from `base` on, or nowhere when it is null. `bytes` is the size.
  Exchange(char* base, const Training& t) {
    const auto take = [&]<class T>(T*& pointer, std::int64_t count) {
      pointer = base == nullptr ? nullptr : reinterpret_cast<T*>(base + bytes);
      bytes +=
          static_cast<std::size_t>(round_up(count * static_cast<std::int64_t>(sizeof(T)), 256));
    };
    static_assert(kSide * sizeof(Element) == 128, "rows of whole lines of the L2 cache");
    const std::int64_t padded = round_up(t.rows, kSide);
    pitch_x = kParts * round_up(t.inputs + 1, kSide);
    pitch1 = kParts * round_up(t.hidden1 + 1, kSide);
    pitch2 = kParts * round_up(t.hidden2 + 1, kSide);
    pitch_w1 = kParts * round_up(t.inputs, kSide);
    for (Element*& one : x) take(one, padded * pitch_x);
    take(h1, padded * pitch1);
    take(h2, padded * pitch2);
    take(g1, padded * kParts * t.hidden1);
    take(g2, padded * kParts * t.hidden2);
    take(g3, padded * kParts * kSide);
    take(w1, t.hidden1 * pitch_w1);
    take(w2, std::int64_t{kParts} * t.hidden2 * t.hidden1);
    take(w3, std::int64_t{kParts} * t.classes * t.hidden2);
    for (std::int32_t*& one : labels) take(one, padded);
    take(loss, padded);
    take(hit, padded);
    if constexpr (kParts == 2) {
      const std::int64_t rows = padded / kSide, tiles1 = t.hidden1 / kSide,
                         tiles2 = t.hidden2 / kSide;
      take(shifts.h1, rows * (tiles1 + 1));
      take(shifts.h2, rows * (tiles2 + 1));
      take(shifts.g1, rows * tiles1);
      take(shifts.g2, tiles2);
      take(shifts.w1, tiles1 * divide_up(t.inputs, kSide));
      take(shifts.w2, tiles2 * tiles1);
      take(shifts.w3, tiles2);
    }
  }

  std::size_t bytes = 0;
};

}  // namespace weft::kernels::fused_mlp
