// SPDX-License-Identifier: MIT
#include "models/optimizer.h"

#include "engine/names.h"

namespace weft::models {

namespace {

constexpr Named<Optimizer> kNames[] = {{"sgd", Optimizer::sgd}, {"adamw", Optimizer::adamw}};

constexpr std::string_view kSgd[] = {"velocity"};
constexpr std::string_view kAdamw[] = {"exp_avg", "exp_avg_sq"};

}  // namespace

Optimizer parse_optimizer(std::string_view name) {
  return row_named(kNames, "optimizer", name).value;
}

std::string_view name_of(Optimizer optimizer) {
  return name_in(kNames, optimizer);
}

std::span<const std::string_view> state_names(Optimizer optimizer) {
  if (optimizer == Optimizer::adamw) return kAdamw;
  return kSgd;
}

}  // namespace weft::models
