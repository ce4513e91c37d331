// SPDX-License-Identifier: MIT
// Launchers of vectorized.cu and moving_average.cu; same parameters as the contracts in
// optimizer.h.
#pragma once

#include "kernels/optimizer/optimizer.h"

namespace weft::kernels::cuda {

void sgd_update(float* parameters, float* velocity, const float* gradients, std::int64_t n,
                const float* lr, const std::int64_t* step, const SgdOptions& options,
                const Stream& stream);
void ema_update(float* average, const float* values, std::int64_t n, float decay,
                const std::int64_t* step, const Stream& stream);
void advance_step(std::int64_t* step, const Stream& stream);

}  // namespace weft::kernels::cuda
