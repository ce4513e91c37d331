// SPDX-License-Identifier: MIT
// Draws what people photograph beside single digits on an empty sheet: cells and grids of forms,
// frames, dotted lines, margins, soft shadows, small writing, tight crops, and rows of unlike size.
#pragma once

#include <string>

#include "tests/e2e/photograph.h"

namespace weft::test {

// A digit to write, and what it is.
struct Sample {
  const std::uint8_t* pixels = nullptr;  // (28, 28)
  int label = 0;
};

// A picture with what stands on it: rows are split by a line break.
struct PageOfDigits {
  data::GreyImage image;
  std::string text;
};

// Grey paper to write on. Lengths are in pixels, levels in grey levels.
class Sheet {
 public:
  Sheet(std::int64_t width, std::int64_t height, float paper)
      : width_(width), height_(height), paper_(paper), values_(size(), paper) {}

  void write(const std::uint8_t* digit, double x, double y, double side, float ink) {
    over(x - 0.5 * side, y - 0.5 * side, x + 0.5 * side, y + 0.5 * side,
         [&](double px, double py, float& value) {
           const double scale = 28 / side;
           const float cover = ink_at(digit, (px - x) * scale + 14, (py - y) * scale + 14);
           value = std::min(value, paper_ + cover * (ink - paper_));
         });
  }

  // A straight line; every `dot` pixels it stops for as long, unless that is 0.
  void line(double x0, double y0, double x1, double y1, double wide, float ink, double dot = 0) {
    const double dx = x1 - x0, dy = y1 - y0, length = std::hypot(dx, dy), reach = wide + 1;
    over(std::min(x0, x1) - reach, std::min(y0, y1) - reach, std::max(x0, x1) + reach,
         std::max(y0, y1) + reach, [&](double px, double py, float& value) {
           const double along = ((px - x0) * dx + (py - y0) * dy) / length;
           const double beside = std::fabs((px - x0) * dy - (py - y0) * dx) / length;
           const bool is_gap = dot > 0 && std::fmod(along / dot, 2.0) >= 1;
           if (along < 0 || along > length || is_gap) return;
           const auto cover = static_cast<float>(std::clamp(0.5 * wide + 0.5 - beside, 0.0, 1.0));
           value = std::min(value, paper_ + cover * (ink - paper_));
         });
  }

  // A shadow with an edge that is `softness` wide.
  void shade(double share, double angle, double offset, double softness) {
    over(0, 0, static_cast<double>(width_), static_cast<double>(height_),
         [&](double x, double y, float& value) {
           const double behind = (x - 0.5 * static_cast<double>(width_)) * std::cos(angle) +
                                 (y - 0.5 * static_cast<double>(height_)) * std::sin(angle) -
                                 offset;
           const double part = std::clamp(0.5 + behind / softness, 0.0, 1.0);
           value *= static_cast<float>(1 - part * (1 - share));
         });
  }

  data::GreyImage take(double noise, Dice& dice) {
    data::GreyImage image{width_, height_, {}};
    for (const float value : values_) {
      const float grain = noise > 0 ? static_cast<float>(noise) * dice.normal() : 0;
      image.pixels.push_back(
          static_cast<std::uint8_t>(std::clamp(value + grain, 0.0f, 255.0f) + 0.5f));
    }
    return image;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(width_ * height_); }
  template <class Do>
  void over(double left, double top, double right, double bottom, const Do& apply) {
    const auto x0 = std::max<std::int64_t>(0, std::llround(left));
    const auto y0 = std::max<std::int64_t>(0, std::llround(top));
    const auto x1 = std::min(width_, static_cast<std::int64_t>(std::ceil(right)) + 1);
    const auto y1 = std::min(height_, static_cast<std::int64_t>(std::ceil(bottom)) + 1);
    for (std::int64_t y = y0; y < y1; ++y) {
      for (std::int64_t x = x0; x < x1; ++x) {
        apply(static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5,
              values_[static_cast<std::size_t>(y * width_ + x)]);
      }
    }
  }

