// SPDX-License-Identifier: MIT
// The pen that marks were drawn with, and the height of the writing. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>

#include "data/ink/marks.h"

namespace weft::data {

// A mark looks drawn when it is longer than its strokes are wide, and its edge is not soft. These
// are the numbers of such marks, and 0 where there are none.
struct Pen {
  double width = 0;   // of the widest stroke of a mark of usual size, in pixels
  double height = 0;  // of the writing: half of its ink lies in marks that are at most as high
  double mass = 0;    // half of its ink lies in marks of at most as many pixels
};
Pen pen_of(const std::vector<Piece>& pieces, const Plane& ink, float certain);

// Ink from 0 to 255 with full ink where it has half of it or more. A pen that runs dry leaves a
// part of a stroke so pale that a network overlooks it beside the darkest.
Plane with_even_ink(Plane ink);

// The mean width of the strokes of a mark with ink from 0 to 255, in pixels.
double stroke_width(const Plane& ink);

// The number of pixels of ground that a mark with ink from 0 to 255 encloses.
std::int64_t enclosed_pixels(const Plane& ink);

// Is there ground that the mark encloses, as in a 0?
bool is_ring(const Piece& piece, const Plane& ink);

}  // namespace weft::data
