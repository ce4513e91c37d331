// SPDX-License-Identifier: MIT
// The launchers of this family.
#pragma once

#include "kernels/fused_mlp/arguments.h"

namespace weft::kernels::cuda {

using fused_mlp::Training;

void fused_mlp_prepare(const Training& training, const Stream& stream);  // gathers for *step, too
void fused_mlp_forward(const Training& training, const Stream& stream);  // both hidden layers
// The last layer, the loss, and back to the first.
void fused_mlp_backward(const Training& training, const Stream& stream);
void fused_mlp_update(const Training& training, const Stream& stream);  // gathers for the next step
void fused_mlp_advance(std::int64_t* step, std::int64_t steps, const Stream& stream);

}  // namespace weft::kernels::cuda
