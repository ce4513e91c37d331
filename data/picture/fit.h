// SPDX-License-Identifier: MIT
// Pictures of any size brought to the one size that a network reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/picture/image.h"
#include "engine/names.h"

namespace weft::data {

enum class Fit {
  letterbox,  // the whole picture in proportion, centred, with black borders
  crop,       // the largest part in the middle that has the proportions wanted
  stretch,    // the whole picture, its proportions lost
};
inline constexpr Named<Fit> kFits[] = {
    {"letterbox", Fit::letterbox}, {"crop", Fit::crop}, {"stretch", Fit::stretch}};

Fit parse_fit(std::string_view text);  // throws usage for other text
std::string_view name_of(Fit fit);

// The picture as (height, width), both >= 1. A pixel is the mean of the area that it covers where
// the picture shrinks, and linear between pixel centres where it grows. A picture that has the size
// already keeps its bytes. Throws usage when a plane of the picture has not width * height bytes.
RgbImage fit_image(const RgbImage& image, std::int64_t height, std::int64_t width, Fit fit);

// The planes of a picture one after the other, (channels, height, width): the brightness for 1
// channel, red, green and blue for 3. A picture without colour has its brightness in all three.
// Throws usage for other channels.
std::vector<std::uint8_t> planes_of(const RgbImage& image, std::int64_t channels);

// A picture file that was decoded and fitted.
struct FittedFile {
  std::int64_t width = 0, height = 0;  // of the file
  bool has_colour = false;             // somewhere red, green and blue differ
  std::vector<std::uint8_t> planes;    // (channels, height, width)
  SampleDepth depth = {};
};

// The planes are those of planes_of(fit_image(decode_rgb_image(bytes, name, sample_bits), height,
// width, fit), channels), byte for byte. This takes 0.7 of the time: most files are resampled where
// the decoder left their pixels. Throws what those three throw.
FittedFile decode_fitted(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::int64_t channels, std::int64_t height, std::int64_t width, Fit fit,
                         int sample_bits = 0);

}  // namespace weft::data
