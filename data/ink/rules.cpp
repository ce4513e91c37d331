// SPDX-License-Identifier: MIT
// A rule is thin, straight and goes across the whole sheet, which few strokes of digits do. The
// sums over all straight lines are those of Brady, "A fast discrete approximation algorithm for
// the Radon transform" (1998): a line over 2n columns is two lines over n columns.
#include "data/ink/rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "data/ink/frames.h"
#include "data/ink/marks.h"
#include "data/ink/windows.h"
#include "engine/extent.h"

namespace weft::data {
namespace {

// A line from (0, y) to (width, y + rise).
struct Line {
  double y = 0, rise = 0;
  double cover = 0;  // the share of its columns that are dark
  double at(double x, double width) const { return y + rise * x / width; }
};

constexpr double kLeastCover = 0.55;         // of one rule among several
constexpr double kLeastCoverAlone = 0.95;    // of one that has no neighbours
constexpr double kLeastCoverOfFrame = 0.88;  // of one that is as dark as ink
constexpr float kDarkestRule = 0.8f;         // as a share of full ink: darker lines are strokes
constexpr float kFrame = 0.5f;               // the same: a frame is darker
constexpr std::size_t kLeastRules = 3;
constexpr double kSteepest = 0.4;  // rise by width; steeper lines are columns' business

// How far a pixel is darker than those above and below it, a rule's width away.
Plane thin_rows(const Plane& ink, std::int64_t window) {
  return difference(ink, opening(ink, 1, window));
}

// The number of marked pixels on every line that starts at (0, y) and falls by 0 to `steepest`
// rows: sums[fall * height + y]. The width is a power of two and larger than `steepest`.
std::vector<std::uint16_t> line_sums(const std::vector<std::uint16_t>& columns, std::int64_t width,
                                     std::int64_t height, std::int64_t steepest) {
  std::vector<std::uint16_t> sums = columns, next(sums.size());
  for (std::int64_t n = 1; n < width; n *= 2) {
    for (std::int64_t strip = 0; strip < width; strip += 2 * n) {
      for (std::int64_t fall = 0; fall <= steepest * 2 * n / width; ++fall) {
        const std::uint16_t* left = &sums[static_cast<std::size_t>((strip + fall / 2) * height)];
        const std::uint16_t* right =
            &sums[static_cast<std::size_t>((strip + n + fall / 2) * height)];
        std::uint16_t* out = &next[static_cast<std::size_t>((strip + fall) * height)];
        const std::int64_t shift = (fall + 1) / 2, both = std::max<std::int64_t>(0, height - shift);
        for (std::int64_t y = 0; y < both; ++y) {
          out[y] = static_cast<std::uint16_t>(left[y] + right[y + shift]);
        }
        std::copy(left + both, left + height, out + both);
      }
    }
    sums.swap(next);
  }
  return sums;
}

// Lines that fall to the right, of those with enough cover.
void find_falling(const Plane& marked, bool is_flipped, std::vector<Line>& lines) {
  std::int64_t width = 1;
  while (width < marked.width) width *= 2;
  const auto most_fall = static_cast<std::int64_t>(kSteepest * static_cast<double>(marked.width));
  // Room above, for lines that enter the picture through its upper border.
  const std::int64_t height = marked.height + most_fall;
  std::vector<std::uint16_t> columns(static_cast<std::size_t>(width * height));
  for (std::int64_t y = 0; y < marked.height; ++y) {
    const std::int64_t row = is_flipped ? marked.height - 1 - y : y;
    for (std::int64_t x = 0; x < marked.width; ++x) {
      columns[static_cast<std::size_t>(x * height + y + most_fall)] = marked.at(x, row) > 0;
    }
  }
  const std::int64_t steepest = most_fall * width / marked.width;
  const std::vector<std::uint16_t> sums = line_sums(columns, width, height, steepest);
  const auto across = static_cast<double>(marked.width);
  for (std::int64_t fall = is_flipped ? 1 : 0; fall <= steepest; ++fall) {
    const double rise = static_cast<double>(fall) * across / static_cast<double>(width);
    for (std::int64_t row = 0; row < height; ++row) {
      const double sum = sums[static_cast<std::size_t>(fall * height + row)];
      if (sum < 0.5 * kLeastCover * across) continue;
      const double y = static_cast<double>(row - most_fall);
      // The part of the line that lies in the picture.
      const double slope = std::max(rise / across, 1e-9);
      const double first = std::max(0.0, -y / slope);
      const double last = std::min(across, (static_cast<double>(marked.height) - y) / slope);
      if (last - first < 0.5 * across || sum < kLeastCover * (last - first)) continue;
      const double cover = sum / (last - first), below = static_cast<double>(marked.height) - 1 - y;
      lines.push_back(is_flipped ? Line{below, -rise, cover} : Line{y, rise, cover});
    }
  }
}

// The best of the lines that cross or almost touch each other.
std::vector<Line> distinct(std::vector<Line> lines, double nearest, double least_alone) {
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.cover > b.cover; });
  std::vector<Line> kept;
  for (const Line& line : lines) {
    const bool is_new = std::none_of(kept.begin(), kept.end(), [&](const Line& other) {
      const double left = line.y - other.y, right = left + line.rise - other.rise;
      return left * right <= 0 || std::min(std::fabs(left), std::fabs(right)) < nearest;
    });
    if (is_new) kept.push_back(line);
  }
  if (kept.size() < kLeastRules) {
    std::erase_if(kept, [&](const Line& line) { return line.cover < least_alone; });
  }
  return kept;
}

