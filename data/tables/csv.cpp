// SPDX-License-Identifier: MIT
#include "data/tables/csv.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "data/arrays/number_fields.h"
#include "data/folder/layout.h"
#include "data/tables/csv_columns.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

bool is_blank_line(std::string_view line) {
  return std::all_of(line.begin(), line.end(), is_blank);
}

// Does a line begin with #, and is no row, whose label may begin with it? Then it is a comment.
bool is_comment(std::string_view line, std::size_t fields, char delimiter) {
  return line.starts_with('#') && fields_of(line, delimiter).size() != fields;
}

// The first line that is no comment. numpy.savetxt() writes the header behind a #; the names of as
// many columns as the next line has are one, and numbers there are a row that was taken out.
std::string first_of(TableText& text, std::int64_t& line, const std::string& where) {
  std::string first;
  while (is_blank_line(first)) {
    const std::optional<std::string_view> next = text.next();
    if (!next) throw Error(ErrorKind::data, str(where, ": an empty table"));
    first = line == 0 ? without_byte_order_mark(*next) : *next;
    ++line;
    if (!first.starts_with('#')) continue;
    const std::vector<std::string> behind = text.sample();
    if (behind.empty()) continue;
    const char delimiter = delimiter_of(behind.front());
    std::string names = first.substr(std::min(first.find_first_not_of("# "), first.size()));
    const std::size_t columns = fields_of(behind.front(), delimiter).size();
    if (behind.front().starts_with('#')) {
      if (is_comment(first, columns, delimiter)) first.clear();
      continue;
    }
    const std::vector<std::string_view> fields = fields_of(names, delimiter);
    const bool are_names = fields.size() == columns && !is_number(fields.front());
    first = are_names ? std::move(names) : "";
  }
  return first;
}

// Bytes as long as all values are such, floats from the first other one on.
class Values {
 public:
  void add_byte(std::uint8_t value) {
    has_floats_ ? floats_.push_back(value) : bytes_.push_back(value);
  }
  void add(float value) {
    if (value >= 0 && value <= 255 && value == static_cast<float>(static_cast<int>(value))) {
      return add_byte(static_cast<std::uint8_t>(value));
    }
    if (!has_floats_) {
      floats_.assign(bytes_.begin(), bytes_.end());
      bytes_.clear();
      has_floats_ = true;
    }
    floats_.push_back(value);
  }
  void reserve(std::size_t count) { bytes_.reserve(count); }
  std::size_t size() const { return has_floats_ ? floats_.size() : bytes_.size(); }
  void move_to(LabelledValues& values) {
    values.bytes = std::move(bytes_);
    values.floats = std::move(floats_);
  }

 private:
  Bytes bytes_;
  HostArray<float> floats_;
  bool has_floats_ = false;
};

class RowReader {
 public:
  RowReader(const TableColumns& columns, const std::string& where)
      : columns_(columns), where_(where) {}

  // Room for the values of a table of so many bytes, of which these are rows.
  void reserve(std::uint64_t bytes, const std::vector<std::string>& sample) {
    std::uint64_t size = 0;
    for (const std::string& row : sample) size += row.size() + 1;
    if (size == 0) return;
    const auto pixels = static_cast<std::uint64_t>(
        std::count(columns_.uses.begin(), columns_.uses.end(), ColumnUse::value));
    const std::uint64_t rows = bytes * sample.size() / size;
    values_.reserve(static_cast<std::size_t>(std::min((rows + rows / 50) * pixels, bytes / 2)));
  }

  void read(std::string_view line, std::int64_t number) {
    line_ = number;
    std::size_t column = 0;
    const char *at = line.data(), *const end = at + line.size();
    while (true) {
      while (columns_.delimiter == ' ' && at != end && is_blank(*at)) ++at;
      if (column == columns_.uses.size() && at == end) break;
      if (column == columns_.uses.size() || (columns_.delimiter == ' ' && at == end)) {
        throw bad_count(line);
      }
      if (columns_.uses[column] == ColumnUse::value && plain_byte(at, end)) {
        ++column;
        continue;
      }
      if (at == end && column > 0 && line.back() != columns_.delimiter) throw bad_count(line);
      const std::string_view field = next_field(at, end);
      take(field, columns_.uses[column], column);
      ++column;
    }
    const std::size_t found = values_.size() - before_;
    if (per_row_ == 0) per_row_ = found;
    if (found != per_row_) {
      throw bad(str("expected ", per_row_, " values as in the first row, found ", found));
    }
    before_ = values_.size();
    ++rows_;
  }

  CsvImages finish(const PictureShape& shape) {
    if (rows_ == 0) throw Error(ErrorKind::data, str(where_, ": no rows below the header"));
    const ImageExtents extents = extents_of(static_cast<std::int64_t>(per_row_), shape, where_);
    LabelledValues& values = images_.values;
    values.where = where_;
    values.count = rows_;
    values.channels = extents.channels;
    values.height = extents.height;
    values.width = extents.width;
    values_.move_to(values);
    separate_channels(values);
    return std::move(images_);
  }

 private:
  Error bad(const std::string& what) const {
    return Error(ErrorKind::data, str(where_, ": line ", line_, ": ", what));
  }
  Error bad_count(std::string_view line) const {
    return bad(str("expected ", columns_.uses.size(), " fields as in the first line, found ",
                   fields_of(line, columns_.delimiter).size()));
  }

