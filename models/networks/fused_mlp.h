// SPDX-License-Identifier: MIT
// Tells the networks that kernels/networks/mlp trains.
#pragma once

#include <optional>

#include "kernels/networks/mlp/fused_mlp.h"
#include "layers/network/sequential.h"

namespace weft::models {

// The network's dimensions when it is Flatten, then three Linear with ReLU between, and its kernels
// take them; nothing when it is not, when `kernels` names variants or forbids fusion, and on the
// CPU.
std::optional<kernels::FusedMlpDims> fused_mlp_dims(const layers::Sequential& net,
                                                    const layers::KernelChoice& kernels,
                                                    Device device);

}  // namespace weft::models
