// SPDX-License-Identifier: MIT
// Draws photographs of handwritten digits: paper with rules, on a table, in bad light, through a
// camera that turns, blurs, adds noise and compresses.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "data/ink/colour.h"
#include "data/picture/image.h"
#include "data/picture/stb.h"
#include "engine/error.h"

namespace weft::test {

// Random numbers that are the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(bits_() >> 11) * 0x1p-53;
  }
  std::int64_t whole(std::int64_t low, std::int64_t high) {  // both may come
    return low + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool flip() { return bits_() >> 63 != 0; }
  // Sum of four uniform numbers, standard deviation 1.
  float normal() {
    const std::uint64_t b = bits_();
    const auto sum = (b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48);
    return (static_cast<float>(sum) / 65536.0f - 2.0f) * 1.7320508f;
  }

 private:
  std::mt19937_64 bits_;
};

using Colour = std::array<float, 3>;  // red, green, blue; reflectance 0 to 1

struct WrittenDigit {
  const std::uint8_t* pixels = nullptr;  // (28, 28); 255 ink
  double x = 0, y = 0;                   // where its centre is on the paper, in pixels
  double side = 0;                       // of its 28 x 28 square, in pixels
};

// Lengths are in pixels of the photograph.
struct Photograph {
  std::int64_t width = 0, height = 0;
  std::vector<WrittenDigit> digits;
  Colour paper = {0.85f, 0.85f, 0.85f}, ink = {0.12f, 0.12f, 0.12f};
  double ink_grain = 0;  // of pencil: how much the ink varies from point to point
  // Rules: the distance from one to the next (0: none), their width and reflectance.
  double rule_step = 0, rule_width = 0;
  float rule = 0.6f;
  bool is_squared = false;
  double angle = 0, tilt_x = 0, tilt_y = 0;  // radians; change of scale over half the picture
  // The paper ends at this distance from the left and the upper border; beyond is the table.
  double table_left = -1e9, table_top = -1e9;
  float table = 0.18f;
  // The light is `shade` times as strong behind an edge that is `shade_softness` wide.
  double shade = 1, shade_angle = 0, shade_offset = 0, shade_softness = 1;
  double light_slope = 0;  // brighter by this share at the right border
  double blur = 0;         // standard deviation
  double noise = 0;        // standard deviation in grey levels
  int jpeg_quality = 0;    // 0: not compressed
};

// The 28 x 28 picture at (u, v) in [0, 28), between its pixels.
inline float ink_at(const std::uint8_t* pixels, double u, double v) {
  const auto value = [&](int x, int y) {
    return x < 0 || y < 0 || x > 27 || y > 27 ? 0.0f : static_cast<float>(pixels[y * 28 + x]);
  };
  const double x = u - 0.5, y = v - 0.5;
  const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
  const auto a = static_cast<float>(x - left), b = static_cast<float>(y - top);
  return ((1 - b) * ((1 - a) * value(left, top) + a * value(left + 1, top)) +
          b * ((1 - a) * value(left, top + 1) + a * value(left + 1, top + 1))) /
         255;
}

// How much of a pixel a rule covers whose middle is `distance` away.
inline double rule_cover(double at, double step, double width) {
  const double distance = std::fabs(at - step * std::round(at / step));
  return std::clamp(0.5 * width + 0.5 - distance, 0.0, std::min(1.0, width));
}

// Three passes of a box filter are close to a Gaussian of this standard deviation.
inline void blur_plane(std::vector<float>& plane, std::int64_t width, std::int64_t height,
                       double deviation) {
  const auto radius = static_cast<std::int64_t>(std::lround(deviation));
  if (radius < 1) return;
  const auto pass = [&](std::int64_t lines, std::int64_t length, std::int64_t line_step,
                        std::int64_t step) {
    std::vector<float> line(static_cast<std::size_t>(length));
    for (std::int64_t l = 0; l < lines; ++l) {
      float* first = plane.data() + l * line_step;
      const auto at = [&](std::int64_t i) {
        return first[std::clamp<std::int64_t>(i, 0, length - 1) * step];
      };
      float sum = 0;
      for (std::int64_t i = -radius; i <= radius; ++i) sum += at(i);
      for (std::int64_t i = 0; i < length; ++i) {
        line[static_cast<std::size_t>(i)] = sum / static_cast<float>(2 * radius + 1);
        sum += at(i + radius + 1) - at(i - radius);
      }
      for (std::int64_t i = 0; i < length; ++i) first[i * step] = line[static_cast<std::size_t>(i)];
    }
  };
  for (int i = 0; i < 3; ++i) {
    pass(height, width, width, 1);
    pass(width, height, 1, width);
  }
}

