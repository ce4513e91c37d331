// SPDX-License-Identifier: MIT
#include "models/nbody/bodies_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"

namespace weft::models {
namespace {

constexpr std::size_t kColumns = std::size(kBodyColumns);
constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// What stands between commas or semicolons, or else between blanks.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  const std::size_t mark = line.find_first_of(",;");
  const std::string separators(mark == std::string_view::npos ? kBlank : line.substr(mark, 1));
  while (true) {
    const std::size_t end = line.find_first_of(separators);
    fields.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
    if (mark == std::string_view::npos) line = trimmed(line);
  }
}

std::optional<double> number(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

// Where each of x y z vx vy vz mass stands.
using Order = std::array<std::size_t, kColumns>;

Order order_of(const std::vector<std::string_view>& names, const std::string& where) {
  Order order{};
  for (std::size_t column = 0; column < kColumns; ++column) {
    const auto found = std::find(names.begin(), names.end(), kBodyColumns[column]);
    order[column] = static_cast<std::size_t>(found - names.begin());
    const bool has_id = std::ranges::count(names, "id") == 1;
    if (names.size() == kColumns + has_id && found != names.end()) continue;
    throw Error(ErrorKind::data, str(where, ": expected the columns x,y,z,vx,vy,vz,mass, found ",
                                     shown(fmt::format("{}", fmt::join(names, ",")))));
  }
  return order;
}

}  // namespace

void set_body(Bodies& bodies, std::int64_t index, const double (&row)[7],
              const std::string& where) {
  const std::size_t i = static_cast<std::size_t>(4 * index);
  for (std::size_t column = 0; column < kColumns; ++column) {
    const double value = row[column];
    // Half a unit above the largest float: what is below rounds to a finite one.
    if (!(std::fabs(value) < 0x1.ffffffp127)) {
      throw Error(ErrorKind::data, str(where, ": ", kBodyColumns[column],
                                       ": expected a finite float, found ", value));
    }
    const bool is_velocity = column >= 3 && column < 6;
    std::vector<double>& values = is_velocity ? bodies.velocity : bodies.position;
    values[i + (column == 6 ? 3 : column % 3)] = value;
  }
  if (row[6] < 0) {
    throw Error(ErrorKind::data, str(where, ": mass: expected 0 or more, found ", row[6]));
  }
}

void BodiesCsvReader::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    check_length(begun_.size() + part.size());
    begun_ += part;
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
    line(begun_);
    begun_.clear();
  }
}

Bodies BodiesCsvReader::finish() {
  if (!begun_.empty()) line(begun_);
  if (bodies_.count() == 0) {
    throw Error(ErrorKind::data, str(where_, ": no bodies, expected rows of x,y,z,vx,vy,vz,mass"));
  }
  return std::move(bodies_);
}

void BodiesCsvReader::check_length(std::size_t bytes) const {
  constexpr std::size_t kLongestLine = std::size_t{64} << 10;
  if (bytes <= kLongestLine) return;
  throw Error(ErrorKind::data, str(where_, ", line ", line_number_ + 1, ": more than ",
                                   kLongestLine, " bytes, expected 7 numbers"));
}

void BodiesCsvReader::line(std::string_view line) {
  ++line_number_;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (line_number_ == 1 && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  line = trimmed(line);
  if (line.empty() || line.starts_with('#')) return;
  const std::string place = str(where_, ", line ", line_number_);
  const std::vector<std::string_view> fields = fields_of(line);
  const bool has_names = first_ && !fields.front().empty() && !number(fields.front());
  first_ = false;
  if (has_names) {
    order_ = order_of(fields, place);
    columns_ = fields.size();
    return;
  }
  if (fields.size() != columns_) {
    throw Error(ErrorKind::data,
                str(place, ": expected ", columns_, " numbers (x,y,z,vx,vy,vz,mass",
                    columns_ > kColumns ? " and the id), found " : "), found ", fields.size(), ": ",
                    shown(line)));
  }
  double row[kColumns];
  for (std::size_t column = 0; column < kColumns; ++column) {
    const std::string_view field = fields[order_[column]];
    const std::optional<double> value = number(field);
    if (!value) {
      throw Error(ErrorKind::data, str(place, ": ", kBodyColumns[column],
                                       ": expected a number, found ", shown(field)));
    }
    row[column] = *value;
  }
  const std::int64_t index = bodies_.count();
  if (index == kMaxBodies) {
    throw Error(ErrorKind::data, str(where_, ": more than ", kMaxBodies, " bodies"));
  }
  bodies_.position.resize(bodies_.position.size() + 4);
  bodies_.velocity.resize(bodies_.velocity.size() + 4);
  bodies_.group.push_back(0);
  set_body(bodies_, index, row, place);
}

Bodies parse_bodies_csv(std::string_view text, const std::string& where) {
  BodiesCsvReader reader(where);
  reader.feed(text);
  return reader.finish();
}

std::string bodies_csv(const Bodies& bodies, BodyIds ids) {
  const bool numbered = ids == BodyIds::written;
  std::string text = fmt::format("{}{}\n", numbered ? "id," : "", fmt::join(kBodyColumns, ","));
  for (std::size_t i = 0; i < bodies.position.size(); i += 4) {
    const double* x = bodies.position.data() + i;
    const double* v = bodies.velocity.data() + i;
    if (numbered) fmt::format_to(std::back_inserter(text), "{},", i / 4);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{}\n", x[0], x[1], x[2], v[0], v[1],
                   v[2], x[3]);
  }
  return text;
}

}  // namespace weft::models
