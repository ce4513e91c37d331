// SPDX-License-Identifier: MIT
// The sliding window that convolution and pooling share.
#pragma once

#include <cstdint>
#include <string>

#include "layers/registry/onnx_operator.h"
#include "layers/registry/words.h"

namespace weft::layers {

struct Window {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;
  // Padding behind beyond that in front; and one more window where the last one hangs over the edge
  // (ceil_mode). Pooling alone has them, and not both.
  std::int64_t more_h = 0, more_w = 0;
  bool ceil = false;

  static Window square(std::int64_t kernel, std::int64_t stride = 1, std::int64_t pad = 0) {
    return {kernel, kernel, stride, stride, pad, pad};
  }

  // "HxW [stride S] [pad P]" of a convolution, whose stride is 1 unless given, and
  // "HxW [stride S] [pad P [BEHIND]] [ceil]" of pooling, whose stride is the window.
  static Window read(Words& words, bool is_pool);

  // Throws usage, naming `layer`, unless kernel and stride are positive and pad is not negative.
  void check(const std::string& layer) const;
  // Do all windows of an (h, w) plane fit, padding included?
  bool fits(std::int64_t h, std::int64_t w) const;
  std::string least_plane() const;  // that fits: "H >= 5, W >= 5"
  // Windows across a plane that fits.
  std::int64_t rows(std::int64_t h) const {
    return (h + 2 * pad_h + more_rows(h) - kernel_h) / stride_h + 1;
  }
  std::int64_t columns(std::int64_t w) const {
    return (w + 2 * pad_w + more_columns(w) - kernel_w) / stride_w + 1;
  }
  // What is padded behind a plane that fits, beyond the padding in front.
  std::int64_t more_rows(std::int64_t h) const;
  std::int64_t more_columns(std::int64_t w) const;
};

// What ONNX calls it: kernel_shape, strides and pads.
OnnxNode with_window(std::string type, const Window& window);
// " stride 2 pad 1" of a node's strides and pads, and of pooling its ceil_mode. A stride of 1 is
// said of pooling alone, and padding may be of one side there alone.
std::string strides_and_pads(OnnxReader& node, bool is_pool);
std::string extents_text(std::int64_t rows, std::int64_t columns);  // "3", or "3x5"

// "kernel 5x5, stride 2x2, padding 2x2": stride 1 and padding 0 are left out.
std::string to_string(const Window& window);

}  // namespace weft::layers
