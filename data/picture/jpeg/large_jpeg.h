// SPDX-License-Identifier: MIT
// JPEGs of more pixels than a picture may have, read at a part of their size. Internal to the JPEG
// reader.
#pragma once

#include "data/picture/jpeg/jpeg_markers.h"

namespace weft::data {

// The most memory that libjpeg-turbo may take for coefficients: those of 200 megapixels whose
// colours have half of the resolution.
inline constexpr std::int64_t kMostCoefficientBytes = 600'000'000;

// Decodes a file that check_jpeg() has found sound, at 1 / frame.reduction of its sides, upright.
// Throws data for CMYK, for more than 65500 pixels a side, and for whatever libjpeg-turbo complains
// about.
Picture decode_large_jpeg(const CheckedJpeg& jpeg, bool is_grey, const std::string& name);

}  // namespace weft::data
