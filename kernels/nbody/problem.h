// SPDX-License-Identifier: MIT
// The accelerations of all pairs of bodies as tests and benchmarks ask for them.
#pragma once

#include <cmath>

#include "kernels/nbody/nbody.h"
#include "kernels/problem.h"

namespace weft::problems {

struct Nbody {
  static constexpr bool kByFlops = true;
  static constexpr float kSoftening = 0.05f;

  std::int64_t n;

  std::string text() const { return str(n, " bodies"); }
  double bytes() const { return kernels::nbody_bytes(n); }
  double footprint() const { return HUGE_VAL; }  // one set of buffers: arithmetic is the bound
  double flops() const { return kernels::nbody_flops(n); }
};

}  // namespace weft::problems
