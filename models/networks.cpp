// SPDX-License-Identifier: MIT
#include "models/networks.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/names.h"
#include "layers/activation.h"
#include "layers/batch_norm2d.h"
#include "layers/conv2d.h"
#include "layers/dropout.h"
#include "layers/flatten.h"
#include "layers/linear.h"
#include "layers/pool2d.h"

namespace weft::models {

namespace {

using layers::Window;

// Images and class counts from files are limited before anything is sized by them.
constexpr std::int64_t kMaxSide = 1024, kMaxClasses = 65536;

// Appends layers, following the shape of the data through them.
class Builder {
 public:
  explicit Builder(const NetworkOptions& options)
      : sample_{1, options.height, options.width}, shape_{1, 1, options.height, options.width} {}

  template <class Layer, class... Arguments>
  void add(Arguments&&... arguments) {
    layers_.push_back(std::make_unique<Layer>(std::forward<Arguments>(arguments)...));
    shape_ = layers_.back()->output_shape(shape_);
  }
  void convolution(const char* name, std::int64_t channels, const Window& window) {
    add<layers::Conv2d>(name, shape_[1], channels, window);
  }
  void linear(const char* name, std::int64_t features) {
    if (shape_.rank() > 2) add<layers::Flatten>("flatten");
    add<layers::Linear>(name, shape_[1], features);
  }
  void batch_norm(const char* name) { add<layers::BatchNorm2d>(name, shape_[1]); }
  // The largest value of each plane.
  void global_max(const char* name) {
    const std::int64_t h = shape_[2], w = shape_[3];
    add<layers::MaxPool2d>(name, Window{h, w, h, w});
  }
  std::unique_ptr<layers::Sequential> finish() {
    return std::make_unique<layers::Sequential>(sample_, std::move(layers_));
  }

 private:
  Shape sample_, shape_;
  std::vector<std::unique_ptr<layers::Layer>> layers_;
};

std::unique_ptr<layers::Sequential> make_mlp(const NetworkOptions& options) {
  Builder net(options);
  net.linear("fc1", 512);
  net.add<layers::ReLU>("relu1");
  net.linear("fc2", 512);
  net.add<layers::ReLU>("relu2");
  net.linear("fc3", options.classes);
  return net.finish();
}

template <class Activation, class Pooling>
std::unique_ptr<layers::Sequential> make_lenet5(const NetworkOptions& options) {
  Builder net(options);
  net.convolution("conv1", 6, Window::square(5, 1, 2));
  net.add<Activation>("activation1");
  net.add<Pooling>("pool1", Window::square(2, 2));
  net.convolution("conv2", 16, Window::square(5));
  net.add<Activation>("activation2");
  net.add<Pooling>("pool2", Window::square(2, 2));
  net.linear("fc1", 120);
  net.add<Activation>("activation3");
  net.linear("fc2", 84);
  net.add<Activation>("activation4");
  net.linear("fc3", options.classes);
  return net.finish();
}

std::unique_ptr<layers::Sequential> make_convnet(const NetworkOptions& options) {
  Builder net(options);
  net.convolution("conv1", 32, Window::square(3));
  net.add<layers::ReLU>("relu1");
  net.convolution("conv2", 64, Window::square(3));
  net.add<layers::ReLU>("relu2");
  net.add<layers::MaxPool2d>("pool1", Window::square(2, 2));
  if (options.dropout > 0) net.add<layers::Dropout>("dropout1", options.dropout / 2);
  net.linear("fc1", 128);
  net.add<layers::ReLU>("relu3");
  if (options.dropout > 0) net.add<layers::Dropout>("dropout2", options.dropout);
  net.linear("fc2", options.classes);
  return net.finish();
}

std::unique_ptr<layers::Sequential> make_convnet_bn(const NetworkOptions& options) {
  const Window same = Window::square(3, 1, 1), halve = Window::square(2, 2);
  Builder net(options);
  net.convolution("conv1", 32, Window::square(5, 1, 2));
  net.add<layers::ReLU>("relu1");
  net.add<layers::MaxPool2d>("pool1", halve);
  net.batch_norm("bn1");
  net.convolution("conv2", 64, same);
  net.add<layers::ReLU>("relu2");
  net.batch_norm("bn2");
  net.convolution("conv3", 64, same);
  net.add<layers::ReLU>("relu3");
  net.add<layers::MaxPool2d>("pool2", halve);
  net.batch_norm("bn3");
  net.convolution("conv4", 128, same);
  net.add<layers::ReLU>("relu4");
  net.batch_norm("bn4");
  net.convolution("conv5", 128, same);
  net.add<layers::ReLU>("relu5");
  net.batch_norm("bn5");
  net.global_max("pool3");
  net.linear("fc1", options.classes);
  return net.finish();
}

constexpr std::array kNetworks = {
    NetworkInfo{
        "mlp", "784-512-512-10 with ReLU: three matrix products", make_mlp, 5, {.peak = 0.05f}},
    NetworkInfo{"lenet5",
                "two 5x5 convolutions with ReLU and max pooling, three linear layers",
                make_lenet5<layers::ReLU, layers::MaxPool2d>,
                4,
                {.peak = 0.05f}},
    NetworkInfo{"lenet5-classic",
                "lenet5 as in 1998: sigmoid and average pooling",
                make_lenet5<layers::Sigmoid, layers::AvgPool2d>,
                8,
                {.peak = 0.3f},
                0},
    NetworkInfo{"convnet",
                "two 3x3 convolutions (32 and 64 channels), one max pooling, two linear layers",
                make_convnet,
                3,
                {.peak = 0.05f},
                5e-4f,
                true},
    NetworkInfo{"convnet-bn",
                "five convolutions (32 to 128 channels) with batch norm, one linear layer",
                make_convnet_bn,
                4,
                {.peak = 0.05f}},
};
static_assert(std::ranges::all_of(kNetworks, [](const NetworkInfo& info) {
  return !info.summary.empty() && info.epochs > 0;
}));

void check(const NetworkOptions& options, const NetworkInfo& network) {
  const auto within = [](std::int64_t value, std::int64_t limit) {
    return value >= 1 && value <= limit;
  };
  if (!within(options.height, kMaxSide) || !within(options.width, kMaxSide)) {
    throw Error(ErrorKind::usage, str("a network expects images of 1x1 to ", kMaxSide, "x",
                                      kMaxSide, ", found ", options.height, "x", options.width));
  }
  if (!within(options.classes, kMaxClasses)) {
    throw Error(ErrorKind::usage,
                str("a network expects 1 to ", kMaxClasses, " classes, found ", options.classes));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw Error(ErrorKind::usage, str("dropout expects 0 <= p < 1, found ", options.dropout));
  }
  if (options.dropout > 0 && !network.has_dropout) {
    throw Error(ErrorKind::usage, str("network '", options.name, "' has no dropout; convnet has"));
  }
}

}  // namespace

std::span<const NetworkInfo> networks() {
  return kNetworks;
}

const NetworkInfo& network_named(std::string_view name) {
  return row_named(kNetworks, "network", name);
}

std::unique_ptr<layers::Sequential> make_network(const NetworkOptions& options) {
  const NetworkInfo& network = network_named(options.name);
  check(options, network);
  return network.make(options);
}

}  // namespace weft::models
