// SPDX-License-Identifier: MIT
// The cases of convolution: comparison with the double oracle on every device and variant, and
// benchmarks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/conv/problem.h"

namespace weft::test {

struct ConvCase : problems::Conv {
  ConvCase(const kernels::ConvDims& of = {}, bool zero = false)
      : problems::Conv{of}, zero_is_right(zero) {}

  bool zero_is_right;  // of y after ReLU, dx and dw

  std::string name() const {
    return str("x(", dims.n, ",", dims.c, ",", dims.h, ",", dims.w, ") w(", dims.oc, ",", dims.c,
               ",", dims.kh, ",", dims.kw, ") stride(", dims.stride_h, ",", dims.stride_w, ") pad(",
               dims.pad_h, ",", dims.pad_w, ")");
  }
};

// The convolutions of lenet5 and convnet.
inline std::vector<ConvCase> network_conv_cases(std::int64_t batch = 64) {
  return {{{batch, 1, 28, 28, 6, 5, 5, 1, 1, 2, 2}},
          {{batch, 6, 14, 14, 16, 5, 5, 1, 1, 0, 0}},
          {{batch, 1, 28, 28, 32, 3, 3, 1, 1, 0, 0}},
          {{batch, 32, 26, 26, 64, 3, 3, 1, 1, 0, 0}}};
}

inline std::vector<ConvCase> conv_cases() {
  std::vector<ConvCase> cases = {
      {{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}},
      {{1, 1, 3, 3, 1, 3, 3, 1, 1, 0, 0}},               // kernel = image
      {{3, 5, 7, 6, 4, 7, 6, 1, 1, 0, 0}},               // kernel = image, not square
      {{2, 3, 5, 9, 7, 1, 1, 1, 1, 0, 0}},               // 1 x 1
      {{2, 33, 6, 5, 31, 1, 1, 2, 2, 0, 0}},             // 1 x 1, strided
      {{2, 3, 11, 8, 5, 3, 2, 1, 1, 1, 0}},              // not square in anything
      {{2, 2, 13, 17, 3, 2, 4, 2, 3, 1, 2}},             // strides and pads that differ by axis
      {{2, 2, 8, 9, 3, 3, 3, 2, 2, 0, 0}},               // last row never read
      {{1, 2, 9, 40, 3, 3, 7, 1, 2, 1, 3}},              // wide kernel
      {{1, 1, 4, 60, 2, 3, 31, 1, 1, 1, 15}},            // very wide kernel
      {{2, 2, 3, 4, 3, 3, 3, 1, 1, 4, 5}},               // padding larger than the kernel
      {{1, 3, 2, 2, 4, 5, 5, 1, 1, 2, 2}},               // kernel larger than the image
      {{1, 2, 10, 10, 3, 2, 2, 3, 4, 0, 0}},             // stride larger than the kernel
      {{1, 2, 10, 9, 3, 3, 3, 1 << 30, 1 << 30, 1, 1}},  // one window, whatever the stride
      {{19, 2, 6, 6, 3, 3, 3, 1, 1, 1, 1}},    // a number of images that chunks do not divide
      {{2, 17, 9, 33, 33, 3, 3, 1, 1, 1, 1}},  // one past tiles, warps and vectors
      {{1, 16, 8, 31, 65, 3, 3, 1, 1, 1, 1}},
      {{2, 32, 7, 12, 64, 3, 3, 1, 1, 1, 1}},
      {{1, 70, 5, 13, 12, 3, 3, 1, 1, 0, 0}},  // more than one block of channels
      {{2, 13, 6, 15, 11, 4, 5, 1, 1, 2, 2}},  // the same, five taps in a row
      {{1, 127, 3, 5, 31, 2, 3, 1, 1, 1, 1}},
      {{3, 20, 9, 9, 70, 3, 3, 2, 2, 1, 1}},  // strided, channels and filters beyond a tile
      {{2, 16, 11, 13, 130, 3, 3, 1, 1, 1, 1}},
      {{40, 17, 4, 5, 18, 3, 3, 1, 1, 1, 1}},  // pixels of many images in one tile
      {{3, 16, 7, 6, 19, 3, 3, 1, 1, 0, 3}},   // tiles of 2 x 2 that end outside, or lie in padding
      {{3, 65, 9, 9, 65, 1, 1, 1, 1, 0, 0}},
      {{2, 33, 15, 24, 65, 3, 3, 1, 1, 1, 1}},      // rows of whole swizzles of pixels
      {{5, 5, 7, 7, 18, 3, 3, 1, 1, 1, 1}},         // boxes of some images, and a part of one
      {{1, 3, 3, 301, 5, 1, 1, 1, 1, 0, 0}},        // rows longer than a box
      {{1, 3, 9, 9, 4, 3, 3, 20, 30, 5, 7}, true},  // the one window lies in the padding
      {{1, 3, 9, 9, 4, 3, 3, 5, 11, 2, 0}},
      {{3, 1, 9, 8, 40, 3, 3, 1, 1, 1, 0}},  // one channel
      {{2, 1, 6, 8, 33, 3, 3, 1, 1, 0, 0}},
      {{300, 1, 5, 5, 3, 3, 3, 1, 1, 1, 1}},
      {{7, 6, 14, 13, 16, 5, 5, 1, 1, 0, 0}},  // small images whose rows and planes are odd
      {{5, 5, 13, 11, 7, 5, 5, 1, 1, 2, 1}},
      {{4, 3, 9, 9, 40, 5, 5, 1, 1, 4, 4}},
      {{301, 4, 6, 6, 8, 3, 3, 1, 1, 1, 1}},  // more of them than blocks
      {{200, 3, 5, 7, 20, 3, 3, 1, 1, 1, 0}},
      {{281, 2, 18, 18, 3, 3, 3, 1, 1, 1, 1}},
  };
  for (const ConvCase& c : network_conv_cases(3)) cases.push_back(c);
  return cases;
}

}  // namespace weft::test
