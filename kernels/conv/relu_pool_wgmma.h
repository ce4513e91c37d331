// SPDX-License-Identifier: MIT
// The passes of fused_relu_pool.h on wgmma, in tf32 and bf16; sm_90a alone (not later devices).
//
// A pass is called for what its fits() says: 3 x 3 kernels with stride 1 and at most 2 of padding
// under windows of 2 x 2, few enough channels that their weights and two slots fit in shared
// memory, and at least one window.
#pragma once

#include "kernels/conv/fused_relu_pool.h"

namespace weft::kernels::cuda {

constexpr int kPoolKernel = 3, kPoolTaps = kPoolKernel * kPoolKernel;

inline bool has_wgmma_shape(const ReluPoolDims& dims) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // of an image: 32-bit offsets
  const ConvDims& d = dims.conv;
  return d.c * d.h * d.w < kMostElements && d.oc * d.oh() * d.ow() < kMostElements &&
         d.kh == kPoolKernel && d.kw == kPoolKernel && d.stride_h == 1 && d.stride_w == 1 &&
         d.pad_h < kPoolKernel && d.pad_w < kPoolKernel && dims.ph == 2 && dims.pw == 2 &&
         d.n > 0 && dims.rows() > 0 && dims.columns() > 0;
}

bool relu_pool_forward_wgmma_fits(const ReluPoolDims& dims, ComputeMode mode);
bool relu_pool_backward_data_wgmma_fits(const ReluPoolDims& dims, ComputeMode mode);
bool relu_pool_backward_weights_wgmma_fits(const ReluPoolDims& dims);

void conv2d_relu_pool_forward_wgmma(float* y, std::uint8_t* argmax, const float* x, const float* w,
                                    const float* bias, const ReluPoolDims& dims, ComputeMode mode,
                                    const Stream& stream);
void conv2d_relu_pool_backward_data_wgmma(float* dx, const float* dy, const std::uint8_t* argmax,
                                          const float* w, const ReluPoolDims& dims,
                                          GradientMode gradient, const ConvOptions& options,
                                          const Stream& stream);
void conv2d_relu_pool_backward_weights_wgmma(float* dw, float* db, const float* dy,
                                             const std::uint8_t* argmax, const float* x,
                                             const ReluPoolDims& dims, GradientMode gradient,
                                             ComputeMode mode, Workspace workspace,
                                             const Stream& stream);
std::size_t relu_pool_wgmma_workspace_bytes(const ReluPoolDims& dims, ComputeMode mode);

}  // namespace weft::kernels::cuda
