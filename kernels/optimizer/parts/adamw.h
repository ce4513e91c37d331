// SPDX-License-Identifier: MIT
// AdamW's update of one parameter, as optimizer.h defines it, for the CPU and for the GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/random.h"
#include "kernels/isa.h"
#include "kernels/optimizer/optimizer.h"

namespace weft::kernels::optimizer {
inline namespace WEFT_ISA {

// What stays the same for all steps. Differences and logarithms are taken in double, on the host.
template <class T>
struct AdamwConstants {
  T log_beta1, log_beta2, take1, keep2, take2, epsilon, weight_decay;

  explicit AdamwConstants(const AdamwOptions& options)
      : log_beta1(static_cast<T>(std::log(options.beta1))),
        log_beta2(static_cast<T>(std::log(options.beta2))),
        take1(static_cast<T>(1 - options.beta1)),
        keep2(static_cast<T>(options.beta2)),
        take2(static_cast<T>(1 - options.beta2)),
        epsilon(static_cast<T>(options.epsilon)),
        weight_decay(static_cast<T>(options.weight_decay)) {}
};

// One step of all parameters. 1 - beta^t is -expm1(t log beta), which keeps all digits of a float
// where a power near 1 would lose them.
template <class T>
struct AdamwStep {
  AdamwConstants<T> constants;
  T rate, root, decay;

  WEFT_HOST_DEVICE AdamwStep(const AdamwConstants<T>& of, T lr, std::int64_t steps_before)
      : constants(of) {
    const T t = static_cast<T>(steps_before + 1);
    rate = -lr / std::expm1(t * of.log_beta1);
    root = T(1) / std::sqrt(-std::expm1(t * of.log_beta2));
    decay = lr * of.weight_decay;
  }

  WEFT_HOST_DEVICE void update_first(T& first, T gradient) const {
    first += constants.take1 * (gradient - first);
  }
  WEFT_HOST_DEVICE void update_second(T& second, T gradient) const {
    second = constants.keep2 * second + constants.take2 * (gradient * gradient);
  }
  WEFT_HOST_DEVICE void shrink(T& parameter) const { parameter -= decay * parameter; }
  WEFT_HOST_DEVICE void move(T& parameter, T first, T second) const {
    parameter -= rate * first / (root * std::sqrt(second) + constants.epsilon);
  }
  WEFT_HOST_DEVICE void apply(T& parameter, T& first, T& second, T gradient) const {
    update_first(first, gradient);
    update_second(second, gradient);
    shrink(parameter);
    move(parameter, first, second);
  }
};

}  // namespace WEFT_ISA
}  // namespace weft::kernels::optimizer
