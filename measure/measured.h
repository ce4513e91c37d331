// SPDX-License-Identifier: MIT
// What each rung did on each GPU, from bench/results: one problem for each, the one of its family's
// README. The table is in the program, so that `weft kernel show` tells it on any machine.
#pragma once

#include <span>
#include <string_view>

namespace weft::measure {

struct MeasuredRung {
  std::string_view family, rung, problem;
  std::string_view gpu;     // its name in gpus(): "h100"
  std::string_view commit;  // that was measured
  double seconds = 0;       // median of one call
  std::string_view rate;    // "6.45 TFLOP/s"
  double share = 0;         // of the roofline bound; 0 where none is known
  // How many times as fast as `before`, the rung before it that is as accurate, in the same run on
  // the same problem; 0 and empty where there is none.
  double gain = 0;
  std::string_view before;
  // The kernel of the call with the most shared memory, or else the most registers, as compiled for
  // sm_90a; empty for copies to and from the host.
  std::string_view kernel;
  int threads = 0, registers = 0;  // of a block, of a thread
  int shared_bytes = 0;            // of a block
};

// The measurement that a family's README shows comes first among those of a rung.
std::span<const MeasuredRung> measured_rungs();
// What the rung did on `gpu`, or where it was not measured there what the README shows; null where
// it was never measured.
const MeasuredRung* measured_rung(std::string_view family, std::string_view rung,
                                  std::string_view gpu = {});

}  // namespace weft::measure
