// SPDX-License-Identifier: MIT
// Ground as a smooth surface fitted to what is not ink, then a threshold after Otsu ("A threshold
// selection method from gray-level histograms", 1979) with hysteresis and a filter of specks.
#include "data/ink.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::data {
namespace {

constexpr float kLeastContrast = 10;  // grey levels between ground and ink

float percentile(std::vector<float> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
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

// A polynomial of second order over the picture; the flat ground is its special case.
class Surface {
 public:
  static constexpr std::size_t kTerms = 6;
  using Terms = std::array<double, kTerms>;

  explicit Surface(float level) { coefficients_[0] = level; }

  // Least squares over the pixels at most `above` over and `below` under this surface; false (and
  // nothing changes) when too few are left or they do not determine it.
  bool refit(const Plane& picture, float below, float above) {
    std::array<std::array<double, kTerms + 1>, kTerms> system{};
    std::int64_t used = 0;
    for (std::int64_t y = 0; y < picture.height; ++y) {
      for (std::int64_t x = 0; x < picture.width; ++x) {
        const Terms t = terms(picture, x, y);
        const double value = picture.at(x, y), over = value - evaluate(t);
        if (over > above || over < -below) continue;
        ++used;
        for (std::size_t i = 0; i < kTerms; ++i) {
          for (std::size_t j = 0; j < kTerms; ++j) system[i][j] += t[i] * t[j];
          system[i][kTerms] += t[i] * value;
        }
      }
    }
    if (used * 4 < picture.width * picture.height) return false;
    return solve(system, static_cast<double>(used));
  }

  float at(const Plane& picture, std::int64_t x, std::int64_t y) const {
    return static_cast<float>(evaluate(terms(picture, x, y)));
  }

 private:
  static Terms terms(const Plane& picture, std::int64_t x, std::int64_t y) {
    const double u = 2.0 * static_cast<double>(x) / static_cast<double>(picture.width) - 1;
    const double v = 2.0 * static_cast<double>(y) / static_cast<double>(picture.height) - 1;
    return {1, u, v, u * u, u * v, v * v};
  }

  double evaluate(const Terms& t) const {
    double sum = 0;
    for (std::size_t i = 0; i < kTerms; ++i) sum += coefficients_[i] * t[i];
    return sum;
  }

  // Gauss-Jordan with row exchange; `scale` is the size of a well-determined pivot.
  bool solve(std::array<std::array<double, kTerms + 1>, kTerms>& system, double scale) {
    for (std::size_t i = 0; i < kTerms; ++i) {
      std::size_t pivot = i;
      for (std::size_t r = i + 1; r < kTerms; ++r) {
        if (std::fabs(system[r][i]) > std::fabs(system[pivot][i])) pivot = r;
      }
      std::swap(system[i], system[pivot]);
      if (!(std::fabs(system[i][i]) > 1e-6 * scale)) return false;
      for (std::size_t r = 0; r < kTerms; ++r) {
        if (r == i) continue;
        const double factor = system[r][i] / system[i][i];
        for (std::size_t c = i; c <= kTerms; ++c) system[r][c] -= factor * system[i][c];
      }
    }
    for (std::size_t i = 0; i < kTerms; ++i) coefficients_[i] = system[i][kTerms] / system[i][i];
    return true;
  }

  Terms coefficients_{};
};

// The picture minus its ground; where the ground is flat, minus one number.
Plane without_ground(const Plane& picture) {
  const float border = border_level(picture);
  const float reach = percentile(picture.values, 0.995) - border;
  Plane result(picture.width, picture.height);
  std::vector<float> deviation(picture.values.size());
  std::transform(picture.values.begin(), picture.values.end(), deviation.begin(),
                 [&](float value) { return std::fabs(value - border); });
  // A drawing or a scan: half of the pixels are at the border's level.
  const bool flat = percentile(deviation, 0.5) <= 2;
  Surface ground(border);
  if (!flat) {
    float above = 0.5f * reach;
    for (int round = 0; round < 6; ++round) {
      if (!ground.refit(picture, 2 * above, above)) break;
      above = std::max(0.7f * above, 0.12f * reach);
    }
  }
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      result.at(x, y) = picture.at(x, y) - (flat ? border : ground.at(picture, x, y));
    }
  }
  return result;
}

