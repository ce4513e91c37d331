// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/memory/memory.h"

namespace weft::kernels {

struct MemoryCpu {
  void (*vector_add)(float* c, const float* a, const float* b, std::int64_t n);
  void (*copy_strided)(float* y, const float* x, std::int64_t n, const Access& access);
  void (*read_strided)(std::int64_t* sum, const std::int32_t* x, std::int64_t n,
                       const Access& access);
  void (*shared_strided)(std::uint32_t* sums, std::int64_t blocks, int stride, int rounds);
  void (*copy_rows)(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                    std::int64_t y_pitch, std::int64_t x_pitch);
};

WEFT_DECLARE_CPU_TABLE(MemoryCpu, memory_cpu)

}  // namespace weft::kernels
