// SPDX-License-Identifier: MIT
#include "models/training/optimizer.h"

#include "engine/names.h"
#include "models/training/train_config.h"

namespace weft::models {

namespace {

float* state(const UpdateArrays& arrays, std::size_t i) {
  return arrays.states[i].data<float>() + arrays.first;
}

void sgd(const UpdateArrays& arrays, const TrainConfig& config, const Stream& stream) {
  kernels::sgd_update(arrays.parameters, config.momentum == 0 ? nullptr : state(arrays, 0),
                      arrays.gradients, arrays.n, arrays.lr, arrays.step, sgd_options(config),
                      arrays.clip, stream);
}

void adamw(const UpdateArrays& arrays, const TrainConfig& config, const Stream& stream) {
  kernels::adamw_update(arrays.parameters, state(arrays, 0), state(arrays, 1), arrays.gradients,
                        arrays.n, arrays.lr, arrays.step,
                        {config.beta1, config.beta2, config.epsilon, config.weight_decay},
                        arrays.clip, kernels::kAutomatic, stream);
}

}  // namespace

kernels::SgdOptions sgd_options(const TrainConfig& config) {
  return {config.momentum, config.weight_decay, config.nesterov};
}

std::span<const Optimizer> optimizers() {
  static const Optimizer kRows[] = {
      {.name = "sgd",
       .summary = "with momentum",
       .states = {{"velocity"}},
       .keeps = "velocity",
       .update = sgd,
       .in_one_kernel = true,
       .settings = {"momentum", "nesterov"}},
      {.name = "adamw",
       .summary = "decouples the weight decay, and trains layer by layer, never in one kernel",
       .states = {{"exp_avg"}, {.name = "exp_avg_sq", .is_square = true}},
       .keeps = "two moments",
       .update = adamw,
       .defaults = {{"schedule.peak", "0.001"}, {"weight_decay", "0.01"}},
       .settings = {"beta1", "beta2", "epsilon"}},
  };
  return kRows;
}

const Optimizer* optimizer_named(std::string_view name) {
  return &row_named(optimizers(), "optimizer", name);
}

}  // namespace weft::models
