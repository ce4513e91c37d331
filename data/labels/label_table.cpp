// SPDX-License-Identifier: MIT
#include "data/labels/label_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/arrays/number_fields.h"
#include "data/picture/image.h"
#include "data/tables/csv_columns.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

using Json = nlohmann::json;
using Columns = std::vector<std::size_t>;

constexpr std::size_t kMostColumns = 4096;

Error bad_table(const LabelTable& table, const std::string& what) {
  return Error(ErrorKind::data, str(table.where, ": ", printable(what)));
}

std::string_view field_of(const LabelRow& row, std::size_t column) {
  return column < row.fields.size() ? row.fields[column] : std::string_view();
}

// What JSON nests deeper than labels do is left out, and so a hostile file needs no deep stack.
Json parsed(std::string_view text) {
  constexpr int kMostLevels = 5;
  const auto keeps = [](int depth, Json::parse_event_t, Json&) { return depth < kMostLevels; };
  return Json::parse(text.begin(), text.end(), keeps, false);
}

std::optional<std::string> scalar(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

class JsonRows {
 public:
  explicit JsonRows(LabelTable& table) : table_(table) {}

  bool add(const Json& value) {
    if (value.is_object()) return add_object(value);
    if (!value.is_array() || value.empty()) return false;
    return std::all_of(value.begin(), value.end(), [&](const Json& row) {
      return row.is_object() ? add_row(row) : row.is_array() && add_list(row);
    });
  }

  // An object of names and values as a row.
  bool add_row(const Json& object) {
    if (names_.empty()) {
      for (const auto& [name, value] : object.items()) {
        if (scalar(value) && names_.size() < kMostColumns) names_.push_back(name);
      }
      if (names_.empty()) return false;
      add_cells(names_);
    }
    std::vector<std::string> cells;
    for (const std::string& name : names_) {
      const auto found = object.find(name);
      cells.push_back(found == object.end() ? "" : scalar(*found).value_or(""));
    }
    add_cells(cells);
    return true;
  }

 private:
  bool add_object(const Json& object) {
    if (const auto labels = object.find("labels");
        labels != object.end() && labels->is_structured()) {
      return add(*labels);
    }
    for (const auto& [name, value] : object.items()) {
      const std::optional<std::string> label = scalar(value);
      if (!label || !has_picture_ending(name)) return false;  // {"0": "cat"} names a class
      add_cells({name, *label});
    }
    return !object.empty();
  }

  bool add_list(const Json& list) {
    std::vector<std::string> cells;
    for (const Json& value : list) {
      const std::optional<std::string> cell = scalar(value);
      if (!cell || cells.size() == kMostColumns) return false;
      cells.push_back(*cell);
    }
    add_cells(cells);
    return true;
  }

  void add_cells(const std::vector<std::string>& cells) {
    LabelRow row{table_.rows.size() + 1, {}};
    for (const std::string& cell : cells) row.fields.push_back(table_.cells.emplace_back(cell));
    table_.rows.push_back(std::move(row));
  }

  LabelTable& table_;
  std::vector<std::string> names_;
};

// Do both columns part the rows into the same classes, with two pictures in each on average?
bool tell_the_same(const LabelTable& table, std::size_t a, std::size_t b) {
  std::map<std::string_view, std::string_view> to, from;
  for (const LabelRow& row : table.rows) {
    const std::string_view of_a = field_of(row, a), of_b = field_of(row, b);
    if (to.try_emplace(of_a, of_b).first->second != of_b) return false;
    if (from.try_emplace(of_b, of_a).first->second != of_a) return false;
  }
  return 2 * to.size() <= table.rows.size();
}

bool holds_words(const LabelTable& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const LabelRow& row) { return !is_number(field_of(row, column)); });
}

// The one of several columns that all tell the same classes.
std::optional<std::size_t> one_of_the_same(const LabelTable& table, const Columns& columns) {
  const std::size_t first = columns.front();
  const bool are_same = std::all_of(columns.begin() + 1, columns.end(), [&](std::size_t other) {
    return tell_the_same(table, first, other);
  });
  if (!are_same) return std::nullopt;
  const auto words = std::find_if(columns.begin(), columns.end(),
                                  [&](std::size_t column) { return holds_words(table, column); });
  return words == columns.end() ? first : *words;
}

std::optional<bool> flag_of(std::string_view field) {
  if (field == "1" || field == "1.0") return true;
  if (field == "0" || field == "0.0") return false;
  return std::nullopt;
}

bool are_flags(const LabelTable& table, const Columns& columns) {
  return !table.header.empty() &&
         std::all_of(table.rows.begin(), table.rows.end(), [&](const LabelRow& row) {
           return std::all_of(columns.begin(), columns.end(), [&](std::size_t column) {
             return flag_of(field_of(row, column)).has_value();
           });
         });
}

