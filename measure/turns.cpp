// SPDX-License-Identifier: MIT
#include "measure/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/error.h"
#include "measure/harness.h"

namespace weft::measure {
namespace {

// How many of n values at either end the interval leaves out: the most for which the median lies
// outside with a probability of at most 5 %. Each end has the sum of C(n, i) / 2^n for i < that.
std::size_t left_out(std::size_t n) {
  std::size_t out = 0;
  double term = std::pow(0.5, static_cast<double>(n)), sum = term;
  while (2 * sum <= 0.05) {
    ++out;
    term *= static_cast<double>(n - out + 1) / static_cast<double>(out);
    sum += term;
  }
  return out > 0 ? out - 1 : 0;
}

}  // namespace

Interval interval_of(std::vector<double> repeats) {
  const double median = timing_of(repeats).median;
  std::sort(repeats.begin(), repeats.end());
  const std::size_t out = left_out(repeats.size());
  return {repeats[out], median, repeats[repeats.size() - 1 - out]};
}

Interval ratio_of(const std::vector<double>& over, const std::vector<double>& under) {
  if (over.size() != under.size()) {
    throw Error(ErrorKind::usage, str("a ratio of ", over.size(), " and ", under.size(), " turns"));
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < over.size(); ++i) ratios.push_back(over[i] / under[i]);
  return interval_of(std::move(ratios));
}

std::string ratio_text(const Interval& ratio) {
  if (ratio.contains(1)) return "1.0";
  const std::string text = fmt::format("{:.2f}", ratio.median);
  return text == "1.00" ? fmt::format("{:.3f}", ratio.median) : text;
}

std::vector<Repeats> alternate(const std::vector<Turn>& all, int rounds,
                               const std::function<void()>& before) {
  std::vector<Repeats> found(all.size());
  for (int round = 0; round < rounds; ++round) {
    if (before) before();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t at = round % 2 == 0 ? i : all.size() - 1 - i;
      Repeats& own = found[at];
      if (!own.error.empty()) continue;
      try {
        const std::vector<double> samples = all[at]();
        own.turns.push_back(timing_of(samples).median);
        own.samples.insert(own.samples.end(), samples.begin(), samples.end());
      } catch (const Error& error) {
        own.error = error.what();
      }
    }
  }
  return found;
}

Fastest fastest_of(const std::vector<Turn>& all) {
  constexpr int kRounds = 5;
  Fastest best{0, HUGE_VAL};
  const std::vector<Repeats> taken = alternate(all, kRounds);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i].error.empty()) continue;
    const double seconds = timing_of(taken[i].turns).median;
    if (seconds < best.seconds) best = {i, seconds};
  }
  if (best.seconds == HUGE_VAL) {
    throw Error(ErrorKind::device, str("none of ", all.size(), " candidates runs"));
  }
  return best;
}

Fastest fastest_of(const std::string& what, const std::vector<Turn>& all) {
  static std::map<std::string, Fastest> known;
  const auto found = known.find(what);
  return found != known.end() ? found->second : known.emplace(what, fastest_of(all)).first->second;
}

}  // namespace weft::measure
