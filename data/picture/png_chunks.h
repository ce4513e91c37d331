// SPDX-License-Identifier: MIT
// The chunks of a PNG, checked. Internal to the PNG reader.
#pragma once

#include <array>
#include <vector>

#include "data/picture/picture.h"
#include "engine/extent.h"

namespace weft::data {

enum class PngColour { grey = 0, rgb = 2, indexed = 3, grey_alpha = 4, rgb_alpha = 6 };

struct PngHeader {
  std::int64_t width = 0, height = 0;
  int depth = 0;  // bits per sample
  PngColour colour = PngColour::grey;
  bool interlaced = false;

  int samples() const {  // per pixel
    switch (colour) {
      case PngColour::grey:
      case PngColour::indexed:
        return 1;
      case PngColour::grey_alpha:
        return 2;
      case PngColour::rgb:
        return 3;
      case PngColour::rgb_alpha:
        return 4;
    }
    return 0;
  }
  std::size_t row_bytes(std::int64_t pixels) const {
    return static_cast<std::size_t>(divide_up(pixels * samples() * depth, 8));
  }
  // The distance in bytes from a pixel to the next, for filters; at least 1.
  std::size_t filter_unit() const {
    return static_cast<std::size_t>(divide_up(samples() * depth, 8));
  }
};

// The spans point into the file.
struct PngChunks {
  PngHeader header;
  std::span<const std::uint8_t> palette;                 // RGB triples of an indexed picture
  bool has_transparency = false;                         // a tRNS chunk
  std::span<const std::uint8_t> palette_alpha;           // colours beyond its end are opaque
  std::array<std::uint32_t, 3> transparent_colour = {};  // of grey and RGB pictures
  int orientation = 1;                                   // that of the eXIf chunk (exif.h)
  int significant_bits = 0;  // of the colours, by the sBIT chunk; 0: it says nothing
  std::vector<std::span<const std::uint8_t>> pixel_data;  // contents of IDAT chunks, none empty
};

// Walks from the signature to IEND. Throws data unless every chunk lies within the file, the
// header is one that the standard knows, and palette and transparency fit it.
PngChunks read_png_chunks(std::span<const std::uint8_t> file, const std::string& name);

}  // namespace weft::data
