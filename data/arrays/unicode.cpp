// SPDX-License-Identifier: MIT
#include "data/arrays/unicode.h"

namespace weft::data {

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 63));
    }
    add(0x80 | (code >> 6 & 63));
  }
  add(0x80 | (code & 63));
}

Bytes from_utf16(Bytes text) {
  const bool is_little = text.size() >= 2 && text[0] == 0xff && text[1] == 0xfe;
  const bool is_big = text.size() >= 2 && text[0] == 0xfe && text[1] == 0xff;
  if (!is_little && !is_big) return text;
  const auto unit = [&](std::size_t at) -> std::uint32_t {
    return is_big ? std::uint32_t{text[at]} << 8 | text[at + 1]
                  : std::uint32_t{text[at + 1]} << 8 | text[at];
  };
  std::string utf8;
  for (std::size_t at = 2; at + 2 <= text.size(); at += 2) {
    std::uint32_t code = unit(at);
    const bool is_first = code >= 0xd800 && code < 0xdc00 && at + 4 <= text.size();
    if (is_first && unit(at + 2) >= 0xdc00 && unit(at + 2) < 0xe000) {  // half of a pair
      code = 0x10000 + ((code - 0xd800) << 10) + (unit(at + 2) - 0xdc00);
      at += 2;
    }
    append_utf8(utf8, code);
  }
  return {utf8.begin(), utf8.end()};
}

}  // namespace weft::data
