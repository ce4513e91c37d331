// SPDX-License-Identifier: MIT
#include "models/optimizer.h"

namespace weft::models {

namespace {

constexpr std::string_view kSgd[] = {"velocity"};
constexpr std::string_view kAdamw[] = {"exp_avg", "exp_avg_sq"};

}  // namespace

std::string_view name_of(Optimizer optimizer) {
  return name_in(kOptimizers, optimizer);
}

std::span<const std::string_view> state_names(Optimizer optimizer) {
  if (optimizer == Optimizer::adamw) return kAdamw;
  return kSgd;
}

}  // namespace weft::models
