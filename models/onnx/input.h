// SPDX-License-Identifier: MIT
// What a graph does to its input before its first layer: the layout and the scale of an image.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "models/answers/normalisation.h"
#include "models/onnx/graph.h"

namespace weft::models {

struct OnnxInput {
  std::array<std::int64_t, 3> image = {};  // channels, height, width
  int first = 0;                           // the step whose value the first layer reads
  // The first layer reads scale of the file's input x, which is `pixels`, where the numbers of the
  // file tell: a file that divides by 255 takes pixels from 0 to 255.
  InputScale scale = {};
  std::optional<PixelScale> pixels = {};
  // The first layer reads a row of (height, width, channels), and not of (channels, height, width).
  bool is_row_of_pixels = false;
  std::string notice = {};  // of a layout that was assumed; else empty
};

// Follows Cast, Sub, Div, Mul, Add, BatchNormalization, Transpose and Reshape from the input on.
// `wanted` is the image where the file does not say it. Throws usage for one that does not fit the
// file, and data naming the node for what is done to single pixels. With `keeps_batch_norm` a batch
// normalisation is a layer.
OnnxInput onnx_input(const OnnxGraph& graph,
                     const std::optional<std::array<std::int64_t, 3>>& wanted,
                     bool keeps_batch_norm = false);

}  // namespace weft::models
