// SPDX-License-Identifier: MIT
#include "data/hard/signs.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

namespace weft::data {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
using Strokes = std::vector<Stroke>;

Stroke arc_of(PenPoint centre, double rx, double ry, double from, double to) {
  Stroke stroke;
  for (int i = 0; i <= 32; ++i) {
    const double angle = from + (to - from) * i / 32;
    stroke.push_back({centre.x + rx * std::cos(angle), centre.y + ry * std::sin(angle)});
  }
  return stroke;
}

Stroke circle(PenPoint centre, double radius) {
  return arc_of(centre, radius, radius, 0, kTurn);
}

// Around a centre, each second point nearer to it.
Stroke star_of(int points, double inner) {
  Stroke star;
  for (int i = 0; i <= 2 * points; ++i) {
    const double radius = i % 2 == 0 ? 1 : inner, angle = i * kTurn / (2 * points);
    star.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  return star;
}

// A smooth wander through a square: a quadratic B-spline.
Stroke wander_of(Draw& draw, int points) {
  Stroke key, smooth;
  for (int i = 0; i < points; ++i) key.push_back({draw.uniform(-1, 1), draw.uniform(-1, 1)});
  for (std::size_t i = 0; i + 2 < key.size(); ++i) {
    for (int step = 0; step <= 8; ++step) {
      const double t = step / 8.0, a = 0.5 * (1 - t) * (1 - t), c = 0.5 * t * t, b = 1 - a - c;
      smooth.push_back({a * key[i].x + b * key[i + 1].x + c * key[i + 2].x,
                        a * key[i].y + b * key[i + 1].y + c * key[i + 2].y});
    }
  }
  return smooth;
}

int whole(Draw& draw, int low, int high) {  // both may come
  return std::min(high,
                  low + static_cast<int>(draw.uniform(0, static_cast<float>(high + 1 - low))));
}

Strokes pentagram(Draw&) {
  Stroke star;
  for (int i = 0; i <= 5; ++i)
    star.push_back({std::sin(i * 0.4 * kTurn), -std::cos(i * 0.4 * kTurn)});
  return {star};
}
Strokes star(Draw& draw) {
  return {star_of(whole(draw, 4, 7), draw.uniform(0.3f, 0.6f))};
}
Strokes house(Draw& draw) {
  const double door = draw.uniform(-0.5f, 0.5f);
  return {{{-1, 1}, {-1, -0.2}, {1, -0.2}, {1, 1}, {-1, 1}},
          {{-1, -0.2}, {0, -1}, {1, -0.2}},
          {{door - 0.2, 1}, {door - 0.2, 0.4}, {door + 0.2, 0.4}, {door + 0.2, 1}}};
}
Strokes heart(Draw&) {
  return {arc_of({-0.5, -0.4}, 0.5, 0.5, 0.45 * kTurn, kTurn),
          arc_of({0.5, -0.4}, 0.5, 0.5, 0.5 * kTurn, 1.05 * kTurn),
          {{-0.97, -0.25}, {0, 1}, {0.97, -0.25}}};
}
Strokes arrow(Draw& draw) {
  const double head = draw.uniform(0.3f, 0.6f), side = draw.chance(0.5f) ? 1 : -1;
  return {{{-1, 0}, {1, 0}}, {{side * (1 - head), -head}, {side, 0}, {side * (1 - head), head}}};
}
Strokes cross(Draw& draw) {
  const double high = draw.uniform(-0.5f, 0.3f);
  return {{{-0.7, high}, {0.7, high}}, {{0, -1}, {0, 1}}};
}
Strokes spiral(Draw& draw) {
  Stroke stroke;
  const double pitch = draw.uniform(0.13f, 0.2f);
  for (int i = 0; i <= 120; ++i)
    stroke.push_back({i * std::cos(i * pitch), i * std::sin(i * pitch)});
  return {stroke};
}
Strokes triangle(Draw& draw) {
  const double top = draw.uniform(-0.5f, 0.5f);
  return {{{top, -1}, {1, 0.8}, {-1, 0.8}, {top, -1}}};
}
Strokes fir(Draw&) {
  return {{{0, 1}, {0, -1}}, {{-0.6, -0.6}, {0, 0}, {0.6, -0.6}}, {{-0.8, 0}, {0, 0.6}, {0.8, 0}}};
}
Strokes square(Draw& draw) {
  const double wide = draw.uniform(0.7f, 1.4f);
  return {{{-wide, -1}, {wide, -1}, {wide, 1}, {-wide, 1}, {-wide, -1}}};
}
Strokes crossed_square(Draw&) {
  return {{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}}, {{-1, -1}, {1, 1}}, {{-1, 1}, {1, -1}}};
}
Strokes flag(Draw& draw) {
  const double wide = draw.uniform(0.9f, 1.5f);
  return {{{-0.7, 1}, {-0.7, -1}, {wide - 0.7, -0.8}, {wide - 0.7, -0.2}, {-0.7, 0}},
          {{-0.7, -0.5}, {wide - 0.7, -0.5}}};
}
Strokes fish(Draw&) {
  return {arc_of({0, 0}, 1, 0.5, 0, kTurn),
          {{0.9, 0.1}, {1.5, -0.5}, {1.5, 0.5}, {0.9, -0.1}},
          {{-0.6, -0.1}, {-0.6, -0.1}}};
}
Strokes flower(Draw& draw) {
  Strokes strokes = {circle({0, -0.4}, 0.2), {{0, -0.2}, {0.05, 1}}};
  const int petals = whole(draw, 5, 7);
  for (int i = 0; i < petals; ++i) {
    const double angle = i * kTurn / petals;
    strokes.push_back(circle({0.42 * std::cos(angle), -0.4 + 0.42 * std::sin(angle)}, 0.2));
  }
  return strokes;
}
Strokes sun(Draw& draw) {
  Strokes strokes = {circle({0, 0}, 0.5)};
  const int rays = whole(draw, 6, 10);
  for (int i = 0; i < rays; ++i) {
    const double c = std::cos(i * kTurn / rays), s = std::sin(i * kTurn / rays);
    strokes.push_back({{0.65 * c, 0.65 * s}, {c, s}});
  }
  return strokes;
}
Strokes cup(Draw&) {
  return {{{-0.6, -0.7}, {-0.5, 0.8}, {0.5, 0.8}, {0.6, -0.7}, {-0.6, -0.7}},
          arc_of({0.6, 0}, 0.4, 0.4, -0.22 * kTurn, 0.22 * kTurn)};
}
Strokes umbrella(Draw&) {
  return {arc_of({0, 0}, 1, 0.9, 0.5 * kTurn, kTurn),
          {{-1, 0}, {1, 0}},
          {{0, -0.9}, {0, 0.8}},
          arc_of({-0.2, 0.8}, 0.2, 0.2, 0, 0.5 * kTurn)};
}
Strokes person(Draw& draw) {
  const double arm = draw.uniform(-0.6f, 0.2f), leg = draw.uniform(0.3f, 0.6f);
  return {circle({0, -0.75}, 0.25),
          {{0, -0.5}, {0, 0.3}},
          {{-leg, 1}, {0, 0.3}, {leg, 1}},
          {{-0.6, arm}, {0, -0.2}, {0.6, arm}}};
}
Strokes car(Draw&) {
  return {{{-1.2, 0.3},
           {-1.2, -0.1},
           {-0.6, -0.2},
           {-0.3, -0.6},
           {0.5, -0.6},
           {0.8, -0.1},
           {1.2, 0},
           {1.2, 0.3},
           {-1.2, 0.3}},
          circle({-0.6, 0.4}, 0.25),
          circle({0.6, 0.4}, 0.25)};
}
Strokes envelope(Draw&) {
  return {{{-1, -0.6}, {1, -0.6}, {1, 0.6}, {-1, 0.6}, {-1, -0.6}},
          {{-1, -0.6}, {0, 0.2}, {1, -0.6}}};
}
Strokes omega(Draw&) {
  Stroke stroke = {{-0.8, 0.9}, {-0.3, 0.9}};
  const Stroke bow = arc_of({0, -0.1}, 0.8, 0.9, 0.32 * kTurn, 1.18 * kTurn);
  stroke.insert(stroke.end(), bow.begin(), bow.end());
  stroke.push_back({0.3, 0.9});
  stroke.push_back({0.8, 0.9});
  return {stroke};
}
Strokes pi_sign(Draw& draw) {
  const double bend = draw.uniform(0, 0.4f);
  return {{{-1, -0.6 + bend}, {-0.8, -0.8}, {1, -0.8}},
          {{-0.4, -0.8}, {-0.5, 0.9}},
          {{0.4, -0.8}, {0.4, 0.7}, {0.6, 0.9}, {0.8, 0.8}}};
}
Strokes sum_sign(Draw&) {
  return {{{0.8, -0.7}, {0.8, -1}, {-0.8, -1}, {0.2, 0}, {-0.8, 1}, {0.8, 1}, {0.8, 0.7}}};
}
Strokes root_sign(Draw& draw) {
  return {{{-1, 0.2}, {-0.7, 0}, {-0.3, 0.9}, {0.1, -0.9}, {draw.uniform(0.8f, 1.6f), -0.9}}};
}
Strokes ampersand(Draw&) {
  return {{{0.8, 0.9},
           {-0.4, -0.5},
           {-0.3, -0.9},
           {0.1, -1},
           {0.3, -0.7},
           {0.1, -0.3},
           {-0.6, 0.2},
           {-0.7, 0.6},
           {-0.3, 0.9},
           {0.2, 0.7},
           {0.8, 0.1}}};
}
Strokes at_sign(Draw&) {
  Stroke tail = arc_of({0, 0}, 1, 1, 0.2 * kTurn, 1.0 * kTurn);
  const Stroke hook = {{0.95, 0.4}, {0.6, 0.5}, {0.4, 0.2}, {0.45, -0.4}};
  tail.insert(tail.end(), hook.begin(), hook.end());
  return {circle({0, 0}, 0.42), tail};
}
Strokes smiley(Draw& draw) {
  const double apart = draw.uniform(0.25f, 0.45f), high = draw.uniform(0.2f, 0.4f);
  Strokes strokes = {circle({0, 0}, 1)};
  for (const double side : {-apart, apart}) {
    const double eye = draw.uniform(0.02f, 0.12f);
    strokes.push_back(arc_of({side, -high}, eye, 1.5 * eye, 0, kTurn));
  }
  const bool is_sad = draw.chance(0.25f);
  const double wide = draw.uniform(0.35f, 0.6f), deep = draw.uniform(0.1f, 0.5f);
  strokes.push_back(
      arc_of({0, is_sad ? 0.7 : 0.2}, wide, is_sad ? -deep : deep, 0, std::numbers::pi));
  if (draw.chance(0.5f)) strokes.push_back({{0, -0.1}, {-0.08, 0.15}, {0.05, 0.15}});
  return strokes;
}
Strokes cat(Draw&) {
  return {circle({0, 0.1}, 0.8),
          {{-0.7, -0.3}, {-0.6, -1}, {-0.2, -0.7}},
          {{0.7, -0.3}, {0.6, -1}, {0.2, -0.7}},
          circle({-0.3, 0}, 0.08),
          circle({0.3, 0}, 0.08),
          {{-1.1, 0.3}, {-0.2, 0.35}},
          {{1.1, 0.3}, {0.2, 0.35}}};
}
Strokes scribble(Draw& draw) {
  Strokes strokes;
  for (int i = whole(draw, 1, 3); i > 0; --i)
    strokes.push_back(wander_of(draw, whole(draw, 8, 23)));
  return strokes;
}
Strokes zigzag(Draw& draw) {
  Stroke stroke;
  const int corners = whole(draw, 6, 12);
  for (int i = 0; i < corners; ++i) {
    stroke.push_back({-1 + 2.0 * i / corners, (i % 2 == 0 ? -1 : 1) * draw.uniform(0.3f, 0.8f)});
  }
  return {stroke};
}
Strokes hatching(Draw& draw) {
  Strokes strokes;
  const int lines = whole(draw, 3, 7);
  for (int i = 0; i < lines; ++i) {
    const double x = -1 + 2.0 * i / lines;
    strokes.push_back({{x + draw.uniform(-0.1f, 0.1f), -1}, {x + draw.uniform(0, 0.4f), 1}});
  }
  if (draw.chance(0.5f)) {
    for (int i = 0; i < 3; ++i) strokes.push_back({{-1, -0.6 + 0.6 * i}, {1.1, -0.5 + 0.6 * i}});
  }
  return strokes;
}
Strokes loops(Draw& draw) {
  Stroke stroke;
  const double wide = draw.uniform(0.4f, 1.2f), turns = whole(draw, 3, 6);
  for (int i = 0; i <= 120; ++i) {
    const double angle = turns * kTurn * i / 120;
    stroke.push_back({2.2 * i / 120 * turns / 3 + 0.5 * wide * std::sin(angle), std::cos(angle)});
  }
  return {stroke};
}
Strokes blot(Draw& draw) {  // filled by strokes that lie beside each other
  Strokes strokes;
  const double low = draw.uniform(0.4f, 1), high = draw.uniform(0.4f, 1);
  const double wave = draw.uniform(0, 0.3f), phase = draw.uniform(0, 6);
  for (int i = 0; i <= 24; ++i) {
    const double x = -1 + i / 12.0, half = std::sqrt(std::max(0.0, 1 - x * x));
    strokes.push_back({{x, -low * half + wave * std::sin(4 * x + phase)},
                       {x, high * half + wave * std::cos(5 * x + phase)}});
  }
  return strokes;
}
Strokes specks(Draw& draw) {
  Strokes strokes;
  for (int i = whole(draw, 4, 9); i > 0; --i) {
    const PenPoint at{draw.uniform(-1, 1), draw.uniform(-1, 1)};
    strokes.push_back({at, {at.x + draw.uniform(0, 0.2f), at.y + draw.uniform(0, 0.2f)}});
  }
  return strokes;
}
// Letters of a word, side by side.
Strokes word(Draw& draw) {
  constexpr std::string_view kLetters = "ABCDEFGHKLMNPRSTUVWXYabcdefghkmnprstuvwxyz";
  std::string text;
  for (int i = whole(draw, 2, 4); i > 0; --i) {
    text +=
        kLetters[static_cast<std::size_t>(whole(draw, 0, static_cast<int>(kLetters.size()) - 1))];
  }
  return stroke_text(text, 1).strokes;
}

constexpr SignKind kSigns[] = {
    {"A", "Aa", nullptr},
    {"d", "d", nullptr},
    {"E", "Ee", nullptr},
    {"F", "Ff", nullptr},
    {"H", "Hh", nullptr},
    {"j", "j", nullptr},
    {"K", "Kk", nullptr},
    {"L", "L", nullptr},
    {"M", "Mm", nullptr},
    {"N", "Nn", nullptr},
    {"p", "p", nullptr},
    {"R", "Rr", nullptr},
    {"t", "t", nullptr},
    {"U", "Uu", nullptr},
    {"V", "Vv", nullptr},
    {"W", "Ww", nullptr},
    {"X", "Xx", nullptr},
    {"Y", "Yy", nullptr},
    {"question mark", "?", nullptr},
    {"hash", "#", nullptr},
    {"percent", "%", nullptr},
    {"asterisk", "*", nullptr},
    {"plus", "+", nullptr},
    {"equals", "=", nullptr},
    {"tilde", "~", nullptr},
    {"ampersand", "", ampersand},
    {"at sign", "", at_sign},
    {"omega", "", omega},
    {"pi", "", pi_sign},
    {"sum", "", sum_sign},
    {"root", "", root_sign},
    {"word", "", word},
    {"pentagram", "", pentagram},
    {"star", "", star},
    {"house", "", house},
    {"heart", "", heart},
    {"arrow", "", arrow},
    {"cross", "", cross},
    {"spiral", "", spiral},
    {"triangle", "", triangle},
    {"fir", "", fir},
    {"square", "", square},
    {"crossed square", "", crossed_square},
    {"flag", "", flag},
    {"fish", "", fish},
    {"flower", "", flower},
    {"sun", "", sun},
    {"cup", "", cup},
    {"umbrella", "", umbrella},
    {"person", "", person},
    {"car", "", car},
    {"envelope", "", envelope},
    {"smiley", "", smiley},
    {"cat", "", cat},
    {"scribble", "", scribble},
    {"zigzag", "", zigzag},
    {"hatching", "", hatching},
    {"loops", "", loops},
    {"blot", "", blot},
    {"specks", "", specks},
};

}  // namespace

std::span<const SignKind> sign_kinds() {
  return kSigns;
}

std::vector<Stroke> draw_sign(const SignKind& kind, Draw& draw) {
  if (kind.draw != nullptr) return kind.draw(draw);
  const std::string_view letters = kind.letters;
  const int at = whole(draw, 0, static_cast<int>(letters.size()) - 1);
  return stroke_text(letters.substr(static_cast<std::size_t>(at), 1), 1).strokes;
}

}  // namespace weft::data
