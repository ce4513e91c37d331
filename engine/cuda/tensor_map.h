// SPDX-License-Identifier: MIT
// Describes a matrix, or images, in device memory to the bulk tensor copy engine (TMA) of sm_90 and
// later.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace weft {

// tf32 is fp32 in memory, rounded to nearest on its way to shared memory.
enum class TensorMapType { tf32, bf16, fp16, fp32 };

struct MatrixExtents {
  std::int64_t rows = 0, columns = 0;  // at least 1 and less than 2^31
  std::int64_t ld = 0;                 // elements from one row to the next
};

// A copy moves a box of (box_rows, 128 bytes) to shared memory with the 128-byte swizzle; what lies
// outside of the matrix arrives as zeros. `data` and rows start on 16-byte boundaries. Throws
// device when the driver refuses.
CUtensorMap matrix_map(const void* data, TensorMapType type, const MatrixExtents& matrix,
                       int box_rows);

// Images with the channels of a pixel side by side. Extents of at least 1 and less than 2^31; a
// pixel has a multiple of 16 bytes.
struct ImageExtents {
  std::int64_t images = 0, height = 0, width = 0, channels = 0;
};
struct ImageBox {
  int images = 1, height = 1, width = 1;  // at most 256 each
};

// A copy moves 128 bytes of channels of each pixel of a box to shared memory, the pixels one after
// the other in rows of 128 bytes with the 128-byte swizzle; what lies outside of the images, before
// pixel 0 too, arrives as zeros. Throws as matrix_map().
CUtensorMap images_map(const void* data, TensorMapType type, const ImageExtents& images,
                       const ImageBox& box);

}  // namespace weft
