// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/batch/parts/draw.h"
#include "kernels/isa.h"
#include "kernels/networks/mlp/fused_mlp.h"

namespace weft::kernels {

struct FusedMlpCpu {
  std::size_t (*workspace_bytes)(const FusedMlpDims& dims, std::int64_t rows);
  void (*train)(float* parameters, float* velocity, MetricTotals* totals, std::int64_t* step,
                const std::uint8_t* images, const std::int32_t* labels, const float* lr,
                std::int64_t rows, std::int64_t steps, const FusedMlpDims& dims,
                const FusedMlpOptions& options, draw::Line line, void* workspace);
};

WEFT_DECLARE_CPU_TABLE(FusedMlpCpu, fused_mlp_cpu)

}  // namespace weft::kernels
