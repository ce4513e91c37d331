// SPDX-License-Identifier: MIT
// Closed frames around writing, and dotted lines under it. Internal to ink.cpp
// and rules.cpp.
#pragma once

#include "data/ink/marks.h"

namespace weft::data {

// Takes frames out of a plane of ink: closed boxes that hold other ink, and empty ones with thin
// straight sides that have others of their size beside them. What hangs on a frame
// inside of it stays.
void remove_frames(Plane& ink, float full_ink);

// Takes dotted lines out: many specks at even distances on a straight line, much
// smaller than the writing, which are counted.
void drop_dotted_lines(std::vector<Piece>& pieces, const Plane& ink, float certain,
                       LeftOut& left_out);

}  // namespace weft::data
