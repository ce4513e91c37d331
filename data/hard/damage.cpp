// SPDX-License-Identifier: MIT
#include "data/hard/damage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "data/hard/pen.h"
#include "data/hard/signs.h"
#include "data/picture/plane.h"

namespace weft::data {
namespace {

constexpr std::int64_t kSide = 28, kPixels = kSide * kSide;
constexpr double kMiddle = 13.5;

Plane plane_of(const std::uint8_t* image) {
  Plane plane(kSide, kSide);
  std::copy_n(image, kPixels, plane.values.begin());
  return plane;
}

// Sets every pixel to f(x, y, value).
template <class F>
void change(Plane& plane, const F& f) {
  for (std::int64_t y = 0; y < plane.height; ++y) {
    for (std::int64_t x = 0; x < plane.width; ++x) {
      plane.at(x, y) = static_cast<float>(
          f(static_cast<double>(x), static_cast<double>(y), static_cast<double>(plane.at(x, y))));
    }
  }
}

// The plane at a point between its pixels; 0 outside.
double value_at(const Plane& plane, double x, double y) {
  const auto left = static_cast<std::int64_t>(std::floor(x)),
             top = static_cast<std::int64_t>(std::floor(y));
  const double a = x - static_cast<double>(left), b = y - static_cast<double>(top);
  const auto at = [&](std::int64_t i, std::int64_t j) {
    const bool is_inside = i >= 0 && j >= 0 && i < plane.width && j < plane.height;
    return is_inside ? static_cast<double>(plane.at(i, j)) : 0.0;
  };
  return (1 - b) * ((1 - a) * at(left, top) + a * at(left + 1, top)) +
         b * ((1 - a) * at(left, top + 1) + a * at(left + 1, top + 1));
}

// Turned, slanted and stretched about the middle.
Plane bent(const Plane& plane, double turn, double slant, double stretch) {
  Plane result(2 * kSide, 2 * kSide);
  const double c = std::cos(turn), s = std::sin(turn), centre = 2 * kMiddle + 0.5;
  change(result, [&](double px, double py, double) {
    const double x = px - centre, y = py - centre;
    const double u = c * x + s * y, v = c * y - s * x;
    return value_at(plane, kMiddle + (u + slant * v) * stretch, kMiddle + v / stretch);
  });
  return result;
}

// Without std::hypot, whose last bit differs between C libraries.
double length_of(double x, double y) {
  return std::sqrt(x * x + y * y);
}

// How far a point is from a piece of a straight line.
double distance_to(PenPoint p, PenPoint a, PenPoint b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy + 1e-12;
  const double t = std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0);
  return length_of(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

void draw_line(Plane& plane, PenPoint a, PenPoint b, double pen) {
  change(plane, [&](double x, double y, double value) {
    const double covered = std::clamp(0.5 * pen - distance_to({x, y}, a, b) + 0.5, 0.0, 1.0);
    return std::max(value, 255 * covered);
  });
}

// The far side of a line that passes the middle at this distance, seen in this direction: > 0.
double beyond(double x, double y, double angle, double distance) {
  return (x - kMiddle) * std::cos(angle) + (y - kMiddle) * std::sin(angle) - distance;
}

Plane with_part_lost(Plane plane, float strength, Draw& draw) {
  const double angle = draw.uniform(0, 6.2832f), distance = draw.uniform(8 - 8 * strength, 9);
  change(plane, [&](double x, double y, double value) {
    return beyond(x, y, angle, distance) > 0 ? 0 : value;
  });
  return plane;
}

Plane pale(Plane plane, float strength, Draw& draw) {
  const double angle = draw.uniform(0, 6.2832f), reach = draw.uniform(24 - 18 * strength, 30);
  const double lost = draw.uniform(10, 10 + 100 * strength);
  change(plane, [&](double x, double y, double value) {
    const double left = value * std::clamp(0.5 - beyond(x, y, angle, 0) / reach, 0.0, 1.0);
    return left < lost ? 0 : left;
  });
  return plane;
}

Plane broken(Plane plane, float strength, Draw& draw) {
  for (int gaps = 1 + static_cast<int>(draw.uniform(0, 1 + 3 * strength)); gaps > 0; --gaps) {
    const double gx = draw.uniform(5, 22), gy = draw.uniform(4, 23);
    const double radius = draw.uniform(0.5f, 1 + 2 * strength);
    change(plane, [&](double x, double y, double value) {
      return value * std::clamp(length_of(x - gx, y - gy) - radius, 0.0, 1.0);
    });
  }
  return plane;
}

Plane blurred(const Plane& plane, float strength, Draw& draw) {
  const double deviation = draw.uniform(0.4f, 0.6f + 1.2f * strength);
  Plane result(kSide, kSide);
  constexpr int kReach = 5;
  std::array<double, 2 * kReach + 1> weight{};
  double sum = 0;
  for (int i = -kReach; i <= kReach; ++i) {
    sum += weight[static_cast<std::size_t>(i + kReach)] =
        std::exp(-i * i / (2 * deviation * deviation));
  }
  const auto pass = [&](const Plane& from, Plane& to, double dx, double dy) {
    change(to, [&](double x, double y, double) {
      double value = 0;
      for (int i = -kReach; i <= kReach; ++i) {
        value +=
            weight[static_cast<std::size_t>(i + kReach)] * value_at(from, x + i * dx, y + i * dy);
      }
      return value / sum;
    });
  };
  Plane across(kSide, kSide);
  pass(plane, across, 1, 0);
  pass(across, result, 0, 1);
  return result;
}

Plane with_specks(Plane plane, float strength, Draw& draw) {
  const float size = 1 + 2 * strength;
  for (int specks = 1 + static_cast<int>(draw.uniform(0, 1 + 2 * strength)); specks > 0; --specks) {
    const PenPoint at{draw.uniform(1, 26), draw.uniform(1, 26)};
    draw_line(plane, at, {at.x + draw.uniform(-size, size), at.y + draw.uniform(-size, size)},
              draw.uniform(1, size));
  }
  return plane;
}

Plane with_stroke_across(Plane plane, float strength, Draw& draw) {
  const bool is_level = draw.chance(0.5f);
  const double at = draw.uniform(4, 23), tilt = draw.uniform(-2, 2),
               end = draw.uniform(8, 10 + 18 * strength);
  const PenPoint a = is_level ? PenPoint{0, at} : PenPoint{at, 0};
  const PenPoint b = is_level ? PenPoint{end, at + tilt} : PenPoint{at + tilt, end};
  draw_line(plane, a, b, draw.uniform(0.8f, 1 + strength));
  return plane;
}

// Pale ink is brought back to full ink, as preprocessing does.
void brighten(std::uint8_t* image) {
  const int top = *std::max_element(image, image + kPixels);
  if (top == 0) return;
  for (std::int64_t i = 0; i < kPixels; ++i) {
    image[i] = static_cast<std::uint8_t>((image[i] * 255 + top / 2) / top);
  }
}

// Strokes of a round pen, turned, slanted and stretched a little, as large as a digit.
void draw_strokes(std::vector<Stroke> strokes, Draw& draw, std::uint8_t* result) {
  const double turn = draw.uniform(-0.2f, 0.2f), slant = draw.uniform(-0.25f, 0.25f);
  const double stretch = draw.uniform(0.9f, 1.12f), pen = draw.uniform(1, 3.2f);
  double left = std::numeric_limits<double>::infinity(), top = left, right = -left, bottom = -left;
  for (Stroke& stroke : strokes) {
    for (PenPoint& p : stroke) {
      const double x = stretch * p.x - slant * p.y, y = p.y / stretch;
      p = {x - turn * y, y + turn * x};
      left = std::min(left, p.x), right = std::max(right, p.x);
      top = std::min(top, p.y), bottom = std::max(bottom, p.y);
    }
  }
  const double scale = (20 - pen) / std::max({right - left, bottom - top, 1e-6});
  Plane plane(kSide, kSide);
  std::vector<double> distance(kPixels, 1e9);
  for (const Stroke& stroke : strokes) {
    for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
      const auto placed = [&](PenPoint p) {
        return PenPoint{4 + 0.5 * pen + scale * (p.x - left), 4 + 0.5 * pen + scale * (p.y - top)};
      };
      const PenPoint a = placed(stroke[i]), b = placed(stroke[i + 1]);
      const auto inside = [](double v) {
        return std::clamp<std::int64_t>(std::llround(v), 0, kSide - 1);
      };
      for (std::int64_t y = inside(std::min(a.y, b.y) - pen); y <= inside(std::max(a.y, b.y) + pen);
           ++y) {
        for (std::int64_t x = inside(std::min(a.x, b.x) - pen);
             x <= inside(std::max(a.x, b.x) + pen); ++x) {
          double& nearest = distance[static_cast<std::size_t>(y * kSide + x)];
          nearest = std::min(nearest,
                             distance_to({static_cast<double>(x), static_cast<double>(y)}, a, b));
        }
      }
    }
  }
  for (std::size_t i = 0; i < distance.size(); ++i) {
    plane.values[i] = static_cast<float>(255 * std::clamp(0.5 * pen - distance[i] + 0.5, 0.0, 1.0));
  }
  place_ink(plane, result);
}

// Two digits that touch, or one on top of the other.
void draw_touching(const std::uint8_t* a, const std::uint8_t* b, Draw& draw, std::uint8_t* result) {
  Plane both(2 * kSide, 2 * kSide);
  const bool is_above = draw.chance(0.3f);
  const double step = draw.uniform(13, 20), aside = draw.uniform(-3, 3);
  const double dx = is_above ? aside : step, dy = is_above ? step : aside;
  const Plane first = plane_of(a), second = plane_of(b);
  change(both, [&](double x, double y, double) {
    return std::max(value_at(first, x - 4, y - 4), value_at(second, x - 4 - dx, y - 4 - dy));
  });
  place_ink(both, result);
}

Plane damaged(const Plane& plane, int kind, float strength, Draw& draw) {
  const float bend = strength * 0.5f;
  switch (kind) {
    case 0:
      return bent(plane, draw.uniform(-bend, bend), draw.uniform(-bend, bend),
                  draw.uniform(1 - bend / 2, 1 + 0.7f * bend));
    case 1:
      return with_part_lost(plane, strength, draw);
    case 2:
      return pale(plane, strength, draw);
    case 3:
      return broken(plane, strength, draw);
    case 4:
      return blurred(plane, strength, draw);
    case 5:
      return with_specks(plane, strength, draw);
    default:
      return with_stroke_across(plane, strength, draw);
  }
}

}  // namespace

void draw_damaged(const std::uint8_t* digit, float strength, Draw& draw, std::uint8_t* result) {
  constexpr int kKinds = 7;
  std::array<std::uint8_t, kPixels> written{};
  change_pen(digit, draw.uniform(-1.2f, 2), written.data());
  const int kind = std::min(kKinds - 1, static_cast<int>(draw.uniform(0, kKinds)));
  place_ink(damaged(plane_of(written.data()), kind, strength, draw), result);
  brighten(result);
}

void draw_stranger(std::uint64_t index, const std::uint8_t* digit, const std::uint8_t* other,
                   Draw& draw, std::uint8_t* result) {
  const std::span<const SignKind> kinds = sign_kinds();
  constexpr std::size_t kTouching = 4;  // as many kinds
  const std::size_t kind = index % (kinds.size() + kTouching);
  if (kind < kinds.size()) return draw_strokes(draw_sign(kinds[kind], draw), draw, result);
  draw_touching(digit, other, draw, result);
}

}  // namespace weft::data
