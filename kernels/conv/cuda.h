// SPDX-License-Identifier: MIT
// The CUDA launchers behind conv2d_*(): one set per technique, called by conv.cpp after validation.
//
// Every launcher takes any size, stride and padding. dims.n may be 0 only for backward_weights; the
// other extents, outputs included, are positive. The workspace holds at least
// conv2d_workspace_bytes(pass, dims, variant) bytes, aligned to 256.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/conv/fused_relu_pool.h"

namespace weft::kernels::cuda {

// `variant` is not automatic.
std::size_t conv2d_workspace_bytes(ConvPass pass, const ConvDims& dims, ConvVariant variant,
                                   ComputeMode mode);

// Does `direct` keep the images of this pass and shape in shared memory? Otherwise it falls back to
// one thread or block for each result.
bool direct_fits(ConvPass pass, const ConvDims& dims);

// im2col_gemm, implicit_gemm_tensor_core and implicit_gemm_wgmma look at options.mode; im2col_gemm
// computes in fp32 below sm_80.
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

void conv2d_forward_implicit_gemm_tensor_core(float* y, const float* x, const float* w,
                                              const float* bias, const ConvDims& dims,
                                              Epilogue epilogue, const ConvOptions& options,
                                              Workspace workspace, const Stream& stream);
void conv2d_backward_data_implicit_gemm_tensor_core(float* dx, const float* dy, const float* w,
                                                    const ConvDims& dims, GradientMode mode,
                                                    const ConvOptions& options, Workspace workspace,
                                                    const Stream& stream);
void conv2d_backward_weights_implicit_gemm_tensor_core(float* dw, float* db, const float* dy,
                                                       const float* x, const ConvDims& dims,
                                                       GradientMode mode,
                                                       const ConvOptions& options,
                                                       Workspace workspace, const Stream& stream);

// With strides they call implicit_gemm_tensor_core, and so do backward weights that do not fit.
void conv2d_forward_implicit_gemm_wgmma(float* y, const float* x, const float* w, const float* bias,
                                        const ConvDims& dims, Epilogue epilogue,
                                        const ConvOptions& options, Workspace workspace,
                                        const Stream& stream);
void conv2d_backward_data_implicit_gemm_wgmma(float* dx, const float* dy, const float* w,
                                              const ConvDims& dims, GradientMode mode,
                                              const ConvOptions& options, Workspace workspace,
                                              const Stream& stream);

void conv2d_backward_weights_implicit_gemm_wgmma(float* dw, float* db, const float* dy,
                                                 const float* x, const ConvDims& dims,
                                                 GradientMode mode, const ConvOptions& options,
                                                 Workspace workspace, const Stream& stream);

// Does `implicit_gemm_wgmma` compute weights of this shape: 3 x 3, stride 1, and 32 images side by
// side (64 in bf16) are no more than what is packed at a time? Otherwise it calls
// implicit_gemm_tensor_core.
bool wgmma_weights_fit(const ConvDims& dims, ComputeMode mode);

// Does `direct_tensor_core` compute this pass and shape? Otherwise it calls `direct`.
bool direct_tensor_core_fits(ConvPass pass, const ConvDims& dims);

// In fp32 with products of fp32 accuracy, else with operands rounded to tf32.
void conv2d_forward_direct_tensor_core(float* y, const float* x, const float* w, const float* bias,
                                       const ConvDims& dims, Epilogue epilogue,
                                       const ConvOptions& options, Workspace workspace,
                                       const Stream& stream);
void conv2d_backward_data_direct_tensor_core(float* dx, const float* dy, const float* w,
                                             const ConvDims& dims, GradientMode mode,
                                             const ConvOptions& options, Workspace workspace,
                                             const Stream& stream);
void conv2d_backward_weights_direct_tensor_core(float* dw, float* db, const float* dy,
                                                const float* x, const ConvDims& dims,
                                                GradientMode mode, const ConvOptions& options,
                                                Workspace workspace, const Stream& stream);

void conv2d_forward_direct_constant(float* y, const float* x, const float* w, const float* bias,
                                    const ConvDims& dims, Epilogue epilogue,
                                    const ConvOptions& options, Workspace workspace,
                                    const Stream& stream);
void conv2d_backward_data_direct_constant(float* dx, const float* dy, const float* w,
                                          const ConvDims& dims, GradientMode mode,
                                          const ConvOptions& options, Workspace workspace,
                                          const Stream& stream);

void conv2d_forward_tiled(float* y, const float* x, const float* w, const float* bias,
                          const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                          Workspace workspace, const Stream& stream);
void conv2d_backward_data_tiled(float* dx, const float* dy, const float* w, const ConvDims& dims,
                                GradientMode mode, const ConvOptions& options, Workspace workspace,
                                const Stream& stream);

void conv2d_relu_pool_forward(float* y, std::uint8_t* argmax, const float* x, const float* w,
                              const float* bias, const ReluPoolDims& dims, const Stream& stream);
void conv2d_relu_pool_backward_data(float* dx, const float* dy, const std::uint8_t* argmax,
                                    const float* w, const ReluPoolDims& dims, GradientMode mode,
                                    const Stream& stream);
// The same for any shape: what these two call where they have no kernel of their own.
void relu_pool_forward_gather(float* y, std::uint8_t* argmax, const float* x, const float* w,
                              const float* bias, const ReluPoolDims& dims, const Stream& stream);
void relu_pool_backward_data_gather(float* dx, const float* dy, const std::uint8_t* argmax,
                                    const float* w, const ReluPoolDims& dims, bool accumulate,
                                    const Stream& stream);
// dims.conv.n, and the windows of an image, may be 0.
void conv2d_relu_pool_backward_weights(float* dw, float* db, const float* dy,
                                       const std::uint8_t* argmax, const float* x,
                                       const ReluPoolDims& dims, GradientMode mode,
                                       Workspace workspace, const Stream& stream);
std::size_t relu_pool_workspace_bytes(const ReluPoolDims& dims);

}  // namespace weft::kernels::cuda
