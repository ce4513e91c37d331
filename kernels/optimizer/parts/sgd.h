// SPDX-License-Identifier: MIT
// SGD's update of one parameter, as optimizer.h defines it, for the CPU and for the GPU.
#pragma once

#include "engine/random.h"
#include "kernels/isa.h"
#include "kernels/optimizer/optimizer.h"

namespace weft::kernels::optimizer {
inline namespace WEFT_ISA {

template <class T>
struct SgdStep {
  T rate, momentum, decay;
  bool nesterov;

  WEFT_HOST_DEVICE SgdStep(const SgdOptions& options, T lr)
      : rate(lr),
        momentum(static_cast<T>(options.momentum)),
        decay(static_cast<T>(options.weight_decay)),
        nesterov(options.nesterov) {}

  WEFT_HOST_DEVICE void apply(T& parameter, T& velocity, T gradient) const {
    const T g = gradient + decay * parameter;
    velocity = momentum * velocity + g;
    parameter -= rate * (nesterov ? g + momentum * velocity : velocity);
  }
};

}  // namespace WEFT_ISA
}  // namespace weft::kernels::optimizer
