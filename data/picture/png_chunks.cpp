// SPDX-License-Identifier: MIT
#include "data/picture/png_chunks.h"

#include <algorithm>

#include "data/picture/exif.h"

namespace weft::data {
namespace {

constexpr std::uint32_t chunk_type(const char (&letters)[5]) {
  std::uint32_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<std::uint8_t>(letters[i]);
  return type;
}

// The type as text for a message. Bytes that are not letters become question marks.
std::string letters_of(std::uint32_t type) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    const char c = static_cast<char>(type >> shift & 0xff);
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    text += is_letter ? c : '?';
  }
  return text;
}

bool is_valid_depth(PngColour colour, int depth) {
  switch (colour) {
    case PngColour::grey:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case PngColour::indexed:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case PngColour::rgb:
    case PngColour::grey_alpha:
    case PngColour::rgb_alpha:
      return depth == 8 || depth == 16;
  }
  return false;
}

class ChunkReader {
 public:
  ChunkReader(std::span<const std::uint8_t> file, const std::string& name)
      : file_(file, name, "a PNG chunk"), name_(name) {}

  PngChunks read() {
    constexpr std::size_t kSignatureBytes = 8;
    file_.take(kSignatureBytes);
    for (bool first = true;; first = false) {
      const std::uint32_t length = file_.big_endian(4), type = file_.big_endian(4);
      if (length > file_.left()) {
        throw damaged_picture(name_, str("chunk ", letters_of(type), " claims ", length,
                                         " bytes, the file has ", file_.left(), " more"));
      }
      const std::span<const std::uint8_t> content = file_.take(length);
      file_.take(4);  // the checksum, which does not protect from hostile files
      if (first != (type == chunk_type("IHDR"))) reject_order(type);
      if (type == chunk_type("IEND")) break;
      read_chunk(type, content);
    }
    if (chunks_.pixel_data.empty()) throw damaged_picture(name_, "it has no pixel data");
    return std::move(chunks_);
  }

 private:
  [[noreturn]] void reject_order(std::uint32_t type) const {
    if (type == chunk_type("CgBI")) throw unsupported_picture(name_, "Apple's variant of PNG");
    throw damaged_picture(name_, str("chunk ", letters_of(type), " stands where the header, IHDR, ",
                                     "is expected first and only once"));
  }

  void read_chunk(std::uint32_t type, std::span<const std::uint8_t> content) {
    constexpr std::uint32_t kAncillary = 1u << 29;  // set when the first letter is a small one
    if (type == chunk_type("IHDR")) return read_header(content);
    if (type == chunk_type("PLTE")) return read_palette(content);
    if (type == chunk_type("tRNS")) return read_transparency(content);
    if (type == chunk_type("IDAT")) return add_pixel_data(content);
    if (type == chunk_type("eXIf")) chunks_.orientation = exif_orientation(content);
    if (type == chunk_type("sBIT")) read_significant_bits(content);
    if ((type & kAncillary) == 0) {
      throw unsupported_picture(name_, str("a PNG with the chunk ", letters_of(type)));
    }
  }

  void read_header(std::span<const std::uint8_t> content) {
    constexpr std::size_t kHeaderBytes = 13;
    if (content.size() != kHeaderBytes) {
      throw damaged_picture(name_,
                            str("a header of ", content.size(), " bytes, expected ", kHeaderBytes));
    }
    ByteCursor cursor(content, name_, "the header");
    PngHeader& header = chunks_.header;
    header.width = cursor.big_endian(4);
    header.height = cursor.big_endian(4);
    check_dimensions(header.width, header.height, name_);
    header.depth = cursor.byte();
    header.colour = static_cast<PngColour>(cursor.byte());
    const int compression = cursor.byte(), filter = cursor.byte(), interlace = cursor.byte();
    if (!is_valid_depth(header.colour, header.depth) || compression != 0 || filter != 0 ||
        interlace > 1) {
      throw damaged_picture(
          name_, str("a header with colour type ", static_cast<int>(header.colour), ", ",
                     header.depth, " bits, compression ", compression, ", filter ", filter,
                     ", interlace ", interlace, ": PNG knows no such picture"));
    }
    header.interlaced = interlace == 1;
  }

  void read_palette(std::span<const std::uint8_t> content) {
    constexpr std::size_t kMostColours = 256;
    if (!chunks_.palette.empty() || !chunks_.pixel_data.empty()) {
      throw damaged_picture(name_, "a palette stands where none is expected");
    }
    if (content.empty() || content.size() % 3 != 0 || content.size() > 3 * kMostColours) {
      throw damaged_picture(name_, str("a palette of ", content.size(), " bytes, expected 1 to ",
                                       kMostColours, " times 3"));
    }
    chunks_.palette = content;
  }

  void read_transparency(std::span<const std::uint8_t> content) {
    const PngHeader& header = chunks_.header;
    const bool is_indexed = header.colour == PngColour::indexed;
    const bool has_alpha =
        header.colour == PngColour::grey_alpha || header.colour == PngColour::rgb_alpha;
    if (chunks_.has_transparency || has_alpha || !chunks_.pixel_data.empty()) {
      throw damaged_picture(name_, "transparency (tRNS) stands where none is expected");
    }
    const std::size_t expected =
        is_indexed ? chunks_.palette.size() / 3 : 2 * static_cast<std::size_t>(header.samples());
    if (is_indexed ? content.size() > expected : content.size() != expected) {
      throw damaged_picture(name_,
                            str("transparency (tRNS) of ", content.size(), " bytes, expected ",
                                is_indexed ? "at most " : "", expected));
    }
    chunks_.has_transparency = true;
    if (is_indexed) {
      chunks_.palette_alpha = content;
      return;
    }
    ByteCursor cursor(content, name_, "tRNS");
    const std::uint32_t mask = (1u << header.depth) - 1;
    for (std::size_t c = 0; c < content.size() / 2; ++c) {
      chunks_.transparent_colour[c] = cursor.big_endian(2) & mask;
    }
  }

  // One that makes no sense says nothing, as a damaged eXIf does.
  void read_significant_bits(std::span<const std::uint8_t> content) {
    const PngHeader& header = chunks_.header;
    const bool is_colour = header.colour == PngColour::rgb || header.colour == PngColour::rgb_alpha;
    const std::size_t colours = is_colour ? 3 : 1;
    if (header.colour == PngColour::indexed || content.size() < colours) return;
    const int most = *std::max_element(content.begin(), content.begin() + colours);
    if (most >= 1 && most <= header.depth) chunks_.significant_bits = most;
  }

  void add_pixel_data(std::span<const std::uint8_t> content) {
    // A chunk usually holds thousands of bytes. The limit bounds the memory of the list.
    constexpr std::size_t kMostChunks = 100'000;
    if (chunks_.header.colour == PngColour::indexed && chunks_.palette.empty()) {
      throw damaged_picture(name_, "its colours are those of a palette (PLTE), which is missing");
    }
    if (content.empty()) return;
    chunks_.pixel_data.push_back(content);
    if (chunks_.pixel_data.size() > kMostChunks) {
      throw damaged_picture(name_, str("more than ", kMostChunks, " chunks of pixel data"));
    }
  }

  ByteCursor file_;
  const std::string& name_;
  PngChunks chunks_;
};

}  // namespace

PngChunks read_png_chunks(std::span<const std::uint8_t> file, const std::string& name) {
  return ChunkReader(file, name).read();
}

}  // namespace weft::data
