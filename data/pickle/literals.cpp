// SPDX-License-Identifier: MIT
#include <charconv>
#include <cstdlib>

#include "data/arrays/unicode.h"
#include "data/pickle/values.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data::pickle {
namespace {

constexpr std::string_view kEscapes = "\\'\"abfnrtv", kEscaped = "\\'\"\a\b\f\n\r\t\v";

// Takes `digits` digits of this base from the front.
unsigned number(std::string_view& text, std::size_t digits, int base, const Maker& maker) {
  unsigned value = 0;
  const std::string_view word = text.substr(0, digits);
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (code != std::errc{} || end != word.data() + word.size() || word.size() != digits) {
    maker.fail(str("a character is written as ", shown(word)));
  }
  text.remove_prefix(digits);
  return value;
}

void add_utf8(std::string& out, unsigned code, const Maker& maker) {
  if (code > 0x10ffff) maker.fail("a character that Unicode does not have");
  append_utf8(out, code);
}

}  // namespace

std::string unquoted(std::string_view line, const Maker& maker) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  const bool is_quoted = line.size() >= 2 && line.front() == line.back() &&
                         (line.front() == '\'' || line.front() == '"');
  if (!is_quoted) maker.fail(str("expected a string in quotes, found ", shown(line)));
  line = line.substr(1, line.size() - 2);
  std::string out;
  while (!line.empty()) {
    const char c = line.front();
    line.remove_prefix(1);
    if (c != '\\') {
      out += c;
      continue;
    }
    if (line.empty()) maker.fail("a string ends within an escape");
    const std::size_t known = kEscapes.find(line.front());
    if (known != std::string_view::npos) {
      out += kEscaped[known];
      line.remove_prefix(1);
    } else if (line.front() == 'x') {
      line.remove_prefix(1);
      out += static_cast<char>(number(line, 2, 16, maker));
    } else {
      out += static_cast<char>(number(line, 3, 8, maker));
    }
  }
  return out;
}

std::string from_raw_unicode(std::string_view text, const Maker& maker) {
  std::string out;
  while (!text.empty()) {
    if (text.starts_with("\\u") || text.starts_with("\\U")) {
      const std::size_t digits = text[1] == 'u' ? 4 : 8;
      text.remove_prefix(2);
      add_utf8(out, number(text, digits, 16, maker), maker);
    } else {
      add_utf8(out, static_cast<unsigned char>(text.front()), maker);
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string to_latin1(std::string_view text, const Maker& maker) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i];
      continue;
    }
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((byte != 0xc2 && byte != 0xc3) || (next & 0xc0) != 0x80) {
      maker.fail("bytes are written as text that is not Latin-1");
    }
    out += static_cast<char>((byte & 3) << 6 | (next & 63));
    ++i;
  }
  return out;
}

PickleValue* decimal(std::string_view line, Maker& maker) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line == "00") return maker.boolean(false);  // in protocol 0
  if (line == "01") return maker.boolean(true);
  if (line.ends_with('L')) line.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (code != std::errc{} || end != line.data() + line.size()) {
    maker.fail(str("expected an integer of 64 bits, found ", shown(line)));
  }
  return maker.integer(value);
}

double real_of(std::string_view line, const Maker& maker) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (code != std::errc{} || end != line.data() + line.size()) {
    maker.fail(str("expected a number, found ", shown(line)));
  }
  return value;
}

}  // namespace weft::data::pickle
