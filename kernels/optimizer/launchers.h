// SPDX-License-Identifier: MIT
// The functions behind optimizer.h on a GPU: those that the file of a rung in rungs/ defines, and
// what runs beside the ladder. Parameters are those of the contracts there, and n is positive.
#pragma once

#include "kernels/optimizer/optimizer.h"

namespace weft::kernels::cuda {

using SgdUpdate = void(float* parameters, float* velocity, const float* gradients, std::int64_t n,
                       const float* lr, const std::int64_t* step, const SgdOptions& options,
                       const GradientClip& clip, const Stream& stream);
using AdamwUpdate = void(float* parameters, float* first, float* second, const float* gradients,
                         std::int64_t n, const float* lr, const std::int64_t* step,
                         const AdamwOptions& options, const GradientClip& clip,
                         const Stream& stream);

void ema_update(float* average, const float* values, std::int64_t n, float decay,
                const std::int64_t* step, const Stream& stream);
void advance_step(std::int64_t* step, const Stream& stream);

}  // namespace weft::kernels::cuda
