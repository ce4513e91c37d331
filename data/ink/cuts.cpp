// SPDX-License-Identifier: MIT
// After Casey and Lecolinet, A Survey of Methods and Strategies in Character Segmentation (IEEE
// TPAMI 18, 1996): more cuts than needed are made, and the recogniser chooses.
#include "data/ink/cuts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "data/ink/marks.h"
#include "data/ink/windows.h"

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

// Measures the ink along a cut. Returns whether it crosses two strokes at most.
bool crosses_few_strokes(const Plane& plane, Cut& cut) {
  int strokes = 0;
  bool is_in_stroke = false;
  for (std::int64_t y = 0; y < plane.height; ++y) {
    const auto x = std::llround(cut.column(y, plane));
    const float ink = x >= 0 && x < plane.width ? plane.at(x, y) : 0;
    strokes += ink > kCertain && !is_in_stroke ? 1 : 0;
    is_in_stroke = ink > kCertain;
    cut.ink += ink / 255;
  }
  return strokes <= 2;
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
    if (left && right) cuts.push_back({std::move(*left), std::move(*right)});
  }
}

// Cuts between pieces above each other, each of which is as high as a character.
std::vector<CutMark> gaps_down(const Mark& mark) {
  constexpr double kLeastHeight = 0.25;  // of the mark
  std::vector<Piece> pieces = connected_pieces(mark.ink, kCertain, kCertain);
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.box.top + a.box.bottom() < b.box.top + b.box.bottom();
  });
  std::vector<CutMark> cuts;
  for (auto at = pieces.begin(); at != pieces.end(); ++at) {
    if (at == pieces.begin()) continue;
    std::optional<Mark> upper = part_of(mark, mark.ink, {pieces.begin(), at});
    std::optional<Mark> lower = part_of(mark, mark.ink, {at, pieces.end()});
    if (!upper || !lower) continue;
    const auto least = static_cast<double>(std::min(upper->box.height, lower->box.height));
    if (least < kLeastHeight * static_cast<double>(mark.box.height)) continue;
    cuts.push_back({std::move(*upper), std::move(*lower)});
  }
  return cuts;
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

// The lines that cross two strokes at most, those with the least ink first.
std::vector<Cut> lines_through(const Mark& mark) {
  constexpr double kSlants[] = {-0.45, -0.3, -0.15, 0, 0.15, 0.3, 0.45};
  constexpr double kFirst = 0.2, kLast = 0.8;  // of the width
  const auto width = static_cast<double>(mark.box.width);
  std::vector<Cut> lines;
  const double step = std::max(1.0, width / 64);
  for (double middle = kFirst * width; middle <= kLast * width; middle += step) {
    for (const double slant : kSlants) {
      Cut cut{middle, slant};
      if (crosses_few_strokes(mark.ink, cut)) lines.push_back(cut);
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Cut& a, const Cut& b) { return a.ink < b.ink; });
  return lines;
}

}  // namespace

