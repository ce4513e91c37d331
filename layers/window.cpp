// SPDX-License-Identifier: MIT
#include "layers/window.h"

namespace weft::layers {

namespace {

// Larger windows are mistakes, and sums of these cannot overflow.
constexpr std::int64_t kMaxExtent = 1 << 20;

}  // namespace

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
  return h + 2 * pad_h >= kernel_h && w + 2 * pad_w >= kernel_w;
}

std::string Window::least_plane() const {
  return str("H >= ", kernel_h - 2 * pad_h, ", W >= ", kernel_w - 2 * pad_w);
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
