// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/by_type.h"
#include "kernels/isa.h"
#include "kernels/reduce/reduce.h"

namespace weft::kernels {

// Elements that one thread reduces to one partial result.
constexpr std::int64_t kReduceChunk = 1 << 15;

template <class T>
struct ReduceCpuOf {
  void (*reduce)(T* result, const T* x, std::int64_t n, Reduction kind, void* workspace);
  void (*argmax)(std::int64_t* index, const T* x, std::int64_t n, void* workspace);
};

using ReduceCpu = ByType<ReduceCpuOf>;

WEFT_DECLARE_CPU_TABLE(ReduceCpu, reduce_cpu)

}  // namespace weft::kernels
