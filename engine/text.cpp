// SPDX-License-Identifier: MIT
#include "engine/text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>

namespace weft {
namespace {

// Without noncharacters, which end in fffe and ffff.
constexpr struct {
  std::uint32_t first, last;
} kUnprintable[] = {
    {0x00, 0x1f},      // C0
    {0x7f, 0x9f},      // DEL, C1
    {0x61c, 0x61c},    // the Arabic letter mark
    {0x180e, 0x180e},  // the Mongolian vowel separator, which shows nothing
    {0x200b, 0x200b},  // the space without width
    {0x200e, 0x200f},  // marks of direction
    {0x2028, 0x202e},  // separators of lines and paragraphs, embeddings and overrides
    {0x2060, 0x206f},  // the word joiner, invisible operators, isolates
    {0xfdd0, 0xfdef},  // noncharacters
    {0xfeff, 0xfeff},  // the byte-order mark
    {0xfff9, 0xfffb},  // marks of annotations
};

struct Character {
  std::uint32_t code = 0;  // or the byte that is not UTF-8
  std::size_t bytes = 1;
  bool valid = true;
};

// The first one of a text that is not empty (RFC 3629).
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead};
  const Character broken{lead, 1, false};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || lead >= 0xf8 || bytes > text.size()) return broken;
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return broken;
    code = code << 6 | (next & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[bytes] || code > 0x10ffff || is_surrogate) return broken;
  return {code, bytes};
}

std::size_t plain_length(std::string_view text, bool with_lines) {
  const auto is_plain = [&](char c) { return (c >= ' ' && c <= '~') || (with_lines && c == '\n'); };
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
}

bool is_unprintable(const Character& one) {
  if (!one.valid || (one.code & 0xfffe) == 0xfffe) return true;
  return std::ranges::any_of(kUnprintable, [&](const auto& range) {
    return range.first <= one.code && one.code <= range.last;
  });
}

// Of ESC [ 1 ; 31 m at the beginning; 0 where there is none.
std::size_t style_length(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string formatted(const char* format, std::uint32_t code) {
  char buffer[16];
  const int length = std::snprintf(buffer, sizeof buffer, format, code);
  return {buffer, static_cast<std::size_t>(length)};
}

std::string escape_of(const Character& one) {
  if (one.code == '\n') return "\\n";
  if (one.code == '\r') return "\\r";
  if (one.code == '\t') return "\\t";
  if (one.code < 0x80 || !one.valid) return formatted("\\x%02x", one.code);
  return formatted(one.code > 0xffff ? "\\U%08x" : "\\u%04x", one.code);
}

std::string replaced(std::string_view text, std::string_view characters,
                     std::span<const std::string_view> by) {
  std::string out;
  for (const char c : text) {
    const std::size_t at = characters.find(c);
    if (at == std::string_view::npos) {
      out += c;
    } else {
      out += by[at];
    }
  }
  return out;
}

std::string between(char quote, std::string_view text, std::size_t longest) {
  const std::string_view begin = beginning(text, longest);
  return quote + printable(begin) + (begin.size() < text.size() ? "..." : "") + quote;
}

// Would a spreadsheet calculate it? The last four are wide forms of the others.
bool is_formula(std::string_view text) {
  constexpr std::string_view kSigns[] = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
  if (std::ranges::none_of(kSigns, [&](auto sign) { return text.starts_with(sign); })) return false;
  const std::string_view rest = text.substr(1);
  const bool has_digit = rest.substr(0, 2).find_first_of("0123456789") != rest.npos;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return !has_digit || rest[0] == '-' || error != std::errc{} || end != rest.data() + rest.size();
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character one = first_of(text);
    if (!one.valid) return false;
    text.remove_prefix(one.bytes);
  }
  return true;
}

std::string printable(std::string_view text, const Kept& kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t bytes = plain_length(text, kept.lines);
    out += text.substr(0, bytes);
    text.remove_prefix(bytes);
    if (text.empty()) break;
    const Character one = first_of(text);
    bytes = kept.styles ? style_length(text) : 0;
    if (kept.lines && text.starts_with("\r\n")) {
      text.remove_prefix(1);
      continue;
    }
    const bool stays =
        bytes > 0 || (kept.tabs && one.code == '\t') || (!is_unprintable(one) && kept.beyond_ascii);
    bytes = std::max(bytes, one.bytes);
    out += stays ? std::string(text.substr(0, bytes)) : escape_of(one);
    text.remove_prefix(bytes);
  }
  return out;
}

