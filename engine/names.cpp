// SPDX-License-Identifier: MIT
#include "engine/names.h"
#include "engine/text.h"

#include "engine/error.h"

namespace weft {

namespace {

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string joined(const Names& names, std::string_view by) {
  std::string text;
  for (const std::string_view name : names) text += str(text.empty() ? "" : by, name);
  return text;
}

std::string nearest_name(std::string_view word, const Names& names) {
  constexpr std::size_t kLongestSensible = 64;  // the word may come from a file
  if (word.size() > kLongestSensible) return "";
  std::string_view best;
  std::size_t best_distance = 1 + std::max<std::size_t>(1, word.size() / 3);
  for (const std::string_view name : names) {
    // One word beginning with the other is meant more often than another of the same length.
    const bool begins = word.size() >= 3 &&
                        (name.starts_with(word) || (name.size() >= 4 && word.starts_with(name)));
    const std::size_t distance = begins ? 1 : edit_distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return std::string(best);
}

void throw_unknown(std::string_view what, std::string_view word, const Names& names) {
  const std::string guess = nearest_name(word, names);
  throw Error(ErrorKind::usage,
              str("unknown ", what, " ", shown(word), "; ",
                  guess.empty() ? "known: " + joined(names) : "did you mean '" + guess + "'?"));
}

}  // namespace weft