// The straight line through the marked pixels that are near this one. The sums' own lines have
// steps and leave a straight one by a pixel or two.
Line fitted(const Plane& marked, Line line) {
  constexpr std::int64_t kReach = 3;
  const auto width = static_cast<double>(marked.width);
  double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (std::int64_t column = 0; column < marked.width; ++column) {
    const double x = static_cast<double>(column);
    const std::int64_t middle = std::lround(line.at(x, width));
    for (std::int64_t y = middle - kReach; y <= middle + kReach; ++y) {
      if (y < 0 || y >= marked.height || marked.at(column, y) <= 0) continue;
      ++n;
      sum_x += x;
      sum_xx += x * x;
      sum_y += static_cast<double>(y);
      sum_xy += x * static_cast<double>(y);
    }
  }
  const double spread = n * sum_xx - sum_x * sum_x;
  if (!(spread > 0)) return line;
  const double slope = (n * sum_xy - sum_x * sum_y) / spread;
  line.y = (sum_y - slope * sum_x) / n;
  line.rise = slope * width;
  return line;
}

// How dark the darkest ink is, a few thousandths of the picture.
float darkest(const Plane& ink) {
  return percentile(ink.values, 0.997);
}

// A line with its band, as far as its ink reaches.
struct Rule {
  Line line;
  bool is_column = false;  // of the transposed plane
  float level = 0;         // how dark it is
  std::int64_t above = 1, below = 1;
};

// `ink` is that of the rules: nothing of what is wider.
Rule measured(const Plane& ink, const Line& line, bool is_column, std::int64_t widest) {
  const auto width = static_cast<double>(ink.width);
  const auto level_at = [&](std::int64_t offset) {
    std::vector<float> values;
    for (std::int64_t x = 0; x < ink.width; ++x) {
      const std::int64_t y = std::lround(line.at(static_cast<double>(x), width)) + offset;
      if (y >= 0 && y < ink.height) values.push_back(ink.at(x, y));
    }
    return values.empty() ? 0.0f : percentile(std::move(values), 0.5);
  };
  Rule rule{line, is_column};
  rule.level = std::max({level_at(-1), level_at(0), level_at(1)});
  while (rule.above < widest && level_at(-rule.above - 1) > 0.1f * rule.level) ++rule.above;
  while (rule.below < widest && level_at(rule.below + 1) > 0.1f * rule.level) ++rule.below;
  return rule;
}

// Replaces the ink in the band of a rule by what lies above and below it.
void remove_line(Plane& ink, const Rule& rule) {
  const auto width = static_cast<double>(ink.width);
  for (std::int64_t x = 0; x < ink.width; ++x) {
    const std::int64_t middle = std::lround(rule.line.at(static_cast<double>(x), width));
    const std::int64_t first = middle - rule.above - 2, last = middle + rule.below + 2;
    const auto value = [&](std::int64_t y) { return y < 0 || y >= ink.height ? 0 : ink.at(x, y); };
    const float over = value(first), under = value(last);
    for (std::int64_t y = std::max<std::int64_t>(0, first + 1); y < std::min(last, ink.height);
         ++y) {
      const float part = static_cast<float>(y - first) / static_cast<float>(last - first);
      const float between = over + part * (under - over);
      float& here = ink.at(x, y);
      if (here < 1.7f * rule.level) here = std::min(here, between);
    }
  }
}

// The rules that are at most 2 * `widest` wide and darker than `least`. Negative: darker than
// noise.
std::vector<Rule> find_rules(const Plane& ink, bool is_column, std::int64_t widest, float least) {
  constexpr float kLeastDarkness = 0.03f;
  const Plane thin = thin_rows(ink, 2 * widest + 1);
  const double least_alone = least < 0 ? kLeastCoverAlone : kLeastCoverOfFrame;
  if (least < 0) {
    const GroundLevel ground = ground_level(thin);
    least = ground.level + std::max(kLeastDarkness, 2 * ground.noise);
  }
  Plane marked(ink.width, ink.height);
  for (std::size_t i = 0; i < marked.values.size(); ++i) {
    marked.values[i] = thin.values[i] > least ? 1.0f : 0.0f;
  }
  marked = window_max(marked, 1, 3);  // a pixel above and below: lines are not quite straight
  std::vector<Line> lines;
  find_falling(marked, false, lines);
  find_falling(marked, true, lines);
  std::vector<Rule> rules;
  for (const Line& line : distinct(std::move(lines), static_cast<double>(widest), least_alone)) {
    rules.push_back(measured(thin, fitted(marked, fitted(marked, line)), is_column, widest));
  }
  return rules;
}

