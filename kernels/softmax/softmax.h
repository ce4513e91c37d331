// SPDX-License-Identifier: MIT
// Softmax over the last axis of (rows, cols), and softmax fused with cross-entropy.
//
//   forward        y[r,c] = exp(x[r,c] - max_r) / sum over c of exp(x[r,c] - max_r)
//   backward       dx[r,c] (+)= y[r,c] (dy[r,c] - sum over c of dy[r,c] y[r,c])
//   cross-entropy  loss[r] = log(sum over c of exp(x[r,c] - max_r)) - (x[r,label] - max_r)
//                  dx[r,c] = scale (softmax(x)[r,c] - target[r,c])
//                  target[r,c] = (1 - smoothing) (c == label_r) + smoothing / cols
//
// The row maximum is subtracted, so no finite input overflows. cols == 0 is Error{usage} unless
// rows == 0. Of forward y may be x, of backward dx may be dy.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

Rungs softmax_rungs();  // in teaching order
// Does this rung take rows of so many columns on this device?
bool softmax_takes(std::string_view variant, std::int64_t cols, Device device);
Choice softmax_choice(std::int64_t cols, Device device);

void softmax_forward(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                     std::string_view variant, const Stream& stream);
void softmax_backward(float* dx, const float* dy, const float* y, std::int64_t rows,
                      std::int64_t cols, GradientMode mode, std::string_view variant,
                      const Stream& stream);

// One pass for the loss, its gradient and the prediction; an output that is null is not written.
// A label outside [0, cols) gives a NaN loss and a NaN gradient row, and is never a hit. The loss
// is that of the label itself also when the gradient has a target that is smoothed (0 <= smoothing
// < 1, arXiv:1512.00567): so losses of training and test can be compared.
void softmax_cross_entropy(float* loss,                 // (rows,) or null
                           float* dx,                   // (rows, cols) or null
                           std::int32_t* prediction,    // (rows,) argmax, ties low, or null
                           const float* x,              // (rows, cols) logits
                           const std::int32_t* labels,  // (rows,)
                           float scale, float smoothing, std::int64_t rows, std::int64_t cols,
                           std::string_view variant, const Stream& stream);

inline void softmax_cross_entropy(float* loss, float* dx, std::int32_t* prediction, const float* x,
                                  const std::int32_t* labels, float scale, std::int64_t rows,
                                  std::int64_t cols, std::string_view variant,
                                  const Stream& stream) {
  softmax_cross_entropy(loss, dx, prediction, x, labels, scale, 0, rows, cols, variant, stream);
}

// The same with the automatic choice.
inline void softmax_forward(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                            const Stream& stream) {
  softmax_forward(y, x, rows, cols, kAutomatic, stream);
}
inline void softmax_backward(float* dx, const float* dy, const float* y, std::int64_t rows,
                             std::int64_t cols, GradientMode mode, const Stream& stream) {
  softmax_backward(dx, dy, y, rows, cols, mode, kAutomatic, stream);
}
inline void softmax_cross_entropy(float* loss, float* dx, std::int32_t* prediction, const float* x,
                                  const std::int32_t* labels, float scale, std::int64_t rows,
                                  std::int64_t cols, const Stream& stream) {
  softmax_cross_entropy(loss, dx, prediction, x, labels, scale, rows, cols, kAutomatic, stream);
}

}  // namespace weft::kernels
