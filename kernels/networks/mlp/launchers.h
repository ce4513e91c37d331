// SPDX-License-Identifier: MIT
// The launchers of this family.
#pragma once

#include "kernels/networks/mlp/parts/arguments.h"

namespace weft::kernels::cuda {

using fused_mlp::Training;

// A pass that prepares also gathers the images of *step.
using FusedMlpPass = void(const Training& training, const Stream& stream);
// Takes `steps` steps, which the passes below make up, and adds them to *step.
using FusedMlpTrain = void(Training training, std::int64_t steps, const Stream& stream);

// forward: both hidden layers. backward: the last layer, the loss, and back to the first. update:
// gathers for the next step, too.
FusedMlpPass fused_mlp_forward_four_kernels_bf16, fused_mlp_forward_four_kernels_fp16x3;
FusedMlpPass fused_mlp_backward_four_kernels_bf16, fused_mlp_backward_four_kernels_fp16x3;
FusedMlpPass fused_mlp_update_four_kernels_bf16, fused_mlp_update_four_kernels_fp16x3;
void fused_mlp_advance(std::int64_t* step, std::int64_t steps, const Stream& stream);

}  // namespace weft::kernels::cuda
