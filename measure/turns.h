// SPDX-License-Identifier: MIT
// Takes turns: what is compared is measured in one loop, so that a change of the clock, of the
// power or of the machine's other work meets all of it alike. The interval of the repeats tells how
// far a figure can be trusted.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace weft::measure {

// Holds a median.
struct Interval {
  double low = 0, median = 0, high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
};
// From independent repeats: it holds the median with a probability of at least 95 % where there are
// six or more, by the binomial distribution; with fewer it goes from the least to the most. Throws
// usage without one.
Interval interval_of(std::vector<double> repeats);
// Of `over[i] / under[i]`, which were measured in the same round. Both have as many.
Interval ratio_of(const std::vector<double>& over, const std::vector<double>& under);
// "1.0" where the interval contains 1, so that it says neither faster nor slower; else "1.08".
std::string ratio_text(const Interval& ratio);

// One turn: the seconds per call of its samples.
using Turn = std::function<std::vector<double>()>;

struct Repeats {
  std::vector<double> turns;    // the median of each turn, in the order of the rounds
  std::vector<double> samples;  // of all turns
  std::string error;            // of the turn that failed; there is none behind it
};
// Rounds in which each of `all` takes its turn, forward and backward in turn, so that none always
// follows the same other. `before` is called before each round.
std::vector<Repeats> alternate(const std::vector<Turn>& all, int rounds,
                               const std::function<void()>& before = {});

struct Fastest {
  std::size_t index;
  double seconds;  // its median
};
// The one with the least median of five turns. Those that fail are passed over; throws device where
// all do.
Fastest fastest_of(const std::vector<Turn>& all);
// The same, and from then on the same answer for `what` without a turn: what is checked behind a
// measurement is then what was timed.
Fastest fastest_of(const std::string& what, const std::vector<Turn>& all);

}  // namespace weft::measure
