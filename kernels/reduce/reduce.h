// SPDX-License-Identifier: MIT
// Reductions of n floats to one, in a fixed order that does not depend on the device load.
//
// sum of 0 values is 0; min and max of 0 values are +infinity and -infinity. NaN propagates.
// Traffic: 4n bytes.
#pragma once

#include <span>

#include "kernels/common.h"

namespace weft::kernels {

enum class Reduction { sum, sum_of_squares, min, max };

std::size_t reduce_workspace_bytes(std::int64_t n, Device device);
void reduce(float* result,   // one value; written also for n == 0
            const float* x,  // (n,)
            std::int64_t n, Reduction kind, Workspace workspace, const Stream& stream);

std::span<const VariantInfo> reduce_variants();

}  // namespace weft::kernels