// Is there a dark line at all, in a picture of an eighth of the size? Most pictures have none, and
// a search at full size takes long.
bool may_have_lines(const Plane& ink, float least) {
  constexpr std::int64_t kBlock = 8;
  Plane coarse(divide_up(ink.width, kBlock), divide_up(ink.height, kBlock));
  for (std::int64_t y = 0; y < ink.height; ++y) {
    for (std::int64_t x = 0; x < ink.width; ++x) {
      if (ink.at(x, y) > least) coarse.at(x / kBlock, y / kBlock) = 1;
    }
  }
  std::vector<Line> lines;
  find_falling(coarse, false, lines);
  find_falling(coarse, true, lines);
  return !lines.empty();
}

// In both directions.
std::vector<Rule> find_rules(const Plane& ink, std::int64_t widest, float least) {
  std::vector<Rule> rules = find_rules(ink, false, widest, least);
  for (Rule& rule : find_rules(transposed(ink), true, widest, least)) rules.push_back(rule);
  return rules;
}

void remove(Plane& ink, const std::vector<Rule>& rules) {
  for (const bool is_column : {false, true}) {
    const auto matches = [&](const Rule& rule) { return rule.is_column == is_column; };
    if (std::none_of(rules.begin(), rules.end(), matches)) continue;
    if (is_column) ink = transposed(ink);
    for (const Rule& rule : rules) {
      if (matches(rule)) remove_line(ink, rule);
    }
    if (is_column) ink = transposed(ink);
  }
}

// 1 in the bands of the rules.
Plane bands_of(const std::vector<Rule>& rules, std::int64_t width, std::int64_t height) {
  Plane bands(width, height);
  for (const Rule& rule : rules) {
    const std::int64_t length = rule.is_column ? height : width;
    const std::int64_t across = rule.is_column ? width : height;
    for (std::int64_t x = 0; x < length; ++x) {
      const std::int64_t middle =
          std::lround(rule.line.at(static_cast<double>(x), static_cast<double>(length)));
      const std::int64_t first = std::max<std::int64_t>(0, middle - rule.above - 1);
      const std::int64_t last = std::min(across - 1, middle + rule.below + 1);
      for (std::int64_t y = first; y <= last; ++y) {
        (rule.is_column ? bands.at(y, x) : bands.at(x, y)) = 1;
      }
    }
  }
  return bands;
}

// Are these dark lines a frame or a grid? A stroke that spans a tight crop looks like a line, but
// leaves only pieces that hang on it. Columns alone may be ones.
bool are_printed(const Plane& ink, const std::vector<Rule>& rules, float full_ink) {
  const auto columns =
      std::count_if(rules.begin(), rules.end(), [](const Rule& rule) { return rule.is_column; });
  const auto rows = std::ssize(rules) - columns;
  if (rows == 0) return false;
  std::int64_t thickest = 1;
  for (const Rule& rule : rules) thickest = std::max(thickest, rule.above + rule.below + 1);
  const auto side = static_cast<double>(std::min(ink.width, ink.height));
  const double least = std::max({8.0, 4 * static_cast<double>(thickest), 0.03 * side});
  // A digit may touch a frame of at least three lines.
  const bool may_touch = rows + columns >= 3 && columns > 0;
  const Plane bands = bands_of(rules, ink.width, ink.height);
  Plane beside = ink;
  if (may_touch) {
    for (std::size_t i = 0; i < beside.values.size(); ++i) {
      if (bands.values[i] > 0) beside.values[i] = 0;
    }
  }
  const std::vector<Piece> pieces = connected_pieces(beside, 0.3f * full_ink, 0.5f * full_ink);
  return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return static_cast<double>(piece.box.height) >= least &&
           std::none_of(piece.pixels.begin(), piece.pixels.end(),
                        [&](std::size_t at) { return bands.values[at] > 0; });
  });
}

}  // namespace

void remove_rules(Plane& ink) {
  // A smaller picture does not show thin lines. A strip of a form does, when it is long.
  constexpr std::int64_t kLeastSide = 100, kLeastSideOfStrip = 48, kLongStrip = 250;
  const std::int64_t side = std::min(ink.width, ink.height);
  const float full_ink = darkest(ink);
  remove_frames(ink, full_ink);
  const bool is_strip = std::max(ink.width, ink.height) >= kLongStrip;
  if (side < (is_strip ? kLeastSideOfStrip : kLeastSide)) return;
  // Frames and grids of forms are dark, and as wide as strokes.
  if (may_have_lines(ink, kFrame * full_ink)) {
    std::vector<Rule> frame =
        find_rules(ink, std::max<std::int64_t>(3, side / 30), kFrame * full_ink);
    std::erase_if(frame, [&](const Rule& rule) { return rule.level <= kDarkestRule * full_ink; });
    if (are_printed(ink, frame, full_ink)) remove(ink, frame);
  }
  std::vector<Rule> rules = find_rules(ink, std::max<std::int64_t>(2, side / 60), -1);
  std::erase_if(rules, [&](const Rule& rule) { return rule.level > kDarkestRule * full_ink; });
  remove(ink, rules);
}

}  // namespace weft::data
