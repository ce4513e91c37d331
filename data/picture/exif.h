// SPDX-License-Identifier: MIT
// The orientation that a camera writes beside a picture. Internal to the readers.
#pragma once

#include "data/picture/picture.h"

namespace weft::data {

// The orientation, 1 to 8, in an Exif block (a TIFF file: "II" or "MM" and a directory), as PNG's
// eXIf chunk, WebP's EXIF chunk and JPEG's APP1 segment hold it. 1, upright, when it says none or
// is damaged: then the pixels are what they are.
int exif_orientation(std::span<const std::uint8_t> tiff);

// The content of an APP1 segment after "Exif" and two zeros; empty when it is something else.
std::span<const std::uint8_t> exif_of_app1(std::span<const std::uint8_t> content);

// Turns and mirrors the pixels so that orientation 1 is right.
Picture upright(Picture picture, int orientation, const std::string& name);

}  // namespace weft::data
