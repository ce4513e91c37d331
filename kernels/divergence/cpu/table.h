// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/divergence/divergence.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct DivergenceCpu {
  void (*sq_or_cube)(std::int32_t* y, const std::int32_t* x, std::int64_t n, int rounds);
};

WEFT_DECLARE_CPU_TABLE(DivergenceCpu, divergence_cpu)

}  // namespace weft::kernels
