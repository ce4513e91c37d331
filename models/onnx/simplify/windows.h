// SPDX-License-Identifier: MIT
// The windows of convolutions and pooling along one axis.
#pragma once

#include <array>
#include <optional>

#include "models/onnx/simplify/graph_edit.h"

namespace weft::models::simplify {

struct AxisWindow {
  std::int64_t kernel = 1, stride = 1, dilation = 1, before = 0, behind = 0;
  Extent out = {};

  std::int64_t span() const { return (kernel - 1) * dilation + 1; }  // of the input
};

struct Windows {
  std::array<AxisWindow, 2> axes;  // rows, columns
  bool rounds_up = false;          // ceil_mode has an effect

  std::vector<std::int64_t> pads() const {
    return {axes[0].before, axes[1].before, axes[0].behind, axes[1].behind};
  }
};

// The windows of a node over an image of `rows` and `columns`, its automatic padding in numbers and
// without what has no effect: padding that no window reaches, and a ceil_mode where windows fit.
// Nothing where the node does not say them, or where the extents would have to be known.
std::optional<Windows> windows_of(const onnx::NodeProto& node, const std::string& where,
                                  const std::vector<std::int64_t>& kernel, const Extent& rows,
                                  const Extent& columns);

// Writes what was found into the node, where it says something else.
void write_windows(const Windows& windows, onnx::NodeProto& node, const std::string& where);

}  // namespace weft::models::simplify
