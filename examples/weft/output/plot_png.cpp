// SPDX-License-Identifier: MIT
// Rasterises a plot: areas by scan lines, lines and letters as rounded strokes, all smoothed.
#include <algorithm>
#include <array>
#include <cmath>

#include "data/picture/image.h"
#include "examples/weft/output/plot.h"

namespace weft::cli {
namespace {

struct Paint {
  std::array<double, 3> rgb;
  double opacity = 1;
};

// The light colours of the SVG's style sheet.
Paint paint_of(Ink ink) {
  constexpr std::array<Paint, 9> kPaints = {{{{36, 41, 47}},
                                             {{87, 96, 106}},
                                             {{140, 149, 159}},
                                             {{140, 149, 159}, 0.28},
                                             {{59, 125, 216}},
                                             {{229, 72, 77}},
                                             {{48, 164, 108}},
                                             {{59, 125, 216}},
                                             {{110, 119, 129}}}};
  return kPaints[static_cast<std::size_t>(ink)];
}

class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width),
        height_(height),
        colour_(static_cast<std::size_t>(3 * width * height), 255.0f),
        cover_(static_cast<std::size_t>(width * height), 0.0f) {}

  // Even-odd filling: the exact share of each pixel in four rows of sub-scan-lines.
  void fill(const std::vector<Point>& outline, const Paint& paint) {
    constexpr int kSubRows = 4;
    clear_box();
    for (const Point& point : outline) grow_box(point, 1);
    std::vector<double> crossings;
    for (int y = top_; y < bottom_; ++y) {
      for (int sub = 0; sub < kSubRows; ++sub) {
        const double at = y + (sub + 0.5) / kSubRows;
        crossings.clear();
        for (std::size_t i = 0; i < outline.size(); ++i) {
          const Point &a = outline[i], &b = outline[(i + 1) % outline.size()];
          if ((a.y <= at) == (b.y <= at)) continue;
          crossings.push_back(a.x + (at - a.y) / (b.y - a.y) * (b.x - a.x));
        }
        std::sort(crossings.begin(), crossings.end());
        for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
          add_span(y, crossings[i], crossings[i + 1], 1.0 / kSubRows);
        }
      }
    }
    blend(paint);
  }

  // All strokes are one shape: where they cross, nothing is painted twice.
  void draw(const std::vector<data::Stroke>& strokes, Point at, double width, const Paint& paint) {
    clear_box();
    const double radius = width / 2;
    for (const data::Stroke& stroke : strokes) {
      for (const Point& point : stroke) grow_box({at.x + point.x, at.y + point.y}, radius + 1);
    }
    for (const data::Stroke& stroke : strokes) {
      for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
        add_capsule({at.x + stroke[i].x, at.y + stroke[i].y},
                    {at.x + stroke[i + 1].x, at.y + stroke[i + 1].y}, radius);
      }
    }
    blend(paint);
  }

  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> out;
    out.reserve(colour_.size());
    for (const float value : colour_) out.push_back(static_cast<std::uint8_t>(value + 0.5f));
    return out;
  }

 private:
  void clear_box() {
    left_ = width_;
    top_ = height_;
    right_ = bottom_ = 0;
  }
  void grow_box(Point point, double margin) {
    const auto within = [](double value, int limit) {
      return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(limit)));
    };
    left_ = std::min(left_, within(std::floor(point.x - margin), width_));
    top_ = std::min(top_, within(std::floor(point.y - margin), height_));
    right_ = std::max(right_, within(std::ceil(point.x + margin), width_));
    bottom_ = std::max(bottom_, within(std::ceil(point.y + margin), height_));
  }
  float& cover(int x, int y) {
    return cover_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                  static_cast<std::size_t>(x)];
  }

  void add_span(int y, double from, double to, double share) {
    from = std::clamp(from, 0.0, static_cast<double>(width_));
    to = std::clamp(to, 0.0, static_cast<double>(width_));
    for (int x = static_cast<int>(from); x < width_ && x < to; ++x) {
      const double part = std::min(to, x + 1.0) - std::max(from, static_cast<double>(x));
      cover(x, y) += static_cast<float>(share * part);
    }
  }

  void add_capsule(Point a, Point b, double radius) {
    const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    const auto low = [&](double u, double v, int limit) {
      return std::max(limit, static_cast<int>(std::floor(std::min(u, v) - radius - 1)));
    };
    const auto high = [&](double u, double v, int limit) {
      return std::min(limit, static_cast<int>(std::ceil(std::max(u, v) + radius + 1)));
    };
    for (int y = low(a.y, b.y, top_); y < high(a.y, b.y, bottom_); ++y) {
      for (int x = low(a.x, b.x, left_); x < high(a.x, b.x, right_); ++x) {
        const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
        const double t = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0.0;
        const double away_x = px - t * dx, away_y = py - t * dy;
        const double distance = std::sqrt(away_x * away_x + away_y * away_y);
        const double part = std::clamp(radius + 0.5 - distance, 0.0, 1.0);
        cover(x, y) = std::max(cover(x, y), static_cast<float>(part));
      }
    }
  }

  // Paints what is covered, and uncovers it for the next shape.
  void blend(const Paint& paint) {
    for (int y = top_; y < bottom_; ++y) {
      for (int x = left_; x < right_; ++x) {
        const float part = std::min(1.0f, cover(x, y)) * static_cast<float>(paint.opacity);
        cover(x, y) = 0;
        if (part == 0) continue;
        float* pixel = colour_.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width_ + x);
        for (std::size_t c = 0; c < 3; ++c) {
          pixel[c] += part * (static_cast<float>(paint.rgb[c]) - pixel[c]);
        }
      }
    }
  }

  int width_, height_;
  std::vector<float> colour_;                        // (height, width, 3), 0 to 255
  std::vector<float> cover_;                         // (height, width), of the shape being drawn
  int left_ = 0, top_ = 0, right_ = 0, bottom_ = 0;  // the box that holds it
};

std::vector<Point> scaled(std::vector<Point> points, double scale) {
  for (Point& point : points) point = {point.x * scale, point.y * scale};
  return points;
}

void draw(Canvas& canvas, const Area& area, double scale) {
  Paint paint = paint_of(area.ink);
  paint.opacity *= area.opacity;
  canvas.fill(scaled(area.outline, scale), paint);
}

void draw(Canvas& canvas, const Line& line, double scale) {
  canvas.draw({scaled(line.points, scale)}, {0, 0}, line.width * scale, paint_of(line.ink));
}

void draw(Canvas& canvas, const Text& text, double scale) {
  const data::StrokeText strokes = data::stroke_text(text.text, text.size * scale);
  Point at{text.at.x * scale, text.at.y * scale};
  if (text.anchor == Anchor::middle) at.x -= strokes.width / 2;
  if (text.anchor == Anchor::end) at.x -= strokes.width;
  const double weight = text.ink == Ink::title ? 0.115 : 0.088;
  canvas.draw(strokes.strokes, at, weight * text.size * scale, paint_of(text.ink));
}

}  // namespace

data::Bytes plot_png(const Plot& plot, int scale) {
  const int width = static_cast<int>(std::lround(plot.width * scale));
  const int height = static_cast<int>(std::lround(plot.height * scale));
  Canvas canvas(width, height);
  for (const auto& shape : plot.shapes) {
    std::visit([&](const auto& one) { draw(canvas, one, scale); }, shape);
  }
  return data::encode_png(canvas.bytes(), width, height, 3);
}

}  // namespace weft::cli
