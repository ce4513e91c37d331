// SPDX-License-Identifier: MIT
#include "data/sets/dataset.h"

namespace weft::data {

std::vector<std::uint8_t> interleaved(const ImageSet& set, std::int64_t index) {
  const std::span<const std::uint8_t> planes = set.image(index);
  const auto channels = static_cast<std::size_t>(set.channels);
  const std::size_t plane = planes.size() / channels;
  std::vector<std::uint8_t> pixels(planes.size());
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t i = 0; i < plane; ++i) {
      pixels[i * channels + channel] = planes[channel * plane + i];
    }
  }
  return pixels;
}

}  // namespace weft::data
