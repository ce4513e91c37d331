// SPDX-License-Identifier: MIT
// After Casey and Lecolinet, A Survey of Methods and Strategies in Character Segmentation (IEEE
// TPAMI 18, 1996): more cuts than needed are made, and the recogniser chooses.
#include "data/ink/cuts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/ink/marks.h"

namespace weft::data {
namespace {

constexpr float kWeak = 38, kCertain = 76;  // ink, of 255

// A straight line from the top of a mark to its bottom.
struct Cut {
  double middle = 0, slant = 0;  // column at half the height, and columns for each row
  double ink = 0;                // that it meets, in pixels

  double column(std::int64_t y, const Plane& plane) const {
    return middle + slant * (static_cast<double>(y) - 0.5 * static_cast<double>(plane.height));
  }
};

// Measures the ink along a cut. Returns whether it crosses one stroke at most.
bool crosses_one_stroke(const Plane& plane, Cut& cut) {
  int strokes = 0;
  bool is_in_stroke = false;
  for (std::int64_t y = 0; y < plane.height; ++y) {
    const auto x = std::llround(cut.column(y, plane));
    const float ink = x >= 0 && x < plane.width ? plane.at(x, y) : 0;
    strokes += ink > kCertain && !is_in_stroke ? 1 : 0;
    is_in_stroke = ink > kCertain;
    cut.ink += ink / 255;
  }
  return strokes <= 1;
}

// These pieces of a mark in their own box, without splinters. Nothing when they are too small for a
// character that stands beside another one.
std::optional<Mark> part_of(const Mark& mark, const Plane& ink, std::vector<Piece> pieces) {
  constexpr double kLeastHeight = 0.3, kSplinter = 0.08;
  double mass = 0;
  for (const Piece& piece : pieces) mass += piece.mass;
  std::erase_if(pieces, [&](const Piece& piece) { return piece.mass < kSplinter * mass; });
  std::int64_t left = ink.width, right = 0, top = ink.height, bottom = 0;
  for (const Piece& piece : pieces) {
    left = std::min(left, piece.box.left);
    right = std::max(right, piece.box.right());
    top = std::min(top, piece.box.top);
    bottom = std::max(bottom, piece.box.bottom());
  }
  const bool is_low =
      static_cast<double>(bottom - top) < kLeastHeight * static_cast<double>(ink.height);
  if (right - left < 2 || is_low) return std::nullopt;
  const InkBox box{mark.box.left + left, mark.box.top + top, right - left, bottom - top};
  Mark part{box, mark.row, Plane(box.width, box.height)};
  for (const Piece& piece : pieces) {
    for (const std::size_t at : piece.pixels) {
      const std::int64_t x = static_cast<std::int64_t>(at) % ink.width - left;
      const std::int64_t y = static_cast<std::int64_t>(at) / ink.width - top;
      if (x >= 0 && y >= 0 && x < box.width && y < box.height) part.ink.at(x, y) = ink.values[at];
    }
  }
  return part;
}

std::optional<Mark> part_beside(const Mark& mark, const Cut& cut, bool is_left) {
  Plane side = mark.ink;
  for (std::int64_t y = 0; y < side.height; ++y) {
    for (std::int64_t x = 0; x < side.width; ++x) {
      if ((static_cast<double>(x) < cut.column(y, side)) != is_left) side.at(x, y) = 0;
    }
  }
  return part_of(mark, side, connected_pieces(side, kWeak, kCertain));
}

// Cuts between pieces that do not touch, and were taken for parts of one character.
void add_gaps(const Mark& mark, std::vector<CutMark>& cuts) {
  std::vector<Piece> pieces = connected_pieces(mark.ink, kCertain, kCertain);
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.box.left + a.box.right() < b.box.left + b.box.right();
  });
  for (auto at = pieces.begin(); at != pieces.end(); ++at) {
    if (at == pieces.begin()) continue;
    std::optional<Mark> left = part_of(mark, mark.ink, {pieces.begin(), at});
    std::optional<Mark> right = part_of(mark, mark.ink, {at, pieces.end()});
    if (left && right) cuts.push_back({std::move(*left), std::move(*right), true});
  }
}

// Two characters that touch are about as high as each other, and lie beside each other.
bool are_beside(const Mark& mark, const Mark& left, const Mark& right) {
  constexpr double kHeight = 0.7, kWidth = 0.22;  // of the mark
  constexpr double kOverlap = 0.3;                // of the narrower part
  const auto lower = static_cast<double>(std::min(left.box.height, right.box.height));
  const auto narrower = static_cast<double>(std::min(left.box.width, right.box.width));
  const auto overlap = static_cast<double>(left.box.right() - right.box.left);
  return lower >= kHeight * static_cast<double>(mark.box.height) &&
         narrower >= kWidth * static_cast<double>(mark.box.width) && overlap <= kOverlap * narrower;
}

// The lines that cross one stroke at most, those with the least ink first.
std::vector<Cut> lines_through(const Mark& mark) {
  constexpr double kSlants[] = {-0.45, -0.3, -0.15, 0, 0.15, 0.3, 0.45};
  constexpr double kFirst = 0.2, kLast = 0.8;  // of the width
  const auto width = static_cast<double>(mark.box.width);
  std::vector<Cut> lines;
  const double step = std::max(1.0, width / 64);
  for (double middle = kFirst * width; middle <= kLast * width; middle += step) {
    for (const double slant : kSlants) {
      Cut cut{middle, slant};
      if (crosses_one_stroke(mark.ink, cut)) lines.push_back(cut);
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Cut& a, const Cut& b) { return a.ink < b.ink; });
  return lines;
}

}  // namespace

std::vector<CutMark> cuts_of(const Mark& mark, bool through_strokes) {
  constexpr double kNarrow = 0.5;           // width by height of one character
  constexpr std::int64_t kLeastHeight = 8;  // pixels
  constexpr double kApart = 0.08;           // of the width
  constexpr std::size_t kMost = 10;
  const auto width = static_cast<double>(mark.box.width);
  if (width < kNarrow * static_cast<double>(mark.box.height) || mark.box.height < kLeastHeight) {
    return {};
  }
  std::vector<CutMark> cuts;
  add_gaps(mark, cuts);
  if (!through_strokes) return cuts;
  std::vector<Cut> chosen;
  for (const Cut& cut : lines_through(mark)) {
    if (cuts.size() >= kMost) break;
    const bool is_near = std::any_of(chosen.begin(), chosen.end(), [&](const Cut& other) {
      return std::fabs(other.middle - cut.middle) < kApart * width &&
             std::fabs(other.slant - cut.slant) < 0.2;
    });
    if (is_near) continue;
    chosen.push_back(cut);
    std::optional<Mark> left = part_beside(mark, cut, true), right = part_beside(mark, cut, false);
    if (left && right && are_beside(mark, *left, *right))
      cuts.push_back({std::move(*left), std::move(*right)});
  }
  return cuts;
}

}  // namespace weft::data
