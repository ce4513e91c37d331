// SPDX-License-Identifier: MIT
// What `weft bench` does: the same for weft, which has no yardsticks, and for weft-bench, which
// has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run.h"

namespace weft::measure {

struct BenchRequest {
  std::vector<std::string> families;  // names, or "all"
  std::string json, report;           // files to write; empty: none
  Device device;
  double seconds = 0.2;
  std::int64_t seed = 1, threads = 0;  // threads 0: every hardware thread
};

// In place of families: the errors of products of fp32 (measure/errors.h).
constexpr std::string_view kErrors = "errors";

// Prints a table to stdout as rows are measured. Returns the exit code: 1 when a check failed.
int run_bench(const BenchRequest& request, const std::vector<Peer>& peers);

// The request as words for weft-bench.
std::vector<std::string> to_arguments(const BenchRequest& request);
BenchRequest parse_arguments(const std::vector<std::string>& arguments);  // of to_arguments()

}  // namespace weft::measure
