// SPDX-License-Identifier: MIT
// The digit generator: pick a style, move its key points, draw a curve through them, distort it as
// a hand would, ink it with a round pen, and place it by MNIST's convention (the ink fills a
// 20 x 20 box; its centre of mass goes to the centre of 28 x 28).
#include "data/sets/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "data/sets/digit_styles.h"
#include "data/sets/drawn_set.h"

namespace weft::data {
namespace {

constexpr int kSide = 28, kBox = 20, kMargin = (kSide - kBox) / 2;
constexpr int kStepsPerSpan = 6;  // straight pieces between two key points

struct Point {
  float x, y;
};

struct InkPoint {
  float x, y;
  float width;  // relative to the pen
  bool starts_stroke;
};

// Point at t in [0, 1] of the curve from b to c with neighbours a and d (Catmull-Rom).
Point curve_at(Point a, Point b, Point c, Point d, float t) {
  const auto along = [t](float p, float q, float r, float s) {
    return q + 0.5f * t * ((r - p) + t * ((2 * p - 5 * q + 4 * r - s) + t * (3 * (q - r) + s - p)));
  };
  return {along(a.x, b.x, c.x, d.x), along(a.y, b.y, c.y, d.y)};
}

// How one writer's hand distorts a shape whose coordinates are about -1..1: aspect, a turn, a
// slant, and bends of second and third order.
class Distortion {
 public:
  Distortion(int digit, float slant, Draw& draw) {
    aspect_ = 1 + draw.bell(0.2f);
    turn_ = draw.bell(0.10f);
    slant_ = kMeanSlant[static_cast<std::size_t>(digit)] + draw.bell(slant);
    for (float& bend : bends_) bend = draw.bell(0.13f);
  }

  Point operator()(Point p) const {
    const float xx = p.x * p.x, xy = p.x * p.y, yy = p.y * p.y;
    const float x = p.x + bends_[0] * xx + bends_[1] * xy + bends_[2] * yy + bends_[3] * yy * p.y;
    const float y = p.y + bends_[4] * xx + bends_[5] * xy + bends_[6] * yy + bends_[7] * xx * p.x;
    const float wide = aspect_ * x - slant_ * y;
    // The turn is small: a shear each way is a rotation to second order.
    return {wide - turn_ * y, y + turn_ * wide};
  }

 private:
  static constexpr std::array<float, 10> kMeanSlant = {0.15f, 0.22f, 0.12f, 0.10f, 0.10f,
                                                       0.18f, 0.10f, 0.08f, 0.20f, 0.10f};
  float aspect_, turn_, slant_;
  std::array<float, 8> bends_;
};

const DigitStyle& pick_style(const std::vector<DigitStyle>& styles, Draw& draw) {
  float left = draw.uniform(0, 1);
  for (const DigitStyle& style : styles) {
    if (left < style.weight) return style;
    left -= style.weight;
  }
  return styles.back();
}

// The pen's path in units of about -1..1, not yet placed.
std::vector<InkPoint> write_digit(const DigitStyle& style, const Distortion& distort, Draw& draw) {
  const float wobble = draw.uniform(0.03f, 0.14f);  // of key points
  const float drift = draw.uniform(0.0f, 0.08f);    // of whole strokes
  const float pressure = draw.bell(0.12f);          // change of width along a stroke
  std::vector<InkPoint> path;
  std::vector<Point> key;
  for (const KeyStroke& stroke : style.strokes) {
    const bool first = &stroke == &style.strokes.front();
    const Point shift = {first ? 0 : draw.bell(drift), first ? 0 : draw.bell(drift)};
    key.clear();
    // Half of a key point's wobble is shared with the next: hands err smoothly.
    Point carried = {draw.bell(wobble), draw.bell(wobble)};
    for (const KeyPoint& point : stroke) {
      const Point fresh = {draw.bell(wobble), draw.bell(wobble)};
      key.push_back({point.x / 50 - 1 + shift.x + 0.8f * (carried.x + fresh.x),
                     point.y / 50 - 1 + shift.y + 0.8f * (carried.y + fresh.y)});
      carried = fresh;
    }
    // The pen lands early or late and lifts early or late.
    const std::size_t n = key.size();
    const float early = draw.bell(0.12f), late = draw.bell(0.12f);
    const Point head = {key[0].x - key[1].x, key[0].y - key[1].y};
    const Point tail = {key[n - 1].x - key[n - 2].x, key[n - 1].y - key[n - 2].y};
    key[0] = {key[0].x + early * head.x, key[0].y + early * head.y};
    key[n - 1] = {key[n - 1].x + late * tail.x, key[n - 1].y + late * tail.y};

    for (std::size_t i = 0; i + 1 < n; ++i) {
      const Point b = key[i], c = key[i + 1];
      const Point a = i == 0 || stroke[i].corner ? Point{2 * b.x - c.x, 2 * b.y - c.y} : key[i - 1];
      const Point d =
          i + 2 == n || stroke[i + 1].corner ? Point{2 * c.x - b.x, 2 * c.y - b.y} : key[i + 2];
      for (int step = i == 0 ? 0 : 1; step <= kStepsPerSpan; ++step) {
        const float t = static_cast<float>(step) / kStepsPerSpan;
        const float along = (static_cast<float>(i) + t) / static_cast<float>(n - 1);
        const Point p = distort(curve_at(a, b, c, d, t));
        path.push_back({p.x, p.y, 1 + pressure * (2 * along - 1), i == 0 && step == 0});
      }
    }
  }
  return path;
}

// Scales the path so that its ink, `pen` pixels wide, fills the box on its longer side.
void fit_to_box(std::vector<InkPoint>& path, float pen) {
  float left = path[0].x, right = left, top = path[0].y, bottom = top;
  for (const InkPoint& p : path) {
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  const float scale = (kBox - pen) / std::max(right - left, bottom - top);
  for (InkPoint& p : path) {
    p.x = (p.x - 0.5f * (left + right)) * scale + 0.5f * kSide;
    p.y = (p.y - 0.5f * (top + bottom)) * scale + 0.5f * kSide;
  }
}

using Canvas = std::array<float, kSide * kSide>;

// For every pixel centre, how deep it lies inside the ink (negative: outside), in pixels.
Canvas depth_of_ink(const std::vector<InkPoint>& path, float pen) {
  Canvas depth;
  depth.fill(-100.0f);
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (path[i].starts_stroke) continue;
    const InkPoint &a = path[i - 1], &b = path[i];
    const float dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy + 1e-12f;
    const float reach = 0.5f * pen * std::max(a.width, b.width) + 1.5f;
    const auto clamped = [](float v) {
      return static_cast<int>(std::clamp(v, 0.0f, kSide - 1.0f));
    };
    const int x0 = clamped(std::min(a.x, b.x) - reach), x1 = clamped(std::max(a.x, b.x) + reach);
    const int y0 = clamped(std::min(a.y, b.y) - reach), y1 = clamped(std::max(a.y, b.y) + reach);
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        const float px = static_cast<float>(x) + 0.5f - a.x,
                    py = static_cast<float>(y) + 0.5f - a.y;
        const float t = std::clamp((px * dx + py * dy) / length2, 0.0f, 1.0f);
        const float ex = px - t * dx, ey = py - t * dy;
        const float radius = 0.5f * pen * (a.width + t * (b.width - a.width));
        float& d = depth[static_cast<std::size_t>(y * kSide + x)];
        d = std::max(d, radius - std::sqrt(ex * ex + ey * ey));
      }
    }
  }
  return depth;
}

