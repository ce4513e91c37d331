// SPDX-License-Identifier: MIT
// Picture files: PNG, JPEG, GIF, BMP, binary PNM and WebP in as grey or colour, PNG out.
//
// Formats are told by magic number. A file is checked completely before its pixels are used, and
// its dimensions and the memory and time that it can cost are bounded: data/picture/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/gzip.h"

namespace weft::data {

inline constexpr std::size_t kMaxImageFileBytes = std::size_t{64} << 20;
inline constexpr std::int64_t kMaxImageSide = 8192;
inline constexpr std::int64_t kMaxImagePixels = 50'000'000;

struct GreyImage {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // (height, width); 0 black, 255 white
};

struct RgbImage {
  std::int64_t width = 0, height = 0;
  bool is_grey = false;                        // the file has no colour: only `grey` is filled
  std::vector<std::uint8_t> red, green, blue;  // (height, width) each
  std::vector<std::uint8_t> grey;              // brightness, as in GreyImage
};

bool is_picture(std::span<const std::uint8_t> bytes);  // by the magic numbers of those formats
bool has_picture_ending(const std::filesystem::path& path);  // .png, .JPG, ...
bool reads_webp();  // false when Weft was built without libwebp: WebP is refused as unsupported

// "PNG, JPEG, ...": what files may be, for messages and help.
inline constexpr const char* kPictureFormats = "PNG, JPEG, GIF, WebP, BMP or binary PNM";

// A camera's orientation (Exif) is applied. Transparent parts are shown on white paper, in a grey
// image on black when what is visible is light. Throws data for anything that is not such a
// picture.
GreyImage load_grey_image(const std::filesystem::path& path);
GreyImage decode_grey_image(std::span<const std::uint8_t> bytes, const std::string& name);
RgbImage load_rgb_image(const std::filesystem::path& path);
RgbImage decode_rgb_image(std::span<const std::uint8_t> bytes, const std::string& name);

// `pixels` is (height, width, channels) with 1 channel (grey) or 3 (RGB).
Bytes encode_png(std::span<const std::uint8_t> pixels, std::int64_t width, std::int64_t height,
                 int channels);
// Crash-safe as write_file_atomically() is.
void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels,
               std::int64_t width, std::int64_t height, int channels);

}  // namespace weft::data
