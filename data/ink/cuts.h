// SPDX-License-Identifier: MIT
// Where a mark may be cut into two characters that touch each other. Internal to this folder.
#pragma once

#include <vector>

#include "data/ink/ink.h"

namespace weft::data {

// The two parts of a mark.
struct CutMark {
  Mark left, right;
  bool is_gap = false;  // they do not touch each other
};

// Cuts between pieces that do not touch, and, if it is asked for, along straight lines, upright or
// slanted, that cross one stroke at most, those with the least ink first. At most ten, and none of
// a mark that is as narrow as one character.
std::vector<CutMark> cuts_of(const Mark& mark, bool through_strokes);

}  // namespace weft::data
