// SPDX-License-Identifier: MIT
// The functions behind transpose() on a GPU: the launcher of a rung, which its file in rungs/
// defines. Extents are positive.
#pragma once

#include "kernels/transpose/transpose.h"

namespace weft::kernels::cuda {

using TransposeLauncher = void(float* y, const float* x, const TransposeDims& dims,
                               const Stream& stream);

}  // namespace weft::kernels::cuda
