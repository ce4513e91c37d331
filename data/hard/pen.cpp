// SPDX-License-Identifier: MIT
#include "data/hard/pen.h"

#include <algorithm>
#include <cmath>

#include "data/ink/windows.h"

namespace weft::data {
namespace {

constexpr std::int64_t kSide = 28, kPixels = kSide * kSide;
constexpr std::int64_t kFine = 4;  // strokes are changed at so many times the size

// The ink's own box, or nothing when there is no ink.
struct Box {
  std::int64_t left = 0, top = 0, right = 0, bottom = 0;
};
Box box_of(const Plane& plane) {
  constexpr float kInk = 40;
  Box box{plane.width, plane.height, 0, 0};
  for (std::int64_t y = 0; y < plane.height; ++y) {
    for (std::int64_t x = 0; x < plane.width; ++x) {
      if (plane.at(x, y) < kInk) continue;
      box.left = std::min(box.left, x);
      box.right = std::max(box.right, x + 1);
      box.top = std::min(box.top, y);
      box.bottom = std::max(box.bottom, y + 1);
    }
  }
  return box;
}

}  // namespace

void place_ink(const Plane& plane, std::uint8_t* result) {
  const Box box = box_of(plane);
  std::fill_n(result, kPixels, std::uint8_t{0});
  if (box.right <= box.left) return;
  Plane cut(box.right - box.left, box.bottom - box.top);
  for (std::int64_t y = 0; y < cut.height; ++y) {
    for (std::int64_t x = 0; x < cut.width; ++x) {
      cut.at(x, y) = plane.at(box.left + x, box.top + y);
    }
  }
  const double scale = 20.0 / static_cast<double>(std::max(cut.width, cut.height));
  const auto scaled = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, std::llround(scale * static_cast<double>(side)));
  };
  const Plane digit = resample(cut, scaled(cut.width), scaled(cut.height));
  double mass = 0, sum_x = 0, sum_y = 0;
  for (std::int64_t y = 0; y < digit.height; ++y) {
    for (std::int64_t x = 0; x < digit.width; ++x) {
      const double ink = digit.at(x, y);
      mass += ink;
      sum_x += ink * static_cast<double>(x);
      sum_y += ink * static_cast<double>(y);
    }
  }
  const auto offset = [&](double sum, std::int64_t side) {
    const double centred = std::floor(0.5 * kSide - sum / mass + 0.5);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(centred), 0, kSide - side);
  };
  const std::int64_t left = offset(sum_x, digit.width), top = offset(sum_y, digit.height);
  for (std::int64_t y = 0; y < digit.height; ++y) {
    for (std::int64_t x = 0; x < digit.width; ++x) {
      const float ink = std::clamp(digit.at(x, y), 0.0f, 255.0f);
      result[(top + y) * kSide + left + x] = static_cast<std::uint8_t>(ink + 0.5f);
    }
  }
}

void change_pen(const std::uint8_t* image, double change, std::uint8_t* result) {
  Plane coarse(kSide, kSide);
  std::copy_n(image, kPixels, coarse.values.begin());
  const Plane fine = resample(coarse, kSide * kFine, kSide * kFine);
  const auto window = std::llround(std::fabs(change) * kFine) + 1;
  Plane changed = change > 0 ? window_max(fine, window, window) : window_min(fine, window, window);
  if (change < 0) {
    // The middle of a stroke that vanishes: what stands out of an opening.
    const Plane rest = difference(fine, opening(fine, window, window));
    for (std::size_t i = 0; i < changed.values.size(); ++i) {
      changed.values[i] = std::max(changed.values[i], rest.values[i]);
    }
  }
  place_ink(changed, result);
}

}  // namespace weft::data
