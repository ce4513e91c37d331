// SPDX-License-Identifier: MIT
// Launchers of gather.cu; same parameters as the contracts in batch.h.
#pragma once

#include "kernels/batch/batch.h"

namespace weft::kernels::cuda {

void gather_batch(float* x, std::int32_t* labels, std::int64_t* indices, const std::uint8_t* images,
                  const std::uint8_t* image_labels, std::int64_t rows, std::int64_t height,
                  std::int64_t width, const std::int64_t* step, const BatchOrder& order,
                  const Augmentation& augmentation, const Normalization& normalization,
                  const Stream& stream);

}  // namespace weft::kernels::cuda
