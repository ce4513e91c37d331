// SPDX-License-Identifier: MIT
// The optimizers of a training run. A new one is a row of optimizer.cpp with the call of its
// kernel.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor.h"
#include "kernels/optimizer/optimizer.h"

namespace weft::models {

struct TrainConfig;

// What an optimizer keeps of each parameter between two steps. The name is that of PyTorch's
// optimizers; a checkpoint holds it as STATE.PARAMETER: velocity.fc1.weight.
struct OptimizerState {
  std::string_view name;
  bool is_square = false;  // a mean of squares, never below 0
};

// The arrays of an update, on the device of its stream.
struct UpdateArrays {
  float* parameters;       // (n,)
  const float* gradients;  // (n,)
  std::int64_t n;
  std::span<Tensor> states;  // f32, one for each OptimizerState, from `first` on (n,)
  const float* lr;           // (steps of the run,)
  const std::int64_t* step;  // (1,)
  kernels::GradientClip clip;
  std::int64_t first = 0;  // of the parameters, among all of the run
};

struct Optimizer {
  std::string_view name, summary;
  std::vector<OptimizerState> states;
  std::string_view keeps;  // the states, for people: "velocity"
  void (*update)(const UpdateArrays& arrays, const TrainConfig& config, const Stream& stream);
  bool in_one_kernel = false;  // do the kernels that train a whole network compute it?
  // Defaults where they are not those of the network: the name of a setting and its text.
  std::vector<std::pair<std::string_view, std::string_view>> defaults = {};
  std::vector<std::string_view> settings = {};  // those that other optimizers have no use for
};

kernels::SgdOptions sgd_options(const TrainConfig& config);

std::span<const Optimizer> optimizers();                  // the default comes first
const Optimizer* optimizer_named(std::string_view name);  // throws usage for other names
inline std::string_view name_of(const Optimizer* optimizer) {
  return optimizer->name;
}

}  // namespace weft::models