// Moves the centre of mass to pixel (14, 14) by whole pixels, as MNIST does.
void place(const std::array<std::uint8_t, kSide * kSide>& drawn, std::uint8_t* image) {
  double mass = 0, sum_x = 0, sum_y = 0;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double ink = drawn[static_cast<std::size_t>(y * kSide + x)];
      mass += ink;
      sum_x += ink * x;
      sum_y += ink * y;
    }
  }
  const auto shift = [&](double sum) {
    return mass > 0 ? static_cast<int>(std::floor(kSide / 2.0 - sum / mass + 0.5)) : 0;
  };
  const int shift_x = shift(sum_x), shift_y = shift(sum_y);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int from_x = x - shift_x, from_y = y - shift_y;
      const bool inside = from_x >= 0 && from_x < kSide && from_y >= 0 && from_y < kSide;
      image[y * kSide + x] = inside ? drawn[static_cast<std::size_t>(from_y * kSide + from_x)] : 0;
    }
  }
}

// Inks the path with a pen of this width, in pixels.
void ink_path(std::vector<InkPoint> path, float pen, Draw& draw, std::uint8_t* image) {
  fit_to_box(path, pen + 0.4f);
  const float softness = draw.uniform(0.9f, 1.5f);  // pixels over which the edge fades
  const Canvas depth = depth_of_ink(path, pen);
  std::array<std::uint8_t, kSide * kSide> drawn{};
  for (std::size_t y = kMargin; y < kMargin + kBox; ++y) {
    for (std::size_t x = kMargin; x < kMargin + kBox; ++x) {
      const std::size_t i = y * kSide + x;
      const float ink = std::clamp(depth[i] / softness + 0.5f, 0.0f, 1.0f);
      drawn[i] = static_cast<std::uint8_t>(255 * ink + 0.5f);
    }
  }
  place(drawn, image);
}

}  // namespace

void draw_digit(int digit, std::uint64_t seed, std::uint64_t index, std::uint8_t* image) {
  Draw draw(seed, index);
  const DigitStyle& style = pick_style(styles_of(digit), draw);
  const Distortion distort(digit, 0.26f, draw);
  std::vector<InkPoint> path = write_digit(style, distort, draw);
  const float mean_pen = digit == 1 ? 2.9f : 2.4f;
  ink_path(std::move(path), std::clamp(mean_pen * (1 + draw.bell(0.3f)), 1.1f, 5.0f), draw, image);
}

void draw_rare_digit(int digit, std::uint64_t seed, std::uint64_t index, std::uint8_t* image) {
  Draw draw(seed, index);
  const std::vector<DigitStyle>& rare = rare_styles_of(digit);
  const DigitStyle& style =
      pick_style(!rare.empty() && draw.chance(0.5f) ? rare : styles_of(digit), draw);
  const Distortion distort(digit, 0.4f, draw);
  std::vector<InkPoint> path = write_digit(style, distort, draw);
  ink_path(std::move(path), draw.chance(0.5f) ? draw.uniform(1.2f, 2.6f) : draw.uniform(2.6f, 4.8f),
           draw, image);
}

Dataset generate_digits(const DigitsOptions& options) {
  Dataset dataset;
  dataset.name = "digits";
  for (char c = '0'; c <= '9'; ++c) dataset.class_names.emplace_back(1, c);
  draw_sets(dataset, {.height = kSide, .width = kSide}, options.train, options.test, options.seed,
            draw_digit);
  return dataset;
}

}  // namespace weft::data
