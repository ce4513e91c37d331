// SPDX-License-Identifier: MIT
// The CUDA launchers behind conv2d_*(): one set per technique, called by conv.cpp after validation.
//
// Every launcher takes any size, stride and padding. dims.n may be 0 only for backward_weights; the
// other extents, outputs included, are positive. The workspace holds at least
// conv2d_workspace_bytes(pass, dims, variant) bytes, aligned to 256.
#pragma once

#include "kernels/conv/conv.h"

namespace weft::kernels::cuda {

// `variant` is not automatic: resolve it with conv_automatic() first.
std::size_t conv2d_workspace_bytes(ConvPass pass, const ConvDims& dims, ConvVariant variant);

// What `automatic` means for this pass and shape. The tensor-core modes go to im2col_gemm, the only
// variant that looks at options.mode (below sm_80 it computes in fp32).
ConvVariant conv_automatic(ConvPass pass, const ConvDims& dims, const ConvOptions& options);

void conv2d_forward_direct(float* y, const float* x, const float* w, const float* bias,
                           const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                           Workspace workspace, const Stream& stream);
void conv2d_backward_data_direct(float* dx, const float* dy, const float* w, const ConvDims& dims,
                                 GradientMode mode, const ConvOptions& options, Workspace workspace,
                                 const Stream& stream);
void conv2d_backward_weights_direct(float* dw, float* db, const float* dy, const float* x,
                                    const ConvDims& dims, GradientMode mode,
                                    const ConvOptions& options, Workspace workspace,
                                    const Stream& stream);

void conv2d_forward_im2col_gemm(float* y, const float* x, const float* w, const float* bias,
                                const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                                Workspace workspace, const Stream& stream);
void conv2d_backward_data_im2col_gemm(float* dx, const float* dy, const float* w,
                                      const ConvDims& dims, GradientMode mode,
                                      const ConvOptions& options, Workspace workspace,
                                      const Stream& stream);
void conv2d_backward_weights_im2col_gemm(float* dw, float* db, const float* dy, const float* x,
                                         const ConvDims& dims, GradientMode mode,
                                         const ConvOptions& options, Workspace workspace,
                                         const Stream& stream);

void conv2d_forward_implicit_gemm(float* y, const float* x, const float* w, const float* bias,
                                  const ConvDims& dims, Epilogue epilogue,
                                  const ConvOptions& options, Workspace workspace,
                                  const Stream& stream);
void conv2d_backward_data_implicit_gemm(float* dx, const float* dy, const float* w,
                                        const ConvDims& dims, GradientMode mode,
                                        const ConvOptions& options, Workspace workspace,
                                        const Stream& stream);
void conv2d_backward_weights_implicit_gemm(float* dw, float* db, const float* dy, const float* x,
                                           const ConvDims& dims, GradientMode mode,
                                           const ConvOptions& options, Workspace workspace,
                                           const Stream& stream);

}  // namespace weft::kernels::cuda
