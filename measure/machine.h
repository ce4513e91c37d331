// SPDX-License-Identifier: MIT
// The device under measurement and its ceilings, measured in the same run.
#pragma once

#include <string>

#include "measure/harness.h"

namespace weft::measure {

struct Machine {
  Device device;
  std::string name, driver, cuda, architectures, isa, commit;
  int compute_capability = 0, multiprocessors = 0, clock_mhz = 0, threads = 0;
  double bandwidth = 0;  // bytes/s, the better of a copy (read + written) and a sum (read)
  double copy = 0;       // bytes/s of the copy alone
  double fp32 = 0;       // FLOP/s of a loop of fused multiply-adds
  double tf32 = 0;       // FLOP/s of dense tensor cores, computed from clock and SMs; 0: none
  double bf16 = 0;
  double shared = 0;  // bytes/s of all shared memories, computed from clock and SMs; 0: none

  double peak(Arithmetic arithmetic) const;
  // Seconds below which no kernel can do this work on this device; 0 where no bound is known.
  double bound(double bytes, double flops, Arithmetic arithmetic,
               Traffic traffic = Traffic::device_memory) const;
};

// Takes a few tenths of a second. The commit comes from the environment variable WEFT_COMMIT.
Machine measure_machine(const Stream& stream);

// Peak loops. On a GPU they are queued; on the CPU they run at once.
double fma_loop(const Stream& stream);  // FLOPs that one call does
void sum_loop(float* out, const float* x, std::int64_t n, const Stream& stream);

}  // namespace weft::measure
