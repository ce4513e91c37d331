// SPDX-License-Identifier: MIT
// Every filter works on rows, and then on strips of columns: the same loops with several lanes.
#include "data/ink/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::data {
namespace {

constexpr std::int64_t kStrip = 64;  // columns that are filtered together, in the L2 cache

struct Largest {
  static constexpr float kNone = std::numeric_limits<float>::lowest();
  static float of(float a, float b) { return std::max(a, b); }
};
struct Smallest {
  static constexpr float kNone = std::numeric_limits<float>::max();
  static float of(float a, float b) { return std::min(a, b); }
};

// values[i] becomes the extreme of values[i] to values[i + window - 1], for each of `lanes` values:
// windows of twice the length come from two of them.
template <class Extreme>
void slide(std::vector<float>& values, std::int64_t lanes, std::int64_t window) {
  const auto all = static_cast<std::int64_t>(values.size());
  const auto merge = [&](std::int64_t known, std::int64_t step) {
    float* to = values.data();
    const float* from = to + step * lanes;
    for (std::int64_t i = 0; i < all - (known + step - 1) * lanes; ++i) {
      to[i] = Extreme::of(to[i], from[i]);
    }
  };
  std::int64_t known = 1;
  for (; 2 * known <= window; known *= 2) merge(known, known);
  if (known < window) merge(known, window - known);
}

template <class Extreme>
void filter_rows(Plane& plane, std::int64_t window) {
  if (window <= 1) return;
  const std::int64_t before = window / 2;
  std::vector<float> line(static_cast<std::size_t>(plane.width + window - 1));
  for (std::int64_t y = 0; y < plane.height; ++y) {
    float* row = &plane.at(0, y);
    std::fill(line.begin(), line.end(), Extreme::kNone);
    std::copy_n(row, plane.width, line.begin() + before);
    slide<Extreme>(line, 1, window);
    std::copy_n(line.begin(), plane.width, row);
  }
}

template <class Extreme>
void filter_columns(Plane& plane, std::int64_t window) {
  if (window <= 1) return;
  const std::int64_t before = window / 2;
  std::vector<float> strip;
  for (std::int64_t left = 0; left < plane.width; left += kStrip) {
    const std::int64_t lanes = std::min(kStrip, plane.width - left);
    strip.assign(static_cast<std::size_t>((plane.height + window - 1) * lanes), Extreme::kNone);
    for (std::int64_t y = 0; y < plane.height; ++y) {
      std::copy_n(&plane.at(left, y), lanes, strip.begin() + (before + y) * lanes);
    }
    slide<Extreme>(strip, lanes, window);
    for (std::int64_t y = 0; y < plane.height; ++y) {
      std::copy_n(strip.begin() + y * lanes, lanes, &plane.at(left, y));
    }
  }
}

template <class Extreme>
Plane filtered(Plane plane, std::int64_t width, std::int64_t height) {
  filter_rows<Extreme>(plane, width);
  filter_columns<Extreme>(plane, height);
  return plane;
}

// The extreme over a small disc. Three rectangles cover nearly the same pixels.
template <class Extreme>
Plane small_disc_filtered(const Plane& picture, std::int64_t diameter) {
  constexpr double kCorners[] = {0.924, 0.707, 0.383};  // cosines of 22.5, 45 and 67.5 degrees
  const auto side = [&](int i) {
    return std::lround(kCorners[i] * static_cast<double>(diameter)) | 1;
  };
  Plane result = filtered<Extreme>(picture, side(0), side(2));
  for (int i = 1; i < 3; ++i) {
    const Plane more = filtered<Extreme>(picture, side(i), side(2 - i));
    for (std::size_t at = 0; at < result.values.size(); ++at) {
      result.values[at] = Extreme::of(result.values[at], more.values[at]);
    }
  }
  return result;
}

// Each pixel becomes the extreme of itself and that (dx, dy) away.
template <class Extreme>
void merge_shifted(Plane& plane, std::int64_t dx, std::int64_t dy) {
  const std::int64_t first = std::max<std::int64_t>(0, -dx);
  const std::int64_t count = plane.width - std::abs(dx);
  for (std::int64_t i = 0; i < plane.height - std::abs(dy) && count > 0; ++i) {
    const std::int64_t y = dy > 0 ? i : plane.height - 1 - i;  // what is read is as it was
    float* to = &plane.at(first, y);
    const float* from = &plane.at(first + dx, y + dy);
    for (std::int64_t x = 0; x < count; ++x) to[x] = Extreme::of(to[x], from[x]);
  }
}

// The extreme over the pixels that are 0 to `reach` steps of (dx, dy) away. dy is not 0.
template <class Extreme>
void slide_along(Plane& plane, std::int64_t dx, std::int64_t dy, std::int64_t reach) {
  std::int64_t known = 1;
  for (; 2 * known <= reach + 1; known *= 2) {
    merge_shifted<Extreme>(plane, known * dx, known * dy);
  }
  const std::int64_t rest = reach + 1 - known;
  if (rest > 0) merge_shifted<Extreme>(plane, rest * dx, rest * dy);
}

// The extreme over a disc, which is nearly a polygon of 16 sides: the sum of lines in eight
// directions (Adams, Radial decomposition of discs and spheres, CVGIP 55, 1993). What has corners
// of 90 degrees reaches far into a stroke that crosses the edge of a shadow.
template <class Extreme>
Plane disc_filtered(const Plane& picture, std::int64_t diameter) {
  constexpr std::int64_t kSmall = 64;  // has too few pixels for as many sides
  if (diameter < kSmall) return small_disc_filtered<Extreme>(picture, diameter);
  constexpr double kSide = 0.195;  // of a polygon of 16 sides, by the diameter
  const auto reach = [&](double step) {
    return std::lround(0.5 * kSide * static_cast<double>(diameter) / step);
  };
  const std::int64_t straight = 2 * reach(1) + 1;
  Plane result = filtered<Extreme>(picture, straight, straight);
  constexpr int kSteps[][2] = {{1, 1}, {-1, 1}, {2, 1}, {-2, 1}, {1, 2}, {-1, 2}};
  for (const auto& [dx, dy] : kSteps) {
    const std::int64_t length = reach(std::sqrt(dx * dx + dy * dy));
    slide_along<Extreme>(result, dx, dy, length);
    slide_along<Extreme>(result, -dx, -dy, length);
  }
  return result;
}

// to[i] is the mean of those from[i - window / 2] to from[i + window / 2] that exist. Values are
// `step` apart and have `lanes` neighbours, at most kStrip.
void mean_along(const float* from, float* to, std::int64_t length, std::int64_t step,
                std::int64_t lanes, std::int64_t window) {
  const std::int64_t reach = window / 2, last = length - 1;
  double sum[kStrip] = {};
  const auto add = [&](std::int64_t i, double sign) {
    for (std::int64_t k = 0; k < lanes; ++k) sum[k] += sign * from[i * step + k];
  };
  for (std::int64_t i = 0; i < std::min(reach, length); ++i) add(i, 1);
  for (std::int64_t i = 0; i <= last; ++i) {
    if (i + reach <= last) add(i + reach, 1);
    if (i - reach > 0) add(i - reach - 1, -1);
    const std::int64_t count = std::min(last, i + reach) - std::max<std::int64_t>(0, i - reach) + 1;
    for (std::int64_t k = 0; k < lanes; ++k) {
      to[i * step + k] = static_cast<float>(sum[k] / static_cast<double>(count));
    }
  }
}

}  // namespace

