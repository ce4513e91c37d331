// SPDX-License-Identifier: MIT
// What conv.cpp and fused_relu_pool.cpp share.
#pragma once

#include "kernels/conv/conv.h"

namespace weft::kernels {

// Throws usage unless the dimensions are as conv.h asks.
void check_conv_dims(const ConvDims& dims);

}  // namespace weft::kernels
