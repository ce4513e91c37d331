// SPDX-License-Identifier: MIT
// Every filter works on rows; columns are the rows of the transposed picture.
#include "data/ink/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::data {
namespace {

// The largest value of `window` pixels in a row: windows of twice the width come from two of them.
Plane row_max(const Plane& picture, std::int64_t window) {
  if (window <= 1) return picture;
  const std::int64_t before = window / 2, length = picture.width + window - 1;
  Plane result(picture.width, picture.height);
  std::vector<float> line(static_cast<std::size_t>(length));
  for (std::int64_t y = 0; y < picture.height; ++y) {
    std::fill(line.begin(), line.end(), std::numeric_limits<float>::lowest());
    std::copy_n(&picture.values[static_cast<std::size_t>(y * picture.width)], picture.width,
                line.begin() + before);
    const auto merge = [&](std::int64_t known, std::int64_t step) {
      float* values = line.data();
      for (std::int64_t i = 0; i + known + step <= length; ++i) {
        values[i] = std::max(values[i], values[i + step]);
      }
    };
    std::int64_t known = 1;
    for (; 2 * known <= window; known *= 2) merge(known, known);
    if (known < window) merge(known, window - known);
    std::copy_n(line.begin(), picture.width,
                &result.values[static_cast<std::size_t>(y * picture.width)]);
  }
  return result;
}

Plane negated(Plane plane) {
  for (float& value : plane.values) value = -value;
  return plane;
}

// The mean of `window` pixels in a row.
Plane row_mean(const Plane& picture, std::int64_t window) {
  const std::int64_t reach = window / 2, last = picture.width - 1;
  Plane result(picture.width, picture.height);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    double sum = 0;
    for (std::int64_t x = 0; x < std::min(reach, picture.width); ++x) sum += picture.at(x, y);
    for (std::int64_t x = 0; x <= last; ++x) {
      if (x + reach <= last) sum += picture.at(x + reach, y);
      if (x - reach > 0) sum -= picture.at(x - reach - 1, y);
      const std::int64_t count =
          std::min(last, x + reach) - std::max<std::int64_t>(0, x - reach) + 1;
      result.at(x, y) = static_cast<float>(sum / static_cast<double>(count));
    }
  }
  return result;
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
  const Plane across = row_max(picture, width);
  return height <= 1 ? across : transposed(row_max(transposed(across), height));
}

Plane window_min(const Plane& picture, std::int64_t width, std::int64_t height) {
  return negated(window_max(negated(picture), width, height));
}

Plane closing(const Plane& picture, std::int64_t width, std::int64_t height) {
  return window_min(window_max(picture, width, height), width, height);
}

// The largest value of a disc, which is nearly what these rectangles cover; rows are columns.
static Plane transposed_disc_max(const Plane& picture, std::int64_t diameter) {
  constexpr double kCorners[] = {0.924, 0.707, 0.383};  // cosines of 22.5, 45 and 67.5 degrees
  const auto side = [&](double share) {
    return std::lround(share * static_cast<double>(diameter)) | 1;
  };
  const auto rectangle_max = [&](int i) {
    return row_max(transposed(row_max(picture, side(kCorners[i]))), side(kCorners[2 - i]));
  };
  Plane result = rectangle_max(0);
  for (int i = 1; i < 3; ++i) {
    const Plane more = rectangle_max(i);
    for (std::size_t at = 0; at < result.values.size(); ++at) {
      result.values[at] = std::max(result.values[at], more.values[at]);
    }
  }
  return result;
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
  // A disc looks the same transposed, so that the second of the two turns the picture back.
  const Plane closed =
      negated(transposed_disc_max(negated(transposed_disc_max(larger, diameter)), diameter));
  Plane result(picture.width, picture.height);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      result.at(x, y) = closed.at(x + margin, y + margin);
    }
  }
  return result;
}

Plane opening(const Plane& picture, std::int64_t width, std::int64_t height) {
  return negated(closing(negated(picture), width, height));
}

Plane window_mean(const Plane& picture, std::int64_t window) {
  return transposed(row_mean(transposed(row_mean(picture, window)), window));
}

Plane difference(const Plane& a, const Plane& b) {
  Plane result = a;
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] -= b.values[i];
  return result;
}

}  // namespace weft::data
