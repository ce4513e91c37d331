// SPDX-License-Identifier: MIT
// PadSide says which pixel a padded place shows, along one side, and which places show a pixel.
#pragma once

#include "kernels/operators.h"
#include "kernels/planes/pad.h"

namespace weft::kernels {

// Places [begin, end) of a padded side.
struct PadRun {
  int begin, end;
};

// One side of a plane: `extent` pixels with `before` places in front of them and `after` behind.
struct PadSide {
  int extent, before, after;
  PadMode mode;

  WEFT_OPERATOR int places() const { return before + extent + after; }

  // The pixel that a place shows; -1 for none.
  WEFT_OPERATOR int pixel(int place) const {
    const int at = place - before;
    if (at >= 0 && at < extent) return at;
    if (mode == PadMode::zero) return -1;
    if (mode == PadMode::edge) return at < 0 ? 0 : extent - 1;
    return at < 0 ? -at : 2 * (extent - 1) - at;
  }

  // The places that show a pixel are kRuns runs, of which some are empty, in ascending order: those
  // in front of the pixels, the pixel's own, and those behind the pixels.
  static constexpr int kRuns = 3;
  WEFT_OPERATOR PadRun run(int part, int pixel) const {
    if (part == 1) return {before + pixel, before + pixel + 1};
    const int distance = part == 0 ? pixel : extent - 1 - pixel;  // from the pixel at the edge
    const int around = part == 0 ? before : after;
    const int first = before + extent;  // behind the pixels
    if (mode == PadMode::edge && distance == 0) {
      return part == 0 ? PadRun{0, before} : PadRun{first, first + after};
    }
    if (mode != PadMode::reflect || distance == 0 || distance > around) return {0, 0};
    const int mirrored = part == 0 ? before - distance : first + distance - 1;
    return {mirrored, mirrored + 1};
  }
};

inline PadSide pad_rows(const PadDims& d) {
  return {static_cast<int>(d.h), static_cast<int>(d.top), static_cast<int>(d.bottom), d.mode};
}
inline PadSide pad_columns(const PadDims& d) {
  return {static_cast<int>(d.w), static_cast<int>(d.left), static_cast<int>(d.right), d.mode};
}

}  // namespace weft::kernels