std::vector<CutMark> cuts_of(const Mark& mark) {
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

namespace {

// Characters, and how likely they are: the sum of the logarithms of their probabilities, less a
// price for each of which the judge is unsure, and for each cut.
struct Reading {
  double score = 0;
  std::vector<Mark> marks;
  bool has_rows = false;  // some lie below others
};

// The mark as one character, or cut into several, when they are more likely: where it is as high as
// two with a gap between them, and where the judge is unsure of it and it is wider than `wide`.
Reading best_reading(const Mark& mark, const MarkJudge& judge, double wide) {
  constexpr double kDoubt = 0.5, kCut = 0.2;
  constexpr double kUnlikely = -1.0;  // the score of a part
  constexpr double kWiderPart = 1.25;
  constexpr double kTall = 1.8;  // height by width
  const Judgement whole = judge(mark);
  Reading best{std::log(std::max(whole.probability, 1e-9)) - (whole.unsure ? kDoubt : 0), {mark}};
  const auto width = static_cast<double>(mark.box.width),
             height = static_cast<double>(mark.box.height);
  const bool is_wide = width >= wide, is_tall = !is_wide && height >= kTall * width;
  if (!is_tall && !(is_wide && whole.unsure)) return best;
  const std::vector<CutMark> cuts = is_wide ? cuts_of(mark) : gaps_down(mark);
  for (const auto& [first, second] : cuts) {
    Reading both = best_reading(first, judge, kWiderPart * wide);
    if (both.score < kUnlikely) continue;
    const Reading rest = best_reading(second, judge, kWiderPart * wide);
    both.score += rest.score - kCut;
    if (rest.score < kUnlikely || both.score <= best.score) continue;
    both.marks.insert(both.marks.end(), rest.marks.begin(), rest.marks.end());
    both.has_rows = both.has_rows || rest.has_rows || !is_wide;
    best = std::move(both);
  }
  return best;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How wide one character is: the median of those of which the judge is sure and that are no upright
// strokes.
double usual_width(const std::vector<Mark>& marks, const MarkJudge& judge) {
  constexpr double kUpright = 0.35, kUsual = 0.7;  // width by height
  constexpr std::size_t kEnough = 2;
  std::vector<double> widths, heights;
  for (const Mark& mark : marks) {
    const auto width = static_cast<double>(mark.box.width),
               height = static_cast<double>(mark.box.height);
    heights.push_back(height);
    if (width < kUpright * height || judge(mark).unsure) continue;
    widths.push_back(width);
  }
  return widths.size() < kEnough ? kUsual * median_of(heights) : median_of(widths);
}

// Both in one box, when they are as near to each other as the ends of a broken stroke.
std::optional<Mark> joined(const Mark& a, const Mark& b) {
  constexpr double kGap = 0.06;  // of the height
  const InkBox& first = a.box;
  const InkBox& second = b.box;
  const std::int64_t left = std::min(first.left, second.left),
                     top = std::min(first.top, second.top);
  const InkBox box{left, top, std::max(first.right(), second.right()) - left,
                   std::max(first.bottom(), second.bottom()) - top};
  if (box.width > box.height) return std::nullopt;
  const auto gap = std::max<std::int64_t>(1, std::llround(kGap * static_cast<double>(box.height)));
  const auto are_apart = [gap](std::int64_t end, std::int64_t begin) { return end + gap < begin; };
  if (are_apart(first.right(), second.left) || are_apart(second.right(), first.left) ||
      are_apart(first.bottom(), second.top) || are_apart(second.bottom(), first.top)) {
    return std::nullopt;
  }
  const auto put = [&](const Mark& mark, Plane& plane) {
    for (std::int64_t y = 0; y < mark.box.height; ++y) {
      for (std::int64_t x = 0; x < mark.box.width; ++x) {
        float& ink = plane.at(mark.box.left - left + x, mark.box.top - top + y);
        ink = std::max(ink, mark.ink.at(x, y));
      }
    }
  };
  Plane one(box.width, box.height), other = one;
  put(a, one);
  put(b, other);
  const Plane near = window_max(one, 2 * gap + 1, 2 * gap + 1);
  bool touch = false;
  for (std::size_t i = 0; i < near.values.size(); ++i) {
    touch = touch || (near.values[i] > kCertain && other.values[i] > kCertain);
  }
  if (!touch) return std::nullopt;
  put(b, one);
  return Mark{box, a.row, std::move(one)};
}

}  // namespace

std::vector<Mark> join_broken(std::vector<Mark> marks, const MarkJudge& judge) {
  for (std::size_t a = 0; a < marks.size(); ++a) {
    for (std::size_t b = 0; b < marks.size(); ++b) {
      if (a == b || marks[a].row != marks[b].row) continue;
      std::optional<Mark> both = joined(marks[a], marks[b]);
      if (!both || judge(*both).unsure) continue;
      if (!judge(marks[a]).unsure && !judge(marks[b]).unsure) continue;
      marks[std::min(a, b)] = std::move(*both);
      marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(std::max(a, b)));
      a = std::min(a, b);
      b = SIZE_MAX;  // the next one is the first again
    }
  }
  return marks;
}

std::vector<Mark> cut_apart(const std::vector<Mark>& marks, const MarkJudge& judge) {
  constexpr double kWide = 1.15;  // widths of a character
  const double wide = kWide * usual_width(marks, judge);
  std::vector<Mark> characters;
  bool has_rows = false;
  for (const Mark& mark : marks) {
    const Reading reading = best_reading(mark, judge, wide);
    characters.insert(characters.end(), reading.marks.begin(), reading.marks.end());
    has_rows = has_rows || reading.has_rows;
  }
  if (has_rows) sort_for_reading(characters);
  return characters;
}

}  // namespace weft::data