// Does each row have a single 1?
bool are_one_hot(const LabelTable& table, const Columns& columns) {
  return are_flags(table, columns) &&
         std::all_of(table.rows.begin(), table.rows.end(), [&](const LabelRow& row) {
           return std::count_if(columns.begin(), columns.end(), [&](std::size_t column) {
                    return flag_of(field_of(row, column)).value_or(false);
                  }) == 1;
         });
}

// Are all labels of this column known classes?
bool holds_classes(const LabelTable& table, std::size_t column,
                   const std::set<std::string, std::less<>>& classes) {
  return !classes.empty() &&
         std::all_of(table.rows.begin(), table.rows.end(), [&](const LabelRow& row) {
           return column < row.fields.size() && classes.contains(row.fields[column]);
         });
}

std::string names_of(const LabelTable& table, const Columns& columns) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(columns.size(), 8); ++i) {
    if (i > 0) names += ", ";
    names += table.header.empty() ? std::to_string(columns[i] + 1)
                                  : std::string(table.header[columns[i]]);
  }
  return names + (columns.size() > 8 ? ", ..." : "");
}

std::size_t asked_column(const LabelTable& table, const std::string& asked, std::size_t columns) {
  if (asked == "first") return 0;
  if (asked == "last") return columns - 1;
  const auto found = std::find(table.header.begin(), table.header.end(), asked);
  if (found == table.header.end()) {
    throw Error(ErrorKind::usage,
                str(table.where, ": --label: there is no column ", shown(asked), " in the header"));
  }
  return static_cast<std::size_t>(found - table.header.begin());
}

}  // namespace

std::string_view LabelTable::label_of(const LabelRow& row) const {
  if (one_hot.empty()) return field_of(row, label);
  std::string_view found;
  for (const std::size_t column : one_hot) {
    if (!flag_of(field_of(row, column)).value_or(false)) continue;
    if (!found.empty()) {
      throw bad_table(*this, str("line ", row.line, ": the classes ", shown(found), " and ",
                                 shown(header[column]), ", expected one for each picture"));
    }
    found = header[column];
  }
  if (found.empty()) {
    throw bad_table(*this, str("line ", row.line, ": a picture of no class, expected one"));
  }
  return found;
}

bool is_label_json(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".jsonl") || name.ends_with(".ndjson");
}

std::vector<LabelRow> label_rows(std::string_view text, std::size_t most) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<LabelRow> rows;
  char delimiter = 0;
  for (std::size_t line = 1; !text.empty() && rows.size() < most; ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (std::all_of(row.begin(), row.end(), is_blank)) continue;
    if (delimiter == 0) delimiter = delimiter_of(row);
    rows.push_back({line, fields_of(row, delimiter)});
  }
  return rows;
}

bool read_label_json(std::string_view text, LabelTable& table) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  JsonRows rows(table);
  if (table.name.ends_with(".json")) return rows.add(parsed(text)) && !table.rows.empty();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (std::all_of(line.begin(), line.end(), is_blank)) continue;
    const Json object = parsed(line);
    if (!object.is_object() || !rows.add_row(object)) return false;
  }
  return !table.rows.empty();
}

std::string label_in_json(std::string_view text) {
  const Json object = parsed(text);
  if (!object.is_object()) return "";
  for (const auto& [name, value] : object.items()) {
    if (is_label_column(name)) return scalar(value).value_or("");
  }
  return "";
}

bool is_validation_flag(std::string_view name) {
  return name == "is_valid" || name == "is_val";
}

bool find_label(LabelTable& table, const std::string& asked,
                const std::set<std::string, std::less<>>& classes) {
  const std::size_t columns = table.rows.front().fields.size();
  Columns named, others;
  for (std::size_t c = 0; c < std::max(columns, table.header.size()); ++c) {
    const std::string_view name = c < table.header.size() ? table.header[c] : "";
    if (c == table.pictures) continue;
    if (is_set_column(name) || is_validation_flag(name)) {
      table.set = c;
    } else if (is_label_column(name) || holds_classes(table, c, classes)) {
      named.push_back(c);
    } else if (table.header.empty() || !is_unused_column(name)) {
      others.push_back(c);
    }
  }
  const Columns& candidates = named.empty() ? others : named;
  if (!asked.empty()) {
    table.label = asked_column(table, asked, columns);
  } else if (candidates.empty()) {
    return false;
  } else if (candidates.size() == 1) {
    table.label = candidates.front();
  } else if (named.empty() && are_one_hot(table, others)) {
    table.one_hot = others;
  } else if (const auto column = one_of_the_same(table, candidates)) {
    table.label = *column;
  } else if (!named.empty()) {
    table.label = named.front();
  } else if (are_flags(table, others)) {
    table.one_hot = others;
  } else {
    throw bad_table(table, str("which of its columns is the label? --label NAME says so: ",
                               names_of(table, others)));
  }
  return true;
}

}  // namespace weft::data
