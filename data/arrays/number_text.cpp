// SPDX-License-Identifier: MIT
#include "data/arrays/number_text.h"

#include <algorithm>
#include <charconv>
#include <type_traits>
#include <utility>

#include "data/arrays/number_fields.h"
#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::size_t kLongestHead = std::size_t{1} << 16;  // bytes of a header
constexpr std::size_t kLongestRow = std::size_t{1} << 26;

bool is_separator(char c) {
  return is_blank(c) || c == '\n' || c == ',';
}

bool read_count(std::string_view text, std::size_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && code == std::errc{};
}

// For a message: "','", "a tab", "a blank".
std::string delimiter_name(char delimiter) {
  return delimiter == '\t' ? "a tab" : delimiter == ' ' ? "a blank" : str("'", delimiter, "'");
}

constexpr std::size_t kLongestNumber = 32;  // of what to_chars writes, with ".0"

template <class T>
char* write_number(char* to, T value) {
  char* end = std::to_chars(to, to + kLongestNumber, value).ptr;
  if constexpr (std::is_floating_point_v<T>) {
    // "55" becomes "55.0"; exponents, "nan" and "inf" are floats as they are.
    const bool whole =
        std::all_of(to, end, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
    if (whole) end = std::copy_n(".0", 2, end);
  }
  return end;
}

}  // namespace

NumberReader::NumberReader(std::string name, TextOptions options)
    : name_(std::move(name)),
      options_(std::move(options)),
      has_rows_(!options_.column.empty() || options_.delimiter != '\0') {}

Error NumberReader::bad(const std::string& what) const {
  return Error(ErrorKind::data, str(name_, ": line ", line_, ": ", what));
}

void NumberReader::feed(std::string_view text) {
  while (skipped_ < options_.skip) {
    const std::size_t end = text.find('\n');
    begins_ = false;
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
    ++skipped_;
    ++line_;
  }
  while (!has_head_ && !text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size =
        std::min(kLongestHead - head_.size(), end == text.npos ? text.size() : end + 1);
    head_ += text.substr(0, size);
    text.remove_prefix(size);
    if (head_.ends_with('\n') || head_.size() == kLongestHead) read_head();
  }
  if (!text.empty()) forward(text);
}

// The first line with something in it is a header, or the first of the numbers.
void NumberReader::read_head() {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const std::string kept = std::exchange(head_, "");
  std::string_view line = kept;
  if (std::exchange(begins_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  const bool is_whole = line.ends_with('\n') || line.size() < kLongestHead;
  const std::string_view content = without_comment(line.substr(0, line.find('\n')));
  if (is_whole && std::all_of(content.begin(), content.end(), is_blank)) {
    line_ += line.ends_with('\n') ? 1 : 0;
    return;
  }
  has_head_ = true;
  const std::string delimiters = delimiters_in(content);
  const char delimiter = options_.delimiter != '\0' ? options_.delimiter
                         : delimiters.empty()       ? ' '
                                                    : delimiters.front();
  const std::vector<std::string_view> fields = fields_of(content, delimiter);
  // "Channel 1" above a single column is a name with a blank in it.
  const bool has_names = are_names(fields) || (delimiter == ' ' && is_name(fields.front()));
  // "2019" in "id,2019,2020" is a name too; "1" would be the first column.
  std::size_t number = 0;
  const bool is_number_of_one = read_count(options_.column, number) && number <= fields.size();
  const bool has_the_column =
      !options_.column.empty() && !is_number_of_one &&
      std::find(fields.begin(), fields.end(), options_.column) != fields.end() &&
      std::any_of(fields.begin(), fields.end(), is_name);
  if (!is_whole || !(has_names || has_the_column)) return forward(line);
  header_ = content;
  while (!header_.empty() && is_blank(header_.back())) header_.pop_back();
  notes_.push_back(str("line ", line_, " is a header: ", shown(header_)));
  header_line_ = line_++;
}

void NumberReader::forward(std::string_view text) {
  has_rows_ ? feed_rows(text) : feed_stream(text);
}

void NumberReader::feed_stream(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (in_comment_) {
      at = std::min(text.find('\n', at), text.size());
      in_comment_ = at == text.size();
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_separator(text[end]) && text[end] != '#') ++end;
    const std::string_view part = text.substr(at, end - at);
    if (end == text.size() || !begun_.empty()) {
      begun_ += part;
      if (begun_.size() > kLongestToken) token(begun_);  // which refuses it
    }
    if (end == text.size()) return;
    const bool is_bare = part.empty() && begun_.empty();  // a separator after another one
    if (begun_.empty()) {
      token(part);
    } else {
      token(begun_);
      begun_.clear();
    }
    const char separator = text[end];
    in_comment_ = separator == '#';
    if (is_bare && separator != '\n' && (separator == ',') != (separator_ == ',')) {
      has_loose_comma_ = has_loose_comma_ || in_line_ > 0;
    }
    separator_ = separator;
    if (separator == ',') comma();
    if (separator == '\n') end_line();
    at = end + 1;
  }
}

void NumberReader::comma() {
  if (!std::exchange(after_number_, false)) throw bad("no number before a comma");
  after_comma_ = true;
  ++commas_;
}

void NumberReader::token(std::string_view text) {
  if (text.empty()) return;
  if (!numbers_.add(text)) {
    const char* const hint = text.find(';') != text.npos      ? "; --delimiter ';' parts fields"
                             : delimiters_in(header_).empty() ? ""
                                                              : "; --column takes one of a table";
    throw bad(str(shown(text, 24), " is not a number", hint));
  }
  if (in_line_ > 0) (after_comma_ ? parts_by_comma_ : parts_by_blank_) = true;
  after_number_ = true;
  after_comma_ = false;
  ++in_line_;
}

void NumberReader::refuse_mixed() const {
  if (!parts_by_comma_ || !parts_by_blank_) return;
  throw bad("both commas and blanks part numbers; --delimiter ',' or --delimiter ' ' says which");
}

void NumberReader::end_line() {
  refuse_mixed();
  if (in_line_ > 0) {
    if (lines_++ == 0) columns_ = in_line_;
    is_ragged_ = is_ragged_ || in_line_ != columns_;
    pairs_ += in_line_ == 2 && commas_ == 1 && !has_loose_comma_ ? 1 : 0;
    singles_ += in_line_ == 1 && commas_ == 0 ? 1 : 0;
  }
  in_line_ = commas_ = 0;
  after_number_ = after_comma_ = parts_by_comma_ = parts_by_blank_ = has_loose_comma_ = false;
  ++line_;
}

void NumberReader::feed_rows(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    begun_ += text.substr(0, end);
    if (begun_.size() > kLongestRow) throw bad(str("a row of more than ", kLongestRow, " bytes"));
    if (end == text.npos) return;
    read_row(begun_);
    begun_.clear();
    text.remove_prefix(end + 1);
  }
}

