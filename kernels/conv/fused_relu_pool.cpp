// SPDX-License-Identifier: MIT
// Validation and dispatch of convolution fused with ReLU and max pooling.
#include "kernels/conv/fused_relu_pool.h"

#include <string>

#include "engine/error.h"
#include "kernels/conv/cpu_table.h"
#include "kernels/conv/validate.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/conv/cuda.h"
#endif

namespace weft::kernels {
namespace {

void check(const ReluPoolDims& d, const ConvOptions& options) {
  check_conv_dims(d.conv);
  if (options.variant != ConvVariant::automatic &&
      options.variant != ConvVariant::fused_relu_pool) {
    throw Error(ErrorKind::usage, "conv2d_relu_pool: the variant is automatic or fused_relu_pool");
  }
  constexpr std::int64_t kMostElements = 255;  // argmax is a byte, and 255 says "cut"
  if (d.ph < 1 || d.pw < 1 || d.ph > kMostElements || d.pw > kMostElements ||
      d.ph * d.pw > kMostElements) {
    throw Error(ErrorKind::usage, str("conv2d_relu_pool: expected a window of 1 to ", kMostElements,
                                      " elements, found ", d.ph, " x ", d.pw));
  }
}

// Nothing to compute: no pixels, or no whole window.
bool is_empty(const ReluPoolDims& d) {
  return d.conv.n == 0 || d.conv.oc == 0 || d.rows() == 0 || d.columns() == 0;
}

}  // namespace

void conv2d_relu_pool_forward(float* y, std::uint8_t* argmax, const float* x, const float* w,
                              const float* bias, const ReluPoolDims& dims,
                              const ConvOptions& options, const Stream& stream) {
  check(dims, options);
  if (is_empty(dims) || dims.conv.c == 0) return;
  if (stream.device().is_cpu()) {
    return select_conv_cpu().relu_pool_forward(y, argmax, x, w, bias, dims);
  }
#ifdef WEFT_WITH_CUDA
  cuda::conv2d_relu_pool_forward(y, argmax, x, w, bias, dims, stream);
#endif
}

void conv2d_relu_pool_backward_data(float* dx, const float* dy, const std::uint8_t* argmax,
                                    const float* w, const ReluPoolDims& dims, GradientMode mode,
                                    const ConvOptions& options, const Stream& stream) {
  check(dims, options);
  const ConvDims& d = dims.conv;
  if (d.n == 0 || d.c == 0 || d.h == 0 || d.w == 0 || d.oc == 0) return;
  if (stream.device().is_cpu()) {
    select_conv_cpu().relu_pool_backward_data(dx, dy, argmax, w, dims, mode);
    return mask_gradient(dx, d, options, stream);
  }
#ifdef WEFT_WITH_CUDA
  cuda::conv2d_relu_pool_backward_data(dx, dy, argmax, w, dims, mode, stream);
  mask_gradient(dx, d, options, stream);
#endif
}

std::size_t conv2d_relu_pool_workspace_bytes(const ReluPoolDims& dims, const ConvOptions& options,
                                             Device device) {
  check(dims, options);
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda() && !is_empty(dims) && dims.conv.c > 0) {
    return cuda::relu_pool_workspace_bytes(dims);
  }
#endif
  (void)device;
  return 0;
}

void conv2d_relu_pool_backward_weights(float* dw, float* db, const float* dy,
                                       const std::uint8_t* argmax, const float* x,
                                       const ReluPoolDims& dims, GradientMode mode,
                                       const ConvOptions& options, Workspace workspace,
                                       const Stream& stream) {
  const std::size_t needed = conv2d_relu_pool_workspace_bytes(dims, options, stream.device());
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str("conv2d_relu_pool: expected a workspace of ", needed,
                                      " bytes, found ", workspace.bytes));
  }
  if (dims.conv.oc == 0 || dims.conv.c == 0) return;
  if (stream.device().is_cpu()) {
    return select_conv_cpu().relu_pool_backward_weights(dw, db, dy, argmax, x, dims, mode);
  }
#ifdef WEFT_WITH_CUDA
  cuda::conv2d_relu_pool_backward_weights(dw, db, dy, argmax, x, dims, mode, workspace, stream);
#endif
}

}  // namespace weft::kernels
