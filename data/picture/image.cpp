// SPDX-License-Identifier: MIT
// The choice of the format, the conversion to grey, and PNG out.
#include "data/picture/image.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <new>

#include "data/picture/other_formats.h"
#include "data/picture/picture.h"
#include "data/picture/stb.h"
#include "engine/error.h"

namespace weft::data {
namespace {

bool begins_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

using Decode = Picture (*)(std::span<const std::uint8_t>, const std::string&);
using DecodeDeep = Picture (*)(std::span<const std::uint8_t>, const std::string&, int sample_bits);

struct Format {
  std::string_view magic, second_magic;
  Decode decode;
  Decode decode_grey = decode;       // for those who need no colour
  DecodeDeep decode_deep = nullptr;  // in place of both, where samples may have 16 bits
  std::size_t second_at = 8;         // the byte at which the second magic stands
};

constexpr Format in_box(std::string_view brand) {  // of an ISO media file
  return {"", brand, decode_heif, decode_heif, nullptr, 4};
}

constexpr Format kFormats[] = {{"\x89PNG\r\n\x1a\n", "", nullptr, nullptr, decode_png},
                               {"\xff\xd8\xff", "", decode_jpeg, decode_grey_jpeg},
                               {"GIF87a", "", decode_gif},
                               {"GIF89a", "", decode_gif},
                               {"RIFF", "WEBP", decode_webp},
                               {"BM", "", decode_bmp},
                               {"P5", "", decode_pnm},
                               {"P6", "", decode_pnm},
                               {{"II*\0", 4}, "", nullptr, nullptr, decode_tiff},
                               {{"MM\0*", 4}, "", nullptr, nullptr, decode_tiff},
                               in_box("ftypheic"),
                               in_box("ftypheix"),
                               in_box("ftypheim"),
                               in_box("ftypheis"),
                               in_box("ftypmif1"),
                               in_box("ftypavif")};

const Format* format_of(std::span<const std::uint8_t> bytes) {
  const auto* format =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format& candidate) {
        return begins_with(bytes, candidate.magic) &&
               (candidate.second_magic.empty() ||
                begins_with(bytes.subspan(std::min(candidate.second_at, bytes.size())),
                            candidate.second_magic));
      });
  return format == std::end(kFormats) ? nullptr : format;
}

// Brightness of (r, g, b) by the weights of ITU-R BT.601, in 1/256.
int brightness(const std::uint8_t* rgb) {
  return (77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8;
}

constexpr int kWhite = 255;

int laid_on(int ground, int value, int alpha) {
  return (value * alpha + ground * (255 - alpha) + 127) / 255;
}

Picture decode(std::span<const std::uint8_t> bytes, Decode Format::*kind, const std::string& name,
               int sample_bits) {
  const auto refuse = [&](const std::string& what) {
    return Error(ErrorKind::data, str(name, ": ", what));
  };
  if (bytes.empty()) throw refuse("empty file, expected a picture");
  if (bytes.size() > kMaxImageFileBytes) {
    throw refuse(str(bytes.size(), " bytes, at most ", kMaxImageFileBytes, " are accepted"));
  }
  if (const Format* format = format_of(bytes)) {
    return format->decode_deep != nullptr ? format->decode_deep(bytes, name, sample_bits)
                                          : (format->*kind)(bytes, name);
  }
  if (const std::string other = refusal_of_format(bytes); !other.empty()) throw refuse(other);
  throw refuse(str("not a picture in a known format: expected ", kPictureFormats));
}

// One value of each pixel, on `ground` where it is transparent.
template <class ValueOf>
std::vector<std::uint8_t> plane(const Picture& decoded, int ground, ValueOf value_of) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(decoded.width * decoded.height));
  const std::uint8_t* source = decoded.pixels.get();
  for (std::uint8_t& pixel : values) {
    int value = value_of(source);
    if (decoded.has_alpha()) value = laid_on(ground, value, source[decoded.channels - 1]);
    pixel = static_cast<std::uint8_t>(value);
    source += decoded.channels;
  }
  return values;
}

std::vector<std::uint8_t> grey_plane(const Picture& decoded, int ground) {
  if (decoded.is_colour()) return plane(decoded, ground, brightness);
  const std::uint8_t* values = decoded.pixels.get();
  if (!decoded.has_alpha()) return {values, values + decoded.width * decoded.height};
  return plane(decoded, ground, [](const std::uint8_t* grey) { return int{grey[0]}; });
}

// The ground on which what is visible can be seen: white under dark ink and black under light ink.
// When the visible part has its own ground, as a sticker has, it is that ground.
int contrasting_ground(const Picture& decoded) {
  if (!decoded.has_alpha()) return kWhite;
  std::array<std::int64_t, 256> opacity{};  // of each brightness
  std::int64_t all = 0;
  const std::uint8_t* source = decoded.pixels.get();
  for (std::int64_t i = 0; i < decoded.width * decoded.height; ++i, source += decoded.channels) {
    const int value = decoded.is_colour() ? brightness(source) : source[0];
    opacity[static_cast<std::size_t>(value)] += source[decoded.channels - 1];
    all += source[decoded.channels - 1];
  }
  if (all == 0) return kWhite;
  const auto brighter_than = [&](double share) {
    std::int64_t below = 0;
    int value = 0;
    while (value < 255 && below + opacity[static_cast<std::size_t>(value)] <=
                              static_cast<std::int64_t>(share * static_cast<double>(all))) {
      below += opacity[static_cast<std::size_t>(value++)];
    }
    return value;
  };
  constexpr int kTwoTones = 96;
  const int middle = brighter_than(0.5);
  if (brighter_than(0.97) - brighter_than(0.03) >= kTwoTones) return middle;
  return middle < 128 ? kWhite : 0;
}

}  // namespace

