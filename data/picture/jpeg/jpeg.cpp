// SPDX-License-Identifier: MIT
// stb_image decodes JPEGs, and large_jpeg.cpp those that are too large for it. Its versions differ
// in the damage that they survive, so it sees only the parts of a file that jpeg_markers.cpp has
// checked.
#include "data/picture/exif.h"
#include "data/picture/jpeg/large_jpeg.h"
#include "data/picture/stb.h"

namespace weft::data {
namespace {

// What stb_image allocates: one plane per component, the coefficients of a progressive file in 16
// bits each, and the pixels.
std::size_t decoder_bytes(const JpegFrame& frame, int channels) {
  constexpr std::int64_t kFixed = 256 << 10;  // tables and rows
  std::int64_t bytes = kFixed + frame.width * frame.height * channels;
  bytes += 64 * frame.blocks() * (frame.is_progressive ? 3 : 1);
  return static_cast<std::size_t>(bytes);
}

Picture decoded(std::span<const std::uint8_t> file, bool is_grey, const std::string& name) {
  CheckedJpeg jpeg = check_jpeg(file, name);
  const JpegFrame& frame = jpeg.frame;
  if (frame.reduction > 1) return decode_large_jpeg(jpeg, is_grey, name);
  const int stored = frame.components.size() >= 3 ? 3 : 1;  // as stb_image counts
  const int channels = is_grey ? 1 : stored;
  for (JpegComponent& component : jpeg.frame.components) component.nonzero = {};
  set_stb_allocation_budget(decoder_bytes(frame, channels));
  int width = 0, height = 0, found = 0;
  Picture picture{frame.width, frame.height, channels, {nullptr, stbi_image_free}};
  picture.pixels.reset(stbi_load_from_memory(jpeg.file.data(), static_cast<int>(jpeg.file.size()),
                                             &width, &height, &found, channels));
  if (picture.pixels == nullptr) throw damaged_picture(name, "it cannot be decoded");
  if (width != frame.width || height != frame.height || found != stored) {
    throw damaged_picture(
        name, str("decoded as ", width, " x ", height, " x ", found, ", expected ", frame.width,
                  " x ", frame.height, " x ", stored));
  }
  return upright(std::move(picture), jpeg.orientation, name);
}

}  // namespace

Picture decode_jpeg(std::span<const std::uint8_t> file, const std::string& name) {
  return decoded(file, false, name);
}

// A file's first plane is its brightness, so that no colour is computed.
Picture decode_grey_jpeg(std::span<const std::uint8_t> file, const std::string& name) {
  return decoded(file, true, name);
}

}  // namespace weft::data
