// SPDX-License-Identifier: MIT
// Uncompressed BMP: 1, 4 and 8 bits per pixel with a palette; 16, 24 and 32 bits without.
#include <algorithm>
#include <array>
#include <bit>

#include "data/picture/picture.h"
#include "engine/extent.h"

namespace weft::data {
namespace {

constexpr std::size_t kFileHeaderBytes = 14, kCoreHeaderBytes = 12;  // OS/2's header
enum Compression : std::uint32_t { kNone = 0, kBitFields = 3 };

struct BmpHeader {
  std::size_t pixels_begin = 0;   // in the file
  std::size_t palette_begin = 0;  // behind the header and its masks
  std::size_t header_bytes = 0;   // without the 14 bytes before it
  std::int64_t width = 0, height = 0;
  bool from_top = false;  // rows run from the bottom otherwise
  std::uint32_t bits = 0;
  std::uint32_t compression = kNone;
  std::uint32_t colours = 0;                // in the palette; 0 stands for 2 to the power of bits
  std::array<std::uint32_t, 4> masks = {};  // of red, green, blue and alpha at 16 and 32 bits
};

void read_masks(BmpHeader& header, ByteCursor& cursor, const std::string& name) {
  if (header.compression == kNone) {
    if (header.bits == 16) header.masks = {31u << 10, 31u << 5, 31u, 0};
    if (header.bits == 32) header.masks = {0xffu << 16, 0xffu << 8, 0xffu, 0xffu << 24};
    return;
  }
  // They are part of the longer headers and follow the one of 40 bytes.
  for (std::size_t i = 0; i < 3; ++i) header.masks[i] = cursor.little_endian(4);
  if (header.header_bytes >= 56) header.masks[3] = cursor.little_endian(4);
  for (std::size_t i = 0; i < 3; ++i) {
    if (header.masks[i] == 0) throw damaged_picture(name, "a colour of the BMP has an empty mask");
  }
}

BmpHeader read_header(std::span<const std::uint8_t> file, const std::string& name) {
  ByteCursor cursor(file, name, "the BMP header");
  BmpHeader header;
  cursor.take(10);  // "BM", the file's size and two reserved numbers, which nobody trusts
  header.pixels_begin = cursor.little_endian(4);
  header.header_bytes = cursor.little_endian(4);
  constexpr std::size_t kKnown[] = {kCoreHeaderBytes, 40, 52, 56, 108, 124};
  if (std::find(std::begin(kKnown), std::end(kKnown), header.header_bytes) == std::end(kKnown)) {
    throw unsupported_picture(name, str("a BMP header of ", header.header_bytes, " bytes"));
  }
  const bool is_core = header.header_bytes == kCoreHeaderBytes;
  const auto side = [&]() -> std::int64_t {
    if (is_core) return cursor.little_endian(2);
    return std::bit_cast<std::int32_t>(cursor.little_endian(4));
  };
  header.width = side();
  header.height = side();
  header.from_top = header.height < 0;
  if (header.from_top) header.height = -header.height;
  check_dimensions(header.width, header.height, name);
  cursor.take(2);  // colour planes: always 1
  header.bits = cursor.little_endian(2);
  if (!is_core) {
    header.compression = cursor.little_endian(4);
    cursor.take(12);  // the pixels' size in bytes and two resolutions
    header.colours = cursor.little_endian(4);
    cursor.take(4);  // the number of important colours
  }
  constexpr std::uint32_t kDepths[] = {1, 4, 8, 16, 24, 32};
  if (std::find(std::begin(kDepths), std::end(kDepths), header.bits) == std::end(kDepths)) {
    throw unsupported_picture(name, str("a BMP of ", header.bits, " bits per pixel"));
  }
  const bool has_fields = header.bits == 16 || header.bits == 32;
  if (header.compression != kNone && !(header.compression == kBitFields && has_fields)) {
    throw unsupported_picture(name, str("a BMP with compression ", header.compression, " at ",
                                        header.bits, " bits per pixel"));
  }
  if (has_fields) read_masks(header, cursor, name);
  header.palette_begin = std::max(kFileHeaderBytes + header.header_bytes, cursor.at());
  return header;
}

// The colours lie between the header and the pixels. Each is blue, green, red and, except in OS/2's
// files, an unused byte.
struct Palette {
  std::span<const std::uint8_t> bytes;
  std::size_t stride = 0;  // bytes of a colour

