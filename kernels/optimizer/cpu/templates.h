// SPDX-License-Identifier: MIT
// The SGD update and the moving average on the CPU: one vectorised pass over the flat buffers.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/parts/ema.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

template <class T>
void sgd_update(T* parameters, T* velocity, const T* gradients, std::int64_t n, const T* lr,
                const std::int64_t* step, const SgdOptions& options) {
  const T rate = lr[*step];
  const T momentum = static_cast<T>(options.momentum);
  const T decay = static_cast<T>(options.weight_decay);
  if (momentum == 0) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) {
      parameters[i] -= rate * (gradients[i] + decay * parameters[i]);
    }
  } else if (options.nesterov) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) {
      const T g = gradients[i] + decay * parameters[i];
      velocity[i] = momentum * velocity[i] + g;
      parameters[i] -= rate * (g + momentum * velocity[i]);
    }
  } else {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) {
      velocity[i] = momentum * velocity[i] + (gradients[i] + decay * parameters[i]);
      parameters[i] -= rate * velocity[i];
    }
  }
}

template <class T>
void ema_update(T* average, const T* values, std::int64_t n, T decay, const std::int64_t* step) {
  const T rate = ema::rate(decay, *step);
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) average[i] += rate * (values[i] - average[i]);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
