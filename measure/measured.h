// SPDX-License-Identifier: MIT
// What each rung did on an H200, from bench/results: one problem for each, the one of its family's
// README. The table is in the program, so that `weft kernel show` tells it on any machine.
#pragma once

#include <span>
#include <string_view>

namespace weft::measure {

struct MeasuredRung {
  std::string_view family, rung, problem;
  std::string_view commit;  // that was measured
  double seconds = 0;       // median of one call
  std::string_view rate;    // "6.45 TFLOP/s"
  double share = 0;         // of the roofline bound; 0 where none is known
  // The kernel of the call with the most shared memory, or else the most registers, as compiled for
  // sm_90a; empty for copies to and from the host.
  std::string_view kernel;
  int threads = 0, registers = 0;  // of a block, of a thread
  int shared_bytes = 0;            // of a block
};

std::span<const MeasuredRung> measured_on_h200();
const MeasuredRung* measured_on_h200(std::string_view family, std::string_view rung);  // or null

}  // namespace weft::measure
