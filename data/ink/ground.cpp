// SPDX-License-Identifier: MIT
#include "data/ink/ground.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/ink/ink.h"
#include "data/ink/marks.h"
#include "data/ink/strokes.h"
#include "data/ink/windows.h"

namespace weft::data {
namespace {

// The largest share of the shorter side that a stroke is wide. Wider dark parts are shadow or
// table.
constexpr double kWidestStroke = 0.3;

// Ground that is darker than this share of the brightest is no paper: its texture is no ink.
constexpr float kDeepestShade = 0.4f;

// For the polarity: open ground beside the ink is at least this share wide.
constexpr double kOpenGround = 0.25;

std::int64_t stroke_window(const Plane& picture, double share) {
  const auto side = static_cast<double>(std::min(picture.width, picture.height));
  return std::max<std::int64_t>(3, std::lround(share * side)) | 1;
}

std::vector<float> border_values(const Plane& picture) {
  const std::int64_t depth =
      std::max<std::int64_t>(1, std::min(picture.width, picture.height) / 28);
  std::vector<float> values;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const bool whole_row = y < depth || y >= picture.height - depth;
    for (std::int64_t x = 0; x < picture.width; ++x) {
      const bool edge = whole_row || x < depth || x >= picture.width - depth;
      if (edge) values.push_back(picture.at(x, y));
    }
  }
  return values;
}

// The mean of those values around each pixel where `weights` is 1; `otherwise` where there is none.
Plane mean_where(const Plane& weights, const Plane& values, std::int64_t window, float otherwise) {
  Plane weighted = values;
  for (std::size_t i = 0; i < values.values.size(); ++i) weighted.values[i] *= weights.values[i];
  Plane result = window_mean(weighted, window);
  const Plane share = window_mean(weights, window);
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    const bool is_known = share.values[i] > 1e-3f;
    result.values[i] = is_known ? result.values[i] / share.values[i] : otherwise;
  }
  return result;
}

// Does the ink, which is at most as bright as `threshold`, come to all four sides, as the smaller
// part of them? It fades at its edge.
bool comes_to_all_sides(const Plane& picture, float threshold) {
  const std::int64_t depth =
      std::max<std::int64_t>(1, std::min(picture.width, picture.height) / 20);
  const auto share = [&](const InkBox& side) {
    std::int64_t dark = 0;
    for (std::int64_t y = side.top; y < side.bottom(); ++y) {
      for (std::int64_t x = side.left; x < side.right(); ++x) {
        dark += picture.at(x, y) <= threshold ? 1 : 0;
      }
    }
    return static_cast<double>(dark) / static_cast<double>(side.width * side.height);
  };
  const InkBox sides[] = {{0, 0, picture.width, depth},
                          {0, picture.height - depth, picture.width, depth},
                          {0, 0, depth, picture.height},
                          {picture.width - depth, 0, depth, picture.height}};
  constexpr double kLeastInk = 0.1, kMostInk = 0.65;  // of the picture
  constexpr double kMostOfSides = 0.5, kMostOfOneSide = 0.97;
  const double ink_share = share({0, 0, picture.width, picture.height});
  if (ink_share < kLeastInk || ink_share > kMostInk) return false;
  double dark[4], total = 0;  // above, below, left and right
  for (int i = 0; i < 4; ++i) {
    dark[i] = share(sides[i]);
    if (dark[i] == 0 || dark[i] > kMostOfOneSide) return false;
    total += dark[i] / 4;
  }
  if (total > kMostOfSides) return false;
  // A table lies along two sides that meet, which no digit fills.
  constexpr double kTable = 0.6;
  if (std::max(dark[0], dark[1]) > kTable && std::max(dark[2], dark[3]) > kTable) return false;
  return true;
}

}  // namespace