std::string_view beginning(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  std::size_t end = longest;
  while (end > 0 && longest - end < 3 && (text[end] & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string shown(std::string_view text, std::size_t longest) {
  return between('\'', text, longest);
}

std::string in_quotes(std::string_view text, std::size_t longest) {
  return between('"', text, longest);
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  const std::string_view apart[] = {"'\\''"};
  return "'" + replaced(text, "'", apart) + "'";
}

std::string shell_word(std::string_view text) {
  if (printable(text) == text) return shell_quoted(text);
  std::string quoted = "$'";
  while (!text.empty()) {
    const Character one = first_of(text);
    const std::string_view bytes = text.substr(0, one.bytes);
    if (is_unprintable(one)) {
      for (const char c : bytes) quoted += formatted("\\x%02x", static_cast<unsigned char>(c));
    } else {
      if (one.code == '\'' || one.code == '\\') quoted += '\\';
      quoted += bytes;
    }
    text.remove_prefix(one.bytes);
  }
  return quoted + "'";
}

std::string csv_field(std::string_view text) {
  const std::string field = (is_formula(text) ? "'" : "") + printable(text);
  if (field.find_first_of(",;\"") == std::string::npos) return field;
  const std::string_view doubled[] = {"\"\""};
  return "\"" + replaced(field, "\"", doubled) + "\"";
}

std::string html_text(std::string_view text, const Kept& kept) {
  const std::string_view entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  return replaced(printable(text, kept), "&<>\"'", entities);
}

std::string json_escaped(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const Character one = first_of(json);
    if (!one.valid) {
      out += "\\ufffd";
    } else if (one.code < 0x7f || !is_unprintable(one)) {
      out += json.substr(0, one.bytes);
    } else if (one.code > 0xffff) {
      out += formatted("\\u%04x", 0xd800 + ((one.code - 0x10000) >> 10));
      out += formatted("\\u%04x", 0xdc00 + ((one.code - 0x10000) & 0x3ff));
    } else {
      out += formatted("\\u%04x", one.code);
    }
    json.remove_prefix(one.bytes);
  }
  return out;
}

std::string json_in_html(std::string json) {
  const std::string_view escape[] = {"\\u003c"};  // so that no </script> ends the element
  return replaced(json, "<", escape);
}

std::string filled(std::string_view page, std::span<const Part> parts) {
  std::string out;
  while (!page.empty()) {
    const std::size_t open = std::min(page.find("{{"), page.size());
    out += page.substr(0, open);
    page.remove_prefix(open);
    const auto part = std::ranges::find_if(parts, [&](const Part& one) {
      return page.starts_with("{{" + std::string(one.first) + "}}");
    });
    const bool found = part != parts.end();
    out += found ? part->second : page.substr(0, 2);
    page.remove_prefix(std::min(page.size(), found ? part->first.size() + 4 : 2));
  }
  return out;
}

std::optional<std::uint64_t> size_of_text(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || value == 0 || value > kMost) return std::nullopt;
  if (rest == end) return value;
  const std::size_t unit = kUnits.find(*rest++);
  if (unit == kUnits.npos || rest != end || value > kMost >> 10 * (unit + 1)) return std::nullopt;
  return value << 10 * (unit + 1);
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) { return at < bytes.size() ? unsigned{bytes[at]} : 0u; };
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (const int shift : {18, 12, 6, 0}) text += kDigits[group >> shift & 63];
  }
  const std::size_t padding = (3 - bytes.size() % 3) % 3;
  return text.replace(text.size() - padding, padding, padding, '=');
}

std::string policy_element(std::string_view scripts) {
  return "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src " +
         std::string(scripts) +
         "; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">";
}

std::string unprintable_set() {
  std::string set;
  for (const auto& [first, last] : kUnprintable) {
    set += formatted("\\u%04x", first) + "-" + formatted("\\u%04x", last);
  }
  return set;
}

}  // namespace weft