inline data::Bytes encode_jpeg(const data::Bytes& rgb, std::int64_t width, std::int64_t height,
                               int quality) {
  data::Bytes jpeg;
  const auto append = [](void* context, void* bytes, int size) {
    const auto* begin = static_cast<const std::uint8_t*>(bytes);
    auto& out = *static_cast<data::Bytes*>(context);
    out.insert(out.end(), begin, begin + size);
  };
  stbi_write_jpg_to_func(append, &jpeg, static_cast<int>(width), static_cast<int>(height), 3,
                         rgb.data(), quality);
  return jpeg;
}

class Camera {
 public:
  Camera(const Photograph& scene, std::uint64_t seed)
      : scene_(scene),
        dice_(seed),
        cos_(std::cos(scene.angle)),
        sin_(std::sin(scene.angle)),
        shade_cos_(std::cos(scene.shade_angle)),
        shade_sin_(std::sin(scene.shade_angle)) {}

  // (height, width, 3)
  data::Bytes take() {
    const auto pixels = static_cast<std::size_t>(scene_.width * scene_.height);
    for (auto& plane : planes_) plane.resize(pixels);
    for (std::int64_t y = 0; y < scene_.height; ++y) {
      for (std::int64_t x = 0; x < scene_.width; ++x) expose(x, y);
    }
    const bool is_grey = planes_[0] == planes_[1] && planes_[1] == planes_[2];
    data::Bytes rgb(3 * pixels);
    for (std::size_t c = 0; c < 3; ++c) {
      if (c == 0 || !is_grey) blur_plane(planes_[c], scene_.width, scene_.height, scene_.blur);
    }
    for (std::size_t i = 0; i < pixels; ++i) {
      const float grain = static_cast<float>(scene_.noise) * dice_.normal();
      for (std::size_t c = 0; c < 3; ++c) {
        const float value = 255 * planes_[is_grey ? 0 : c][i] + grain;
        rgb[3 * i + c] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f);
      }
    }
    return rgb;
  }

 private:
  void expose(std::int64_t x, std::int64_t y) {
    const double half_x = 0.5 * static_cast<double>(scene_.width);
    const double half_y = 0.5 * static_cast<double>(scene_.height);
    const double dx = static_cast<double>(x) + 0.5 - half_x;
    const double dy = static_cast<double>(y) + 0.5 - half_y;
    const double depth = 1 + scene_.tilt_x * dx / half_x + scene_.tilt_y * dy / half_y;
    const double u = (cos_ * dx + sin_ * dy) / depth + half_x;
    const double v = (cos_ * dy - sin_ * dx) / depth + half_y;
    Colour colour = scene_.paper;
    const bool is_table = u < scene_.table_left || v < scene_.table_top;
    if (is_table) {
      colour.fill(scene_.table * (1 + 0.15f * static_cast<float>(std::sin(v / 9 + u / 70))));
    } else {
      if (scene_.rule_step > 0) {
        double cover = rule_cover(v, scene_.rule_step, scene_.rule_width);
        if (scene_.is_squared) {
          cover = std::max(cover, rule_cover(u, scene_.rule_step, scene_.rule_width));
        }
        for (float& value : colour) value *= 1 - static_cast<float>(cover) * (1 - scene_.rule);
      }
      float cover = 0;
      for (const WrittenDigit& digit : scene_.digits) {
        const double scale = 28 / digit.side;
        const double ink_u = (u - digit.x) * scale + 14, ink_v = (v - digit.y) * scale + 14;
        if (ink_u < 0 || ink_v < 0 || ink_u >= 28 || ink_v >= 28) continue;
        cover = std::max(cover, ink_at(digit.pixels, ink_u, ink_v));
      }
      if (cover > 0 && scene_.ink_grain > 0) {
        cover *= 1 - static_cast<float>(scene_.ink_grain * dice_.uniform(0, 1));
      }
      for (std::size_t k = 0; k < 3; ++k) colour[k] += cover * (scene_.ink[k] - colour[k]);
    }
    const double behind = dx * shade_cos_ + dy * shade_sin_ - scene_.shade_offset;
    const double part = std::clamp(0.5 + behind / scene_.shade_softness, 0.0, 1.0);
    const double light = (1 - part * (1 - scene_.shade)) * (1 + scene_.light_slope * dx / half_x);
    const auto at = static_cast<std::size_t>(y * scene_.width + x);
    for (std::size_t k = 0; k < 3; ++k) planes_[k][at] = colour[k] * static_cast<float>(light);
  }

  const Photograph& scene_;
  Dice dice_;
  double cos_, sin_, shade_cos_, shade_sin_;
  std::array<std::vector<float>, 3> planes_;
};

