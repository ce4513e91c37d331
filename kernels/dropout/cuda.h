// SPDX-License-Identifier: MIT
// Launchers of counter_based.cu; same parameters as the contracts in dropout.h.
#pragma once

#include "kernels/dropout/dropout.h"

namespace weft::kernels::cuda {

void dropout(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
             GradientMode mode, const Stream& stream);

}  // namespace weft::kernels::cuda
