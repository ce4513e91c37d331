// SPDX-License-Identifier: MIT
#include "layers/window.h"

#include <tuple>

#include "engine/error.h"
#include "engine/text.h"
#include "kernels/padding.h"

namespace weft::layers {

namespace {

// Larger windows are mistakes, and sums of these cannot overflow.
constexpr std::int64_t kMaxExtent = 1 << 20;

}  // namespace

Window Window::read(Words& words, bool own_stride) {
  Window window;
  std::tie(window.kernel_h, window.kernel_w) = words.extents("a window", 1);
  if (own_stride)
    std::tie(window.stride_h, window.stride_w) = std::tie(window.kernel_h, window.kernel_w);
  bool has_stride = false, has_pad = false;
  for (;;) {
    if (!has_stride && words.accept("stride")) {
      std::tie(window.stride_h, window.stride_w) = words.extents("a stride", 1);
      has_stride = true;
    } else if (!has_pad && words.accept("pad")) {
      std::tie(window.pad_h, window.pad_w) = words.extents("a padding", 0);
      has_pad = true;
    } else {
      return window;
    }
  }
}

void Window::check(const std::string& layer) const {
  const auto within = [](std::int64_t value, std::int64_t low) {
    return value >= low && value <= kMaxExtent;
  };
  if (within(kernel_h, 1) && within(kernel_w, 1) && within(stride_h, 1) && within(stride_w, 1) &&
      within(pad_h, 0) && within(pad_w, 0)) {
    return;
  }
  throw Error(ErrorKind::usage,
              str(layer, ": expects kernel and stride from 1, padding from 0, all up to ",
                  kMaxExtent, ", found kernel ", kernel_h, "x", kernel_w, ", stride ", stride_h,
                  "x", stride_w, ", padding ", pad_h, "x", pad_w));
}

bool Window::fits(std::int64_t h, std::int64_t w) const {
  return kernels::window_fits(kernel_h, h, pad_h) && kernels::window_fits(kernel_w, w, pad_w);
}

std::string Window::least_plane() const {
  return str("H >= ", kernel_h - 2 * pad_h, ", W >= ", kernel_w - 2 * pad_w);
}

OnnxNode with_window(std::string type, const Window& window) {
  using Numbers = std::vector<std::int64_t>;
  return {std::move(type),
          {{"kernel_shape", Numbers{window.kernel_h, window.kernel_w}},
           {"strides", Numbers{window.stride_h, window.stride_w}},
           {"pads", Numbers{window.pad_h, window.pad_w, window.pad_h, window.pad_w}}}};
}

std::string extents_text(std::int64_t rows, std::int64_t columns) {
  return rows == columns ? str(rows) : str(rows, "x", columns);
}

std::string strides_and_pads(OnnxReader& node, bool says_stride) {
  const auto strides = node.numbers("strides", {1, 1});
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  auto pads = node.numbers("pads", {0, 0, 0, 0});
  if (auto_pad == "VALID") pads = {0, 0, 0, 0};
  if (auto_pad != "NOTSET" && auto_pad != "VALID") {
    node.fail(str("expected its padding in numbers, found auto_pad ", in_quotes(auto_pad)));
  }
  if (pads[0] != pads[2] || pads[1] != pads[3]) {
    node.fail(str("expected the same padding on both sides, found ", pads[0], ", ", pads[1],
                  " before and ", pads[2], ", ", pads[3], " after"));
  }
  std::string words;
  if (says_stride || strides[0] != 1 || strides[1] != 1) {
    words += str(" stride ", extents_text(strides[0], strides[1]));
  }
  if (pads[0] != 0 || pads[1] != 0) words += str(" pad ", extents_text(pads[0], pads[1]));
  return words;
}

std::string to_string(const Window& window) {
  std::string text = str("kernel ", window.kernel_h, "x", window.kernel_w);
  if (window.stride_h != 1 || window.stride_w != 1) {
    text += str(", stride ", window.stride_h, "x", window.stride_w);
  }
  if (window.pad_h != 0 || window.pad_w != 0) {
    text += str(", padding ", window.pad_h, "x", window.pad_w);
  }
  return text;
}

}  // namespace weft::layers
