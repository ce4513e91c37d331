// SPDX-License-Identifier: MIT
#include "data/ink/margin.h"

#include <algorithm>
#include <cmath>

namespace weft::data {
namespace {

constexpr float kSame = 6;                // grey levels within which a pixel has the margin's level
constexpr double kLeastMargin = 0.98;     // of a row of the margin has its level
constexpr double kLeastPhotograph = 0.9;  // of the photograph, and of each of its sides, has not

// The share of the box's pixels that have the level.
double share_of_level(const Plane& picture, const InkBox& box, float level) {
  std::int64_t count = 0;
  for (std::int64_t y = box.top; y < box.bottom(); ++y) {
    for (std::int64_t x = box.left; x < box.right(); ++x) {
      count += std::fabs(picture.at(x, y) - level) <= kSame ? 1 : 0;
    }
  }
  return static_cast<double>(count) / static_cast<double>(box.width * box.height);
}

}  // namespace

std::optional<InkBox> photograph_in_margin(const Plane& picture) {
  constexpr std::int64_t kLeastSide = 60;
  if (std::min(picture.width, picture.height) < kLeastSide) return {};
  const float level = border_level(picture);
  InkBox box{0, 0, picture.width, picture.height};
  const auto is_margin = [&](const InkBox& line) {
    return share_of_level(picture, line, level) >= kLeastMargin;
  };
  while (box.height > 1 && is_margin({box.left, box.top, box.width, 1})) ++box.top, --box.height;
  while (box.height > 1 && is_margin({box.left, box.bottom() - 1, box.width, 1})) --box.height;
  while (box.width > 1 && is_margin({box.left, box.top, 1, box.height})) ++box.left, --box.width;
  while (box.width > 1 && is_margin({box.right() - 1, box.top, 1, box.height})) --box.width;
  if (box.width == picture.width && box.height == picture.height) return {};
  // Digits on paper fill less of the picture, and their sides are open.
  if (2 * box.width < picture.width || 2 * box.height < picture.height) return {};
  constexpr std::int64_t kBlend = 2;  // pixels at the edge, which are partly margin
  box = {box.left + kBlend, box.top + kBlend, box.width - 2 * kBlend, box.height - 2 * kBlend};
  if (1 - share_of_level(picture, box, level) < kLeastPhotograph) return {};
  const InkBox sides[] = {{box.left, box.top, box.width, 1},
                          {box.left, box.bottom() - 1, box.width, 1},
                          {box.left, box.top, 1, box.height},
                          {box.right() - 1, box.top, 1, box.height}};
  const bool has_sides = std::all_of(std::begin(sides), std::end(sides), [&](const InkBox& side) {
    return 1 - share_of_level(picture, side, level) >= kLeastPhotograph;
  });
  return has_sides ? std::optional(box) : std::nullopt;
}

}  // namespace weft::data
