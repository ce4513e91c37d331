// SPDX-License-Identifier: MIT
// Convolution in groups and with dilation (cross-correlation, as in PyTorch), NCHW.
//
// Channels and filters are split into `groups` of neighbours, and a filter reads the channels of
// its own group alone. With a group for each channel the convolution is depthwise. Neighbouring
// taps of a kernel are `dilation` pixels apart. With C = c / groups and g the group of filter o:
//
//   forward           y[n,o,p,q] = epilogue(bias[o] + sum over c < C, r, s of
//                                  x[n, g C + c, p*stride_h + r*dilation_h - pad_h,
//                                    q*stride_w + s*dilation_w - pad_w] w[o,c,r,s])
//   backward data     dx (+)= sum of dy w over all that read the pixel
//   backward weights  dw[o,c,r,s] (+)= sum over n, p, q of dy x;  db[o] (+)= sum of dy
//
// Padding reads as 0. Extents >= 0, kernels, strides, dilations and groups > 0, groups divide c and
// oc, and the padded input covers the dilated kernel, else Error{usage}. FLOPs 2 n oc p q C kh kw
// for each of the three. Each result is computed by one thread or one block in a fixed order, in
// fp32, and does not depend on what else is in the batch, weights aside.
#pragma once

#include "kernels/ladder.h"
#include "kernels/windows.h"

namespace weft::kernels {

struct GroupedConvDims {
  std::int64_t n = 0, c = 0, h = 0, w = 0;  // input (n, c, h, w)
  std::int64_t oc = 0, kh = 1, kw = 1;      // filters (oc, c / groups, kh, kw)
  std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  std::int64_t dilation_h = 1, dilation_w = 1, groups = 1;

  // Pixels that a kernel reaches over.
  std::int64_t span_h() const { return dilation_h * (kh - 1) + 1; }
  std::int64_t span_w() const { return dilation_w * (kw - 1) + 1; }
  // Height and width of the output. Both throw usage when the stride is below 1.
  std::int64_t oh() const { return window_positions(h + 2 * pad_h - span_h(), stride_h); }
  std::int64_t ow() const { return window_positions(w + 2 * pad_w - span_w(), stride_w); }
  std::int64_t group_channels() const { return c / groups; }
  std::int64_t group_filters() const { return oc / groups; }
};

void grouped_conv2d_forward(float* y,           // (n, oc, oh, ow)
                            const float* x,     // (n, c, h, w)
                            const float* w,     // (oc, c / groups, kh, kw)
                            const float* bias,  // (oc,) or null
                            const GroupedConvDims& dims, Epilogue epilogue, const Stream& stream);

void grouped_conv2d_backward_data(float* dx,        // (n, c, h, w)
                                  const float* dy,  // (n, oc, oh, ow)
                                  const float* w,   // (oc, c / groups, kh, kw)
                                  const GroupedConvDims& dims, GradientMode mode,
                                  const Stream& stream);

// n == 0 with GradientMode::overwrite writes zeros.
void grouped_conv2d_backward_weights(float* dw,        // (oc, c / groups, kh, kw)
                                     float* db,        // (oc,) or null
                                     const float* dy,  // (n, oc, oh, ow)
                                     const float* x,   // (n, c, h, w)
                                     const GroupedConvDims& dims, GradientMode mode,
                                     const Stream& stream);

}  // namespace weft::kernels
