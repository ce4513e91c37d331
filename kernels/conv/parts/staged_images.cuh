// SPDX-License-Identifier: MIT
// What the direct kernels share: images staged in shared memory behind a border of zeros.
//
// Layers of small networks take less time than starting a kernel does. So these kernels overlap
// with the one before them (sm_90): they write their zeros and prefetch the image into L2 before
// they may read it. Their pointers are not __restrict__, see reduce/rungs/vectorized.cu.
#pragma once

#include "kernels/conv/launchers.h"
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

// use(i, from[i]) for i in [0, count), shared among the threads of the block; kBatch loads of a
// thread are in flight at a time, whatever `use` writes.
template <int kBatch, class Use>
__device__ __forceinline__ void load_in_batches(const float* from, int count, const Use& use) {
  const int step = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kBatch * step) {
    float held[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * step < count) held[k] = from[first + k * step];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * step < count) use(first + k * step, held[k]);
    }
  }
}

// Some planes (height, width) of one image and their place in shared memory.
struct StagedPlanes {
  int planes;  // copied
  int plane_stride, row_stride;
  int origin;  // of pixel (0, 0), behind the border
  device::FastDivide by_width, by_height;

  __device__ __forceinline__ int floats() const {
    return planes * by_height.divisor() * by_width.divisor();
  }

  // All threads of the block copy; barriers are the caller's.
  template <int kBatch = 4>
  __device__ __forceinline__ void copy(float* to, const float* from) const {
    load_in_batches<kBatch>(from, floats(), [&](int i, float value) {
      int column = 0, row = 0;
      const int plane = by_height.divide(by_width.divide(i, column), row);
      to[plane * plane_stride + row * row_stride + origin + column] = value;
    });
  }
};

}  // namespace weft::kernels::cuda
