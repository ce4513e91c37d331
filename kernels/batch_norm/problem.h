// SPDX-License-Identifier: MIT
// Batch normalisation as tests and benchmarks ask for it.
#pragma once

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/cpu/templates.h"
#include "kernels/problem.h"

namespace weft::problems {

enum class BatchNormPass { forward, inference, backward };

struct BatchNorm {
  static constexpr float kEps = 1e-5f, kMomentum = 0.1f;

  kernels::BatchNormDims dims;
  BatchNormPass pass = BatchNormPass::forward;

  std::int64_t elements() const { return dims.n * dims.c * dims.inner; }
  std::string text() const {
    using enum BatchNormPass;
    return str(pass == forward     ? "training"
               : pass == inference ? "inference"
                                   : "backward",
               ", ", dims.n, " x ", dims.c, " x ", dims.inner);
  }
  // At best x is read once: the second walk over a channel comes from the cache.
  double bytes() const {
    return (pass == BatchNormPass::backward ? 12.0 : 8.0) * static_cast<double>(elements());
  }
  // Forward: sum; difference, square, sum; difference, scale, shift. Backward: xhat, two sums, dx.
  double flops() const {
    using enum BatchNormPass;
    const double operations = pass == forward ? 7 : pass == inference ? 3 : 9;
    return operations * static_cast<double>(elements());
  }
};

}  // namespace weft::problems
