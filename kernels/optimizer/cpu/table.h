// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/optimizer/optimizer.h"

namespace weft::kernels {

struct OptimizerCpu {
  void (*sgd_update)(float* parameters, float* velocity, const float* gradients, std::int64_t n,
                     const float* lr, const std::int64_t* step, const SgdOptions& options,
                     const GradientClip& clip);
  void (*adamw_update)(float* parameters, float* first, float* second, const float* gradients,
                       std::int64_t n, const float* lr, const std::int64_t* step,
                       const AdamwOptions& options, const GradientClip& clip);
  void (*ema_update)(float* average, const float* values, std::int64_t n, float decay,
                     const std::int64_t* step);
};

WEFT_DECLARE_CPU_TABLE(OptimizerCpu, optimizer_cpu)

}  // namespace weft::kernels
