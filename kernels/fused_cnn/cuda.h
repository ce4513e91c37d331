// SPDX-License-Identifier: MIT
// Launchers of two_kernels.cu, persistent.cu and infer.cu.
#pragma once

#include "engine/stream.h"
#include "kernels/fused_cnn/arguments.h"

namespace weft::kernels::cuda {

void fused_cnn_two_kernels(const fused_cnn::Training& training, std::int64_t steps,
                           const FusedCnnDims& dims, const Stream& stream);
void fused_cnn_persistent(const fused_cnn::Training& training, std::int64_t steps,
                          const FusedCnnDims& dims, const Stream& stream);
// The same, slower: cycles[part] += clock cycles that the first block spent in each
// fused_cnn::Part.
void fused_cnn_persistent_timed(const fused_cnn::Training& training, std::int64_t steps,
                                const FusedCnnDims& dims, long long* cycles, const Stream& stream);
void fused_cnn_infer(const fused_cnn::Inference& inference, const FusedCnnDims& dims,
                     const Stream& stream);

}  // namespace weft::kernels::cuda