  std::int64_t width_, height_;
  float paper_;
  std::vector<float> values_;
};

enum class PageKind {
  cell,
  grid,
  frame,
  dotted,
  margin,
  soft_shadow,
  small,
  edge,
  stacked,
  unlike,
  tight,
  tight_thick,
  touching,
};

// `least` is the percentage of the digits that must be read right.
inline constexpr struct {
  PageKind kind;
  const char* name;
  int least = 97;
} kPageKinds[] = {{PageKind::cell, "cell of a form", 95},
                  {PageKind::grid, "dark grid", 95},
                  {PageKind::frame, "row in a frame", 95},
                  {PageKind::dotted, "row on a dotted line", 85},
                  {PageKind::margin, "photograph with a margin"},
                  {PageKind::soft_shadow, "soft shadow"},
                  {PageKind::small, "small writing"},
                  {PageKind::edge, "dark edge of the sheet", 95},
                  {PageKind::stacked, "one above the other", 90},
                  {PageKind::unlike, "small digits beside tall ones"},
                  {PageKind::tight, "crop at the edge of the ink", 90},
                  {PageKind::tight_thick, "thick ink, crop at its edge", 75},
                  {PageKind::touching, "two digits that touch each other in a row", 80}};

namespace page_kinds {

struct Extent {  // of the ink of a digit, in its 28 x 28 pixels
  int left = 28, top = 28, right = 0, bottom = 0;
};
inline Extent extent_of(const std::uint8_t* pixels) {
  Extent box;
  for (int i = 0; i < 28 * 28; ++i) {
    if (pixels[i] < 100) continue;
    box.left = std::min(box.left, i % 28);
    box.right = std::max(box.right, i % 28 + 1);
    box.top = std::min(box.top, i / 28);
    box.bottom = std::max(box.bottom, i / 28 + 1);
  }
  return box;
}

// Writes rows of digits, the first at (left, top); returns what it wrote.
template <class Next>
std::string write_rows(Sheet& sheet, std::int64_t rows, std::int64_t columns, double left,
                       double top, double step_x, double step_y, double side, float ink, Dice& dice,
                       const Next& next) {
  std::string text;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (r > 0) text += '\n';
    for (std::int64_t c = 0; c < columns; ++c) {
      const Sample sample = next();
      text += std::to_string(sample.label);
      const double x = left + step_x * static_cast<double>(c),
                   y = top + step_y * static_cast<double>(r);
      sheet.write(sample.pixels, x + 0.03 * side * dice.uniform(-1, 1),
                  y + 0.05 * side * dice.uniform(-1, 1), side * dice.uniform(0.9, 1), ink);
    }
  }
  return text;
}

template <class Next>
PageOfDigits tight_crop(bool is_thick, Dice& dice, const Next& next) {
  const Sample sample = next();
  std::vector<std::uint8_t> pixels(sample.pixels, sample.pixels + 28 * 28);
  if (is_thick) {
    for (int i = 0; i < 28 * 28; ++i) {
      for (const int step : {-1, 1, -28, 28}) {
        const int at = i + step;
        if (at >= 0 && at < 28 * 28)
          pixels[static_cast<std::size_t>(i)] =
              std::max(pixels[static_cast<std::size_t>(i)], sample.pixels[at]);
      }
    }
  }
  const Extent box = extent_of(pixels.data());
  const double scale = dice.uniform(5, 12);
  const auto paper = static_cast<float>(dice.uniform(180, 235));
  Sheet sheet(std::llround(scale * (box.right - box.left)),
              std::llround(scale * (box.bottom - box.top)), paper);
  sheet.write(pixels.data(), scale * (14 - box.left), scale * (14 - box.top), 28 * scale,
              static_cast<float>(dice.uniform(20, 70)));
  return {sheet.take(dice.uniform(1, 5), dice), std::to_string(sample.label)};
}

// A row in which one digit begins where the ink of the one before it ends.
template <class Next>
PageOfDigits touching_row(Dice& dice, const Next& next) {
  const std::int64_t columns = dice.whole(3, 7), together = dice.whole(1, columns - 1);
  const double scale = dice.uniform(2, 5), side = 28 * scale;
  Sheet sheet(std::llround(side * static_cast<double>(columns + 1)), std::llround(1.6 * side),
              static_cast<float>(dice.uniform(190, 250)));
  const auto ink = static_cast<float>(dice.uniform(15, 80));
  std::string text;
  double at = 0.5 * side;  // where the ink of the next digit begins
  for (std::int64_t c = 0; c < columns; ++c) {
    const Sample sample = next();
    const Extent box = extent_of(sample.pixels);
    text += std::to_string(sample.label);
    if (c == together) at -= scale * dice.uniform(0, 1.5);
    sheet.write(sample.pixels, at + scale * (14 - box.left),
                0.8 * side + 0.04 * side * dice.uniform(-1, 1), side, ink);
    at += scale * (box.right - box.left) + (c + 1 == together ? 0 : side * dice.uniform(0.2, 0.4));
  }
  return {sheet.take(dice.uniform(0, 4), dice), text};
}

}  // namespace page_kinds

