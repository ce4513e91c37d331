// SPDX-License-Identifier: MIT
// Text that others wrote, such as the names of files, classes and tensors, made safe to print: one
// table of what is unprintable, and one function for each medium.
//
// Unprintable are control characters (C0, DEL and C1), the controls of bidirectional text, line
// separators, characters that show nothing, what Unicode calls noncharacters, and bytes that are
// not UTF-8: overlong forms and surrogates too. All else is printed as it is, in any script. The
// joiners of emoji and of Persian, U+200C and U+200D, are no controls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

bool is_utf8(std::string_view text);

// The text behind the mark U+FEFF, by which editors on Windows say that a file is UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

// What printable() passes besides text.
struct Kept {
  bool lines = false;  // \n stays, and \r\n becomes \n
  bool tabs = false;
  bool styles = false;       // ESC [ 1 ; 31 m and its like, by which a terminal shows colours
  bool beyond_ascii = true;  // false: a terminal without UTF-8
};

// `text` for a terminal, in one line: what is unprintable becomes \n, \r, \t, \x1b, \u202e,
// \U0010ffff, and \xff for each byte that is not UTF-8.
std::string printable(std::string_view text, const Kept& kept = {});

// The first `longest` bytes of a text, or up to 3 fewer, so that no character is cut in two; and
// the same printable, in quotes for a message: 'text', "text", or 'text...'.
std::string_view beginning(std::string_view text, std::size_t longest);
std::string shown(std::string_view text, std::size_t longest = 80);
std::string in_quotes(std::string_view text, std::size_t longest = 80);

// A word as a shell reads it, for a script: as it is, or 'in quotes'.
std::string shell_quoted(std::string_view text);

// The same for a person to copy. A word with something unprintable is $'with \x1b in it', which
// bash and zsh read.
std::string shell_word(std::string_view text);

// One field of a CSV file (RFC 4180): printable, and in double quotes where it could be taken for
// several fields. A spreadsheet takes a text that begins with = + - or @ for a formula; such a text
// gets an apostrophe in front, unless it is a number.
std::string csv_field(std::string_view text);

// Text of an element, or of an attribute in quotes, of HTML, SVG and XML.
std::string html_text(std::string_view text, const Kept& kept = {});

// A JSON text with what is unprintable in its strings as \u202e; any reader gets the same strings.
std::string json_escaped(std::string_view json);

// A value of nlohmann-json as text. Bytes that are not UTF-8 become U+FFFD; it never throws.
template <class Json>
std::string json_text(const Json& value, int indent = -1) {
  return json_escaped(value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

// A JSON text that may stand in a <script> of HTML.
std::string json_in_html(std::string json);

// `page` with {{name}} replaced by the value of each name, in one pass: no value is looked into.
using Part = std::pair<std::string_view, std::string_view>;
std::string filled(std::string_view page, std::span<const Part> parts);

// A number of bytes above 0, which may end in K, M, G or T for powers of 1024; at most 2^50.
// Nothing for other text, which a message then says was expected to be kSizeText.
std::optional<std::uint64_t> size_of_text(std::string_view text);
inline constexpr std::string_view kSizeText = "a number of bytes, which may end in K, M, G or T";

// Bytes in base64 (RFC 4648).
std::string base64(std::span<const std::uint8_t> bytes);

// The element of HTML by which a page loads nothing from anywhere and runs no script but those of
// `scripts`, such as "'sha256-...'".
std::string policy_element(std::string_view scripts = "'none'");

// The table above for a page's script, as a set of a regular expression: "\u0000-\u001f...".
std::string unprintable_set();

}  // namespace weft
