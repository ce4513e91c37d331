// SPDX-License-Identifier: MIT
#include "data/picture/picture.h"

#include <algorithm>
#include <cstdlib>

#include "data/picture/image.h"

namespace weft::data {

Picture make_picture(std::int64_t width, std::int64_t height, int channels,
                     const std::string& name) {
  const auto bytes = static_cast<std::size_t>(width * height * channels);
  Picture picture{width, height, channels, {nullptr, std::free}};
  picture.pixels.reset(static_cast<std::uint8_t*>(std::calloc(bytes, 1)));
  if (picture.pixels == nullptr) {
    throw Error(ErrorKind::data, str(name, ": no memory for ", bytes, " bytes of pixels"));
  }
  return picture;
}

bool are_dimensions_accepted(std::int64_t width, std::int64_t height, int reduction) {
  const std::int64_t side = kMaxImageSide * reduction;
  return width >= 1 && height >= 1 && width <= side && height <= side &&
         width * height <= kMaxImagePixels * reduction * reduction;
}

void check_dimensions(std::int64_t width, std::int64_t height, const std::string& name,
                      int reduction) {
  if (are_dimensions_accepted(width, height, reduction)) return;
  throw Error(ErrorKind::data, str(name, ": dimensions ", width, " x ", height, ": expected 1 to ",
                                   kMaxImageSide * reduction, " a side and at most ",
                                   kMaxImagePixels * reduction * reduction, " pixels"));
}

Error damaged_picture(const std::string& name, const std::string& what) {
  return Error(ErrorKind::data, str(name, ": damaged picture: ", what));
}

Error unsupported_picture(const std::string& name, const std::string& what) {
  return Error(ErrorKind::data, str(name, ": picture of an unsupported kind: ", what));
}

SampleDepth depth_of(int peak, int stated, int wanted) {
  const bool is_stated = stated > 0;
  const int bits = is_stated ? stated : wanted > 0 ? wanted : bits_for_peak(peak);
  const SampleDepth::Source source = is_stated    ? SampleDepth::Source::file
                                     : wanted > 0 ? SampleDepth::Source::caller
                                                  : SampleDepth::Source::measured;
  return {peak < 1 << bits ? bits : 16, peak, source};
}

std::uint8_t byte_of_sample(std::uint32_t value, int bits) {
  const std::uint32_t byte = bits >= 8 ? value >> (bits - 8) : value * 255 / ((1u << bits) - 1);
  return static_cast<std::uint8_t>(std::min(255u, byte));
}

}  // namespace weft::data
