// SPDX-License-Identifier: MIT
// Launchers of vector_add.cu, strided.cu, shared_strided.cu and copy_rows.cu; same parameters as
// the contracts in memory.h. read_strided adds to *sum.
#pragma once

#include "kernels/memory/memory.h"

namespace weft::kernels::cuda {

void vector_add_scalar(float* c, const float* a, const float* b, std::int64_t n,
                       const Stream& stream);
void vector_add_vectorized(float* c, const float* a, const float* b, std::int64_t n,
                           const Stream& stream);
void copy_strided(float* y, const float* x, std::int64_t n, const Access& access,
                  const Stream& stream);
void read_strided(std::int64_t* sum, const std::int32_t* x, std::int64_t n, const Access& access,
                  const Stream& stream);
void shared_strided(std::uint32_t* sums, std::int64_t blocks, int stride, int rounds,
                    const Stream& stream);
void copy_rows(float* y, const float* x, std::int64_t rows, std::int64_t cols, std::int64_t y_pitch,
               std::int64_t x_pitch, const Stream& stream);

}  // namespace weft::kernels::cuda
