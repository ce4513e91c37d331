// SPDX-License-Identifier: MIT
// The dimensions of a convolution as the implicit-GEMM kernels read them.
#pragma once

#include "engine/launch.h"
#include "kernels/conv/launchers.h"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {

// What the kernels know of the dimensions; offsets within an image fit in 32 bits.
struct ConvGeometry {
  int channels, height, width;  // of x
  int filters, out_height, out_width;
  int kernel_height, kernel_width, stride_h, stride_w, pad_h, pad_w;
  device::FastDivide by_taps, by_kernel_width;  // taps: kernel_height kernel_width
  device::FastDivide by_input, by_width;        // input: height width
  device::FastDivide by_output, by_out_width;   // output: out_height out_width
  device::FastDivide by_stride_h, by_stride_w;

  __device__ int taps() const { return by_taps.divisor(); }
  __device__ int input_plane() const { return by_input.divisor(); }
  __device__ int output_plane() const { return by_output.divisor(); }
};

inline ConvGeometry conv_geometry(const ConvDims& d) {
  return {narrow(d.c),
          narrow(d.h),
          narrow(d.w),
          narrow(d.oc),
          narrow(d.oh()),
          narrow(d.ow()),
          narrow(d.kh),
          narrow(d.kw),
          narrow(d.stride_h),
          narrow(d.stride_w),
          narrow(d.pad_h),
          narrow(d.pad_w),
          device::FastDivide(d.kh * d.kw),
          device::FastDivide(d.kw),
          device::FastDivide(d.h * d.w),
          device::FastDivide(d.w),
          device::FastDivide(d.oh() * d.ow()),
          device::FastDivide(d.ow()),
          device::FastDivide(d.stride_h),
          device::FastDivide(d.stride_w)};
}

}  // namespace weft::kernels::cuda
