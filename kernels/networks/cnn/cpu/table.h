// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/batch/parts/draw.h"
#include "kernels/isa.h"
#include "kernels/networks/cnn/fused_cnn.h"

namespace weft::kernels {

struct FusedCnnCpu {
  std::size_t (*workspace_bytes)(const FusedCnnDims& dims, std::int64_t rows);
  void (*train)(float* parameters, float* velocity, MetricTotals* totals, std::int64_t* step,
                const std::uint8_t* images, const std::int32_t* labels, const float* lr,
                std::int64_t rows, std::int64_t steps, const FusedCnnDims& dims,
                const BatchOrder& order, const Augmentation& augmentation, draw::Line line,
                const SgdOptions& sgd, float label_smoothing, void* workspace);
  void (*infer)(float* logits, std::int32_t* predictions, MetricTotals* totals,
                const float* parameters, const std::uint8_t* images, const std::int32_t* labels,
                std::int64_t rows, const FusedCnnDims& dims, draw::Line line, void* workspace);
};

WEFT_DECLARE_CPU_TABLE(FusedCnnCpu, fused_cnn_cpu)

}  // namespace weft::kernels
