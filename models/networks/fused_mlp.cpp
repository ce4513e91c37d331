// SPDX-License-Identifier: MIT
#include "models/networks/fused_mlp.h"

#include <array>
#include <string_view>

#include "layers/linear.h"

namespace weft::models {

namespace {

constexpr std::array<std::string_view, 6> kTypes = {"Flatten", "Linear", "ReLU",
                                                    "Linear",  "ReLU",   "Linear"};

std::optional<kernels::FusedMlpDims> dims_of(const layers::Sequential& net) {
  const auto found = net.layers();
  if (found.size() != kTypes.size() || net.sample_shape().rank() != 3) return std::nullopt;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (found[i]->type() != kTypes[i]) return std::nullopt;
  }
  const layers::Linear* linear[3];
  for (std::size_t i = 0; i < 3; ++i) {
    linear[i] = dynamic_cast<const layers::Linear*>(found[2 * i + 1].get());
    if (linear[i] == nullptr || !linear[i]->has_bias()) return std::nullopt;
  }
  if (net.sample_shape()[0] != 1) return std::nullopt;
  return kernels::FusedMlpDims{.height = net.sample_shape()[1],
                               .width = net.sample_shape()[2],
                               .hidden1 = linear[0]->out(),
                               .hidden2 = linear[1]->out(),
                               .classes = linear[2]->out()};
}

}  // namespace

std::optional<kernels::FusedMlpDims> fused_mlp_dims(const layers::Sequential& net,
                                                    const layers::KernelChoice& kernels,
                                                    Device device) {
  if (!kernels.fuse || kernels.gemm != kernels::kAutomatic || !device.is_cuda()) {
    return std::nullopt;
  }
  auto dims = dims_of(net);
  if (dims) dims->mode = kernels.mode;
  return dims && kernels::fused_mlp_supports(*dims, device) ? dims : std::nullopt;
}

}  // namespace weft::models
