// SPDX-License-Identifier: MIT
#include "data/arrays/npy_text.h"

#include <algorithm>
#include <charconv>

#include "data/arrays/npy_header.h"
#include "data/arrays/unicode.h"
#include "engine/error.h"

namespace weft::data {
namespace {

Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", what));
}

std::string wide_word(std::span<const std::byte> element, bool big_endian,
                      const std::string& where) {
  std::string word;
  for (std::size_t at = 0; at + 4 <= element.size(); at += 4) {
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t place = big_endian ? i : 3 - i;
      code = code << 8 | std::to_integer<std::uint32_t>(element[at + place]);
    }
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    if (code > 0x10FFFF || is_surrogate) throw bad(where, str("no character: ", code));
    append_utf8(word, code);
  }
  return word;
}

}  // namespace

std::optional<TextType> text_type(std::string_view descr) {
  TextType type;
  if (!descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos) {
    type.big_endian = descr[0] == '>';
    descr.remove_prefix(1);
  }
  if (descr.empty() || std::string_view("USa").find(descr[0]) == std::string_view::npos) {
    return std::nullopt;
  }
  type.is_wide = descr[0] == 'U';
  const char* end = descr.data() + descr.size();
  const auto [stop, code] = std::from_chars(descr.data() + 1, end, type.characters);
  constexpr std::size_t kMost = std::size_t{1} << 16;
  if (code != std::errc{} || stop != end || type.characters > kMost) return std::nullopt;
  return type;
}

std::vector<std::string> words_of_text(const TextType& type, std::span<const std::int64_t> shape,
                                       std::span<const std::byte> bytes, const std::string& where) {
  std::size_t count = 1, wanted = 0;
  bool fits = true;
  for (const std::int64_t extent : shape) {
    fits = fits && extent >= 0 &&
           !__builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count);
  }
  if (!fits || type.bytes() == 0 || __builtin_mul_overflow(count, type.bytes(), &wanted) ||
      wanted != bytes.size()) {
    throw bad(where, str("words of ", type.bytes(), " bytes do not fill ", bytes.size(), " bytes"));
  }
  std::vector<std::string> words;
  words.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> element = bytes.subspan(i * type.bytes(), type.bytes());
    std::string word =
        type.is_wide ? wide_word(element, type.big_endian, where)
                     : std::string(reinterpret_cast<const char*>(element.data()), element.size());
    word.erase(word.find_last_not_of('\0') + 1);
    words.push_back(std::move(word));
  }
  return words;
}

std::optional<NpyOther> parse_npy_other(std::span<const std::byte> file, const std::string& where) {
  const NpyTextRange range = find_npy_header(file, file.size(), where);
  const std::span<const std::byte> text = file.subspan(range.begin, range.size);
  NpyHeader header = parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()},
                                      where, NpyTypes::any);
  if (!header.dtype.empty()) return std::nullopt;
  const std::span<const std::byte> elements = file.subspan(range.begin + range.size);
  NpyOther other;
  other.shape = header.shape;
  if (const std::optional<TextType> type = text_type(header.descr)) {
    other.words = words_of_text(*type, other.shape, elements, where);
  } else {
    other.are_objects = true;
    other.pickle = elements;
  }
  return other;
}

}  // namespace weft::data
