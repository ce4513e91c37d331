// SPDX-License-Identifier: MIT
// The updates and the moving average on the CPU: one vectorised pass over the flat buffers.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/parts/adamw.h"
#include "kernels/optimizer/parts/clip.h"
#include "kernels/optimizer/parts/ema.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// Without clipping no gradient is multiplied, so the bits are those of the bare rule.
template <bool kClip, class T>
void sgd_loop(T* parameters, T* velocity, const T* gradients, std::int64_t n, T rate, T scale,
              const SgdOptions& options) {
  const T momentum = static_cast<T>(options.momentum);
  const T decay = static_cast<T>(options.weight_decay);
  if (momentum == 0) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) {
      const T gradient = kClip ? scale * gradients[i] : gradients[i];
      parameters[i] -= rate * (gradient + decay * parameters[i]);
    }
  } else if (options.nesterov) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) {
      const T gradient = kClip ? scale * gradients[i] : gradients[i];
      const T g = gradient + decay * parameters[i];
      velocity[i] = momentum * velocity[i] + g;
      parameters[i] -= rate * (g + momentum * velocity[i]);
    }
  } else {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
    for (std::int64_t i = 0; i < n; ++i) {
      const T gradient = kClip ? scale * gradients[i] : gradients[i];
      velocity[i] = momentum * velocity[i] + (gradient + decay * parameters[i]);
      parameters[i] -= rate * velocity[i];
    }
  }
}

}  // namespace detail

template <class T>
void sgd_update(T* parameters, T* velocity, const T* gradients, std::int64_t n, const T* lr,
                const std::int64_t* step, const SgdOptions& options,
                const ClipByNorm<T>& clip = {}) {
  const bool clips = clip.sum_of_squares != nullptr;
  const auto loop = clips ? detail::sgd_loop<true, T> : detail::sgd_loop<false, T>;
  loop(parameters, velocity, gradients, n, lr[*step], optimizer::gradient_scale(clip), options);
}

template <class T>
void adamw_update(T* parameters, T* first, T* second, const T* gradients, std::int64_t n,
                  const T* lr, const std::int64_t* step, const AdamwOptions& options,
                  const ClipByNorm<T>& clip) {
  const optimizer::AdamwStep<T> rule(optimizer::AdamwConstants<T>(options), lr[*step], *step);
  const T scale = optimizer::gradient_scale(clip);
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) {
    rule.apply(parameters[i], first[i], second[i], scale * gradients[i]);
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
