// SPDX-License-Identifier: MIT
// Validation and dispatch of convolution fused with ReLU and max pooling.
#include "kernels/conv/fused_relu_pool.h"

#include <string>

#include "engine/error.h"
#include "kernels/conv/cpu_table.h"
#include "kernels/conv/validate.h"
#include "kernels/hopper.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/conv/cuda.h"
#include "kernels/conv/relu_pool_wgmma.h"
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

#ifdef WEFT_WITH_CUDA
// The share of a tensor core's products that count: of filters, channels and pixels in their tiles.
double filled(const ReluPoolDims& d) {
  const auto share = [](std::int64_t extent, std::int64_t tile) {
    const std::int64_t tiles = (extent + tile - 1) / tile;
    return static_cast<double>(extent) / static_cast<double>(tiles * tile);
  };
  return share(d.conv.oc, 64) * share(d.conv.c, 32) * share(d.rows(), 12) * share(d.columns(), 12);
}

// Does this pass run on tensor cores? Whenever it can, if the variant is named; else where it
// gains.
bool on_tensor_cores(ConvPass pass, const ReluPoolDims& dims, const ConvOptions& options,
                     Device device) {
  constexpr double kGain = 0.1;  // SIMT kernels reach a tenth of what tensor cores do
  if (options.mode == ComputeMode::fp32 || !runs_hopper_code(device)) return false;
  if (options.variant == ConvVariant::automatic && filled(dims) < kGain) return false;
  return pass == ConvPass::forward ? cuda::relu_pool_forward_wgmma_fits(dims, options.mode)
         : pass == ConvPass::backward_data
             ? cuda::relu_pool_backward_data_wgmma_fits(dims, options.mode)
             : cuda::relu_pool_backward_weights_wgmma_fits(dims);
}
#endif

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
  if (on_tensor_cores(ConvPass::forward, dims, options, stream.device())) {
    return cuda::conv2d_relu_pool_forward_wgmma(y, argmax, x, w, bias, dims, options.mode, stream);
  }
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
  if (on_tensor_cores(ConvPass::backward_data, dims, options, stream.device())) {
    return cuda::conv2d_relu_pool_backward_data_wgmma(dx, dy, argmax, w, dims, mode, options,
                                                      stream);
  }
  cuda::conv2d_relu_pool_backward_data(dx, dy, argmax, w, dims, mode, stream);
  mask_gradient(dx, d, options, stream);
#endif
}

bool conv2d_relu_pool_on_tensor_cores(const ReluPoolDims& dims, const ConvOptions& options,
                                      Device device) {
  check(dims, options);
#ifdef WEFT_WITH_CUDA
  return device.is_cuda() && !is_empty(dims) && dims.conv.c > 0 &&
         on_tensor_cores(ConvPass::forward, dims, options, device) &&
         on_tensor_cores(ConvPass::backward_data, dims, options, device) &&
         on_tensor_cores(ConvPass::backward_weights, dims, options, device);
#else
  (void)device;
  return false;
#endif
}

std::size_t conv2d_relu_pool_workspace_bytes(const ReluPoolDims& dims, const ConvOptions& options,
                                             Device device) {
  check(dims, options);
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda() && !is_empty(dims) && dims.conv.c > 0) {
    return on_tensor_cores(ConvPass::backward_weights, dims, options, device)
               ? cuda::relu_pool_wgmma_workspace_bytes(dims, options.mode)
               : cuda::relu_pool_workspace_bytes(dims);
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
  if (!is_empty(dims) &&
      on_tensor_cores(ConvPass::backward_weights, dims, options, stream.device())) {
    return cuda::conv2d_relu_pool_backward_weights_wgmma(dw, db, dy, argmax, x, dims, mode,
                                                         options.mode, workspace, stream);
  }
  cuda::conv2d_relu_pool_backward_weights(dw, db, dy, argmax, x, dims, mode, workspace, stream);
#endif
}

}  // namespace weft::kernels