// The threshold between ground and ink that maximises the variance between the two classes.
float otsu_threshold(const Plane& plane, float top) {
  constexpr std::size_t kBins = 256;
  std::array<double, kBins> histogram{};
  const float to_bin = static_cast<float>(kBins - 1) / top;
  for (const float value : plane.values) {
    ++histogram[static_cast<std::size_t>(std::clamp(value * to_bin, 0.0f, kBins - 1.0f))];
  }
  double total = 0, sum = 0;
  for (std::size_t i = 0; i < kBins; ++i) {
    total += histogram[i];
    sum += static_cast<double>(i) * histogram[i];
  }
  double below = 0, sum_below = 0, best = -1;
  std::size_t threshold = 0;
  for (std::size_t i = 0; i + 1 < kBins; ++i) {
    below += histogram[i];
    sum_below += static_cast<double>(i) * histogram[i];
    if (below == 0 || below == total) continue;
    const double gap = sum_below / below - (sum - sum_below) / (total - below);
    const double between = below * (total - below) * gap * gap;
    if (between > best) {
      best = between;
      threshold = i;
    }
  }
  return (static_cast<float>(threshold) + 0.5f) / to_bin;
}

// Clears every connected mark (8 neighbours) whose sure ink, above `threshold`, is less than 3 % of
// that of the largest mark.
void remove_specks(Plane& ink, float threshold) {
  constexpr double kLeastShare = 0.03;
  std::vector<std::int32_t> mark(ink.values.size(), -1);
  std::vector<std::int64_t> sure, stack;
  for (std::size_t start = 0; start < mark.size(); ++start) {
    if (mark[start] >= 0 || ink.values[start] <= 0) continue;
    const auto number = static_cast<std::int32_t>(sure.size());
    sure.push_back(0);
    mark[start] = number;
    stack.push_back(static_cast<std::int64_t>(start));
    while (!stack.empty()) {
      const std::int64_t at = stack.back(), x = at % ink.width, y = at / ink.width;
      stack.pop_back();
      if (ink.at(x, y) > threshold) ++sure.back();
      for (std::int64_t ny = std::max<std::int64_t>(0, y - 1); ny <= y + 1 && ny < ink.height;
           ++ny) {
        for (std::int64_t nx = std::max<std::int64_t>(0, x - 1); nx <= x + 1 && nx < ink.width;
             ++nx) {
          const std::size_t next = static_cast<std::size_t>(ny * ink.width + nx);
          if (mark[next] >= 0 || ink.values[next] <= 0) continue;
          mark[next] = number;
          stack.push_back(static_cast<std::int64_t>(next));
        }
      }
    }
  }
  if (sure.empty()) return;
  const double least =
      kLeastShare * static_cast<double>(*std::max_element(sure.begin(), sure.end()));
  for (std::size_t i = 0; i < mark.size(); ++i) {
    if (mark[i] >= 0 && static_cast<double>(sure[static_cast<std::size_t>(mark[i])]) < least) {
      ink.values[i] = 0;
    }
  }
}

}  // namespace

float border_level(const Plane& picture) {
  return percentile(border_values(picture), 0.5);
}

bool is_dark_on_light(const Plane& picture) {
  const float border = border_level(picture);
  const float low = percentile(picture.values, 0.001), high = percentile(picture.values, 0.999);
  return border - low > high - border;
}

Plane extract_ink(const Plane& picture) {
  Plane ink = without_ground(picture);
  const float top = *std::max_element(ink.values.begin(), ink.values.end());
  if (!(top >= kLeastContrast)) return {};
  const float threshold = otsu_threshold(ink, top);
  std::vector<float> inked, ground;
  for (const float value : ink.values) (value > threshold ? inked : ground).push_back(value);
  if (inked.empty() || ground.empty()) return {};
  const float level = percentile(inked, 0.9);
  for (float& value : ground) value = std::fabs(value);
  // 4 standard deviations of the ground's noise, from its median; 0 for a clean drawing.
  const float noise = std::min(4 * 1.4826f * percentile(ground, 0.5), 0.5f * threshold);
  if (!(level - noise >= kLeastContrast)) return {};
  for (float& value : ink.values) {
    value = std::clamp((value - noise) * 255 / (level - noise), 0.0f, 255.0f);
    if (value < 8) value = 0;
  }
  remove_specks(ink, std::clamp((threshold - noise) * 255 / (level - noise), 0.0f, 254.0f));
  return ink;
}

}  // namespace weft::data
