// SPDX-License-Identifier: MIT
// The update of all parameters of a model, which lie in one flat buffer: SGD and AdamW, with
// PyTorch's rules. g is the gradient, or the clipped gradient.
//
// SGD
//   g = g + weight_decay * parameter
//   velocity = momentum * velocity + g          (velocity starts at zero)
//   parameter -= lr * (nesterov ? g + momentum * velocity : velocity)
// Traffic: 20n bytes (12n when momentum == 0, and velocity may then be null).
//
// AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101), with t = *step + 1
//   first += (1 - beta1) * (g - first)                      (both moments start at zero)
//   second = beta2 * second + (1 - beta2) * g^2
//   parameter -= lr * weight_decay * parameter
//   parameter -= lr / (1 - beta1^t) * first / (sqrt(second / (1 - beta2^t)) + epsilon)
// Traffic: 28n bytes in one pass.
//
// Clipping by the global norm: g = gradient * min(1, max_norm / (norm + 1e-6)), where norm is the
// root of the sum of the squares of all gradients (kernels/reduce). A norm that is not finite makes
// every parameter NaN, so that the step cannot pass unnoticed. Gradients are not written.
//
// The learning rate is lr[*step], and *step and the sum of squares are read on the device, so that
// a captured step can be replayed. Every element on its own, so the same bits always.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

template <class T>
struct ClipByNorm {
  const T* sum_of_squares = nullptr;  // one value, on the device; null: gradients are not clipped
  T max_norm = 0;                     // > 0 where there is a sum
};
using GradientClip = ClipByNorm<float>;

struct SgdOptions {
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

void sgd_update(float* parameters,       // (n,)
                float* velocity,         // (n,), or null when momentum == 0
                const float* gradients,  // (n,)
                std::int64_t n, const float* lr, const std::int64_t* step,
                const SgdOptions& options, const GradientClip& clip, const Stream& stream);
inline void sgd_update(float* parameters, float* velocity, const float* gradients, std::int64_t n,
                       const float* lr, const std::int64_t* step, const SgdOptions& options,
                       const Stream& stream) {
  sgd_update(parameters, velocity, gradients, n, lr, step, options, {}, stream);
}

// Doubles, because 1 - beta2 would lose five digits as a difference of floats.
struct AdamwOptions {
  double beta1 = 0.9, beta2 = 0.999;  // from 0 to less than 1
  double epsilon = 1e-8;              // above 0, as a float too
  double weight_decay = 0.01;         // decoupled: it does not pass through the moments
};

void adamw_update(float* parameters,       // (n,)
                  float* first,            // (n,), the moving average of the gradients
                  float* second,           // (n,), the moving average of their squares
                  const float* gradients,  // (n,)
                  std::int64_t n, const float* lr, const std::int64_t* step,
                  const AdamwOptions& options, const GradientClip& clip, std::string_view variant,
                  const Stream& stream);

// average += (1 - d) (values - average) with d = min(decay, (1 + s) / (10 + s)), s = *step: an
// exponential moving average that soon forgets the first, untrained values. *step counts the steps
// before this one, and is read on the device. average and values must not overlap. Every element
// on its own, so the same bits always. Traffic: 12n bytes.
void ema_update(float* average,       // (n,)
                const float* values,  // (n,)
                std::int64_t n, float decay, const std::int64_t* step, const Stream& stream);

// *step += 1, on the device.
void advance_step(std::int64_t* step, const Stream& stream);

enum class UpdateRule { sgd, adamw };
Rungs optimizer_rungs();  // in teaching order
// Does this rung compute this rule on this device? Throws usage for a name that no rung has.
bool optimizer_takes(std::string_view variant, UpdateRule rule, Device device);

}  // namespace weft::kernels
