// SPDX-License-Identifier: MIT
// Pictures put together byte by byte, well formed or not.
#pragma once

#include <algorithm>
#include <utility>

#include "data/picture/image.h"
#include "tests/data/files.h"

namespace weft::test {

// A name under which every picture of a test is decoded.
inline constexpr const char* kPicture = "a picture";

inline data::GreyImage decode_grey(const Bytes& bytes) {
  return data::decode_grey_image(bytes, kPicture);
}

// A file of tests/fuzz/picture.
inline Bytes corpus_file(const std::string& name) {
  return data::read_file(std::filesystem::path(WEFT_TESTS_DIR) / "fuzz/picture" / name, 1 << 20);
}

inline void expect_refused(const Bytes& bytes, const std::string& part) {
  expect_error(ErrorKind::data, {kPicture, part}, [&] { decode_grey(bytes); });
}

// False when the picture is refused, which must be by Error{data}.
inline bool can_be_decoded(std::span<const std::uint8_t> bytes) {
  try {
    data::decode_grey_image(bytes, kPicture);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
    return false;
  }
  return true;
}

inline void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

inline void append_little_endian(Bytes& bytes, std::uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

inline Bytes deflated(const Bytes& bytes) {
  Bytes packed(compressBound(static_cast<uLong>(bytes.size())));
  auto size = static_cast<uLongf>(packed.size());
  compress2(packed.data(), &size, bytes.data(), static_cast<uLong>(bytes.size()), 9);
  packed.resize(size);
  return packed;
}

inline constexpr int kPngRgb = 2, kPngIndexed = 3, kPngGreyAlpha = 4, kPngRgbAlpha = 6;

struct PngParts {
  std::uint32_t width = 1, height = 1;
  int depth = 8;
  int colour = 0;  // grey
  int interlace = 0;
  Bytes palette = {}, transparency = {};  // no chunk when empty
  Bytes rows = {};                        // each with its filter before it
};

inline Bytes png_header(const PngParts& parts) {
  Bytes header;
  append_big_endian(header, parts.width);
  append_big_endian(header, parts.height);
  for (const int field : {parts.depth, parts.colour, 0, 0, parts.interlace}) {
    header.push_back(static_cast<std::uint8_t>(field));
  }
  return header;
}

// The chunks `chunks` between signature and IEND.
inline Bytes png_of(const std::vector<std::pair<std::string, Bytes>>& chunks) {
  Bytes png = text("\x89PNG\r\n\x1a\n");
  for (const auto& [type, content] : chunks) append_chunk(png, type, content);
  append_chunk(png, "IEND", {});
  return png;
}

inline Bytes make_png(const PngParts& parts) {
  std::vector<std::pair<std::string, Bytes>> chunks = {{"IHDR", png_header(parts)}};
  if (!parts.palette.empty()) chunks.emplace_back("PLTE", parts.palette);
  if (!parts.transparency.empty()) chunks.emplace_back("tRNS", parts.transparency);
  chunks.emplace_back("IDAT", deflated(parts.rows));
  return png_of(chunks);
}

struct BmpParts {
  std::uint32_t header_bytes = 40;
  std::int32_t width = 1, height = 1;
  std::uint32_t bits = 24, compression = 0, colours = 0;
  Bytes more = {};  // behind the 40 bytes that all headers but OS/2's have: masks, palette
  Bytes rows = {};
  std::int64_t pixels_begin = -1;  // -1: behind all that
};

inline Bytes make_bmp(const BmpParts& parts) {
  Bytes bmp = text("BM");
  const std::size_t plain_header = std::min(parts.header_bytes, 40u);
  const std::size_t begin =
      14 + std::max<std::size_t>(parts.header_bytes, plain_header + parts.more.size());
  append_little_endian(bmp, static_cast<std::uint32_t>(begin + parts.rows.size()), 4);
  append_little_endian(bmp, 0, 4);
  append_little_endian(
      bmp,
      static_cast<std::uint32_t>(parts.pixels_begin < 0 ? static_cast<std::int64_t>(begin)
                                                        : parts.pixels_begin),
      4);
  append_little_endian(bmp, parts.header_bytes, 4);
  const int side_bytes = parts.header_bytes == 12 ? 2 : 4;
  append_little_endian(bmp, static_cast<std::uint32_t>(parts.width), side_bytes);
  append_little_endian(bmp, static_cast<std::uint32_t>(parts.height), side_bytes);
  append_little_endian(bmp, 1, 2);
  append_little_endian(bmp, parts.bits, 2);
  if (parts.header_bytes > 12) {
    append_little_endian(bmp, parts.compression, 4);
    for (int i = 0; i < 3; ++i) append_little_endian(bmp, 0, 4);
    append_little_endian(bmp, parts.colours, 4);
    append_little_endian(bmp, 0, 4);
  }
  append(bmp, parts.more);
  bmp.resize(begin);
  append(bmp, parts.rows);
  return bmp;
}

// An Exif block of one entry, the orientation; `order` is "II" or "MM".
inline Bytes exif_block(int orientation, const std::string& order = "MM") {
  Bytes block = text(order);
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (order == "MM" ? bytes - 1 - i : i);
      block.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  };
  put(42, 2);
  put(8, 4);       // where the directory begins
  put(1, 2);       // its number of entries
  put(0x0112, 2);  // orientation
  put(3, 2);       // of 16 bits
  put(1, 4);       // one
  put(static_cast<std::uint32_t>(orientation), 2);
  put(0, 6);  // padding, and no further directory
  return block;
}

// The same as the APP1 segment of a JPEG.
inline Bytes exif_segment(int orientation) {
  Bytes content = text(std::string("Exif\0\0", 6));
  append(content, exif_block(orientation));
  Bytes segment = {0xff, 0xe1, 0, static_cast<std::uint8_t>(content.size() + 2)};
  append(segment, content);
  return segment;
}

// A JPEG, segment by segment.
class JpegWriter {
 public:
  struct Component {
    int id, factors, table;
  };
  struct ScanPart {
    int id, tables;
  };
  using Codes = std::vector<std::pair<int, int>>;  // length and symbol, by length