bool is_picture(std::span<const std::uint8_t> bytes) {
  return format_of(bytes) != nullptr;
}

namespace {

bool has_ending(const std::filesystem::path& path, std::span<const std::string_view> endings) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

}  // namespace

bool has_picture_ending(const std::filesystem::path& path) {
  constexpr std::string_view kEndings[] = {".png",  ".jpg",  ".jpeg", ".gif", ".webp",
                                           ".bmp",  ".pnm",  ".pgm",  ".ppm", ".tif",
                                           ".tiff", ".heic", ".heif", ".avif"};
  return has_ending(path, kEndings);
}

bool has_ending_of_unread_picture(const std::filesystem::path& path) {
  constexpr std::string_view kEndings[] = {".jxl", ".jp2"};
  return has_ending(path, kEndings);
}

std::string reduction_text(int reduction) {
  const char* const share = reduction == 2 ? "half" : reduction == 4 ? "a quarter" : "an eighth";
  return reduction == 1 ? "" : str("it is read at ", share, " of its width and height");
}

std::string SampleDepth::assumption() const {
  if (bits == 0 || bits == 16 || source != Source::measured) return "";
  return str("its largest sample is ", peak, ", so that white is taken to be ", (1 << bits) - 1);
}

int bits_for_peak(int peak) {
  for (const int bits : {8, 10, 12, 14}) {
    if (peak > 0 && peak < 1 << bits) return bits;
  }
  return 16;
}

GreyImage decode_grey_image(std::span<const std::uint8_t> bytes, const std::string& name,
                            int sample_bits) {
  const Picture decoded = decode(bytes, &Format::decode_grey, name, sample_bits);
  return {decoded.width, decoded.height, grey_plane(decoded, contrasting_ground(decoded)),
          decoded.depth, decoded.reduction};
}

Picture decode_picture(std::span<const std::uint8_t> bytes, const std::string& name,
                       int sample_bits) {
  return decode(bytes, &Format::decode, name, sample_bits);
}

RgbImage rgb_image_of(const Picture& decoded) {
  RgbImage image{decoded.width, decoded.height,   !decoded.is_colour(), {}, {}, {}, {},
                 decoded.depth, decoded.reduction};
  image.grey = grey_plane(decoded, kWhite);
  if (image.is_grey) return image;
  image.red = plane(decoded, kWhite, [](const std::uint8_t* rgb) { return int{rgb[0]}; });
  image.green = plane(decoded, kWhite, [](const std::uint8_t* rgb) { return int{rgb[1]}; });
  image.blue = plane(decoded, kWhite, [](const std::uint8_t* rgb) { return int{rgb[2]}; });
  return image;
}

GreyImage load_grey_image(const std::filesystem::path& path, int sample_bits) {
  return decode_grey_image(read_file(path, kMaxImageFileBytes), path.string(), sample_bits);
}

RgbImage decode_rgb_image(std::span<const std::uint8_t> bytes, const std::string& name,
                          int sample_bits) {
  return rgb_image_of(decode_picture(bytes, name, sample_bits));
}

RgbImage load_rgb_image(const std::filesystem::path& path, int sample_bits) {
  return decode_rgb_image(read_file(path, kMaxImageFileBytes), path.string(), sample_bits);
}

Bytes encode_png(std::span<const std::uint8_t> pixels, std::int64_t width, std::int64_t height,
                 int channels) {
  const bool sizes_fit = width >= 1 && height >= 1 && width <= kMaxImageSide &&
                         height <= kMaxImageSide && (channels == 1 || channels == 3);
  if (!sizes_fit || static_cast<std::int64_t>(pixels.size()) != width * height * channels) {
    throw Error(ErrorKind::usage, str("encode_png: ", pixels.size(), " bytes for ", width, " x ",
                                      height, " with ", channels, " channels"));
  }
  Bytes png;
  const auto append = [](void* context, void* data, int size) {
    const auto* begin = static_cast<const std::uint8_t*>(data);
    auto& out = *static_cast<Bytes*>(context);
    out.insert(out.end(), begin, begin + size);
  };
  const int w = static_cast<int>(width), h = static_cast<int>(height);
  if (stbi_write_png_to_func(append, &png, w, h, channels, pixels.data(), w * channels) == 0) {
    throw std::bad_alloc();
  }
  return png;
}

void write_png(const OutputPath& to, std::span<const std::uint8_t> pixels, std::int64_t width,
               std::int64_t height, int channels) {
  const Bytes png = encode_png(pixels, width, height, channels);
  write_file_atomically(to, std::as_bytes(std::span(png)));
}

}  // namespace weft::data
