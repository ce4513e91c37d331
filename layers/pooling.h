// SPDX-License-Identifier: MIT
// What the pooling layers share: window rules, shapes and the kernels' dimensions.
#pragma once

#include "kernels/pool/pool.h"
#include "layers/window.h"

namespace weft::layers {

// Throws usage unless the window is valid and padded by at most half its size.
inline Window checked_pool_window(const std::string& layer, const Window& window) {
  window.check(layer);
  if (2 * window.pad_h > window.kernel_h || 2 * window.pad_w > window.kernel_w) {
    throw Error(ErrorKind::usage, str(layer, ": expects padding of at most half the window, found ",
                                      to_string(window)));
  }
  return window;
}

inline bool pool_accepts(const Window& window, const Shape& input) {
  return input.rank() == 4 && window.fits(input[2], input[3]);
}

inline std::string pool_expectation(const Window& window) {
  return str("(N, C, H >= ", window.kernel_h - 2 * window.pad_h,
             ", W >= ", window.kernel_w - 2 * window.pad_w, ")");
}

inline Shape pool_output(const Window& window, const Shape& input) {
  return {input[0], input[1], window.rows(input[2]), window.columns(input[3])};
}

inline kernels::PoolDims pool_dims(const Window& window, const Shape& input) {
  return {.n = input[0],
          .c = input[1],
          .h = input[2],
          .w = input[3],
          .kh = window.kernel_h,
          .kw = window.kernel_w,
          .stride_h = window.stride_h,
          .stride_w = window.stride_w,
          .pad_h = window.pad_h,
          .pad_w = window.pad_w};
}

}  // namespace weft::layers
