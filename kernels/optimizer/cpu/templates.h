// SPDX-License-Identifier: MIT
// The updates and the moving average on the CPU: one vectorised pass over the flat buffers.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/parts/adamw.h"
#include "kernels/optimizer/parts/clip.h"
#include "kernels/optimizer/parts/ema.h"
#include "kernels/optimizer/parts/sgd.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// Without clipping no gradient is multiplied, so the bits are those of the bare rule.
template <bool kClip, bool kMomentum, class T>
void sgd_loop(T* parameters, T* velocity, const T* gradients, std::int64_t n,
              const optimizer::SgdStep<T>& rule, T scale) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) {
    T none = 0;
    rule.apply(parameters[i], kMomentum ? velocity[i] : none,
               kClip ? scale * gradients[i] : gradients[i]);
  }
}

}  // namespace detail

template <class T>
void sgd_update(T* parameters, T* velocity, const T* gradients, std::int64_t n, const T* lr,
                const std::int64_t* step, const SgdOptions& options,
                const ClipByNorm<T>& clip = {}) {
  const bool clips = clip.sum_of_squares != nullptr, moves = options.momentum != 0;
  const auto still = clips ? detail::sgd_loop<true, false, T> : detail::sgd_loop<false, false, T>;
  const auto moving = clips ? detail::sgd_loop<true, true, T> : detail::sgd_loop<false, true, T>;
  // Without momentum there is no velocity, and Nesterov's rule changes nothing.
  const SgdOptions used = moves ? options : SgdOptions{.weight_decay = options.weight_decay};
  (moves ? moving : still)(parameters, velocity, gradients, n,
                           optimizer::SgdStep<T>(used, lr[*step]), optimizer::gradient_scale(clip));
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
