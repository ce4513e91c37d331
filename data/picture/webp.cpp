// SPDX-License-Identifier: MIT
// libwebp decodes WebP, where Weft is built with it. It checks what it reads; what a file may cost
// is bounded here.
#include <algorithm>
#include <string_view>

#include "data/picture/image.h"
#include "data/picture/picture.h"

#ifdef WEFT_WITH_WEBP

#include <webp/decode.h>

#include "data/picture/exif.h"

namespace weft::data {
namespace {

// The orientation in the EXIF chunk of the container: RIFF, its length, WEBP, then chunks of a
// name, a length and an even number of bytes. 1, upright, when there is no such chunk. Some
// programs begin its content as JPEG's APP1 segment begins.
int orientation_of(std::span<const std::uint8_t> file) {
  constexpr std::size_t kHeader = 12, kChunkHeader = 8;
  constexpr std::string_view kName = "EXIF";
  for (std::size_t at = kHeader; at + kChunkHeader <= file.size();) {
    const std::uint8_t* chunk = file.data() + at;
    const std::size_t length = std::size_t{chunk[4]} | std::size_t{chunk[5]} << 8 |
                               std::size_t{chunk[6]} << 16 | std::size_t{chunk[7]} << 24;
    at += kChunkHeader;
    if (length > file.size() - at) return 1;
    if (std::equal(kName.begin(), kName.end(), chunk)) {
      const std::span<const std::uint8_t> content = file.subspan(at, length);
      const std::span<const std::uint8_t> tiff = exif_of_app1(content);
      return exif_orientation(tiff.empty() ? content : tiff);
    }
    at += length + length % 2;
  }
  return 1;
}

}  // namespace

Picture decode_webp(std::span<const std::uint8_t> file, const std::string& name) {
  WebPBitstreamFeatures found;
  if (WebPGetFeatures(file.data(), file.size(), &found) != VP8_STATUS_OK) {
    throw damaged_picture(name, "the WebP header is cut off or wrong");
  }
  check_dimensions(found.width, found.height, name);
  if (found.has_animation != 0) throw unsupported_picture(name, "an animated WebP");
  // Some dozen bytes can stand for 50 million pixels of one colour. Drawings have 200 a byte.
  constexpr std::size_t kFreePixels = std::size_t{4} << 20, kMostPerByte = 1024;
  const auto pixels =
      static_cast<std::size_t>(found.width) * static_cast<std::size_t>(found.height);
  if (pixels > kFreePixels + kMostPerByte * file.size()) {
    throw unsupported_picture(name, str("a WebP of ", found.width, " x ", found.height,
                                        " pixels in ", file.size(), " bytes"));
  }
  Picture picture = make_picture(found.width, found.height, found.has_alpha != 0 ? 4 : 3, name);
  const auto decode = picture.has_alpha() ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  const std::size_t row = static_cast<std::size_t>(found.width * picture.channels);
  if (decode(file.data(), file.size(), picture.pixels.get(),
             row * static_cast<std::size_t>(found.height), static_cast<int>(row)) == nullptr) {
    throw damaged_picture(name, "its pixel data is cut off or wrong");
  }
  return upright(std::move(picture), orientation_of(file), name);
}

bool reads_webp() {
  return true;
}

}  // namespace weft::data

#else

namespace weft::data {

Picture decode_webp(std::span<const std::uint8_t>, const std::string& name) {
  throw unsupported_picture(
      name, "WebP, which this program was built without: install libwebp-dev and build it again");
}

bool reads_webp() {
  return false;
}

}  // namespace weft::data

#endif
