// SPDX-License-Identifier: MIT
// The factor of a clipped gradient, for the CPU and for the GPU.
#pragma once

#include <cmath>

#include "engine/random.h"
#include "kernels/isa.h"
#include "kernels/optimizer/optimizer.h"

namespace weft::kernels::optimizer {
inline namespace WEFT_ISA {

// 1 without clipping. NaN when the norm is not finite: a minimum would hide that.
template <class T>
WEFT_HOST_DEVICE inline T gradient_scale(const ClipByNorm<T>& clip) {
  if (clip.sum_of_squares == nullptr) return T(1);
  const T sum = *clip.sum_of_squares;
  const T scale = clip.max_norm / (std::sqrt(sum) + T(1e-6));
  return (scale < T(1) ? scale : T(1)) + (sum - sum);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::optimizer
