// SPDX-License-Identifier: MIT
// Ink that differs from its ground in colour only, as red on blue of the same brightness does.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "data/picture/image.h"

namespace weft::data {

// The picture in which ink is looked for: its brightness, as load_grey_image() has it. Some ink
// hardly differs from its ground in brightness, but much more in colour. Then each pixel's value is
// its place along the axis of colours that separates the two best, and the ground is light. Throws
// data for anything that is no picture.
GreyImage load_ink_image(const std::filesystem::path& path, int sample_bits = 0);
GreyImage decode_ink_image(std::span<const std::uint8_t> bytes, const std::string& name,
                           int sample_bits = 0);

}  // namespace weft::data