// The photograph as predict would decode it.
inline data::GreyImage take_photograph(const Photograph& scene, std::uint64_t seed) {
  const data::Bytes rgb = Camera(scene, seed).take();
  if (scene.jpeg_quality > 0) {
    return data::decode_ink_image(encode_jpeg(rgb, scene.width, scene.height, scene.jpeg_quality),
                                  "photograph");
  }
  const std::string header = str("P6\n", scene.width, " ", scene.height, "\n255\n");
  data::Bytes pnm(header.begin(), header.end());
  pnm.insert(pnm.end(), rgb.begin(), rgb.end());
  return data::decode_ink_image(pnm, "photograph");
}

// The kinds of photograph.
enum class Kind {
  shadow,
  ruled,
  squared,
  table,
  pencil,
  noise,
  jpeg,
  blur,
  rotation,
  perspective,
  coloured,
  border,
  everything,
  colour_only,
};

// `least` is the percentage of a hundred that must be read right, `least_of_few` that of fewer. The
// first twenty of pencil hold most of its mistakes. The last but one has all difficulties at once.
inline constexpr struct {
  Kind kind;
  const char* name;
  int least_of_few = 95, least = 95;
} kKinds[] = {{Kind::shadow, "shadow edge, noise and JPEG"},
              {Kind::ruled, "ruled paper in flat light"},
              {Kind::squared, "squared paper"},
              {Kind::table, "table that is dark at two borders"},
              {Kind::pencil, "pencil under a shadow edge", 85},
              {Kind::noise, "noise"},
              {Kind::jpeg, "JPEG"},
              {Kind::blur, "blur"},
              {Kind::rotation, "rotation"},
              {Kind::perspective, "perspective"},
              {Kind::coloured, "coloured paper"},
              {Kind::border, "digit that touches the border"},
              {Kind::everything, "squared paper on a table under a shadow edge, turned", 85, 88},
              {Kind::colour_only, "red on blue of the same brightness"}};

inline void add_shadow(Photograph& scene, Dice& dice) {
  const auto side = static_cast<double>(std::min(scene.width, scene.height));
  scene.shade = dice.uniform(0.4, 0.65);
  scene.shade_angle = dice.uniform(0, 6.28);
  scene.shade_offset = side * dice.uniform(-0.25, 0.25);
  scene.shade_softness = side * dice.uniform(0.005, 0.06);
  scene.light_slope = dice.uniform(-0.1, 0.1);
  scene.noise = dice.uniform(3, 8);
  scene.jpeg_quality = static_cast<int>(dice.whole(45, 85));
}

inline void add_rules(Photograph& scene, Dice& dice, bool is_squared) {
  const auto side = static_cast<double>(std::min(scene.width, scene.height));
  scene.is_squared = is_squared;
  scene.rule_step = side * (is_squared ? dice.uniform(0.04, 0.08) : dice.uniform(0.07, 0.13));
  scene.rule_width = side * dice.uniform(0.002, 0.005);
  scene.rule = static_cast<float>(dice.uniform(0.5, 0.75));
}

inline void add_table(Photograph& scene, Dice& dice) {
  scene.table_left = static_cast<double>(scene.width) * dice.uniform(0.03, 0.16);
  scene.table_top = static_cast<double>(scene.height) * dice.uniform(0.03, 0.16);
  scene.table = static_cast<float>(dice.uniform(0.08, 0.3));
}

// A sheet with nothing on it yet, of 600 to 3000 pixels.
inline Photograph sheet(Dice& dice) {
  Photograph scene;
  const double longer = 600 * std::pow(5.0, std::pow(dice.uniform(0, 1), 3));  // mostly small
  const double share = dice.uniform(0.7, 1);
  scene.width = static_cast<std::int64_t>(longer);
  scene.height = static_cast<std::int64_t>(longer * share);
  if (scene.height < 600) scene.height = 600;
  if (dice.flip()) std::swap(scene.width, scene.height);
  const auto paper = static_cast<float>(dice.uniform(0.7, 0.92));
  const auto ink = static_cast<float>(dice.uniform(0.08, 0.25));
  scene.paper.fill(paper);
  scene.ink.fill(ink);
  scene.noise = dice.uniform(1, 3);
  return scene;
}

