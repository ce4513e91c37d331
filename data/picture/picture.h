// SPDX-License-Identifier: MIT
// What the readers of the picture formats share. Internal to image.cpp.
//
// The files come from strangers. A reader checks every length, size, table and index before it uses
// it, and takes memory for the pixels only when the file is long enough to fill them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/files/gzip.h"
#include "data/picture/image.h"
#include "engine/error.h"

namespace weft::data {

// A decoded picture. The first row is the top one, and a channel has 8 bits.
struct Picture {
  std::int64_t width = 0, height = 0;
  int channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::unique_ptr<std::uint8_t[], void (*)(void*)> pixels;  // (height, width, channels)
  SampleDepth depth = {};                                   // of a PNG of 16 bits a sample
  int reduction = 1;                                        // as GreyImage's

  bool is_colour() const { return channels >= 3; }
  bool has_alpha() const { return channels % 2 == 0; }
};

// What decode_rgb_image() does, in two parts.
Picture decode_picture(std::span<const std::uint8_t> file, const std::string& name,
                       int sample_bits = 0);
RgbImage rgb_image_of(const Picture& picture);

// Each decodes a whole file. Throws data, naming `name`, for anything that it cannot decode.
Picture decode_png(std::span<const std::uint8_t> file, const std::string& name, int sample_bits);
Picture decode_jpeg(std::span<const std::uint8_t> file, const std::string& name);
// One channel, whatever the file has: its brightness by ITU-R BT.601.
Picture decode_grey_jpeg(std::span<const std::uint8_t> file, const std::string& name);
Picture decode_bmp(std::span<const std::uint8_t> file, const std::string& name);
Picture decode_pnm(std::span<const std::uint8_t> file, const std::string& name);
Picture decode_gif(std::span<const std::uint8_t> file, const std::string& name);
Picture decode_webp(std::span<const std::uint8_t> file, const std::string& name);
Picture decode_heif(std::span<const std::uint8_t> file, const std::string& name);
Picture decode_tiff(std::span<const std::uint8_t> file, const std::string& name, int sample_bits);

// What white has in samples of 16 bits. The standard of PNG asks writers to scale their samples up
// to 16 bits, and `stated` then says how many bits they had before. One that did not has no sample
// above those bits, and `peak` is the largest. `wanted`: by the caller; 0 for both: not known.
SampleDepth depth_of(int peak, int stated, int wanted);
// A sample of so many bits as a number of 8 bits; a larger one is white.
std::uint8_t byte_of_sample(std::uint32_t value, int bits);

// Returns a picture of this size with zeroed pixels.
Picture make_picture(std::int64_t width, std::int64_t height, int channels,
                     const std::string& name);

// Is a picture of this size accepted (image.h), when each side is divided by `reduction`?
bool are_dimensions_accepted(std::int64_t width, std::int64_t height, int reduction = 1);
// Throws data, naming both sides, unless it is.
void check_dimensions(std::int64_t width, std::int64_t height, const std::string& name,
                      int reduction = 1);

Error damaged_picture(const std::string& name, const std::string& what);
Error unsupported_picture(const std::string& name, const std::string& what);

// Reads the bytes of `part` of a file in order. Reading past their end throws data, naming the
// part.
class ByteCursor {
 public:
  ByteCursor(std::span<const std::uint8_t> bytes, const std::string& name, std::string part)
      : bytes_(bytes), name_(name), part_(std::move(part)) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  std::span<const std::uint8_t> take(std::size_t count) {
    if (count > left()) {
      throw damaged_picture(
          name_, str(part_, " is cut off: ", count, " more bytes expected, found ", left()));
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  std::uint32_t big_endian(std::size_t bytes) {
    std::uint32_t value = 0;
    for (const std::uint8_t byte : take(bytes)) value = value << 8 | byte;
    return value;
  }
  std::uint32_t little_endian(std::size_t bytes) {
    const std::span<const std::uint8_t> taken = take(bytes);
    std::uint32_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | taken[i];
    return value;
  }
  int byte() { return take(1)[0]; }

 private:
  std::span<const std::uint8_t> bytes_;
  const std::string& name_;
  std::string part_;
  std::size_t at_ = 0;
};

}  // namespace weft::data
