// SPDX-License-Identifier: MIT
// Where a window lies, and which windows cover an element, for the rungs whose threads gather.
#pragma once

#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/pool/launchers.h"

namespace weft::kernels::cuda {

// The shape as the kernels see it. A plane has less than 2^31 elements, so int is enough within.
struct Plane {
  int h, w, oh, ow;
  int kh, kw, stride_h, stride_w, pad_h, pad_w;
  int edge_h, edge_w;  // of the padding that a mean over what lies within counts
};

inline Plane plane_of(const PoolDims& d) {
  return {narrow(d.h),
          narrow(d.w),
          narrow(d.oh()),
          narrow(d.ow()),
          narrow(d.kh),
          narrow(d.kw),
          narrow(window_step(d.stride_h, d.h + 2 * d.pad_h + d.more_h)),
          narrow(window_step(d.stride_w, d.w + 2 * d.pad_w + d.more_w)),
          narrow(d.pad_h),
          narrow(d.pad_w),
          d.count == PoolCount::padded ? narrow(d.pad_h) : 0,
          d.count == PoolCount::padded ? narrow(d.pad_w) : 0};
}

// The weight of each element of a window in the mean, where that is the same for all windows.
inline float weight_of(const PoolDims& d) {
  return 1.0f / static_cast<float>(d.kh * d.kw);
}

// Elements [begin, end) of an axis.
struct Range {
  int begin, end;
};

// What of window p lies inside [0, size).
__device__ __forceinline__ Range window_range(int p, int stride, int pad, int kernel, int size) {
  const int begin = p * stride - pad;
  return {max(begin, 0), min(begin + kernel, size)};
}

// The weight of each element of window (p, q), where what lies within the edges counts.
__device__ __forceinline__ float weight_within(const Plane& s, int p, int q) {
  const int top = p * s.stride_h - s.pad_h, left = q * s.stride_w - s.pad_w;
  const int rows = min(top + s.kh, s.h + s.edge_h) - max(top, -s.edge_h);
  const int columns = min(left + s.kw, s.w + s.edge_w) - max(left, -s.edge_w);
  return 1.0f / static_cast<float>(rows * columns);
}

// The windows of [0, windows) that cover element i.
__device__ __forceinline__ Range windows_over(int i, int stride, int pad, int kernel, int windows) {
  const unsigned end = static_cast<unsigned>(i) + static_cast<unsigned>(pad);
  const unsigned size = static_cast<unsigned>(kernel), step = static_cast<unsigned>(stride);
  const int begin = end < size ? 0 : static_cast<int>((end - size) / step) + 1;
  return {begin, min(static_cast<int>(end / step) + 1, windows)};
}

}  // namespace weft::kernels::cuda
