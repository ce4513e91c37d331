// SPDX-License-Identifier: MIT
// The chunks acTL, fcTL and fdAT are those of the PNG specification, third edition, section 11.3.6.
#include "data/picture/animation.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/error.h"

namespace weft::data {
namespace {

using View = std::span<const std::uint8_t>;

constexpr std::uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kHeaderBytes = 13, kPaletteType = 3;

std::uint32_t big_endian(View bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

void append(Bytes& out, std::uint32_t value, int bytes = 4) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

std::uint32_t checksum(View bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

void append_chunk(Bytes& out, std::string_view type, View content) {
  append(out, static_cast<std::uint32_t>(content.size()));
  const std::size_t begin = out.size();
  out.insert(out.end(), type.begin(), type.end());
  out.insert(out.end(), content.begin(), content.end());
  append(out, checksum(View(out).subspan(begin)));
}

// What a PNG holds that the animation needs: the header, and the compressed rows in their pieces.
struct Frame {
  View header;
  std::vector<View> rows;
};

Frame parse(View png, std::size_t number) {
  const auto fail = [&](const char* what) {
    return Error(ErrorKind::data, str("frame ", number, " of the animation: ", what));
  };
  if (png.size() < sizeof(kSignature) ||
      !std::equal(std::begin(kSignature), std::end(kSignature), png.begin())) {
    throw fail("expected a PNG");
  }
  png = png.subspan(sizeof(kSignature));
  Frame frame;
  constexpr std::size_t kAround = 12;  // length and type before the content, checksum behind it
  while (png.size() >= kAround) {
    const std::size_t length = big_endian(png);
    if (length > png.size() - kAround) break;
    const View type_and_content = png.subspan(4, 4 + length), content = type_and_content.subspan(4);
    if (checksum(type_and_content) != big_endian(png.subspan(8 + length))) {
      throw fail("damaged PNG: a checksum is wrong");
    }
    const std::string_view type(reinterpret_cast<const char*>(type_and_content.data()), 4);
    if (type == "IHDR" && length == kHeaderBytes) frame.header = content;
    if (type == "IDAT") frame.rows.push_back(content);
    if (type == "IEND") {
      if (frame.header.empty() || frame.rows.empty()) break;
      if (frame.header[9] == kPaletteType) throw fail("expected a PNG without a palette");
      return frame;
    }
    png = png.subspan(kAround + length);
  }
  throw fail("damaged PNG: it is cut short");
}

Bytes frame_control(const Frame& frame, std::uint32_t sequence, int milliseconds) {
  Bytes content;
  content.reserve(26);
  append(content, sequence);
  content.insert(content.end(), frame.header.begin(), frame.header.begin() + 8);  // width, height
  append(content, 0);  // offset to the right
  append(content, 0);  // and down
  append(content, static_cast<std::uint32_t>(std::clamp(milliseconds, 1, 65535)), 2);
  append(content, 1000, 2);
  content.push_back(0);  // leave the canvas as it is before the next frame,
  content.push_back(0);  // which replaces all of it
  return content;
}

}  // namespace

Bytes encode_animation(std::span<const Bytes> pngs, const AnimationTimes& times) {
  if (pngs.empty()) throw Error(ErrorKind::usage, "encode_animation: no frames");
  Bytes out(std::begin(kSignature), std::end(kSignature));
  View header;
  std::uint32_t sequence = 0;
  for (std::size_t i = 0; i < pngs.size(); ++i) {
    const Frame frame = parse(pngs[i], i + 1);
    if (i == 0) {
      header = frame.header;
      append_chunk(out, "IHDR", header);
      Bytes control;
      append(control, static_cast<std::uint32_t>(pngs.size()));
      append(control, 0);  // play for ever
      append_chunk(out, "acTL", control);
    }
    if (!std::equal(header.begin(), header.end(), frame.header.begin())) {
      throw Error(ErrorKind::data, str("frame ", i + 1,
                                       " of the animation: expected the size and "
                                       "colours of the first"));
    }
    const bool last = i + 1 == pngs.size();
    const int milliseconds = last ? times.last_milliseconds : times.milliseconds;
    append_chunk(out, "fcTL", frame_control(frame, sequence++, milliseconds));
    for (const View rows : frame.rows) {
      if (i == 0) {
        append_chunk(out, "IDAT", rows);
        continue;
      }
      Bytes content;
      append(content, sequence++);
      content.insert(content.end(), rows.begin(), rows.end());
      append_chunk(out, "fdAT", content);
    }
  }
  append_chunk(out, "IEND", {});
  return out;
}

}  // namespace weft::data
