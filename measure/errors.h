// SPDX-License-Identifier: MIT
// How accurate the products of fp32 are when the sizes of their inputs differ: parts of fewer bits
// can lose what is small beside the largest value of a tile. So the exponents of the inputs are
// spread over more and more bits, as the papers on Ozaki's scheme do with their phi.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/run.h"

namespace weft::measure {

// One way of calling a family on one problem, with an error for each of kSpreads (Work::error()).
struct ErrorRow {
  std::string family, problem, name;
  bool peer = false;
  Arithmetic arithmetic = Arithmetic::fp32;
  std::vector<double> errors;  // infinite where a result is no number
  std::string error;           // why there are none
};

constexpr double kSpreads[] = {0, 5, 10, 15, 20, 25, 30, 35, 40};  // bits

// Every rung and yardstick of matrix products and convolutions that promises the accuracy of fp32,
// and the yardsticks of tf32 beside them. `seen` gets each row as it is done.
std::vector<ErrorRow> measure_errors(const Stream& stream, std::uint64_t seed,
                                     const std::vector<Peer>& peers,
                                     const std::function<void(const ErrorRow&)>& seen);
std::string error_json(const ErrorRow& row, const Machine& machine);  // one JSON object

}  // namespace weft::measure
