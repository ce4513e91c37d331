// SPDX-License-Identifier: MIT
// The launchers of this family.
#pragma once

#include "kernels/networks/mlp/parts/arguments.h"

namespace weft::kernels::cuda {

using fused_mlp::Training;

// prepare: gathers for *step, too. forward: both hidden layers. backward: the last layer, the loss,
// and back to the first. update: gathers for the next step.
using FusedMlpPass = void(const Training& training, const Stream& stream);

void fused_mlp_advance(std::int64_t* step, std::int64_t steps, const Stream& stream);

}  // namespace weft::kernels::cuda
