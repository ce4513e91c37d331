// SPDX-License-Identifier: MIT
// Checks around stb_image, and the conversion to grey.
#include "data/image.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "data/stb.h"
#include "engine/error.h"

namespace weft::data {
namespace {

Error bad(const std::string& name, const std::string& what) {
  return Error(ErrorKind::data, str(name, ": ", what));
}

bool begins_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

// Brightness of (r, g, b) by the weights of ITU-R BT.601, in 1/256.
int brightness(const std::uint8_t* rgb) {
  return (77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8;
}

int over_white(int grey, int alpha) {
  return (grey * alpha + 255 * (255 - alpha) + 127) / 255;
}

struct Decoded {
  std::int64_t width = 0, height = 0;
  int channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::unique_ptr<stbi_uc, void (*)(void*)> pixels;
  bool is_colour() const { return channels >= 3; }
  bool has_alpha() const { return channels % 2 == 0; }
};

Decoded decode(std::span<const std::uint8_t> bytes, const std::string& name) {
  if (bytes.empty()) throw bad(name, "empty file, expected a picture");
  if (bytes.size() > kMaxImageFileBytes) {
    throw bad(name, str(bytes.size(), " bytes, at most ", kMaxImageFileBytes, " are accepted"));
  }
  if (!is_picture(bytes)) {
    throw bad(name, "not a picture in a known format: expected PNG, JPEG, BMP or binary PNM");
  }
  // Enough for headers and JPEG's tables while the dimensions are still unknown.
  constexpr std::size_t kFixedBytes = std::size_t{4} << 20;
  set_stb_allocation_limit(kFixedBytes);
  const int length = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_memory(bytes.data(), length, &width, &height, &channels) == 0) {
    throw bad(name, "damaged picture: its header cannot be read");
  }
  // A BMP stored from the top down has a negative height.
  const std::int64_t rows = std::abs(std::int64_t{height}), pixels = width * rows;
  if (width < 1 || rows < 1 || width > kMaxImageSide || rows > kMaxImageSide ||
      pixels > kMaxImagePixels) {
    throw bad(name, str("dimensions ", width, " x ", rows, ": expected 1 to ", kMaxImageSide,
                        " a side and at most ", kMaxImagePixels, " pixels"));
  }
  // Four channels, twice for the decoder's doubling buffers.
  const std::size_t depth = stbi_is_16_bit_from_memory(bytes.data(), length) != 0 ? 2 : 1;
  set_stb_allocation_limit(kFixedBytes + 2 * 4 * depth * static_cast<std::size_t>(pixels));
  std::unique_ptr<stbi_uc, void (*)(void*)> decoded(
      stbi_load_from_memory(bytes.data(), length, &width, &height, &channels, 0), stbi_image_free);
  if (decoded == nullptr) throw bad(name, "damaged picture: it cannot be decoded");
  return {width, height, channels, std::move(decoded)};
}

// One value of each pixel, on white paper where it is transparent.
template <class ValueOf>
std::vector<std::uint8_t> plane(const Decoded& decoded, ValueOf value_of) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(decoded.width * decoded.height));
  const std::uint8_t* source = decoded.pixels.get();
  for (std::uint8_t& pixel : values) {
    int value = value_of(source);
    if (decoded.has_alpha()) value = over_white(value, source[decoded.channels - 1]);
    pixel = static_cast<std::uint8_t>(value);
    source += decoded.channels;
  }
  return values;
}

std::vector<std::uint8_t> grey_plane(const Decoded& decoded) {
  if (decoded.is_colour()) return plane(decoded, brightness);
  return plane(decoded, [](const std::uint8_t* grey) { return int{grey[0]}; });
}

}  // namespace

bool is_picture(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kMagics[] = {"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "BM", "P5", "P6"};
  return std::any_of(std::begin(kMagics), std::end(kMagics),
                     [&](std::string_view magic) { return begins_with(bytes, magic); });
}

GreyImage decode_grey_image(std::span<const std::uint8_t> bytes, const std::string& name) {
  const Decoded decoded = decode(bytes, name);
  return {decoded.width, decoded.height, grey_plane(decoded)};
}

RgbImage decode_rgb_image(std::span<const std::uint8_t> bytes, const std::string& name) {
  const Decoded decoded = decode(bytes, name);
  RgbImage image{decoded.width, decoded.height, !decoded.is_colour(), {}, {}, {}, {}};
  image.grey = grey_plane(decoded);
  if (image.is_grey) return image;
  image.red = plane(decoded, [](const std::uint8_t* rgb) { return int{rgb[0]}; });
  image.green = plane(decoded, [](const std::uint8_t* rgb) { return int{rgb[1]}; });
  image.blue = plane(decoded, [](const std::uint8_t* rgb) { return int{rgb[2]}; });
  return image;
}

GreyImage load_grey_image(const std::filesystem::path& path) {
  return decode_grey_image(read_file(path, kMaxImageFileBytes), path.string());
}

RgbImage load_rgb_image(const std::filesystem::path& path) {
  return decode_rgb_image(read_file(path, kMaxImageFileBytes), path.string());
}

Bytes encode_png(std::span<const std::uint8_t> pixels, std::int64_t width, std::int64_t height,
                 int channels) {
  const bool sizes_fit = width >= 1 && height >= 1 && width <= kMaxImageSide &&
                         height <= kMaxImageSide && (channels == 1 || channels == 3);
  if (!sizes_fit || static_cast<std::int64_t>(pixels.size()) != width * height * channels) {
    throw Error(ErrorKind::usage, str("encode_png: ", pixels.size(), " bytes for ", width, " x ",
                                      height, " with ", channels, " channels"));
  }
  set_stb_allocation_limit(SIZE_MAX);
  Bytes png;
  const auto append = [](void* context, void* data, int size) {
    const auto* begin = static_cast<const std::uint8_t*>(data);
    auto& out = *static_cast<Bytes*>(context);
    out.insert(out.end(), begin, begin + size);
  };
  const int w = static_cast<int>(width), h = static_cast<int>(height);
  if (stbi_write_png_to_func(append, &png, w, h, channels, pixels.data(), w * channels) == 0) {
    throw Error(ErrorKind::data, "encode_png: out of memory");
  }
  return png;
}

void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels,
               std::int64_t width, std::int64_t height, int channels) {
  const Bytes png = encode_png(pixels, width, height, channels);
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  file.close();
  if (!file) {
    throw Error(ErrorKind::data, str(path.string(), ": cannot be written (",
                                     errno != 0 ? std::strerror(errno) : "short write", ")"));
  }
}

}  // namespace weft::data
