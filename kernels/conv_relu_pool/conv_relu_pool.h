// SPDX-License-Identifier: MIT
// Convolution, bias, ReLU and max pooling in one pass, for layers of few channels, whose feature
// map costs more to store and read than to compute.
//
//   z                 conv2d_forward without epilogue (kernels/conv/conv.h), never stored
//   forward           y[n,o,u,v] = max(0, max over the window of z[n,o,u ph + i,v pw + j]);
//                     argmax[n,o,u,v] = i pw + j of that maximum, the lowest of equals, or
//                     kReluPoolCut where y is not above 0, so that no gradient passes
//   backward          dz = dy at the argmax of each window, else 0; then as in conv.h:
//   backward data     dx (+)= the data gradient for dz
//   backward weights  dw (+)= the weight gradient for dz; db (+)= sum of dz
//
// Windows lie side by side: ph and pw are also their strides, and rows and columns of z behind the
// last whole window are not used. A window has at most 255 elements. A NaN in a window wins and is
// cut. Extents of 0, errors and determinism as in conv.h; y must not overlap x.
// A ComputeMode rounds the operands of the products where a rung gains by it, and never the sum db.
// In fp32 "wgmma" leaves out 2^-21 of a product at most. Small values beside large ones lose more:
// 2^-39 of one factor times the largest value that is beside the other. That is the largest of all
// x or dy, or of the weights of one filter (backward data: of one channel).
// With a stem, the x of all passes is the output of the layer before, and stored nowhere:
//
//   x[n,c]            max(0, conv2d_forward of image[n] and stem.w[c], plus stem.bias[c])
//   backward stem     stem.dw (+)= the weight gradient for dx where x > 0, else 0; stem.db likewise
//
// Rungs that compute x say so; it has the bits of the rung "direct" of conv.
// FLOPs forward: 2 n oc (oh / ph * ph) (ow / pw * pw) c kh kw; backward those over ph pw.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/conv/conv.h"

namespace weft::kernels {

struct ReluPoolDims {
  ConvDims conv;
  std::int64_t ph = 2, pw = 2;  // window of the pooling

  std::int64_t rows() const { return conv.oh() / ph; }  // of y
  std::int64_t columns() const { return conv.ow() / pw; }
};

constexpr std::uint8_t kReluPoolCut = 255;

// A convolution of images of one channel, 3 x 3 with stride 1 and without padding, under ReLU.
struct ReluPoolStem {
  const float* image = nullptr;  // (n, 1, h + 2, w + 2), at an address that 16 divides
  const float* w = nullptr;      // (c, 1, 3, 3)
  const float* bias = nullptr;   // (c,) or null
};

struct ReluPoolOptions {
  std::string_view variant = kAutomatic;
  ComputeMode mode = ComputeMode::fp32;
  const float* relu_mask = nullptr;       // of backward data, as in conv.h
  std::optional<ReluPoolStem> stem = {};  // then x is null
};

// Bytes of scratch that one call of this pass needs on this device; may be 0. With a stem,
// backward data is backward stem.
std::size_t conv2d_relu_pool_workspace_bytes(ConvPass pass, const ReluPoolDims& dims,
                                             const ReluPoolOptions& options, Device device);

void conv2d_relu_pool_forward(float* y,              // (n, oc, rows, columns)
                              std::uint8_t* argmax,  // (n, oc, rows, columns), or null
                              const float* x,        // (n, c, h, w)
                              const float* w,        // (oc, c, kh, kw)
                              const float* bias,     // (oc,) or null
                              const ReluPoolDims& dims, const ReluPoolOptions& options,
                              Workspace workspace, const Stream& stream);

void conv2d_relu_pool_backward_data(float* dx,                   // (n, c, h, w)
                                    const float* dy,             // (n, oc, rows, columns)
                                    const std::uint8_t* argmax,  // (n, oc, rows, columns)
                                    const float* w,              // (oc, c, kh, kw)
                                    const ReluPoolDims& dims, GradientMode mode,
                                    const ReluPoolOptions& options, Workspace workspace,
                                    const Stream& stream);

// In place of backward data, which throws usage with a stem. options.stem is given.
void conv2d_relu_pool_backward_stem(float* dw,                   // (c, 1, 3, 3)
                                    float* db,                   // (c,) or null
                                    const float* dy,             // (n, oc, rows, columns)
                                    const std::uint8_t* argmax,  // (n, oc, rows, columns)
                                    const float* w,              // (oc, c, kh, kw)
                                    const ReluPoolDims& dims, GradientMode mode,
                                    const ReluPoolOptions& options, Workspace workspace,
                                    const Stream& stream);

// n == 0, or no window at all, with GradientMode::overwrite writes zeros.
void conv2d_relu_pool_backward_weights(float* dw,                   // (oc, c, kh, kw)
                                       float* db,                   // (oc,) or null
                                       const float* dy,             // (n, oc, rows, columns)
                                       const std::uint8_t* argmax,  // (n, oc, rows, columns)
                                       const float* x,              // (n, c, h, w)
                                       const ReluPoolDims& dims, GradientMode mode,
                                       const ReluPoolOptions& options, Workspace workspace,
                                       const Stream& stream);

// What the choice of a rung depends on.
struct ReluPoolProblem {
  ConvPass pass = ConvPass::forward;
  ReluPoolDims dims;
  ComputeMode mode = ComputeMode::fp32;
  bool stem = false;  // Is there one?
};

Rungs conv_relu_pool_rungs();  // in teaching order
bool conv_relu_pool_takes(std::string_view variant, const ReluPoolProblem& problem, Device device);
// Does `automatic` take a rung that multiplies on tensor cores?
bool conv_relu_pool_on_tensor_cores(const ReluPoolProblem& problem, Device device);
Choice conv_relu_pool_choice(const ReluPoolProblem& problem, Device device);

}  // namespace weft::kernels