  std::size_t size() const { return bytes.size() / stride; }
  void copy(std::size_t index, std::uint8_t* rgb) const {
    const std::uint8_t* bgr = bytes.data() + index * stride;
    rgb[0] = bgr[2];
    rgb[1] = bgr[1];
    rgb[2] = bgr[0];
  }
};

Palette read_palette(std::span<const std::uint8_t> file, const BmpHeader& header) {
  Palette palette{{}, header.header_bytes == kCoreHeaderBytes ? std::size_t{3} : std::size_t{4}};
  const std::size_t most = std::size_t{1} << header.bits;
  const std::size_t stated =
      header.colours == 0 ? most : std::min<std::size_t>(header.colours, most);
  const std::size_t there = (header.pixels_begin - header.palette_begin) / palette.stride;
  palette.bytes = file.subspan(header.palette_begin, std::min(stated, there) * palette.stride);
  return palette;
}

void read_indexed_row(std::span<const std::uint8_t> row, const BmpHeader& header,
                      const Palette& palette, std::uint8_t* out, const std::string& name) {
  const std::size_t bits = header.bits, per_byte = 8 / bits;
  for (std::size_t x = 0; x < static_cast<std::size_t>(header.width); ++x) {
    const std::size_t shift = 8 - bits * (x % per_byte + 1);
    const std::size_t index = row[x / per_byte] >> shift & ((1u << bits) - 1);
    if (index >= palette.size()) {
      throw damaged_picture(name,
                            str("a pixel has colour ", index, " of a palette of ", palette.size()));
    }
    palette.copy(index, out + 3 * x);
  }
}

// The bits of `mask`, scaled to 0..255.
std::uint8_t field(std::uint32_t pixel, std::uint32_t mask) {
  const int shift = std::countr_zero(mask);
  const std::uint64_t value = (pixel & mask) >> shift, largest = mask >> shift;
  return static_cast<std::uint8_t>((value * 255 + largest / 2) / largest);
}

void read_packed_row(std::span<const std::uint8_t> row, const BmpHeader& header,
                     std::size_t channels, std::uint8_t* out) {
  const std::size_t bytes = header.bits / 8;
  for (std::size_t x = 0; x < static_cast<std::size_t>(header.width); ++x, out += channels) {
    const std::uint8_t* at = row.data() + x * bytes;
    if (bytes == 3) {
      std::reverse_copy(at, at + 3, out);
      continue;
    }
    std::uint32_t pixel = 0;
    for (std::size_t i = bytes; i-- > 0;) pixel = pixel << 8 | at[i];
    for (std::size_t c = 0; c < channels; ++c) out[c] = field(pixel, header.masks[c]);
  }
}

// Most programs that write 32 bits leave alpha at 0 everywhere. They mean an opaque picture.
void ignore_empty_alpha(Picture& picture) {
  const auto pixels = static_cast<std::size_t>(picture.width * picture.height);
  std::uint8_t* const alpha = picture.pixels.get() + 3;
  for (std::size_t i = 0; i < pixels; ++i) {
    if (alpha[4 * i] != 0) return;
  }
  for (std::size_t i = 0; i < pixels; ++i) alpha[4 * i] = 255;
}

}  // namespace

Picture decode_bmp(std::span<const std::uint8_t> file, const std::string& name) {
  const BmpHeader header = read_header(file, name);
  if (header.pixels_begin < header.palette_begin) {
    throw damaged_picture(name, str("its pixels begin at byte ", header.pixels_begin,
                                    ", within the header of ", header.palette_begin));
  }
  const auto width = static_cast<std::size_t>(header.width);
  const auto height = static_cast<std::size_t>(header.height);
  const std::size_t row_bytes = divide_up(width * header.bits, 8);
  const std::size_t stride = round_up(row_bytes, 4);  // the last row may lack its padding
  const std::size_t needed = stride * (height - 1) + row_bytes;
  if (header.pixels_begin > file.size() || file.size() - header.pixels_begin < needed) {
    throw damaged_picture(name,
                          str(width, " x ", height, " pixels need ", needed, " bytes from byte ",
                              header.pixels_begin, " on of a file of ", file.size()));
  }
  const bool is_indexed = header.bits <= 8;
  const Palette palette = is_indexed ? read_palette(file, header) : Palette{};
  const std::size_t channels = header.masks[3] != 0 ? 4 : 3;
  Picture picture = make_picture(header.width, header.height, static_cast<int>(channels), name);
  for (std::size_t y = 0; y < height; ++y) {
    const auto row = file.subspan(header.pixels_begin + y * stride, row_bytes);
    const std::size_t place = header.from_top ? y : height - 1 - y;
    std::uint8_t* const out = picture.pixels.get() + place * width * channels;
    if (is_indexed) {
      read_indexed_row(row, header, palette, out, name);
    } else {
      read_packed_row(row, header, channels, out);
    }
  }
  if (channels == 4 && header.compression == kNone) ignore_empty_alpha(picture);
  return picture;
}

}  // namespace weft::data
