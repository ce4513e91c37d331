// SPDX-License-Identifier: MIT
// The launcher of classifier.cu, and what it takes; same parameters as the contract.
#pragma once

#include "kernels/softmax/classifier.h"

namespace weft::kernels::cuda {

constexpr std::int64_t kClassifierInputs = 2048;  // x of a row fits the registers of a warp
constexpr std::int64_t kClassifierClasses = 32;   // a lane for each
constexpr std::int64_t kClassifierWeights =
    11264;  // 44 KiB: fit shared memory that needs no asking

void classifier_forward_backward(const ClassifierOutputs& outputs, const float* x, const float* w,
                                 const float* bias, const std::int32_t* labels,
                                 const ClassifierDims& dims, const ClassifierOptions& options,
                                 const Stream& stream);

}  // namespace weft::kernels::cuda