float percentile(std::vector<float> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

float border_level(const Plane& picture) {
  return percentile(border_values(picture), 0.5);
}

float flat_level(const Plane& picture) {
  constexpr float kSame = 2;  // grey levels
  std::array<std::int64_t, 256> count{};
  for (const float value : picture.values) {
    ++count[static_cast<std::size_t>(std::clamp(value, 0.0f, 255.0f))];
  }
  const auto level =
      static_cast<float>(std::max_element(count.begin(), count.end()) - count.begin());
  const auto share = [&](const std::vector<float>& values) {
    const auto same = std::count_if(values.begin(), values.end(),
                                    [&](float value) { return std::fabs(value - level) <= kSame; });
    return static_cast<double>(same) / static_cast<double>(values.size());
  };
  const bool is_flat = share(picture.values) >= 0.5 && share(border_values(picture)) >= 0.65;
  return is_flat ? level : -1;
}

GroundLevel ground_level(const Plane& plane) {
  // Every 5th pixel of a large picture is enough, and an odd step meets every column.
  const std::size_t step = plane.values.size() > 100'000 ? 5 : 1;
  std::vector<float> sample;
  for (std::size_t i = 0; i < plane.values.size(); i += step) sample.push_back(plane.values[i]);
  const float level = percentile(sample, 0.5);
  for (float& value : sample) value = std::fabs(value - level);
  return {level, 1.4826f * percentile(std::move(sample), 0.5)};
}

std::int64_t widest_stroke(const Plane& picture) {
  return stroke_window(picture, kWidestStroke);
}

Darkness darkness_of(const Plane& picture, bool is_light_reflected, std::int64_t widest) {
  constexpr std::int64_t kLeastSide = 200;  // strokes of a smaller picture are too thin to smooth
  const bool is_large = std::min(picture.width, picture.height) >= kLeastSide;
  const Plane calm = is_large ? window_mean(picture, 3) : picture;
  const std::int64_t window = widest | 1;
  const Plane ground = disc_closing(calm, window);
  const float least_light = std::max(1.0f, kDeepestShade * percentile(ground.values, 0.9));
  Darkness result{difference(ground, calm), 0, Plane(picture.width, picture.height)};
  for (std::size_t i = 0; i < calm.values.size(); ++i) {
    result.is_table.values[i] = is_light_reflected && ground.values[i] < least_light ? 1.0f : 0.0f;
    result.ink.values[i] /= is_light_reflected ? std::max(least_light, ground.values[i]) : 255.0f;
  }
  // The closing rides on the noise, which differs from light to shade. What is left of it on the
  // ground around each pixel counts as no ink.
  const GroundLevel rough = ground_level(result.ink);
  Plane is_ground(picture.width, picture.height);
  for (std::size_t i = 0; i < calm.values.size(); ++i) {
    const float over = std::fabs(result.ink.values[i] - rough.level);
    is_ground.values[i] = over <= 4 * rough.noise ? 1.0f : 0.0f;
  }
  result.ink =
      difference(result.ink, mean_where(is_ground, result.ink, window / 2 | 1, rough.level));
  result.noise = ground_level(result.ink).noise;
  return result;
}

std::optional<float> ground_of_crop(const Plane& picture) {
  // Otsu's threshold, where the two levels are farthest apart (IEEE Trans. SMC 9, 1979).
  std::array<double, 256> count{};
  for (const float value : picture.values) {
    ++count[static_cast<std::size_t>(std::clamp(value, 0.0f, 255.0f))];
  }
  double all = 0, sum = 0, square = 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    const auto value = static_cast<double>(i);
    all += count[i];
    sum += count[i] * value;
    square += count[i] * value * value;
  }
  double below = 0, sum_below = 0, most = 0, ink = 0, ground = 0;
  std::size_t threshold = 0;
  for (std::size_t i = 0; i + 1 < count.size(); ++i) {
    below += count[i];
    sum_below += count[i] * static_cast<double>(i);
    if (below == 0 || below == all) continue;
    const double low = sum_below / below, high = (sum - sum_below) / (all - below);
    const double between = below * (all - below) / all * (high - low) * (high - low);
    if (between > most) {
      most = between;
      threshold = i;
      ink = low;
      ground = high;
    }
  }
  constexpr double kTwoLevels = 0.77;  // of the variance lies between the levels
  constexpr double kContrast = 40;     // grey levels
  if (ground - ink < kContrast || most < kTwoLevels * (square - sum * sum / all)) return {};
  if (!comes_to_all_sides(picture, static_cast<float>(threshold))) return {};
  // Strokes are narrow; a shadow is not.
  Plane dark(picture.width, picture.height);
  for (std::size_t i = 0; i < dark.values.size(); ++i) {
    dark.values[i] = picture.values[i] <= static_cast<float>(threshold) ? 255.0f : 0.0f;
  }
  constexpr double kWidest = 0.3;  // of the longer side
  const auto longer = static_cast<double>(std::max(picture.width, picture.height));
  if (stroke_width(dark) > kWidest * longer) return {};
  return static_cast<float>(ground);
}

