// SPDX-License-Identifier: MIT
// Pictures that show no digit: letters, smileys, signs, scribbles, textures and blank paper, drawn
// by code. A picture is a pure function of its kind, seed and index.
//
// Letters that have the shape of a digit are left out, because nobody could tell them apart:
// O o (0), I l i (1), Z z (2), S s (5), b G (6), T J (7), B (8), g q (9), c (a part of many).
// The kinds of data/hard/signs.h are drawn on a sheet, too.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string_view>
#include <vector>

#include "data/hard/signs.h"
#include "data/picture/image.h"
#include "engine/random.h"

namespace weft::test {

using data::Stroke;
using Point = data::PenPoint;

inline constexpr int kSheet = 200;  // the side of a picture in pixels

// Random numbers of one picture, drawn one after the other.
class Chance {
 public:
  Chance(std::uint64_t seed, std::uint64_t index) : seed_(seed), index_(index) {}
  double uniform(double low, double high) {
    const Random4 bits = philox(seed_, RandomStream::data, count_++, index_);
    return low + (high - low) * uniform01(bits.value[0]);
  }
  int whole(int count) { return std::min(count - 1, static_cast<int>(uniform(0, count))); }

 private:
  std::uint64_t seed_, index_;
  std::uint32_t count_ = 0;
};

inline Stroke arc(Point centre, double rx, double ry, double from, double to) {
  Stroke stroke;
  for (int i = 0; i <= 40; ++i) {
    const double angle = from + (to - from) * i / 40;
    stroke.push_back({centre.x + rx * std::cos(angle), centre.y + ry * std::sin(angle)});
  }
  return stroke;
}

// A smooth closed-form wander through the unit square.
inline Stroke wander(Chance& chance, int points) {
  Stroke key, smooth;
  for (int i = 0; i < points; ++i) key.push_back({chance.uniform(-1, 1), chance.uniform(-1, 1)});
  for (std::size_t i = 0; i + 2 < key.size(); ++i) {  // quadratic B-spline
    for (int step = 0; step <= 12; ++step) {
      const double t = step / 12.0;
      const double a = 0.5 * (1 - t) * (1 - t), c = 0.5 * t * t, b = 1 - a - c;
      smooth.push_back({a * key[i].x + b * key[i + 1].x + c * key[i + 2].x,
                        a * key[i].y + b * key[i + 1].y + c * key[i + 2].y});
    }
  }
  return smooth;
}

// Strokes of any extent as ink of a round pen: turned, slanted, scaled to about two thirds of the
// sheet, on paper that is darker or lighter than the ink, with some noise.
inline data::GreyImage drawn(std::vector<Stroke> strokes, Chance& chance) {
  const double turn = chance.uniform(-0.2, 0.2), slant = chance.uniform(-0.25, 0.25);
  const double aspect = chance.uniform(0.8, 1.25), bend = chance.uniform(-0.1, 0.1);
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
  const auto measure = [&](const Point& p) {
    left = std::min(left, p.x), right = std::max(right, p.x);
    top = std::min(top, p.y), bottom = std::max(bottom, p.y);
  };
  for (const Stroke& stroke : strokes) std::for_each(stroke.begin(), stroke.end(), measure);
  const double size = std::max({right - left, bottom - top, 1e-6});
  const Point centre = {(left + right) / 2, (top + bottom) / 2};
  const double scale = kSheet * chance.uniform(0.45, 0.7) / size;
  const Point place = {kSheet * chance.uniform(0.45, 0.55), kSheet * chance.uniform(0.45, 0.55)};
  for (Stroke& stroke : strokes) {
    for (Point& p : stroke) {
      double x = aspect * (p.x - centre.x) / size, y = (p.y - centre.y) / size;
      x += bend * std::sin(4 * y) - slant * y;
      p = {place.x + scale * size * (x - turn * y), place.y + scale * size * (y + turn * x)};
    }
  }
  const double pen = chance.uniform(5, 11), paper = chance.uniform(190, 255);
  const double ink = chance.uniform(0, 90), noise = chance.uniform(0, 6);
  const bool negative = chance.whole(4) == 0;
  std::vector<double> distance(kSheet * kSheet, 1e9);  // from the middle of a stroke
  for (const Stroke& stroke : strokes) {
    for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
      const Point a = stroke[i], b = stroke[i + 1];
      const auto inside = [](double v) { return std::clamp(static_cast<int>(v), 0, kSheet - 1); };
      const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy + 1e-12;
      for (int y = inside(std::min(a.y, b.y) - pen); y <= inside(std::max(a.y, b.y) + pen); ++y) {
        for (int x = inside(std::min(a.x, b.x) - pen); x <= inside(std::max(a.x, b.x) + pen); ++x) {
          const double t = std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length, 0.0, 1.0);
          double& nearest = distance[static_cast<std::size_t>(y * kSheet + x)];
          nearest = std::min(nearest, std::hypot(x - a.x - t * dx, y - a.y - t * dy));
        }
      }
    }
  }
  data::GreyImage image{kSheet, kSheet, {}};
  for (const double nearest : distance) {
    const double covered = std::clamp(pen / 2 - nearest + 0.5, 0.0, 1.0);
    const double value = paper + (ink - paper) * covered + chance.uniform(-noise, noise);
    image.pixels.push_back(
        static_cast<std::uint8_t>(std::clamp(negative ? 255 - value : value, 0.0, 255.0)));
  }
  return image;
}

