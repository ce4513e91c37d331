// SPDX-License-Identifier: MIT
// What the direct kernels share: images staged in shared memory behind a border of zeros.
#pragma once

#include "kernels/conv/cuda.h"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {

// Shared memory a direct kernel may ask for: what every device from sm_75 up has.
constexpr std::int64_t kDirectSharedBytes = 64 * 1024;

bool direct_weights_fit(const ConvDims& dims);

// One channel under 3 x 3 kernels: forward and backward weights (direct_one_channel.cu).
bool one_channel_fits(const ConvDims& dims);
void conv2d_forward_one_channel(float* y, const float* x, const float* w, const float* bias,
                                const ConvDims& dims, Epilogue epilogue, const Stream& stream);
void conv2d_backward_weights_one_channel(float* dw, float* db, const float* dy, const float* x,
                                         const ConvDims& dims, GradientMode mode,
                                         Workspace workspace, const Stream& stream);

// Some planes (height, width) of one image and their place in shared memory.
struct StagedPlanes {
  int planes;  // copied
  int plane_stride, row_stride;
  int origin;  // of pixel (0, 0), behind the border
  device::FastDivide by_width, by_height;

  // All threads of the block copy; barriers are the caller's.
  __device__ __forceinline__ void copy(float* to, const float* __restrict__ from) const {
    const int count = planes * by_height.divisor() * by_width.divisor();
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      int column = 0, row = 0;
      const int plane = by_height.divide(by_width.divide(i, column), row);
      to[plane * plane_stride + row * row_stride + origin + column] = __ldg(from + i);
    }
  }
};

}  // namespace weft::kernels::cuda
