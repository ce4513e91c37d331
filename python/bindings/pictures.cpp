// SPDX-License-Identifier: MIT
// Where the channels of pictures are.
#include "python/bindings/pictures.h"

#include <algorithm>
#include <cctype>

#include "engine/text.h"
#include "kernels/batch/batch.h"

namespace weft::python {
namespace {

bool is_count_of_channels(std::int64_t extent) {
  return extent >= 1 && extent <= kernels::kMaxImageChannels;
}

// Both ways to read a picture, for the end of a message.
std::string both_orders(const std::string& rows) {
  return str("; layout=\"channels_last\" reads ", rows,
             ", and x.transpose(0, 3, 1, 2) is (n, channels, height, width)");
}

Shape plane_of(const Pictures& pictures) {
  return {pictures.height, pictures.width};
}

}  // namespace

Layout parse_layout(const char* call, const std::optional<std::string>& name) {
  if (!name) return Layout::unsaid;
  std::string words = *name;
  for (char& c : words) c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(c));
  for (const char* first : {"channels_first", "nchw", "chw"}) {
    if (words == first) return Layout::channels_first;
  }
  for (const char* last : {"channels_last", "nhwc", "hwc"}) {
    if (words == last) return Layout::channels_last;
  }
  throw Error(ErrorKind::usage, str(call, ": layout is '", *name,
                                    "', expected \"channels_first\" or \"channels_last\""));
}

Pictures pictures_of(const Call& call, const char* what, const Shape& shape, Layout layout) {
  call.require(shape.rank() == 3 || shape.rank() == 4, what, " has shape ", shape,
               ", expected 3 axes, (n, height, width), or 4, (n, channels, height, width)");
  if (shape.rank() == 3) return {shape[0], 1, shape[1], shape[2]};
  const bool first = is_count_of_channels(shape[1]), last = is_count_of_channels(shape[3]);
  const bool one = shape[3] == 1;  // one channel lies in the same way in both orders
  call.require(layout != Layout::unsaid || first || one || !last, what, " has shape ", shape,
               ", which is no (n, channels, height, width) with 1 to ", kernels::kMaxImageChannels,
               " channels", both_orders("(n, height, width, channels)"));
  const bool channels_last =
      layout == Layout::channels_last || (layout == Layout::unsaid && !first && one);
  const std::int64_t channels = shape[channels_last ? 3 : 1];
  call.require(is_count_of_channels(channels), what, " has shape ", shape, ": ", channels,
               " channels in the order of channels_", channels_last ? "last" : "first",
               ", expected 1 to ", kernels::kMaxImageChannels);
  if (channels_last) return {shape[0], channels, shape[1], shape[2], channels > 1};
  return {shape[0], channels, shape[2], shape[3]};
}

Pictures pictures_for(const Call& call, const char* what, const Shape& shape, Layout layout,
                      const Pictures& one) {
  const std::int64_t n = shape.rank() == 0 ? 0 : shape[0];
  const std::int64_t channels = one.channels, height = one.height, width = one.width;
  const Shape first{n, channels, height, width}, last{n, height, width, channels};
  const Shape row{n, channels * height * width};
  Pictures found{n, channels, height, width};
  if (shape == row && (channels == 1 || layout != Layout::unsaid)) {
    found.channels_last = layout == Layout::channels_last && channels > 1;
    return found;
  }
  if (shape == row) {
    warn(str(call.name(), ": ", what, " has shape ", shape, ", taken as (n, ", channels, ", ",
             height, ", ", width, "); layout=\"channels_last\" takes it as (n, ", height, ", ",
             width, ", ", channels, "), and layout=\"channels_first\" says this is right"));
    return found;
  }
  if (shape == first && layout != Layout::channels_last) return found;
  const bool grey = channels == 1 && (shape == Shape{n, height, width} || shape == first);
  if (grey || (shape == last && channels == 1)) return found;
  call.require(shape != last || layout == Layout::channels_last, what, " has shape ", shape,
               ", which is channels last, and the network reads (n, ", channels, ", ", height, ", ",
               width, ")", both_orders(str("(n, ", height, ", ", width, ", ", channels, ")")));
  found.channels_last = true;
  if (shape == last) return found;
  const bool lacks_batch = shape == Shape{channels, height, width} || shape == plane_of(one) ||
                           shape == Shape{height, width, channels};
  call.require(false, what, " has shape ", shape, ", expected n images of ",
               Shape{channels, height, width}, ": (n, ", channels, ", ", height, ", ", width, ")",
               channels == 1 ? str(" or (n, ", height, ", ", width, ")") : std::string(),
               layout == Layout::channels_last
                   ? str(", or in channels last (n, ", height, ", ", width, ", ", channels, ")")
                   : std::string(),
               ", as uint8 pixels or float32 inputs",
               lacks_batch ? str("; ", what, "[None] is one of them") : std::string());
  return found;
}

void warn(const std::string& text, int level) {
  if (PyErr_WarnEx(PyExc_UserWarning, printable(text).c_str(), level) != 0)
    throw nb::python_error();
}

}  // namespace weft::python
