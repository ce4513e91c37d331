// SPDX-License-Identifier: MIT
// Picture files: PNG, JPEG, GIF, BMP, binary PNM, WebP, TIFF, HEIC and AVIF in as grey or colour,
// PNG out.
//
// Formats are told by magic number. A file is checked completely before its pixels are used, and
// its dimensions and the memory and time that it can cost are bounded: data/picture/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/file_io.h"
#include "data/files/gzip.h"

namespace weft::data {

inline constexpr std::size_t kMaxImageFileBytes = std::size_t{64} << 20;
inline constexpr std::int64_t kMaxImageSide = 8192;
inline constexpr std::int64_t kMaxImagePixels = 50'000'000;

// How a PNG or TIFF of 16 bits a sample uses them. Cameras and scanners often write 10, 12 or 14
// bits of data there, which would be almost black if 65535 were white.
struct SampleDepth {
  enum class Source { file, caller, measured };

  int bits = 0;  // that white has, 1 to 16; 0: the file has no such samples
  int peak = 0;  // the largest sample of a colour
  Source source = Source::measured;

  // "its largest sample is 4013, so that white is taken to be 4095"; "" unless that was measured.
  std::string assumption() const;
};

// The bits that hold samples up to `peak`: 8, 10, 12, 14 or 16.
int bits_for_peak(int peak);

struct GreyImage {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // (height, width); 0 black, 255 white
  SampleDepth depth = {};
  int reduction = 1;  // a pixel is the mean of reduction x reduction of the file's
};

// "it is read at a quarter of its width and height"; "" for a picture that is read as it is.
std::string reduction_text(int reduction);

struct RgbImage {
  std::int64_t width = 0, height = 0;
  bool is_grey = false;                        // the file has no colour: only `grey` is filled
  std::vector<std::uint8_t> red, green, blue;  // (height, width) each
  std::vector<std::uint8_t> grey;              // brightness, as in GreyImage
  SampleDepth depth = {};
  int reduction = 1;  // as in GreyImage
};

bool is_picture(std::span<const std::uint8_t> bytes);  // by the magic numbers of those formats
bool has_picture_ending(const std::filesystem::path& path);            // .png, .JPG, ...
bool has_ending_of_unread_picture(const std::filesystem::path& path);  // .heic, .TIF, ...
// False when Weft was built without libwebp, libtiff or libheif: WebP, TIFF, or HEIC and AVIF are
// refused as unsupported. The same of libjpeg-turbo and large JPEGs.
bool reads_webp();
bool reads_tiff();
bool reads_heif();
bool reads_large_jpeg();

// "PNG, JPEG, ...": what files may be, for messages and help.
inline constexpr const char* kPictureFormats =
    "PNG, JPEG, GIF, WebP, TIFF, HEIC, AVIF, BMP or binary PNM";

// A camera's orientation (Exif) is applied. Transparent parts are shown on white paper, in a grey
// image on black when what is visible is light. Throws data for anything that is not such a
// picture, and names the format of JPEG XL, PDF and others that are not read.
//
// A JPEG that is larger than kMaxImageSide and kMaxImagePixels allow is read at a half, a quarter
// or an eighth of its width and height, which `reduction` tells.
//
// White in a PNG or TIFF of 16 bits a sample has the bits that the sBIT chunk of a PNG states, else
// `sample_bits`, else, with 0, those that its largest sample needs. Where a sample is larger than
// the first two allow, it has 16 bits.
GreyImage load_grey_image(const std::filesystem::path& path, int sample_bits = 0);
GreyImage decode_grey_image(std::span<const std::uint8_t> bytes, const std::string& name,
                            int sample_bits = 0);
RgbImage load_rgb_image(const std::filesystem::path& path, int sample_bits = 0);
RgbImage decode_rgb_image(std::span<const std::uint8_t> bytes, const std::string& name,
                          int sample_bits = 0);

// `pixels` is (height, width, channels) with 1 channel (grey) or 3 (RGB).
Bytes encode_png(std::span<const std::uint8_t> pixels, std::int64_t width, std::int64_t height,
                 int channels);
// Crash-safe as write_file_atomically() is.
void write_png(const OutputPath& to, std::span<const std::uint8_t> pixels, std::int64_t width,
               std::int64_t height, int channels);

}  // namespace weft::data
