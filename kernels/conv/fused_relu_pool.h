// SPDX-License-Identifier: MIT
// Convolution, bias, ReLU and max pooling in one pass: the rung "fused_relu_pool", for layers of
// few channels, whose feature map costs more to store and read than to compute.
//
//   z                 conv2d_forward without epilogue (kernels/conv/conv.h), never stored
//   forward           y[n,o,u,v] = max(0, max over the window of z[n,o,u ph + i,v pw + j]);
//                     argmax[n,o,u,v] = i pw + j of that maximum, the lowest of equals, or
//                     kReluPoolCut where y is not above 0, so that no gradient passes
//   backward          dz = dy at the argmax of each window, else 0; then as in conv.h:
//   backward data     dx (+)= the gradient of the data for dz
//   backward weights  dw (+)= the gradient of the filters for dz; db (+)= sum of dz
//
// Windows lie side by side: ph and pw are also their strides, and rows and columns of z behind the
// last whole window are not used. A window has at most 255 elements. A NaN in a window wins and is
// cut. Extents of 0, errors and determinism as in conv.h; y must not overlap x.
// Of ConvOptions, variant is automatic or fused_relu_pool; mode rounds the operands of the products
// where a kernel gains by it, and never the sum db; relu_mask is of backward data, as in conv.h.
// FLOPs forward: 2 n oc (oh / ph * ph) (ow / pw * pw) c kh kw; backward those over ph pw.
#pragma once

#include <cstdint>

#include "kernels/conv/conv.h"

namespace weft::kernels {

struct ReluPoolDims {
  ConvDims conv;
  std::int64_t ph = 2, pw = 2;  // window of the pooling

  std::int64_t rows() const { return conv.oh() / ph; }  // of y
  std::int64_t columns() const { return conv.ow() / pw; }
};

constexpr std::uint8_t kReluPoolCut = 255;

void conv2d_relu_pool_forward(float* y,              // (n, oc, rows, columns)
                              std::uint8_t* argmax,  // (n, oc, rows, columns), or null
                              const float* x,        // (n, c, h, w)
                              const float* w,        // (oc, c, kh, kw)
                              const float* bias,     // (oc,) or null
                              const ReluPoolDims& dims, const ConvOptions& options,
                              const Stream& stream);

void conv2d_relu_pool_backward_data(float* dx,                   // (n, c, h, w)
                                    const float* dy,             // (n, oc, rows, columns)
                                    const std::uint8_t* argmax,  // (n, oc, rows, columns)
                                    const float* w,              // (oc, c, kh, kw)
                                    const ReluPoolDims& dims, GradientMode mode,
                                    const ConvOptions& options, const Stream& stream);

// Do all three passes run on tensor cores? Modes tf32 and bf16, sm_90a, kernels of 3 x 3 with
// stride 1 under windows of 2 x 2; and the shape fills their tiles, unless options name the
// variant.
bool conv2d_relu_pool_on_tensor_cores(const ReluPoolDims& dims, const ConvOptions& options,
                                      Device device);

// Bytes of scratch for the backward weights pass.
std::size_t conv2d_relu_pool_workspace_bytes(const ReluPoolDims& dims, const ConvOptions& options,
                                             Device device);

// n == 0, or no window at all, with GradientMode::overwrite writes zeros.
void conv2d_relu_pool_backward_weights(float* dw,                   // (oc, c, kh, kw)
                                       float* db,                   // (oc,) or null
                                       const float* dy,             // (n, oc, rows, columns)
                                       const std::uint8_t* argmax,  // (n, oc, rows, columns)
                                       const float* x,              // (n, c, h, w)
                                       const ReluPoolDims& dims, GradientMode mode,
                                       const ConvOptions& options, Workspace workspace,
                                       const Stream& stream);

// The same in fp32.
inline void conv2d_relu_pool_forward(float* y, std::uint8_t* argmax, const float* x, const float* w,
                                     const float* bias, const ReluPoolDims& dims,
                                     const Stream& stream) {
  conv2d_relu_pool_forward(y, argmax, x, w, bias, dims, {}, stream);
}
inline void conv2d_relu_pool_backward_data(float* dx, const float* dy, const std::uint8_t* argmax,
                                           const float* w, const ReluPoolDims& dims,
                                           GradientMode mode, const Stream& stream) {
  conv2d_relu_pool_backward_data(dx, dy, argmax, w, dims, mode, {}, stream);
}
inline std::size_t conv2d_relu_pool_workspace_bytes(const ReluPoolDims& dims, Device device) {
  return conv2d_relu_pool_workspace_bytes(dims, {}, device);
}
inline void conv2d_relu_pool_backward_weights(float* dw, float* db, const float* dy,
                                              const std::uint8_t* argmax, const float* x,
                                              const ReluPoolDims& dims, GradientMode mode,
                                              Workspace workspace, const Stream& stream) {
  conv2d_relu_pool_backward_weights(dw, db, dy, argmax, x, dims, mode, {}, workspace, stream);
}

}  // namespace weft::kernels
