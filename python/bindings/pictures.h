// SPDX-License-Identifier: MIT
// Pictures as arrays: which axis holds their channels. It is never guessed from the number of
// elements.
#pragma once

#include "python/bindings/arrays.h"

namespace weft::python {

enum class Layout { unsaid, channels_first, channels_last };
// "channels_first", "nchw" and "chw", or "channels_last", "nhwc" and "hwc", in any case of letters.
// Throws ValueError for another name.
Layout parse_layout(const char* call, const std::optional<std::string>& name);

struct Pictures {
  std::int64_t n = 0, channels = 1, height = 0, width = 0;
  bool channels_last = false;  // (n, height, width, channels), with more than one channel

  std::int64_t elements() const { return channels * height * width; }  // of one
};

// The pictures in an array of this shape: (n, height, width) in grey, or with 4 axes. Throws
// ValueError, naming both orders, for one that is channels last where the caller has not said so.
Pictures pictures_of(const Call& call, const char* what, const Shape& shape, Layout layout);
// The same for a network that reads pictures like `one`. A row of all the elements of a picture is
// taken too; in colour its order is warned of where the caller has not said it.
Pictures pictures_for(const Call& call, const char* what, const Shape& shape, Layout layout,
                      const Pictures& one);

// Copies their elements to (n, channels, height, width).
template <class T>
void copy_planes(T* to, const T* from, const Pictures& pictures) {
  const std::int64_t plane = pictures.height * pictures.width,
                     all = pictures.n * pictures.elements();
  if (!pictures.channels_last) {
    std::copy(from, from + all, to);
    return;
  }
  for (std::int64_t image = 0; image < pictures.n; ++image, from += pictures.elements()) {
    for (std::int64_t channel = 0; channel < pictures.channels; ++channel) {
      for (std::int64_t i = 0; i < plane; ++i) *to++ = from[i * pictures.channels + channel];
    }
  }
}

// A UserWarning at the line that called a function of the package written in Python. `level` counts
// the functions of Python between, that one being the second.
void warn(const std::string& text, int level = 2);

}  // namespace weft::python
