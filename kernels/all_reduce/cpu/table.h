// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/all_reduce/all_reduce.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct AllReduceCpu {
  void (*all_reduce)(std::span<float* const> values, std::int64_t n);
};

WEFT_DECLARE_CPU_TABLE(AllReduceCpu, all_reduce_cpu)

}  // namespace weft::kernels
