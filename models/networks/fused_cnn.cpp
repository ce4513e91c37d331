// SPDX-License-Identifier: MIT
#include "models/networks/fused_cnn.h"

#include <array>
#include <string_view>

#include "layers/conv2d.h"
#include "layers/linear.h"
#include "layers/pool2d.h"

namespace weft::models {

namespace {

constexpr std::array<std::string_view, 12> kTypes = {"Conv2d", "ReLU",      "MaxPool2d", "Conv2d",
                                                     "ReLU",   "MaxPool2d", "Flatten",   "Linear",
                                                     "ReLU",   "Linear",    "ReLU",      "Linear"};

bool is_same(const layers::Window& a, const layers::Window& b) {
  return a.kernel_h == b.kernel_h && a.kernel_w == b.kernel_w && a.stride_h == b.stride_h &&
         a.stride_w == b.stride_w && a.pad_h == b.pad_h && a.pad_w == b.pad_w;
}

bool has_right_types(const layers::Sequential& net) {
  const auto found = net.layers();
  if (found.size() != kTypes.size()) return false;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (found[i]->type() != kTypes[i]) return false;
  }
  return true;
}

template <class Layer>
const Layer* layer(const layers::Sequential& net, std::size_t i) {
  return dynamic_cast<const Layer*>(net.layers()[i].get());
}

std::optional<kernels::FusedCnnDims> dims_of(const layers::Sequential& net) {
  if (!has_right_types(net)) return std::nullopt;
  const auto* conv1 = layer<layers::Conv2d>(net, 0);
  const auto* pool1 = layer<layers::MaxPool2d>(net, 2);
  const auto* conv2 = layer<layers::Conv2d>(net, 3);
  const auto* pool2 = layer<layers::MaxPool2d>(net, 5);
  const auto* fc1 = layer<layers::Linear>(net, 7);
  const auto* fc2 = layer<layers::Linear>(net, 9);
  const auto* fc3 = layer<layers::Linear>(net, 11);
  if (!conv1 || !pool1 || !conv2 || !pool2 || !fc1 || !fc2 || !fc3) return std::nullopt;

  for (const layers::Conv2d* conv : {conv1, conv2}) {
    const layers::Window& window = conv->window();
    const auto square = layers::Window::square(window.kernel_h, 1, window.pad_h);
    if (!conv->has_bias() || !is_same(window, square)) return std::nullopt;
  }
  for (const layers::MaxPool2d* pool : {pool1, pool2}) {
    if (!is_same(pool->window(), layers::Window::square(2, 2))) return std::nullopt;
  }
  if (!fc1->has_bias() || !fc2->has_bias() || !fc3->has_bias()) return std::nullopt;
  if (conv1->in_channels() != 1) return std::nullopt;
  return kernels::FusedCnnDims{.height = net.sample_shape()[1],
                               .width = net.sample_shape()[2],
                               .filters1 = conv1->out_channels(),
                               .kernel1 = conv1->window().kernel_h,
                               .pad1 = conv1->window().pad_h,
                               .filters2 = conv2->out_channels(),
                               .kernel2 = conv2->window().kernel_h,
                               .pad2 = conv2->window().pad_h,
                               .hidden1 = fc1->out(),
                               .hidden2 = fc2->out(),
                               .classes = fc3->out()};
}

}  // namespace

std::optional<kernels::FusedCnnDims> fused_cnn_dims(const layers::Sequential& net,
                                                    const layers::KernelChoice& kernels,
                                                    Device device) {
  const bool allowed = kernels.fuse && !kernels.batch_invariant &&
                       kernels.gemm == kernels::kAutomatic && kernels.conv == kernels::kAutomatic &&
                       kernels.conv_relu_pool == kernels::kAutomatic && device.is_cuda();
  if (!allowed) return std::nullopt;
  const auto dims = dims_of(net);
  return dims && kernels::fused_cnn_supports(*dims, device) ? dims : std::nullopt;
}

}  // namespace weft::models