  // One to three digits up to the delimiter, which is nearly all that such a table holds.
  bool plain_byte(const char*& at, const char* end) {
    const char* p = at;
    unsigned value = 0;
    while (p != end && p - at < 3 && *p >= '0' && *p <= '9') {
      value = 10 * value + static_cast<unsigned>(*p++ - '0');
    }
    if (p == at || value > 255 || (p != end && *p != columns_.delimiter)) return false;
    if (p == end && columns_.delimiter == ' ') return false;
    values_.add_byte(static_cast<std::uint8_t>(value));
    at = p == end ? p : p + 1;
    return true;
  }

  // Leaves `at` behind the delimiter. Blanks and one pair of double quotes around a field go.
  std::string_view next_field(const char*& at, const char* end) const {
    const auto delimits = [&](char c) {
      return columns_.delimiter == ' ' ? is_blank(c) : c == columns_.delimiter;
    };
    while (at != end && is_blank(*at) && (columns_.delimiter == ' ' || !delimits(*at))) ++at;
    const char* p = at;
    if (p != end && *p == '"') {
      const auto* quote =
          static_cast<const char*>(std::memchr(p + 1, '"', static_cast<std::size_t>(end - p - 1)));
      if (quote == nullptr) throw bad("a double quote has no end");
      const std::string_view field(p + 1, static_cast<std::size_t>(quote - p - 1));
      p = quote + 1;
      while (p != end && is_blank(*p) && !delimits(*p)) ++p;
      if (p != end && !delimits(*p)) throw bad("text behind a field in double quotes");
      at = p == end ? p : p + 1;
      return field;
    }
    while (p != end && !delimits(*p)) ++p;
    std::string_view field(at, static_cast<std::size_t>(p - at));
    at = p == end ? p : p + 1;
    while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
    return field;
  }

  void take(std::string_view field, ColumnUse use, std::size_t column) {
    switch (use) {
      case ColumnUse::value:
        values_.add(number(field, column));
        break;
      case ColumnUse::values:
        for (const std::string_view part : fields_of(field, ' ')) {
          values_.add(number(part, column));
        }
        break;
      case ColumnUse::label:
        if (field.empty()) throw bad("an empty label");
        images_.values.labels.emplace_back(field);
        break;
      case ColumnUse::set:
        images_.sets.push_back(set_of(field));
        break;
      case ColumnUse::unused:
        break;
    }
  }

  float number(std::string_view field, std::size_t column) const {
    float value = 0;
    const char* end = field.data() + field.size();
    const auto [stop, code] = std::from_chars(field.data(), end, value);
    if (code != std::errc{} || stop != end) {
      throw bad(str("column ", column + 1, ": expected a number, found ", shown(field)));
    }
    return value;
  }

  Split set_of(std::string_view field) const {
    for (const std::string& word : words_of(field)) {
      if (const std::optional<Split> set = split_of(word)) return *set;
    }
    throw bad(str("expected the name of a set, as training or test, found ", shown(field)));
  }

  const TableColumns& columns_;
  const std::string& where_;
  Values values_;
  CsvImages images_;
  std::int64_t line_ = 0, rows_ = 0;
  std::size_t before_ = 0, per_row_ = 0;
};

}  // namespace

CsvImages read_csv(TableText& text, const std::string& label, const std::string& usual,
                   const PictureShape& shape, const std::string& where) {
  std::int64_t line = 0;
  const std::string first = first_of(text, line, where);
  const char delimiter = delimiter_of(first);
  const std::size_t fields = fields_of(first, delimiter).size();
  std::vector<std::string> sample = text.sample();
  std::erase_if(sample, [&](const auto& row) { return is_comment(row, fields, delimiter); });
  const TableColumns columns =
      columns_of(first, {sample.begin(), sample.end()}, label, usual, where);
  constexpr auto kLeastPixels = 4;
  const auto pixels = std::count(columns.uses.begin(), columns.uses.end(), ColumnUse::value);
  if (pixels < kLeastPixels && !columns.has(ColumnUse::values)) return {};
  RowReader reader(columns, where);
  reader.reserve(text.bytes(), sample);
  if (!columns.has_header) reader.read(first, line);
  while (const std::optional<std::string_view> row = text.next()) {
    ++line;
    if (!is_blank_line(*row) && !is_comment(*row, fields, delimiter)) reader.read(*row, line);
  }
  CsvImages images = reader.finish(shape);
  if (columns.uses[first_used(columns.uses)] == ColumnUse::label) images.label = "first";
  if (columns.uses[last_used(columns.uses)] == ColumnUse::label) images.label = "last";
  return images;
}

LabelledValues rows_of(const CsvImages& images, Split set) {
  const LabelledValues& all = images.values;
  LabelledValues part{
      .where = all.where, .channels = all.channels, .height = all.height, .width = all.width};
  const auto pixels = all.channels * all.height * all.width;
  for (std::int64_t row = 0; row < all.count; ++row) {
    if (images.sets[static_cast<std::size_t>(row)] != set) continue;
    const auto take = [&](const auto& from, auto& to) {
      if (from.empty()) return;
      to.insert(to.end(), from.begin() + row * pixels, from.begin() + (row + 1) * pixels);
    };
    take(all.bytes, part.bytes);
    take(all.floats, part.floats);
    part.labels.push_back(all.labels[static_cast<std::size_t>(row)]);
    ++part.count;
  }
  return part;
}

}  // namespace weft::data