Plane transposed(const Plane& plane) {
  constexpr std::int64_t kTile = 16;  // rows whose cache lines stay while their columns are written
  Plane result(plane.height, plane.width);
  for (std::int64_t top = 0; top < plane.height; top += kTile) {
    const std::int64_t bottom = std::min(plane.height, top + kTile);
    for (std::int64_t x = 0; x < plane.width; ++x) {
      for (std::int64_t y = top; y < bottom; ++y) result.at(y, x) = plane.at(x, y);
    }
  }
  return result;
}

Plane window_max(const Plane& picture, std::int64_t width, std::int64_t height) {
  return filtered<Largest>(picture, width, height);
}

Plane window_min(const Plane& picture, std::int64_t width, std::int64_t height) {
  return filtered<Smallest>(picture, width, height);
}

Plane closing(const Plane& picture, std::int64_t width, std::int64_t height) {
  return window_min(window_max(picture, width, height), width, height);
}

Plane opening(const Plane& picture, std::int64_t width, std::int64_t height) {
  return window_max(window_min(picture, width, height), width, height);
}

// Rows that go on beyond both ends by a mirrored continuation, but never become brighter there.
static Plane with_longer_rows(const Plane& picture, std::int64_t margin) {
  Plane result(picture.width + 2 * margin, picture.height);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = -margin; x < picture.width + margin; ++x) {
      const std::int64_t near = std::clamp<std::int64_t>(x, 0, picture.width - 1);
      const std::int64_t mirrored = std::clamp<std::int64_t>(2 * near - x, 0, picture.width - 1);
      const float end = picture.at(near, y);
      result.at(x + margin, y) = end - std::max(0.0f, picture.at(mirrored, y) - end);
    }
  }
  return result;
}

// Where paper darkens towards the border, a disc that had to stay inside would fill the border with
// the light of further inside. So the picture is continued first.
Plane disc_closing(const Plane& picture, std::int64_t diameter) {
  const std::int64_t margin = diameter / 2;
  const Plane larger =
      transposed(with_longer_rows(transposed(with_longer_rows(picture, margin)), margin));
  const Plane closed = disc_filtered<Smallest>(disc_filtered<Largest>(larger, diameter), diameter);
  Plane result(picture.width, picture.height);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      result.at(x, y) = closed.at(x + margin, y + margin);
    }
  }
  return result;
}

Plane window_mean(const Plane& picture, std::int64_t window) {
  Plane across(picture.width, picture.height), result = across;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    mean_along(&picture.values[static_cast<std::size_t>(y * picture.width)], &across.at(0, y),
               picture.width, 1, 1, window);
  }
  for (std::int64_t left = 0; left < picture.width; left += kStrip) {
    mean_along(&across.at(left, 0), &result.at(left, 0), picture.height, picture.width,
               std::min(kStrip, picture.width - left), window);
  }
  return result;
}

Plane difference(const Plane& a, const Plane& b) {
  Plane result = a;
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] -= b.values[i];
  return result;
}

}  // namespace weft::data