  JpegWriter& segment(int marker, const Bytes& content) {
    append(bytes_, {0xff, static_cast<std::uint8_t>(marker)});
    append(bytes_, {static_cast<std::uint8_t>((content.size() + 2) >> 8),
                    static_cast<std::uint8_t>(content.size() + 2)});
    append(bytes_, content);
    return *this;
  }
  JpegWriter& raw(const Bytes& bytes) {
    append(bytes_, bytes);
    return *this;
  }
  JpegWriter& quantisation(int index = 0) {
    Bytes content = {static_cast<std::uint8_t>(index)};
    content.resize(65, 1);
    return segment(0xdb, content);
  }
  JpegWriter& frame(int marker, int width, int height, const std::vector<Component>& components) {
    Bytes content = {8};
    for (const int side : {height, width}) {
      append(content, {static_cast<std::uint8_t>(side >> 8), static_cast<std::uint8_t>(side)});
    }
    content.push_back(static_cast<std::uint8_t>(components.size()));
    for (const auto& [id, factors, table] : components) {
      for (const int value : {id, factors, table}) {
        content.push_back(static_cast<std::uint8_t>(value));
      }
    }
    return segment(marker, content);
  }
  // `selector`: 16 for AC, plus the index.
  JpegWriter& huffman(int selector, const Codes& codes) {
    Bytes content(17);
    content[0] = static_cast<std::uint8_t>(selector);
    for (const auto& [length, symbol] : codes) {
      ++content[static_cast<std::size_t>(length)];
      content.push_back(static_cast<std::uint8_t>(symbol));
    }
    return segment(0xc4, content);
  }
  JpegWriter& scan(const std::vector<ScanPart>& parts, int first, int last, int bits,
                   const Bytes& data) {
    Bytes content = {static_cast<std::uint8_t>(parts.size())};
    for (const auto& [id, tables] : parts) {
      append(content, {static_cast<std::uint8_t>(id), static_cast<std::uint8_t>(tables)});
    }
    for (const int value : {first, last, bits}) {
      content.push_back(static_cast<std::uint8_t>(value));
    }
    return segment(0xda, content).raw(data);
  }
  Bytes finish() { return raw({0xff, 0xd9}).bytes_; }

 private:
  Bytes bytes_ = {0xff, 0xd8};
};

// Tables that many tests use: code 0 is a DC difference of 0 and the end of a block.
inline JpegWriter jpeg_tables() {
  return JpegWriter().quantisation().huffman(0, {{1, 0}}).huffman(16, {{1, 0}});
}

}  // namespace weft::test
