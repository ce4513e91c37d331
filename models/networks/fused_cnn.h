// SPDX-License-Identifier: MIT
// Tells the networks that kernels/networks/cnn trains and evaluates as a whole.
#pragma once

#include <optional>

#include "kernels/networks/cnn/fused_cnn.h"
#include "layers/network/sequential.h"

namespace weft::models {

// The network's dimensions when it is Conv2d, ReLU, MaxPool2d(2) twice, Flatten, then three Linear
// with ReLU between, and its kernels are compiled for them; nothing when it is not, when `kernels`
// names variants or forbids fusion, and on the CPU, where the layers are quicker.
std::optional<kernels::FusedCnnDims> fused_cnn_dims(const layers::Sequential& net,
                                                    const layers::KernelChoice& kernels,
                                                    Device device);

}  // namespace weft::models