void NumberReader::read_row(std::string_view line) {
  line = without_comment(line);
  if (std::all_of(line.begin(), line.end(), is_blank)) {
    ++line_;
    return;
  }
  if (delimiter_ == '\0') {
    const std::string found = delimiters_in(line);
    if (options_.delimiter == '\0' && found.size() > 1) {
      throw bad(str("both ", delimiter_name(found[0]), " and ", delimiter_name(found[1]),
                    " may part its fields; --delimiter says which"));
    }
    // Tabs that only align what blanks would part as well are blanks.
    const bool are_blanks = found == "\t" && delimiters_in(header_).empty() &&
                            fields_of(line, '\t') == fields_of(line, ' ');
    delimiter_ = options_.delimiter != '\0'    ? options_.delimiter
                 : found.empty() || are_blanks ? ' '
                                               : found[0];
  }
  const std::vector<std::string_view> fields = fields_of(line, delimiter_);
  if (options_.delimiter == '\0' && delimiter_ == ',') {
    parts_by_comma_ = fields.size() > 1;
    parts_by_blank_ = std::any_of(fields.begin(), fields.end(), holds_two_numbers);
    refuse_mixed();
  }
  if (lines_ == 0) find_column(fields.size());
  if (column_ > 0 && fields.size() != static_cast<std::size_t>(columns_) && lines_ > 0) {
    throw bad(str(fields.size(), " fields, expected ", columns_, " as in the lines before"));
  }
  if (column_ > 0) {
    take(fields[column_ - 1]);
  } else {
    for (const std::string_view field : fields) take(field);
  }
  in_line_ = static_cast<std::int64_t>(fields.size());
  end_line();
}

// Finds the wanted column of a table whose first row has `columns` fields.
void NumberReader::find_column(std::size_t columns) {
  const std::string& wanted = options_.column;
  const std::vector<std::string_view> names =
      header_.empty() ? std::vector<std::string_view>() : fields_of(header_, delimiter_);
  const auto refuse = [&](const std::string& what) {
    return Error(ErrorKind::usage, str(name_, ": --column ", shown(wanted), ": ", what));
  };
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (wanted.empty()) return;
  if (found != names.end()) {
    if (std::find(found + 1, names.end(), wanted) != names.end()) {
      throw refuse("two columns have this name; say its number");
    }
    if (names.size() != columns) {
      throw refuse(str("the header has ", names.size(), " names, but line ", line_, " has ",
                       columns, " fields; say its number"));
    }
    column_ = static_cast<std::size_t>(found - names.begin()) + 1;
    return;
  }
  if (wanted == "all") return;
  std::size_t number = 0;
  if (!read_count(wanted, number)) {
    const std::string near = nearest_name(wanted, Names(names));
    throw refuse(names.empty()  ? "there is no header with names; expected a number from 1, or all"
                 : near.empty() ? "no column has this name; the header is " + shown(header_)
                                : "no column has this name; did you mean '" + near + "'?");
  }
  if (number < 1 || number > columns) throw refuse(str("expected 1 to ", columns));
  column_ = number;
}

