// SPDX-License-Identifier: MIT
// The built-in networks, defined layer by layer.
//
//   mlp             784-512-512-10, ReLU                                fc1 fc2 fc3
//   lenet5          conv5x5(6, pad 2)-ReLU-maxpool2-conv5x5(16)-ReLU-maxpool2-
//                   fc120-ReLU-fc84-ReLU-fc10                           conv1 conv2 fc1 fc2 fc3
//   lenet5-classic  the same with sigmoid and average pooling
//   convnet         conv3x3(32)-ReLU-conv3x3(64)-ReLU-maxpool2-fc128-ReLU-fc10, dropout optional
//                   (pytorch/examples mnist)                            conv1 conv2 fc1 fc2
//   convnet-bn      conv5x5(32, pad 2)-ReLU-maxpool2-bn-
//                   conv3x3(64)-ReLU-bn-conv3x3(64)-ReLU-maxpool2-bn-
//                   conv3x3(128)-ReLU-bn-conv3x3(128)-ReLU-bn-global max-fc10, with pad 1
//                                                                       conv1..5 bn1..5 fc1
//                   Batch norm comes last in a stage, where pooling has left a quarter of the
//                   values, and where convolution, ReLU and pooling can be one kernel.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "layers/sequential.h"
#include "models/schedule.h"

namespace weft::models {

struct NetworkOptions {
  std::string name = "lenet5";
  std::int64_t height = 28, width = 28;  // of the one-channel input image
  std::int64_t classes = 10;
  float dropout = 0;  // convnet: before fc1 (half of it) and before fc2; 0: none
};

// One network: all that is known of it.
struct NetworkInfo {
  std::string_view name;
  std::string_view summary;  // one line for --help and inspect
  std::unique_ptr<layers::Sequential> (*make)(const NetworkOptions& options);
  int epochs;  // these suit it at batch 64, in fp32
  Schedule schedule;
  float weight_decay = 5e-4f;
  bool has_dropout = false;
};

std::span<const NetworkInfo> networks();
const NetworkInfo& network_named(std::string_view name);  // or throws usage with the nearest name

// Throws usage for an unknown name, with the nearest known one.
std::unique_ptr<layers::Sequential> make_network(const NetworkOptions& options);

}  // namespace weft::models
