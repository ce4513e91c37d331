// SPDX-License-Identifier: MIT
// The optimizers of a training run, and what each remembers of a parameter between two steps.
#pragma once

#include <span>
#include <string_view>

#include "engine/names.h"

namespace weft::models {

enum class Optimizer { sgd, adamw };
inline constexpr Named<Optimizer> kOptimizers[] = {{"sgd", Optimizer::sgd},
                                                   {"adamw", Optimizer::adamw}};

std::string_view name_of(Optimizer optimizer);

// The names, as in PyTorch's optimizers, of the values that are kept for each parameter. A
// checkpoint holds each as STATE.PARAMETER: velocity.fc1.weight.
std::span<const std::string_view> state_names(Optimizer optimizer);

}  // namespace weft::models