void NumberReader::take(std::string_view field) {
  if (numbers_.add(field)) return;
  if (field.empty()) throw bad("a field without a number");
  const auto comma = field.find(',');
  if (options_.delimiter != '\0' && comma != field.npos && field.find('.') == field.npos) {
    std::string number(field);
    number[comma] = '.';
    if (numbers_.add(number)) {
      if (!std::exchange(has_decimal_commas_, true)) {
        notes_.push_back(str("took ", shown(field), " for ", number, ", as --delimiter ",
                             delimiter_name(delimiter_), " says"));
      }
      return;
    }
  }
  throw bad(str(shown(field, 24), " is not a number"));
}

// Lines that seem to mean something, though nothing says what.
void NumberReader::check_columns() const {
  if (!options_.column.empty() || lines_ < 1) return;
  const auto refuse = [&](const std::string& what) {
    return Error(ErrorKind::data, str(name_, ": ", what));
  };
  const std::string all = ", --column all takes every number";
  const std::string delimiters = delimiters_in(header_);
  const std::vector<std::string_view> names =
      fields_of(header_, delimiters.empty() ? ' ' : delimiters.front());
  if (delimiters.empty() && !names.empty() && columns_ > 1 && !are_names(names)) {
    throw refuse(str(shown(header_), " is neither a header nor numbers; --skip N passes over the ",
                     "first N lines"));
  }
  if (columns_ > 1 && (names.size() > 1 || (lines_ > 1 && !is_ragged_))) {
    const bool are_pairs = names.empty() && pairs_ == lines_;
    throw refuse(
        str("a table of ", columns_, " columns",
            names.empty() ? ": --column N" : str(", ", shown(header_), ": --column NAME or N"),
            " takes one", all, are_pairs ? ", and --delimiter ' ' reads decimal commas" : ""));
  }
  if (lines_ > 1 && pairs_ > 0 && pairs_ + singles_ == lines_) {
    throw refuse(str("one number in some lines, and two with a comma in others: --delimiter ' ' ",
                     "reads decimal commas", all));
  }
}

NpyArray NumberReader::finish() {
  if (!has_head_ && !head_.empty()) read_head();
  if (has_rows_) {
    read_row(begun_);
  } else {
    token(begun_);
    end_line();
  }
  if (numbers_.empty() && !header_.empty()) {  // then it is none
    throw Error(ErrorKind::data, str(name_, ": line ", header_line_, ": ", shown(header_, 24),
                                     " is not a number, and none follows"));
  }
  if (numbers_.empty()) throw Error(ErrorKind::data, str(name_, ": holds no numbers"));
  check_columns();
  return numbers_.take();
}

template <class T>
void append_lines(std::string& out, std::span<const T> values) {
  std::size_t used = out.size();
  out.resize(used + values.size() * (kLongestNumber + 1));
  for (const T value : values) {
    char* end = write_number(out.data() + used, value);
    *end++ = '\n';
    used = static_cast<std::size_t>(end - out.data());
  }
  out.resize(used);
}

template <class T>
std::string number_text(T value) {
  char text[kLongestNumber];
  return {text, write_number(text, value)};
}

template void append_lines(std::string&, std::span<const std::int8_t>);
template void append_lines(std::string&, std::span<const std::int16_t>);
template void append_lines(std::string&, std::span<const std::int32_t>);
template void append_lines(std::string&, std::span<const std::int64_t>);
template void append_lines(std::string&, std::span<const std::uint8_t>);
template void append_lines(std::string&, std::span<const std::uint16_t>);
template void append_lines(std::string&, std::span<const std::uint32_t>);
template void append_lines(std::string&, std::span<const std::uint64_t>);
template void append_lines(std::string&, std::span<const float>);
template void append_lines(std::string&, std::span<const double>);
template std::string number_text(std::int8_t);
template std::string number_text(std::int16_t);
template std::string number_text(std::int32_t);
template std::string number_text(std::int64_t);
template std::string number_text(std::uint8_t);
template std::string number_text(std::uint16_t);
template std::string number_text(std::uint32_t);
template std::string number_text(std::uint64_t);
template std::string number_text(float);
template std::string number_text(double);

}  // namespace weft::data
