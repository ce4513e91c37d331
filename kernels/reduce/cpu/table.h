// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/reduce/launchers.h"

namespace weft::kernels {

// Elements that one thread reduces to one partial result.
constexpr std::int64_t kReduceChunk = 1 << 15;

struct ReduceCpu {
  void (*run)(const ReduceCall& call);
};

WEFT_DECLARE_CPU_TABLE(ReduceCpu, reduce_cpu)

}  // namespace weft::kernels
