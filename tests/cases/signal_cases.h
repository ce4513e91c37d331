// SPDX-License-Identifier: MIT
// Signals, images and volumes: around the tiles of every rung (1024 outputs, 1025 - taps outputs,
// 32 x 32, 4 x 8 x 32), filters odd and even, longer than the signal, and the longest.
#pragma once

#include <vector>

#include "kernels/signal/problem.h"

namespace weft::test {

inline std::vector<problems::Signal> signal_cases() {
  std::vector<problems::Signal> cases;
  for (const std::int64_t n : {1, 2, 31, 32, 33, 255, 256, 257, 1009, 1023, 1024, 1025, 5003}) {
    for (const std::int64_t taps : {1, 2, 5, 8}) cases.push_back({{1, 1, n, 1, 1, taps}});
  }
  for (const std::int64_t n : {1, 100, 513, 1020, 1021, 2040, 2041, 9001}) {
    for (const std::int64_t taps : {255, 256, 511, 512}) cases.push_back({{1, 1, n, 1, 1, taps}});
  }
  for (const std::int64_t side : {31, 32, 33, 65}) {
    cases.push_back({{1, side, 37, 1, 3, 3}});
    cases.push_back({{1, 29, side, 1, 5, 4}});
    cases.push_back({{1, side, side, 1, 1, 7}});
  }
  cases.push_back({{1, 1, 50, 1, 3, 3}});  // an image of one row
  cases.push_back({{1, 50, 1, 1, 3, 3}});
  cases.push_back({{1, 2, 3, 1, 7, 9}});  // filter larger than the image
  cases.push_back({{1, 67, 71, 1, 32, 31}});
  cases.push_back({{1, 40, 130, 1, 2, 32}});
  // More taps than the tiles of rank 1 hold, than a cache of constants, and all that there may be.
  cases.push_back({{1, 1, 1500, 1, 1, 513}});
  cases.push_back({{1, 1, 300, 1, 1, 2049}});
  cases.push_back({{1, 1, 40, 1, 1, 16384}});
  cases.push_back({{1, 35, 70, 1, 33, 35}});
  cases.push_back({{1, 20, 33, 1, 63, 63}});
  cases.push_back({{1, 9, 8, 1, 128, 128}});
  cases.push_back({{5, 9, 33, 13, 1, 15}});
  cases.push_back({{3, 4, 5, 25, 25, 25}});
  cases.push_back({{3, 7, 31, 3, 3, 3}});
  cases.push_back({{4, 8, 32, 3, 3, 3}});
  cases.push_back({{5, 9, 33, 3, 3, 3}});
  cases.push_back({{9, 17, 65, 2, 4, 6}});
  cases.push_back({{1, 5, 40, 3, 1, 1}});  // deeper filter than volume
  cases.push_back({{2, 1, 3, 5, 5, 5}});
  cases.push_back({{13, 11, 37, 11, 11, 11}});
  cases.push_back({{7, 20, 19, 1, 1, 1}});
  return cases;
}

// The cases of a sanitizer run: several blocks with tails, and filters that reach across them.
inline std::vector<problems::Signal> few_signal_cases() {
  return {
      {{1, 1, 1, 1, 1, 5}},   {{1, 1, 2049, 1, 1, 5}},  {{1, 1, 1021, 1, 1, 512}},
      {{1, 33, 37, 1, 3, 3}}, {{1, 40, 130, 1, 2, 32}}, {{5, 9, 33, 3, 3, 3}},
      {{9, 17, 65, 2, 4, 6}}, {{1, 1, 40, 1, 1, 2049}}, {{1, 9, 33, 1, 35, 33}},
      {{2, 3, 5, 13, 1, 15}},
  };
}

}  // namespace weft::test
