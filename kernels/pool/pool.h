// SPDX-License-Identifier: MIT
// 2-D max and average pooling, NCHW, forward and backward.
//
//   max forward   y[n,c,p,q] = max over the window; argmax = its flat index i * w + j in the (h, w)
//                 plane; ties take the lowest index, a NaN in the window wins
//   max backward  dx[n,c,i,j] (+)= sum of dy over the windows whose argmax is (i, j); each input
//                 gathers, so there are no atomics
//   average       y = sum over the window / its count, padding as zeros; backward spreads
//                 dy / count. The count is kh * kw (PyTorch's count_include_pad=True), or that of
//                 the window's elements in the plane, or in the plane and its padding
//   average with bias and sigmoid, the subsampling layer of LeNet:
//                 y = 1 / (1 + exp(-z)), z = sum over the window / (kh * kw) + bias of the channel;
//                 backward with dz = dy y (1 - y): dx (+)= dz spread as above, and
//                 dbias[c] (+)= sum of dz over the outputs of channel c, in a fixed order
//
// Padding counts as -infinity for max. A pad in front may be at most half the window, and the last
// window begins in the plane, so that no window lies in padding alone. Strides > 0. Traffic:
// forward 4(|x| + 2|y|), backward 4(|dx| + 2|dy|) bytes.
#pragma once

#include "kernels/ladder.h"
#include "kernels/windows.h"

namespace weft::kernels {

// What a mean is divided by: the size of the window, or how many of its elements lie in the plane
// with its padding of `pad` on all sides, or in the plane alone.
enum class PoolCount { window, padded, plane };

struct PoolDims {
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  std::int64_t kh = 2, kw = 2, stride_h = 2, stride_w = 2, pad_h = 0, pad_w = 0;
  // Padding behind the plane beyond that in front of it, -pad_h and -pad_w or more.
  std::int64_t more_h = 0, more_w = 0;
  PoolCount count = PoolCount::window;  // of means

  // Height and width of the output. Both throw usage when the stride is below 1.
  std::int64_t oh() const { return window_positions(h + 2 * pad_h + more_h - kh, stride_h); }
  std::int64_t ow() const { return window_positions(w + 2 * pad_w + more_w - kw, stride_w); }
  bool is_plain() const { return more_h == 0 && more_w == 0 && count == PoolCount::window; }
};

enum class PoolOperation { pool, bias_sigmoid };  // maxima and means; means in a LeNet layer
std::optional<PoolOperation> pool_operation(std::string_view rung);  // empty: no such rung
Rungs pool_rungs();                                                  // in teaching order
// Does this rung compute this operation with such windows on this device?
bool pool_takes(std::string_view variant, const PoolDims& dims, Device device,
                PoolOperation operation = PoolOperation::pool);

void max_pool2d_forward(float* y,              // (n, c, oh, ow)
                        std::int32_t* argmax,  // (n, c, oh, ow), or null when not wanted
                        const float* x,        // (n, c, h, w)
                        const PoolDims& dims, std::string_view variant, const Stream& stream);
void max_pool2d_backward(float* dx,                   // (n, c, h, w)
                         const float* dy,             // (n, c, oh, ow)
                         const std::int32_t* argmax,  // (n, c, oh, ow)
                         const PoolDims& dims, GradientMode mode, std::string_view variant,
                         const Stream& stream);

void avg_pool2d_forward(float* y, const float* x, const PoolDims& dims, std::string_view variant,
                        const Stream& stream);
void avg_pool2d_backward(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                         std::string_view variant, const Stream& stream);

void avg_pool2d_bias_sigmoid_forward(float* y,           // (n, c, oh, ow)
                                     const float* x,     // (n, c, h, w)
                                     const float* bias,  // (c,)
                                     const PoolDims& dims, std::string_view variant,
                                     const Stream& stream);
void avg_pool2d_bias_sigmoid_backward(float* dx,        // (n, c, h, w)
                                      float* dbias,     // (c,)
                                      const float* dy,  // (n, c, oh, ow)
                                      const float* y,   // (n, c, oh, ow), of the forward pass
                                      const PoolDims& dims, GradientMode mode,
                                      std::string_view variant, const Stream& stream);

// The same with the automatic choice.
inline void max_pool2d_forward(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
                               const Stream& stream) {
  max_pool2d_forward(y, argmax, x, dims, kAutomatic, stream);
}
inline void max_pool2d_backward(float* dx, const float* dy, const std::int32_t* argmax,
                                const PoolDims& dims, GradientMode mode, const Stream& stream) {
  max_pool2d_backward(dx, dy, argmax, dims, mode, kAutomatic, stream);
}
inline void avg_pool2d_forward(float* y, const float* x, const PoolDims& dims,
                               const Stream& stream) {
  avg_pool2d_forward(y, x, dims, kAutomatic, stream);
}
inline void avg_pool2d_backward(float* dx, const float* dy, const PoolDims& dims, GradientMode mode,
                                const Stream& stream) {
  avg_pool2d_backward(dx, dy, dims, mode, kAutomatic, stream);
}

}  // namespace weft::kernels
