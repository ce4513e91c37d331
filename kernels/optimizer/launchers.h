// SPDX-License-Identifier: MIT
// What runs beside the ladder on a GPU; same parameters as the contracts in
// optimizer.h.
#pragma once

#include "kernels/optimizer/optimizer.h"

namespace weft::kernels::cuda {

void ema_update(float* average, const float* values, std::int64_t n, float decay,
                const std::int64_t* step, const Stream& stream);
void advance_step(std::int64_t* step, const Stream& stream);

}  // namespace weft::kernels::cuda
