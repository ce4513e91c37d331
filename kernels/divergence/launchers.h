// SPDX-License-Identifier: MIT
// The functions behind sq_or_cube() on a GPU: the launcher of a rung, which its file in rungs/
// defines. n is positive.
#pragma once

#include "kernels/divergence/divergence.h"

namespace weft::kernels::cuda {

using DivergenceLauncher = void(std::int32_t* y, const std::int32_t* x, std::int64_t n, int rounds,
                                const Stream& stream);

}  // namespace weft::kernels::cuda
