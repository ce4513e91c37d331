// SPDX-License-Identifier: MIT
// Launchers of vectorized.cu; same parameters as the contracts in reduce.h.
#pragma once

#include "kernels/reduce/reduce.h"

namespace weft::kernels::cuda {

void reduce(float* result, const float* x, std::int64_t n, Reduction kind, Workspace workspace,
            const Stream& stream);
std::size_t reduce_workspace_bytes(std::int64_t n);

}  // namespace weft::kernels::cuda
