// SPDX-License-Identifier: MIT
// The device under measurement and its ceilings, measured in the same run.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "measure/harness.h"

namespace weft::measure {

// The rate at which all threads of a CPU go through so many bytes together, again and again.
struct CacheLevel {
  double bytes = 0, bandwidth = 0;  // bytes/s
};

struct Machine {
  Device device;
  std::string name, driver, cuda, architectures, isa, commit;
  int compute_capability = 0, multiprocessors = 0, clock_mhz = 0, threads = 0;
  double bandwidth = 0;            // of memory, bytes/s: the faster of a copy and a sum
  std::vector<CacheLevel> caches;  // of a CPU: the smallest first, none slower than the next
  double copy = 0;                 // bytes/s of the copy alone
  double fp32 = 0;                 // FLOP/s of a loop of fused multiply-adds
  double tf32 = 0;  // FLOP/s of dense tensor cores, computed from clock and SMs; 0: none
  double bf16 = 0;
  double shared = 0;  // bytes/s of all shared memories, computed from clock and SMs; 0: none

  double peak(Arithmetic arithmetic) const;
  // bytes/s at which work can be fed that comes back to the same bytes after `touched` others: that
  // of the smallest cache that can hold them, or of memory.
  double bandwidth_of(double touched) const;
  // Seconds below which no kernel can do this work on this device; 0 where no bound is known.
  double bound(double bytes, double flops, Arithmetic arithmetic,
               Traffic traffic = Traffic::device_memory,
               double touched = std::numeric_limits<double>::infinity()) const;
};

// The program's, or what the environment variable WEFT_COMMIT says.
std::string measured_commit();
// Takes a few tenths of a second.
Machine measure_machine(const Stream& stream);

}  // namespace weft::measure
