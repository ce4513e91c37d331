// SPDX-License-Identifier: MIT
// The functions behind fused_cnn.h on a GPU: those that the file of a rung in rungs/ defines.
#pragma once

#include "engine/stream.h"
#include "kernels/networks/cnn/parts/arguments.h"

namespace weft::kernels::cuda {

using FusedCnnTrain = void(const fused_cnn::Training& training, std::int64_t steps,
                           const FusedCnnDims& dims, const Stream& stream);
using FusedCnnInfer = void(const fused_cnn::Inference& inference, const FusedCnnDims& dims,
                           const Stream& stream);
// Training by the rung "persistent" as a rank of a group.
void fused_cnn_persistent_with_peers(const fused_cnn::Training& training, const PeerGroup& group,
                                     std::int64_t steps, const FusedCnnDims& dims,
                                     const Stream& stream);
// Training by the rung "persistent", slower: cycles[part] += clock cycles that the first block
// spent in each fused_cnn::Part.
void fused_cnn_persistent_timed(const fused_cnn::Training& training, std::int64_t steps,
                                const FusedCnnDims& dims, long long* cycles, const Stream& stream);

}  // namespace weft::kernels::cuda
