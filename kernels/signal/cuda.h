// SPDX-License-Identifier: MIT
// The CUDA launchers behind signal_convolve(): one per technique, called by signal.cpp after
// validation. Extents are positive.
#pragma once

#include "kernels/signal/signal.h"

namespace weft::kernels::cuda {

void signal_naive(float* y, const float* x, const float* filter, const SignalDims& dims,
                  const Stream& stream);
void signal_constant_memory(float* y, const float* x, const float* filter, const SignalDims& dims,
                            const Stream& stream);
void signal_tiled_halo_internal(float* y, const float* x, const float* filter,
                                const SignalDims& dims, const Stream& stream);
void signal_tiled_input(float* y, const float* x, const float* filter, const SignalDims& dims,
                        const Stream& stream);
void signal_tiled_cached_halo(float* y, const float* x, const float* filter, const SignalDims& dims,
                              const Stream& stream);
void signal_tiled(float* y, const float* x, const float* filter, const SignalDims& dims,
                  const Stream& stream);

}  // namespace weft::kernels::cuda
