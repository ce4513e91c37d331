// SPDX-License-Identifier: MIT
// Levenshtein distance over a short list.
#include "data/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weft::data {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view text, std::span<const std::string_view> names) {
  constexpr std::size_t kLongestSensible = 64;
  if (text.size() > kLongestSensible) return "";
  std::string_view best;
  std::size_t best_distance = kLongestSensible;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(text, name);
    if (distance < best_distance && distance <= std::max<std::size_t>(2, name.size() / 3)) {
      best = name;
      best_distance = distance;
    }
  }
  return std::string(best);
}

}  // namespace weft::data
