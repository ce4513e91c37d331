// SPDX-License-Identifier: MIT
// The first picture of a GIF. What of the frame that picture leaves free is transparent.
#include <algorithm>
#include <array>

#include "data/picture/picture.h"

namespace weft::data {
namespace {

constexpr unsigned kMostCodes = 4096, kMostCodeBits = 12;
enum Block : int { kExtension = 0x21, kImage = 0x2c, kTrailer = 0x3b };
constexpr int kGraphicControl = 0xf9, kHasPalette = 0x80, kInterlaced = 0x40;

struct Frame {
  std::int64_t left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
};

// Undoes GIF's variant of LZW: each code stands for one pixel or for a string that codes before it
// spelt, and is read from the lowest bit on. Returns `count` pixels, which are palette indices.
Bytes expand_codes(const Bytes& data, unsigned root_bits, std::size_t count,
                   const std::string& name) {
  struct String {
    std::uint16_t begin = 0;  // the code of all its pixels but the last
    std::uint16_t length = 0;
    std::uint8_t first = 0, last = 0;
  };
  constexpr unsigned kNone = kMostCodes;
  const unsigned clear = 1u << root_bits, end = clear + 1;
  std::array<String, kMostCodes> strings = {};
  for (unsigned i = 0; i < clear; ++i) {
    strings[i] = {0, 1, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i)};
  }
  unsigned next = end + 1, bits = root_bits + 1, previous = kNone;
  unsigned window = 0, window_bits = 0;
  auto byte = data.begin();
  Bytes pixels(count);
  for (std::size_t at = 0; at < count;) {
    for (; window_bits < bits; window_bits += 8) {
      if (byte == data.end()) throw damaged_picture(name, "its pixel data ends early");
      window |= unsigned{*byte++} << window_bits;
    }
    const unsigned code = window & ((1u << bits) - 1);
    window >>= bits;
    window_bits -= bits;
    if (code == clear) {
      next = end + 1;
      bits = root_bits + 1;
      previous = kNone;
      continue;
    }
    if (code == end) throw damaged_picture(name, "its pixel data ends early");
    const bool adds = previous != kNone && next < kMostCodes;
    if (code >= next + (adds ? 1 : 0)) {
      throw damaged_picture(name, str("code ", code, " of its pixel data is not defined"));
    }
    if (adds) {  // a code that is not there yet is the one that is defined here
      const String& before = strings[previous];
      const std::uint8_t last = strings[code == next ? previous : code].first;
      strings[next++] = {static_cast<std::uint16_t>(previous),
                         static_cast<std::uint16_t>(before.length + 1), before.first, last};
      if (next == 1u << bits && bits < kMostCodeBits) ++bits;
    }
    const std::size_t stop = at + strings[code].length;
    for (std::size_t i = stop, from = code; i-- > at; from = strings[from].begin) {
      if (i < count) pixels[i] = strings[from].last;
    }
    at = stop;
    previous = code;
  }
  return pixels;
}

class GifReader {
 public:
  GifReader(std::span<const std::uint8_t> file, const std::string& name)
      : file_(file, name, "the GIF"), name_(name) {}

  Picture read() {
    constexpr std::size_t kSignatureBytes = 6;
    file_.take(kSignatureBytes);
    const std::int64_t width = file_.little_endian(2), height = file_.little_endian(2);
    check_dimensions(width, height, name_);
    const int packed = file_.byte();
    file_.take(2);  // the background's colour, which browsers ignore, and the pixels' shape
    read_palette(packed);
    for (int block = file_.byte(); block != kImage; block = file_.byte()) {
      if (block == kTrailer) throw damaged_picture(name_, "it has no picture");
      if (block != kExtension) throw damaged_picture(name_, str("block ", block, " is no GIF's"));
      const int label = file_.byte();
      const Bytes content = read_parts();
      if (label == kGraphicControl && content.size() >= 4) {
        transparent_ = content[0] % 2 == 1 ? content[3] : -1;
      }
    }
    return read_image(width, height);
  }

 private:
  void read_palette(int packed) {
    if ((packed & kHasPalette) != 0) palette_ = file_.take(std::size_t{3} << (packed % 8 + 1));
  }

  // Parts of at most 255 bytes, each after its length. A part of none ends them.
  Bytes read_parts() {
    Bytes bytes;
    for (int size = file_.byte(); size != 0; size = file_.byte()) {
      const auto part = file_.take(static_cast<std::size_t>(size));
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
  }

  Picture read_image(std::int64_t width, std::int64_t height) {
    Frame frame;
    for (auto* field : {&frame.left, &frame.top, &frame.width, &frame.height}) {
      *field = file_.little_endian(2);
    }
    const int packed = file_.byte();
    frame.interlaced = (packed & kInterlaced) != 0;
    read_palette(packed);
    if (frame.left + frame.width > width || frame.top + frame.height > height) {
      throw damaged_picture(
          name_, str("a picture of ", frame.width, " x ", frame.height, " at ", frame.left, ", ",
                     frame.top, " is outside of its frame of ", width, " x ", height));
    }
    const int root_bits = file_.byte();
    if (root_bits < 2 || root_bits > 8) {
      throw damaged_picture(name_, str("pixels of ", root_bits, " bits, expected 2 to 8"));
    }
    const Bytes data = read_parts();
    // A code of 12 bits makes at most 4096 pixels, and a shorter one makes fewer for each bit.
    const std::size_t most = data.size() * 8 / kMostCodeBits * kMostCodes + kMostCodes;
    if (static_cast<std::size_t>(width * height) > most) {
      throw damaged_picture(name_, str(width, " x ", height, " pixels do not fit in the ",
                                       data.size(), " bytes of its pixel data"));
    }
    const auto count = static_cast<std::size_t>(frame.width * frame.height);
    const Bytes indices = expand_codes(data, static_cast<unsigned>(root_bits), count, name_);
    const bool is_whole = frame.width == width && frame.height == height;
    Picture picture = make_picture(width, height, is_whole && transparent_ < 0 ? 3 : 4, name_);
    paint(picture, frame, indices);
    return picture;
  }

  void paint(Picture& picture, const Frame& frame, const Bytes& indices) const {
    constexpr std::pair<int, int> kWhole[] = {{0, 1}};
    constexpr std::pair<int, int> kPasses[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    const auto passes = frame.interlaced ? std::span<const std::pair<int, int>>(kPasses)
                                         : std::span<const std::pair<int, int>>(kWhole);
    const std::size_t colours = palette_.size() / 3;
    auto index = indices.begin();
    for (const auto& [first, step] : passes) {
      for (std::int64_t y = first; y < frame.height; y += step) {
        const std::int64_t begin = (frame.top + y) * picture.width + frame.left;
        std::uint8_t* pixel = picture.pixels.get() + begin * picture.channels;
        for (std::int64_t x = 0; x < frame.width; ++x, ++index, pixel += picture.channels) {
          if (*index == transparent_) continue;
          if (*index >= colours) {
            throw damaged_picture(
                name_, str("a pixel has colour ", int{*index}, " of a palette of ", colours));
          }
          std::copy_n(palette_.data() + 3 * std::size_t{*index}, 3, pixel);
          if (picture.channels == 4) pixel[3] = 255;
        }
      }
    }
  }

  ByteCursor file_;
  const std::string& name_;
  std::span<const std::uint8_t> palette_;  // RGB triples; a picture's own replaces the file's
  int transparent_ = -1;                   // the colour that is not painted; -1: none
};

}  // namespace

Picture decode_gif(std::span<const std::uint8_t> file, const std::string& name) {
  return GifReader(file, name).read();
}

}  // namespace weft::data