inline data::GreyImage letter(Chance& chance) {
  constexpr std::string_view kLetters = "ACDEFHKLMNPQRUVWXYadefhjkmnprtuvwxy";
  const char one =
      kLetters[static_cast<std::size_t>(chance.whole(static_cast<int>(kLetters.size())))];
  return drawn(data::stroke_text(std::string_view(&one, 1), 100).strokes, chance);
}

inline data::GreyImage smiley(Chance& chance) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const double apart = chance.uniform(0.25, 0.45), high = chance.uniform(0.2, 0.4);
  std::vector<Stroke> strokes = {arc({0, 0}, 1, 1, 0, kTurn)};
  for (const double side : {-apart, apart}) {
    const double eye = chance.uniform(0.02, 0.12);
    strokes.push_back(arc({side, -high}, eye, 1.5 * eye, 0, kTurn));
  }
  const double wide = chance.uniform(0.35, 0.6), deep = chance.uniform(0.1, 0.5);
  const bool sad = chance.whole(4) == 0;
  strokes.push_back(arc({0, sad ? 0.7 : 0.2}, wide, sad ? -deep : deep, 0, std::numbers::pi));
  if (chance.whole(2) == 0) strokes.push_back({{0, -0.1}, {-0.08, 0.15}, {0.05, 0.15}});
  return drawn(strokes, chance);
}

// Stars, houses, hearts, arrows, crosses, spirals, triangles and trees.
inline data::GreyImage sign(Chance& chance) {
  constexpr double kTurn = 2 * std::numbers::pi;
  std::vector<Stroke> strokes;
  switch (chance.whole(8)) {
    case 0: {
      Stroke star;
      for (int i = 0; i <= 5; ++i)
        star.push_back({std::sin(i * 0.4 * kTurn), -std::cos(i * 0.4 * kTurn)});
      strokes = {star};
      break;
    }
    case 1:
      strokes = {{{-1, 1}, {-1, -0.2}, {1, -0.2}, {1, 1}, {-1, 1}},
                 {{-1, -0.2}, {0, -1}, {1, -0.2}},
                 {{-0.2, 1}, {-0.2, 0.4}, {0.2, 0.4}, {0.2, 1}}};
      break;
    case 2:
      strokes = {arc({-0.5, -0.4}, 0.5, 0.5, 0.45 * kTurn, kTurn),
                 arc({0.5, -0.4}, 0.5, 0.5, 0.5 * kTurn, 1.05 * kTurn),
                 {{-0.97, -0.25}, {0, 1}, {0.97, -0.25}}};
      break;
    case 3:
      strokes = {{{-1, 0}, {1, 0}}, {{0.5, -0.5}, {1, 0}, {0.5, 0.5}}};
      break;
    case 4:
      strokes = {{{-1, 0}, {1, 0}}, {{0, -1}, {0, 1}}};
      break;
    case 5: {
      Stroke spiral;
      for (int i = 0; i <= 120; ++i)
        spiral.push_back({i * std::cos(i * 0.16), i * std::sin(i * 0.16)});
      strokes = {spiral};
      break;
    }
    case 6:
      strokes = {{{0, -1}, {1, 0.8}, {-1, 0.8}, {0, -1}}};
      break;
    default:
      strokes = {
          {{0, 1}, {0, -1}}, {{-0.6, -0.6}, {0, 0}, {0.6, -0.6}}, {{-0.8, 0}, {0, 0.6}, {0.8, 0}}};
  }
  return drawn(strokes, chance);
}

