// SPDX-License-Identifier: MIT
// What the kernels of fused_cnn are started with.
#pragma once

#include "kernels/networks/cnn/parts/network.h"

namespace weft::kernels::fused_cnn {

// Where the images come from.
struct ImageSource {
  const std::uint8_t* images;
  const std::int32_t* labels;  // or null
  BatchOrder order;
  Augmentation augmentation;
  draw::Line line;
  bool distort;
};

// What the two phases of a step pass on, in the workspace.
struct Exchange {
  float* inputs;       // (rows, Shape::kInputs)
  float* gradients;    // (rows, Shape::kGradients)
  float* filters;      // (blocks, Shape::kConvParameters): each block's gradient
  double* losses;      // (blocks,): sums
  std::int64_t* hits;  // (blocks,)
  std::int64_t* step;  // (1,): *Training::step when the step began
};

struct Training {
  float* parameters;
  float* velocity;
  MetricTotals* totals;
  std::int64_t* step;
  const float* lr;
  ImageSource source;
  SgdOptions sgd;
  Exchange exchange;
  std::int64_t rows;
  int classes;
  int image_blocks;      // blocks that have images
  float gradient_scale;  // one over the rows of all ranks
  float label_smoothing;
};

struct Inference {
  float* logits;              // or null
  std::int32_t* predictions;  // or null
  MetricTotals* totals;       // or null
  const float* parameters;
  ImageSource source;  // in order, not distorted
  Exchange exchange;
  std::int64_t rows;
  int classes;
  int image_blocks;
};

// The parts of a step whose time can be measured.
enum class Part {
  staging,  // until pixels and filters are there
  conv1,
  conv2,
  waiting,  // for fc1's weights
  fc1,
  fc3,
  fc2_backward,
  fc1_backward,
  conv2_filters,
  conv2_data,
  conv1_filters,
  images_barrier,
  parameters,
  parameters_barrier,
  count
};
constexpr int kPartCount = static_cast<int>(Part::count);

}  // namespace weft::kernels::fused_cnn
