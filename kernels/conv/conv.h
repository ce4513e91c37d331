// SPDX-License-Identifier: MIT
// 2-D convolution layer (cross-correlation, as in PyTorch), NCHW.
//
//   forward           y[n,o,p,q] = epilogue(bias[o] + sum over c,r,s of
//                                  x[n, c, p*stride_h + r - pad_h, q*stride_w + s - pad_w]
//                                  w[o,c,r,s])
//   backward data     dx[n,c,i,j] (+)= sum of dy[n,o,p,q] w[o,c,r,s] over all that read x[n,c,i,j]
//   backward weights  dw[o,c,r,s] (+)= sum over n,p,q of dy[n,o,p,q] x[n,c,...];
//                     db[o] (+)= sum over n,p,q of dy[n,o,p,q]
//
// Padding reads as 0. The gradient functions take dy after the epilogue's backward was applied.
// n, c, oc >= 0, strides > 0, pads >= 0, and the padded input covers the kernel, else Error{usage}.
// FLOPs 2 n oc p q c kh kw for each of the three.
//
// In ComputeMode fp32 "implicit_gemm_wgmma" leaves out 2^-21 of a product at most. Small values
// beside large ones lose more: at most 2^-39 |a| max|b| + 2^-50 |b| max|a|.
// In forward and data, a is a value of x or dy, and b is a weight of one filter. The largest a is
// taken over all images. In weights, a is a value of dy, and b is one of x.
#pragma once

#include "kernels/ladder.h"
#include "kernels/windows.h"

namespace weft::kernels {

struct ConvDims {
  std::int64_t n = 0, c = 0, h = 0, w = 0;  // input (n, c, h, w)
  std::int64_t oc = 0, kh = 1, kw = 1;      // filters (oc, c, kh, kw)
  std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;

  // Height and width of the output. Both throw usage when the stride is below 1.
  std::int64_t oh() const { return window_positions(h + 2 * pad_h - kh, stride_h); }
  std::int64_t ow() const { return window_positions(w + 2 * pad_w - kw, stride_w); }
};

enum class ConvPass { forward, backward_data, backward_weights };
struct ConvOptions {
  std::string_view variant = kAutomatic;
  ComputeMode mode = ComputeMode::fp32;
  // (n, c, h, w) or null: the output of a ReLU whose backward the data gradient applies as well. dx
  // is 0 where the mask is not above 0, also where dx adds to what was there. Must not overlap dx.
  const float* relu_mask = nullptr;
  // Lets most 3 x 3 filters of stride 1 go by Winograd's algorithm on a CPU. The error of a value
  // is then relative to the largest of the 4 x 4 inputs and 2 x 2 gradients around it, not to its
  // own terms. Training sets it.
  bool tile_errors = false;
};

// Bytes of scratch that one call of this pass needs on this device; may be 0.
std::size_t conv2d_workspace_bytes(ConvPass pass, const ConvDims& dims, const ConvOptions& options,
                                   Device device);

void conv2d_forward(float* y,           // (n, oc, oh, ow)
                    const float* x,     // (n, c, h, w)
                    const float* w,     // (oc, c, kh, kw)
                    const float* bias,  // (oc,) or null
                    const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                    Workspace workspace, const Stream& stream);

void conv2d_backward_data(float* dx,        // (n, c, h, w)
                          const float* dy,  // (n, oc, oh, ow)
                          const float* w,   // (oc, c, kh, kw)
                          const ConvDims& dims, GradientMode mode, const ConvOptions& options,
                          Workspace workspace, const Stream& stream);

// n == 0 with GradientMode::overwrite writes zeros.
void conv2d_backward_weights(float* dw,        // (oc, c, kh, kw)
                             float* db,        // (oc,) or null
                             const float* dy,  // (n, oc, oh, ow)
                             const float* x,   // (n, c, h, w)
                             const ConvDims& dims, GradientMode mode, const ConvOptions& options,
                             Workspace workspace, const Stream& stream);

// What the choice of a rung depends on.
struct ConvProblem {
  ConvPass pass = ConvPass::forward;
  ConvDims dims;
  ComputeMode mode = ComputeMode::fp32;
};

// The most channels of a layer of a network on which a rung is measured; 0: on none.
std::int64_t conv_network_channels(std::string_view rung);

Rungs conv_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool conv_takes(std::string_view variant, const ConvProblem& problem, Device device);
Choice conv_choice(const ConvProblem& problem, Device device);
// What the named rung computes a pass in, on a GPU; empty when it does not serve the mode.
std::optional<Arithmetic> conv_arithmetic(std::string_view rung, ConvPass pass, ComputeMode mode);

}  // namespace weft::kernels
