// SPDX-License-Identifier: MIT
// Stochastic gradient descent over the flat parameter buffer, with PyTorch's update rule.
//
//   g = gradient + weight_decay * parameter
//   velocity = momentum * velocity + g          (velocity starts at zero)
//   parameter -= lr * (nesterov ? g + momentum * velocity : velocity)
//
// The learning rate is lr[*step], read on the device, so that a captured step can be replayed.
// Traffic: 20n bytes (12n when momentum == 0, and velocity may then be null).
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct SgdOptions {
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

void sgd_update(float* parameters,       // (n,)
                float* velocity,         // (n,), or null when momentum == 0
                const float* gradients,  // (n,)
                std::int64_t n, const float* lr, const std::int64_t* step,
                const SgdOptions& options, const Stream& stream);

// average += (1 - d) (values - average) with d = min(decay, (1 + s) / (10 + s)), s = *step: an
// exponential moving average that soon forgets the first, untrained values. *step counts the steps
// before this one, and is read on the device. average and values must not overlap. Every element
// on its own, so the same bits always. Traffic: 12n bytes.
void ema_update(float* average,       // (n,)
                const float* values,  // (n,)
                std::int64_t n, float decay, const std::int64_t* step, const Stream& stream);

// *step += 1, on the device.
void advance_step(std::int64_t* step, const Stream& stream);

Rungs optimizer_rungs();

}  // namespace weft::kernels
