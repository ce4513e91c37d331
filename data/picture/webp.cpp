// SPDX-License-Identifier: MIT
// libwebp decodes WebP, where Weft is built with it. It checks what it reads; what a file may cost
// is bounded here.
#include "data/image.h"
#include "data/picture/picture.h"

#ifdef WEFT_WITH_WEBP

#include <webp/decode.h>

namespace weft::data {

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
  return picture;
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
