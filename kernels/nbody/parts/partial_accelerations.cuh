// SPDX-License-Identifier: MIT
// Accelerations as the sum of several slices, each computed by other blocks.
#pragma once

#include "kernels/nbody/parts/interaction.cuh"

namespace weft::kernels::cuda {

// acceleration[i] = gravity * sum over slices s, in order, of partial[s * stride + i]; += when
// `add`.
void sum_partial_accelerations(float4* acceleration,   // (n,)
                               const float4* partial,  // (slices, stride), stride >= n
                               std::int64_t n, std::int64_t stride, int slices, float gravity,
                               const Stream& stream, bool add = false);

}  // namespace weft::kernels::cuda
