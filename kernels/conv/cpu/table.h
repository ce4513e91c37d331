// SPDX-License-Identifier: MIT
// The CPU versions of convolution, one table per instruction set.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct ConvCpu {
  void (*forward_direct)(float* y, const float* x, const float* w, const float* bias,
                         const ConvDims& dims, Epilogue epilogue);
  void (*backward_data_direct)(float* dx, const float* dy, const float* w, const ConvDims& dims,
                               GradientMode mode);
  void (*backward_weights_direct)(float* dw, float* db, const float* dy, const float* x,
                                  const ConvDims& dims, GradientMode mode);

  // All extents > 0 (n may be 0 for the weights). Scratch holds what the *_scratch function says,
  // in floats, for at most that many threads.
  void (*forward_implicit_gemm)(float* y, const float* x, const float* w, const float* bias,
                                const ConvDims& dims, Epilogue epilogue, float* scratch);
  void (*backward_data_implicit_gemm)(float* dx, const float* dy, const float* w,
                                      const ConvDims& dims, GradientMode mode, float* scratch);
  void (*backward_weights_implicit_gemm)(float* dw, float* db, const float* dy, const float* x,
                                         const ConvDims& dims, GradientMode mode, float* scratch);
  // Winograd's algorithm; see ConvOptions::tile_errors. Where the extents fit it.
  bool (*fits_winograd)(ConvPass pass, const ConvDims& dims);
  void (*forward_winograd)(float* y, const float* x, const float* w, const float* bias,
                           const ConvDims& dims, Epilogue epilogue, float* scratch);
  void (*backward_data_winograd)(float* dx, const float* dy, const float* w, const ConvDims& dims,
                                 GradientMode mode, float* scratch);
  void (*backward_weights_winograd)(float* dw, float* db, const float* dy, const float* x,
                                    const ConvDims& dims, GradientMode mode, float* scratch);
  std::size_t (*winograd_scratch)(ConvPass pass, const ConvDims& dims, int threads);
  std::size_t (*forward_scratch)(const ConvDims& dims, int threads);
  std::size_t (*backward_data_scratch)(const ConvDims& dims, int threads);
  std::size_t (*backward_weights_scratch)(const ConvDims& dims, int threads);
};

WEFT_DECLARE_CPU_TABLE(ConvCpu, conv_cpu)

}  // namespace weft::kernels
