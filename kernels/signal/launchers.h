// SPDX-License-Identifier: MIT
// The functions behind signal_convolve() on a GPU: the launcher of a rung, which its file in rungs/
// defines. Extents are positive.
#pragma once

#include "kernels/signal/signal.h"

namespace weft::kernels::cuda {

using SignalLauncher = void(float* y, const float* x, const float* filter, const SignalDims& dims,
                            const Stream& stream);

}  // namespace weft::kernels::cuda
