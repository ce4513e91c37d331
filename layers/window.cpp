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

Window Window::read(Words& words, bool is_pool) {
  Window window;
  std::tie(window.kernel_h, window.kernel_w) = words.extents("a window", 1);
  if (is_pool)
    std::tie(window.stride_h, window.stride_w) = std::tie(window.kernel_h, window.kernel_w);
  bool has_stride = false, has_pad = false;
  for (;;) {
    if (!has_stride && words.accept("stride")) {
      std::tie(window.stride_h, window.stride_w) = words.extents("a stride", 1);
      has_stride = true;
    } else if (!has_pad && words.accept("pad")) {
      std::tie(window.pad_h, window.pad_w) = words.extents("a padding", 0);
      has_pad = true;
      const std::string_view next = words.token().text;
      if (is_pool && !next.empty() && next.front() >= '0' && next.front() <= '9') {
        const auto [rows, columns] = words.extents("a padding behind", 0);
        window.more_h = rows - window.pad_h;
        window.more_w = columns - window.pad_w;
      }
    } else if (is_pool && !window.ceil && words.accept("ceil")) {
      window.ceil = true;
    } else {
      return window;
    }
  }
}

void Window::check(const std::string& layer) const {
  const auto within = [](std::int64_t value, std::int64_t low) {
    return value >= low && value <= kMaxExtent;
  };
  if (ceil && (more_h != 0 || more_w != 0)) {
    throw Error(ErrorKind::usage, str(layer, ": expects ceil or padding of one side, found both"));
  }
  const bool is_sound_behind = within(pad_h + more_h, 0) && within(pad_w + more_w, 0);
  if (is_sound_behind && within(kernel_h, 1) && within(kernel_w, 1) && within(stride_h, 1) &&
      within(stride_w, 1) && within(pad_h, 0) && within(pad_w, 0)) {
    return;
  }
  throw Error(ErrorKind::usage,
              str(layer, ": expects kernel and stride from 1, padding from 0, all up to ",
                  kMaxExtent, ", found kernel ", kernel_h, "x", kernel_w, ", stride ", stride_h,
                  "x", stride_w, ", padding ", pad_h, "x", pad_w));
}

namespace {

// With ceil, a window behind the last whole one, which begins in the plane or its front padding.
std::int64_t more_behind(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                         std::int64_t pad, std::int64_t more, bool ceil) {
  if (!ceil) return more;
  const std::int64_t room = extent + 2 * pad - kernel, begin = (room / stride + 1) * stride;
  const bool hangs_over = room % stride != 0 && begin < extent + pad;
  return hangs_over ? begin + kernel - extent - 2 * pad : 0;
}

}  // namespace

std::int64_t Window::more_rows(std::int64_t h) const {
  return more_behind(h, kernel_h, stride_h, pad_h, more_h, ceil);
}

std::int64_t Window::more_columns(std::int64_t w) const {
  return more_behind(w, kernel_w, stride_w, pad_w, more_w, ceil);
}

bool Window::fits(std::int64_t h, std::int64_t w) const {
  return kernels::window_fits(kernel_h, h + more_h, pad_h) &&
         kernels::window_fits(kernel_w, w + more_w, pad_w);
}

std::string Window::least_plane() const {
  return str("H >= ", kernel_h - 2 * pad_h - more_h, ", W >= ", kernel_w - 2 * pad_w - more_w);
}

OnnxNode with_window(std::string type, const Window& window) {
  using Numbers = std::vector<std::int64_t>;
  return {std::move(type),
          {{"kernel_shape", Numbers{window.kernel_h, window.kernel_w}},
           {"strides", Numbers{window.stride_h, window.stride_w}},
           {"pads", Numbers{window.pad_h, window.pad_w, window.pad_h + window.more_h,
                            window.pad_w + window.more_w}}}};
}

std::string extents_text(std::int64_t rows, std::int64_t columns) {
  return rows == columns ? str(rows) : str(rows, "x", columns);
}

std::string strides_and_pads(OnnxReader& node, bool is_pool) {
  const auto strides = node.numbers("strides", {1, 1});
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  auto pads = node.numbers("pads", {0, 0, 0, 0});
  if (auto_pad == "VALID") pads = {0, 0, 0, 0};
  if (auto_pad != "NOTSET" && auto_pad != "VALID") {
    node.fail(str("expected its padding in numbers, found auto_pad ", in_quotes(auto_pad)));
  }
  const bool is_same = pads[0] == pads[2] && pads[1] == pads[3];
  if (!is_same && !is_pool) {
    node.fail(str("expected the same padding on both sides, found ", pads[0], ", ", pads[1],
                  " before and ", pads[2], ", ", pads[3], " after"));
  }
  std::string words;
  if (is_pool || strides[0] != 1 || strides[1] != 1) {
    words += str(" stride ", extents_text(strides[0], strides[1]));
  }
  if (pads[0] != 0 || pads[1] != 0 || !is_same) {
    words += str(" pad ", extents_text(pads[0], pads[1]));
  }
  if (!is_same) words += str(" ", extents_text(pads[2], pads[3]));
  if (is_pool) {
    const std::int64_t ceil = node.number("ceil_mode", 0);
    if (ceil != 0 && (ceil != 1 || !is_same)) {
      node.fail("expected ceil_mode 0, or 1 with the same padding on both sides");
    }
    if (ceil == 1) words += " ceil";
  }
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
  if (window.more_h != 0 || window.more_w != 0) {
    text +=
        str(", padding behind ", window.pad_h + window.more_h, "x", window.pad_w + window.more_w);
  }
  if (window.ceil) text += ", ceil";
  return text;
}

}  // namespace weft::layers
