// SPDX-License-Identifier: MIT
// Layout: which calls a Plan makes, and in which region of memory each of their tensors lies.
//
//   layers    conv1   relu1   conv2   relu2   pool2   flatten   fc1   relu3   fc2
//   calls     conv1 + relu    conv2 + relu + pool               fc1 + relu    fc2
//
// Flatten is another shape of its input. With KernelChoice::fuse
//   - a ReLU runs in the epilogue of the layer before it, and its backward in that of the layer
//     behind it, whose x it made: the gradient that reaches it is masked already;
//   - Conv2d, ReLU and MaxPool2d may become one call, and so may the two layers ahead of them where
//     these begin the network (conv_relu_pool.h);
//   - backward computes gradients of weights on a branch, beside those of activations.
// Gradients of activations take turns in as few regions as their lives allow, and so do the
// activations of inference with fusion. The input of a residual block lives until its shortcut has
// read it, and the gradient of its sum until both ways back have.
#pragma once

#include <memory>
#include <vector>

#include "layers/network/sequential.h"

namespace weft::layers {

// Where a tensor will lie once its arena is allocated.
struct Place {
  std::size_t region = 0;
  Shape shape;
};

struct Call {
  const Layer* layer = nullptr;
  std::size_t index = 0;  // in the net, of the first layer that it stands for
  Epilogue epilogue = Epilogue::none;
  bool mask_input_gradient = false;
  Place x, y;
  Place dx, dy, incoming;  // in training only; incoming: see Plan::Step
  // What closes a block reads the output of the shortcut here, a Fork the gradient that it gives.
  Place other;
  Place other_gradient;  // A Concat writes it for the shortcut, in training.
  // What closes a block knows the calls of its Fork and of the first layer of its shortcut (its own
  // call if it has none).
  std::size_t fork = 0, shortcut = 0;
};

struct Layout {
  std::vector<Call> calls;
  std::vector<std::unique_ptr<Layer>> joined;  // layers that stand for several of the net
  std::vector<Place> layer_outputs;            // one per layer of the net
  Place input, output, input_gradient, output_gradient;
};

// Declares every region of the arenas; the cache of call i is region i, the workspace region 0.
// Throws usage for a shape that is too large.
Layout lay_out(const Sequential& net, std::int64_t batch, Phase phase, const KernelChoice& kernels,
               Device device, Arenas& arenas);

}  // namespace weft::layers
