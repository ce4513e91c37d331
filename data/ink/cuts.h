// SPDX-License-Identifier: MIT
// Where a mark may be cut into two characters that touch each other. Internal to this folder, but
// for Judgement.
#pragma once

#include <functional>
#include <vector>

#include "data/ink/ink.h"

namespace weft::data {

// The two parts of a mark, beside or above each other.
struct CutMark {
  Mark first, second;
};

// Cuts between pieces that do not touch, and along straight lines, upright or slanted, that cross
// two strokes at most, those with the least ink first. At most ten, and none of a mark that is
// narrower than half its height.
std::vector<CutMark> cuts_of(const Mark& mark);

// What a recogniser says of a mark.
struct Judgement {
  double probability = 0;  // of its answer
  bool unsure = false;
};
using MarkJudge = std::function<Judgement(const Mark&)>;

// The marks, of which two that almost touch each other are one where the judge is unsure of one of
// them and sure of both together. They are parts of a broken character, and no wider than high.
std::vector<Mark> join_broken(std::vector<Mark> marks, const MarkJudge& judge);

// The marks, of which some are cut into characters where these are more probable: those that are
// wide and of which the judge is unsure, and those that are high and have a gap.
std::vector<Mark> cut_apart(const std::vector<Mark>& marks, const MarkJudge& judge);

}  // namespace weft::data
