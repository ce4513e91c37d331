// SPDX-License-Identifier: MIT
// What a network's first layer reads of a pixel, when another program trained it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace weft::models {

// (pixel / 255 - mean) / stddev, with a number for each channel or one for all.
struct PixelScale {
  std::vector<double> mean = {0}, stddev = {1};
};

// What a file itself does to its input before the first layer: factor * x + offset, with a number
// for each channel or one for all. Factors are positive.
struct InputScale {
  std::vector<double> factor = {1}, offset = {0};
};

// Makes the network read `scale` of x, where x is what `pixels` says. Throws usage, prefixed by
// `where`, for a number of channels that is not the network's, and data for one that no float
// holds.
void set_normalisation(ModelInfo& info, const PixelScale& pixels, const InputScale& scale,
                       NormalisationSource source, const std::string& where);

// Reads the range that pixels are brought to: "0..1", "-1..1" or "0..255". Throws usage for other
// text.
PixelScale parse_range(std::string_view text);

// One that networks are commonly trained with.
struct UsualScale {
  std::string name;  // "0..1", "MNIST"
  PixelScale pixels;
};
// The usual scales for images of 1 or of 3 channels. For other images these are the ranges alone.
std::vector<UsualScale> usual_scales(std::int64_t channels);

}  // namespace weft::models