inline Photograph photograph_of(const std::uint8_t* pixels, Kind kind, Dice& dice) {
  Photograph scene = sheet(dice);
  const auto width = static_cast<double>(scene.width), height = static_cast<double>(scene.height);
  const double side = std::min(width, height) * dice.uniform(0.3, 0.7);
  WrittenDigit digit{pixels, 0.5 * width + (0.45 * width - 0.5 * side) * dice.uniform(-0.6, 0.6),
                     0.5 * height + (0.45 * height - 0.5 * side) * dice.uniform(-0.6, 0.6), side};
  switch (kind) {
    case Kind::shadow:
      add_shadow(scene, dice);
      break;
    case Kind::ruled:
    case Kind::squared:
      add_rules(scene, dice, kind == Kind::squared);
      scene.angle = dice.uniform(-0.05, 0.05);
      break;
    case Kind::table:
      add_table(scene, dice);
      scene.angle = dice.uniform(-0.05, 0.05);
      break;
    case Kind::pencil:
      add_shadow(scene, dice);
      scene.ink.fill(scene.paper[0] * static_cast<float>(dice.uniform(0.5, 0.68)));
      scene.ink_grain = 0.5;
      break;
    case Kind::noise:
      scene.noise = dice.uniform(15, 30);
      break;
    case Kind::jpeg:
      scene.jpeg_quality = static_cast<int>(dice.whole(8, 25));
      break;
    case Kind::blur:
      scene.blur = side / 28 * dice.uniform(0.4, 0.9);
      break;
    case Kind::rotation:
      scene.angle = dice.uniform(-0.21, 0.21);
      break;
    case Kind::perspective:
      scene.tilt_x = dice.uniform(-0.15, 0.15);
      scene.tilt_y = dice.uniform(-0.15, 0.15);
      break;
    case Kind::coloured:
      for (float& value : scene.paper) value = static_cast<float>(dice.uniform(0.5, 0.95));
      scene.ink = {0.1f, 0.1f, 0.1f};
      scene.ink[static_cast<std::size_t>(dice.whole(0, 2))] =
          static_cast<float>(dice.uniform(0.1, 0.5));
      break;
    case Kind::border: {
      // The ink's own box, so that the stroke and not the margin comes to the border.
      int first = 28, last = -1;
      const bool is_left = dice.flip();
      for (int i = 0; i < 28 * 28; ++i) {
        if (pixels[i] < 128) continue;
        first = std::min(first, is_left ? i % 28 : i / 28);
        last = std::max(last, is_left ? i % 28 : i / 28);
      }
      const bool is_far = dice.flip();
      const double edge = (is_far ? 14 - (last + 1) : 14 - first) * side / 28;
      (is_left ? digit.x : digit.y) = is_far ? edge + (is_left ? width : height) : edge;
      break;
    }
    case Kind::everything:
      add_shadow(scene, dice);
      add_rules(scene, dice, true);
      add_table(scene, dice);
      scene.angle = dice.uniform(-0.08, 0.08);
      scene.tilt_x = dice.uniform(-0.06, 0.06);
      scene.tilt_y = dice.uniform(-0.06, 0.06);
      break;
    case Kind::colour_only: {
      const auto any = [&](double low, double high) {
        return static_cast<float>(dice.uniform(low, high));
      };
      scene.paper = {any(0.2, 0.35), any(0.42, 0.5), any(0.85, 0.95)};
      scene.ink = {any(0.8, 0.95), 0, any(0.1, 0.3)};
      const float brightness =
          0.3f * scene.paper[0] + 0.59f * scene.paper[1] + 0.11f * scene.paper[2];
      scene.ink[1] = (brightness - 0.3f * scene.ink[0] - 0.11f * scene.ink[2]) / 0.59f;
      if (dice.flip()) scene.jpeg_quality = static_cast<int>(dice.whole(60, 90));
      break;
    }
  }
  scene.digits = {digit};
  return scene;
}

// A page of digits in rows, as a telephone number or a form has them.
inline Photograph page_of(const std::vector<std::vector<const std::uint8_t*>>& rows, Dice& dice) {
  Photograph scene = sheet(dice);
  const auto width = static_cast<double>(scene.width), height = static_cast<double>(scene.height);
  std::size_t most = 0;
  for (const auto& row : rows) most = std::max(most, row.size());
  const double room = std::min(0.9 * width / static_cast<double>(most),
                               0.8 * height / static_cast<double>(rows.size()));
  const double side = room * dice.uniform(0.85, 1.05);
  scene.angle = dice.uniform(-0.05, 0.05);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double left = 0.5 * (width - room * static_cast<double>(rows[r].size() - 1));
    const double shift = dice.uniform(-1, 1) * 0.3 * (left - 0.5 * room);
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const double scale = side * dice.uniform(0.85, 1);
      scene.digits.push_back(
          {rows[r][i],
           left + shift + room * static_cast<double>(i) + 0.03 * side * dice.uniform(-1, 1),
           0.5 * height +
               1.1 * room * (static_cast<double>(r) - 0.5 * static_cast<double>(rows.size() - 1)) +
               0.06 * side * dice.uniform(-1, 1),
           scale});
    }
  }
  switch (dice.whole(0, 4)) {
    case 0:
      add_shadow(scene, dice);
      break;
    case 1:
      add_rules(scene, dice, dice.flip());
      break;
    case 2:
      scene.noise = dice.uniform(8, 15);
      scene.jpeg_quality = static_cast<int>(dice.whole(30, 80));
      break;
    default:
      scene.light_slope = dice.uniform(-0.2, 0.2);
  }
  return scene;
}

}  // namespace weft::test