inline data::GreyImage scribble(Chance& chance) {
  std::vector<Stroke> strokes;
  for (int i = chance.whole(3); i >= 0; --i)
    strokes.push_back(wander(chance, 8 + chance.whole(16)));
  return drawn(strokes, chance);
}

inline data::GreyImage of_pixels(const std::function<double(double, double)>& value) {
  data::GreyImage image{kSheet, kSheet, {}};
  for (int y = 0; y < kSheet; ++y) {
    for (int x = 0; x < kSheet; ++x) {
      image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value(x, y), 0.0, 255.0)));
    }
  }
  return image;
}

// Stripes, checks, dots, wood and grain.
inline data::GreyImage texture(Chance& chance) {
  const double middle = chance.uniform(80, 180), depth = chance.uniform(20, 70);
  const double period = chance.uniform(8, 60), angle = chance.uniform(0, 3),
               noise = chance.uniform(0, 20);
  const double c = std::cos(angle) / period, s = std::sin(angle) / period;
  const int kind = chance.whole(5);
  std::vector<double> grain;  // values of a coarse grid, for the last kind
  for (int i = 0; i < 26 * 26; ++i) grain.push_back(chance.uniform(-1, 1));
  return of_pixels([&](double x, double y) {
    const double u = 2 * std::numbers::pi * (c * x + s * y),
                 v = 2 * std::numbers::pi * (c * y - s * x);
    double wave = 0;
    if (kind == 0) wave = std::sin(u);
    if (kind == 1) wave = std::sin(u) * std::sin(v) > 0 ? 1 : -1;
    if (kind == 2) wave = std::sin(u) + std::sin(v) > 1.2 ? 1 : -1;
    if (kind == 3) wave = std::sin(u + 2 * std::sin(0.3 * v));
    if (kind == 4) {
      const double gx = x / 8, gy = y / 8, fx = gx - std::floor(gx), fy = gy - std::floor(gy);
      const auto at = [&](int i, int j) {
        return grain[static_cast<std::size_t>((static_cast<int>(gy) + j) * 26 +
                                              static_cast<int>(gx) + i)];
      };
      wave = (1 - fy) * ((1 - fx) * at(0, 0) + fx * at(1, 0)) +
             fy * ((1 - fx) * at(0, 1) + fx * at(1, 1));
    }
    return middle + depth * wave + chance.uniform(-noise, noise);
  });
}

// Paper in the light of a lamp, with the noise of a camera and now and then a speck.
inline data::GreyImage blank_paper(Chance& chance) {
  const double light = chance.uniform(120, 245), noise = chance.uniform(0, 8);
  const double across = chance.uniform(-0.3, 0.3), down = chance.uniform(-0.3, 0.3);
  const double speck_x = chance.uniform(20, 180), speck_y = chance.uniform(20, 180);
  const double speck = chance.whole(2) == 0 ? 0 : chance.uniform(0.5, 2);
  return of_pixels([&](double x, double y) {
    const bool dirty = std::hypot(x - speck_x, y - speck_y) < speck;
    return light + across * (x - 100) + down * (y - 100) - (dirty ? 60 : 0) +
           chance.uniform(-noise, noise);
  });
}

// A drawing of one of data::sign_kinds() on a sheet.
inline data::GreyImage sign_on_sheet(const data::SignKind& kind, std::uint64_t seed,
                                     std::uint64_t index) {
  data::Draw draw(seed, index);
  Chance chance(seed + 1, index);
  return drawn(data::draw_sign(kind, draw), chance);
}

struct NonDigitKind {
  const char* name;
  data::GreyImage (*draw)(Chance&);
};

inline constexpr NonDigitKind kNonDigits[] = {{"letter", letter},   {"smiley", smiley},
                                              {"sign", sign},       {"scribble", scribble},
                                              {"texture", texture}, {"paper", blank_paper}};

}  // namespace weft::test
