// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/batch/parts/draw.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct BatchCpu {
  void (*gather_batch)(float* x, std::int32_t* labels, std::int64_t* indices,
                       const std::uint8_t* images, const std::int32_t* image_labels,
                       std::int64_t rows, const BatchDims& dims, const std::int64_t* step,
                       const BatchOrder& order, const Augmentation& augmentation,
                       const draw::Lines& lines);
};

WEFT_DECLARE_CPU_TABLE(BatchCpu, batch_cpu)

}  // namespace weft::kernels