namespace {

// Is what differs the most from a level ground darker than it?
bool dark_ink_on(float level, const Plane& picture) {
  float low = percentile(picture.values, 0.001), high = percentile(picture.values, 0.999);
  constexpr float kContrast = 10;                         // grey levels
  if (std::max(level - low, high - level) < kContrast) {  // small writing has fewer pixels
    low = percentile(picture.values, 0);
    high = percentile(picture.values, 1);
  }
  return level - low > high - level;
}

// Where a window fits, the picture is ground. Strokes and the gaps between them lie between what
// the two fillings say; the ground around them tells which of the two they are.
struct Fillings {
  Plane small;          // the picture, with at most kSide pixels a side
  std::int64_t window;  // pixels of `small`
  Plane bright, dark;   // strokes filled with what is brighter or darker around them
  Plane gap;            // between the two, as a share of the light
  float open;           // a gap below it is ground
};
Fillings fill_strokes(const Plane& picture) {
  constexpr std::int64_t kSide = 160;
  const double scale =
      std::min(1.0, static_cast<double>(kSide) /
                        static_cast<double>(std::max(picture.width, picture.height)));
  const auto scaled = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, std::lround(scale * static_cast<double>(side)));
  };
  Fillings f;
  f.small = resample(picture, scaled(picture.width), scaled(picture.height));
  if (scale < 0.5) f.small = window_mean(f.small, 5);  // without printed rules and noise
  f.window = stroke_window(f.small, kOpenGround);
  f.bright = closing(f.small, f.window, f.window);
  f.dark = opening(f.small, f.window, f.window);
  f.gap = difference(f.bright, f.dark);
  const float least_light = std::max(1.0f, kDeepestShade * percentile(f.bright.values, 0.9));
  for (std::size_t i = 0; i < f.gap.values.size(); ++i) {
    f.gap.values[i] /= std::max(least_light, f.bright.values[i]);
  }
  f.open = 0.3f * percentile(f.gap.values, 0.995);
  return f;
}

// 1 for pixels of strokes. Corners of light and shade at the border are none, so they vote only
// when nothing else does.
Plane voters_of(const Fillings& f) {
  Plane may_vote(f.small.width, f.small.height);
  const std::vector<Piece> pieces = connected_pieces(f.gap, f.open, f.open);
  const auto is_inside = [](const Piece& piece) { return !piece.is_at_border; };
  const bool has_inside = std::any_of(pieces.begin(), pieces.end(), is_inside);
  for (const Piece& piece : pieces) {
    if (has_inside && piece.is_at_border) continue;
    for (const std::size_t at : piece.pixels) may_vote.values[at] = 1;
  }
  return may_vote;
}

struct Votes {
  std::int64_t dark_ink = 0, light_ink = 0;
};
// A pixel of a stroke votes for the filling that the open ground beside it is closer to.
Votes count_votes(const Fillings& f, const Plane& may_vote) {
  Plane is_open(f.small.width, f.small.height);
  for (std::size_t i = 0; i < f.gap.values.size(); ++i) {
    is_open.values[i] = f.gap.values[i] < f.open ? 1.0f : 0.0f;
  }
  const Plane is_known = window_min(is_open, 5, 5);  // not the blurred edge of a stroke
  const Plane ground = mean_where(is_known, f.small, f.window / 2 | 1, -1);
  Votes votes;
  for (std::size_t i = 0; i < f.gap.values.size(); ++i) {
    if (!(may_vote.values[i] > 0) || ground.values[i] < 0) continue;
    const float to_bright = std::fabs(f.bright.values[i] - ground.values[i]);
    const float to_dark = std::fabs(f.dark.values[i] - ground.values[i]);
    ++(to_bright < to_dark ? votes.dark_ink : votes.light_ink);
  }
  return votes;
}

// The edge of a shadow beside the ink makes the vote close. Strokes are thinner than the ground
// between them and that edge.
bool thin_ink_is_dark(const Plane& small, const Plane& may_vote) {
  constexpr std::int64_t kThin = 11;
  const Plane filled = closing(small, kThin, kThin), cleared = opening(small, kThin, kThin);
  double thin_dark = 0, thin_light = 0;
  for (std::size_t i = 0; i < small.values.size(); ++i) {
    thin_dark += may_vote.values[i] * (filled.values[i] - small.values[i]);
    thin_light += may_vote.values[i] * (small.values[i] - cleared.values[i]);
  }
  return thin_dark >= thin_light;
}

}  // namespace

Polarity polarity_of(const Plane& picture) {
  const float level = flat_level(picture);
  if (level >= 0) return {dark_ink_on(level, picture)};
  if (ground_of_crop(picture)) return {true};
  const Fillings fillings = fill_strokes(picture);
  const Plane may_vote = voters_of(fillings);
  const auto [dark_ink, light_ink] = count_votes(fillings, may_vote);
  // Paper is more common than anything that is written on in white.
  if (10 * dark_ink > 14 * light_ink) return {true};
  constexpr std::int64_t kEnough = 100;  // votes
  if (light_ink > 3 * dark_ink && light_ink >= kEnough) return {false};
  // Most of a page is paper, which is light; most of a black board is dark.
  const Plane& small = fillings.small;
  const float darkest = percentile(small.values, 0.005), lightest = percentile(small.values, 0.995);
  const float most = percentile(small.values, 0.5);
  constexpr float kPaper = 0.5f, kBoard = 0.12f;  // of the way from the darkest to the lightest
  constexpr bool kIsOpen = true;
  if (most >= darkest + kPaper * (lightest - darkest)) return {true, kIsOpen};
  if (most <= darkest + kBoard * (lightest - darkest)) return {false, kIsOpen};
  return {thin_ink_is_dark(small, may_vote), kIsOpen};
}

}  // namespace weft::data
