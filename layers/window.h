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

  static Window square(std::int64_t kernel, std::int64_t stride = 1, std::int64_t pad = 0) {
    return {kernel, kernel, stride, stride, pad, pad};
  }

  // "HxW [stride S] [pad P]"; the stride is the window where that is `own`, and else 1.
  static Window read(Words& words, bool own_stride);

  // Throws usage, naming `layer`, unless kernel and stride are positive and pad is not negative.
  void check(const std::string& layer) const;
  // Do all windows of an (h, w) plane fit, padding included?
  bool fits(std::int64_t h, std::int64_t w) const;
  std::string least_plane() const;  // that fits: "H >= 5, W >= 5"
  // Windows across a plane that fits.
  std::int64_t rows(std::int64_t h) const { return (h + 2 * pad_h - kernel_h) / stride_h + 1; }
  std::int64_t columns(std::int64_t w) const { return (w + 2 * pad_w - kernel_w) / stride_w + 1; }
};

// What ONNX calls it: kernel_shape, strides and pads.
OnnxNode with_window(std::string type, const Window& window);
// " stride 2 pad 1" of a node's strides and pads; a stride of 1 only where `says_stride`.
std::string strides_and_pads(OnnxReader& node, bool says_stride);
std::string extents_text(std::int64_t rows, std::int64_t columns);  // "3", or "3x5"

// "kernel 5x5, stride 2x2, padding 2x2": stride 1 and padding 0 are left out.
std::string to_string(const Window& window);

}  // namespace weft::layers