// `next()` gives the next digit to write.
template <class Next>
PageOfDigits page_of(PageKind kind, Dice& dice, const Next& next) {
  using namespace page_kinds;
  if (kind == PageKind::tight || kind == PageKind::tight_thick) {
    return tight_crop(kind == PageKind::tight_thick, dice, next);
  }
  if (kind == PageKind::touching) return touching_row(dice, next);
  const auto paper = static_cast<float>(dice.uniform(190, 250));
  const auto ink = static_cast<float>(dice.uniform(15, 80)),
             print = static_cast<float>(dice.uniform(5, 60));
  const double noise = dice.uniform(0, 4), slope = dice.uniform(-0.01, 0.01);
  const auto lines = [&](Sheet& sheet, double w, double h, const std::vector<double>& rows,
                         const std::vector<double>& columns, double wide) {
    for (const double y : rows)
      sheet.line(-5, y - slope * w / 2, w + 5, y + slope * w / 2, wide, print);
    for (const double x : columns)
      sheet.line(x + slope * h / 2, -5, x - slope * h / 2, h + 5, wide, print);
  };
  PageOfDigits page;
  if (kind == PageKind::cell) {
    const double w = dice.uniform(160, 500), h = w * dice.uniform(0.75, 1.2),
                 wide = w * dice.uniform(0.012, 0.03);
    Sheet sheet(std::llround(w), std::llround(h), paper);
    lines(sheet, w, h, {h * dice.uniform(0.03, 0.1), h * dice.uniform(0.9, 0.97)},
          {w * dice.uniform(0.03, 0.1), w * dice.uniform(0.9, 0.97)}, wide);
    const Sample sample = next();
    sheet.write(sample.pixels, w * dice.uniform(0.4, 0.6), h * 0.5,
                std::min(w, h) * dice.uniform(0.6, 0.9), ink);
    page = {sheet.take(noise, dice), std::to_string(sample.label)};
  } else if (kind == PageKind::grid) {
    const std::int64_t rows = dice.whole(2, 7), columns = dice.whole(3, 9);
    const double step = dice.uniform(60, 160), w = step * static_cast<double>(columns) + 20,
                 h = step * static_cast<double>(rows) + 20;
    Sheet sheet(std::llround(w), std::llround(h), paper);
    std::vector<double> across, down;
    for (std::int64_t i = 0; i <= rows; ++i) across.push_back(10 + step * static_cast<double>(i));
    for (std::int64_t i = 0; i <= columns; ++i) down.push_back(10 + step * static_cast<double>(i));
    lines(sheet, w, h, across, down, dice.uniform(2, 0.05 * step));
    const std::string text = write_rows(sheet, rows, columns, 10 + 0.5 * step, 10 + 0.5 * step,
                                        step, step, step * dice.uniform(0.6, 0.9), ink, dice, next);
    page = {sheet.take(noise, dice), text};
  } else {
    const bool is_small = kind == PageKind::small, is_stacked = kind == PageKind::stacked;
    const bool is_row =
        kind == PageKind::frame || kind == PageKind::dotted || kind == PageKind::unlike;
    const std::int64_t rows = is_small     ? dice.whole(6, 14)
                              : is_stacked ? 2
                              : is_row     ? 1
                                           : dice.whole(1, 3);
    const std::int64_t columns = is_small ? dice.whole(8, 16) : is_stacked ? 1 : dice.whole(3, 7);
    const double step = is_small ? dice.uniform(70, 110) : dice.uniform(80, 140);
    const double side = is_small ? dice.uniform(56, 64) : step * dice.uniform(0.9, 1.0);
    const double text_w = step * static_cast<double>(columns),
                 text_h = (is_stacked ? 0.85 : 1.1) * step * static_cast<double>(rows);
    const double w = is_small ? 2100 : text_w + step * dice.uniform(0.6, 3),
                 h = is_small ? 2970 : text_h + step * dice.uniform(0.6, 3);
    Sheet sheet(std::llround(w), std::llround(h), paper);
    const double left = 0.5 * (w - text_w) + 0.5 * step,
                 top = 0.5 * (h - text_h) + 0.5 * text_h / static_cast<double>(rows);
    if (kind == PageKind::unlike) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const Sample sample = next();
        page.text += std::to_string(sample.label);
        const double scale = sample.label == 0 ? dice.uniform(0.35, 0.5) : dice.uniform(0.85, 1);
        sheet.write(sample.pixels, left + step * static_cast<double>(c),
                    top + 0.36 * side * (1 - scale), side * scale, ink);
      }
    } else {
      page.text = write_rows(sheet, rows, columns, left, top, step,
                             text_h / static_cast<double>(rows), side, ink, dice, next);
    }
    if (kind == PageKind::frame) {
      const double x0 = 0.5 * (w - text_w) - 0.08 * step, x1 = w - x0,
                   y0 = 0.5 * (h - text_h) + 0.0 * step, y1 = h - y0, wide = dice.uniform(2, 8);
      sheet.line(x0, y0, x1, y0, wide, print);
      sheet.line(x0, y1, x1, y1, wide, print);
      sheet.line(x0, y0, x0, y1, wide, print);
      sheet.line(x1, y0, x1, y1, wide, print);
    } else if (kind == PageKind::dotted) {
      sheet.line(0, top + 0.42 * side, w, top + 0.42 * side + slope * w, 0.03 * side, print,
                 0.03 * side);
    } else if (kind == PageKind::edge) {
      sheet.line(0, 2, 0, h, dice.uniform(4, 16), print);
      sheet.line(0, h, w, h, dice.uniform(4, 16), print);
    }
    if (kind == PageKind::soft_shadow || kind == PageKind::margin) {
      const double least = std::min(w, h);
      sheet.shade(dice.uniform(0.3, 0.6), dice.uniform(0, 6.28), least * dice.uniform(0, 0.4),
                  least * dice.uniform(0.15, 0.6));
    }
    page.image = sheet.take(is_small ? std::max(2.0, noise) : noise, dice);
    if (kind == PageKind::margin) {
      const auto margin = std::llround(dice.uniform(0.02, 0.12) * std::max(w, h));
      data::GreyImage larger{page.image.width + 2 * margin, page.image.height + 2 * margin, {}};
      larger.pixels.assign(static_cast<std::size_t>(larger.width * larger.height),
                           dice.flip() ? 255 : 0);
      for (std::int64_t y = 0; y < page.image.height; ++y) {
        std::copy_n(page.image.pixels.begin() + y * page.image.width, page.image.width,
                    larger.pixels.begin() + (y + margin) * larger.width + margin);
      }
      page.image = std::move(larger);
    }
  }
  return page;
}

}  // namespace weft::test
