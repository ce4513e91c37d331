// SPDX-License-Identifier: MIT
// Where the time of a training step goes, for the bench.
#pragma once

#include <span>
#include <string_view>

#include "kernels/networks/cnn/fused_cnn.h"

namespace weft::kernels {

// The parts of a step in their order, by name.
std::span<const std::string_view> fused_cnn_parts();

// fused_cnn_train(), persistent, on a GPU (else usage): cycles[i] += clock cycles that the first
// block spent in part i, up to the barrier that ends it.
void fused_cnn_train_timed(long long* cycles,  // (parts,), device memory
                           float* parameters, float* velocity, MetricTotals* totals,
                           std::int64_t* step, const std::uint8_t* images,
                           const std::int32_t* labels, const float* lr, std::int64_t rows,
                           std::int64_t steps, const FusedCnnDims& dims,
                           const FusedCnnOptions& options, Workspace workspace,
                           const Stream& stream);

}  // namespace weft::kernels
