// SPDX-License-Identifier: MIT
// What conv.cpp and conv_relu_pool.cpp share.
#pragma once

#include <string>

#include "kernels/conv/conv.h"

namespace weft::kernels {

constexpr std::size_t kConvWorkspaceAlignment = 256;  // bytes

// "conv2d input (1, 3, 8, 8), filters ...", as errors begin.
std::string describe(const ConvDims& dims);
// Throws usage unless the dimensions are as conv.h asks.
void check_conv_dims(const ConvDims& dims);
// Why kernels whose threads address an image by 32-bit offsets cannot take these; empty if they
// can.
std::string image_size_refusal(const ConvDims& dims);
// Applies relu_mask, if any, in a pass of its own.
void mask_gradient(float* dx, const ConvDims& dims, const float* relu_mask, const Stream& stream);

}  // namespace weft::kernels
