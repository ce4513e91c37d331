// SPDX-License-Identifier: MIT
// Rows that are made of images. Weft has the channels of an image first, so its row is another one
// than that of a program that has them last.
#pragma once

#include <string>
#include <vector>

#include "layers/network/sequential.h"

namespace weft::models {

// For each slice of the network, the image (C, H, W) whose values its features are, in the order in
// which Weft flattens it. An empty shape: there is none, or its order is the same. Throws data,
// naming `where`, for a concat of such rows.
std::vector<Shape> flattened_images(const layers::Sequential& net, const std::string& where);

// The values of a tensor whose last axis is a row of an image (pixels, channels), as that row is of
// (channels, pixels). `plane` is the number of pixels.
std::vector<float> channels_first(const std::vector<float>& values, std::int64_t channels,
                                  std::int64_t plane);

}  // namespace weft::models
