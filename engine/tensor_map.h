// SPDX-License-Identifier: MIT
// Describes a matrix in device memory to the bulk tensor copy engine (TMA) of sm_90 and later.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace weft {

// tf32 is fp32 in memory, rounded to nearest on its way to shared memory.
enum class TensorMapType { tf32, bf16, fp32 };

struct MatrixExtents {
  std::int64_t rows = 0, columns = 0;  // at least 1 and less than 2^31
  std::int64_t ld = 0;                 // elements from one row to the next
};

// A copy moves a box of (box_rows, 128 bytes) to shared memory with the 128-byte swizzle; what lies
// outside of the matrix arrives as zeros. `data` and rows start on 16-byte boundaries. Throws
// device when the driver refuses.
CUtensorMap matrix_map(const void* data, TensorMapType type, const MatrixExtents& matrix,
                       int box_rows);

}  // namespace weft
