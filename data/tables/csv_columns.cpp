// SPDX-License-Identifier: MIT
#include "data/tables/csv_columns.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <set>

#include "data/arrays/number_fields.h"
#include "data/folder/layout.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::string_view kLabelNames[] = {
    "label",       "labels",        "class",      "classes",   "target",   "targets",
    "digit",       "emotion",       "y",          "category",  "letter",   "species",
    "class_id",    "classid",       "class_name", "classname", "label_id", "label_name",
    "category_id", "category_name", "diagnosis"};
constexpr std::string_view kSetNames[] = {"usage", "split", "set", "subset"};
constexpr std::string_view kUnusedNames[] = {"",   "id",  "index",      "idx",
                                             "no", "row", "unnamed: 0", "image_id"};

using Fields = std::vector<std::string_view>;

template <class List, class Value>
bool holds(const List& list, const Value& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

std::string small(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_square(std::size_t values) {
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}}) {
    const auto side = static_cast<std::size_t>(
        std::llround(std::sqrt(static_cast<double>(values) / static_cast<double>(channels))));
    if (side > 1 && channels * side * side == values) return true;
  }
  return false;
}

// 0, 1, 2, ... as pandas writes above columns without names, behind an empty field where it writes
// the numbers of the rows too.
bool counts_columns(const Fields& header) {
  const std::size_t begin = !header.empty() && header.front().empty() ? 1 : 0;
  for (std::size_t i = begin; i < header.size(); ++i) {
    if (header[i] != std::to_string(i - begin)) return false;
  }
  return header.size() > begin + 1;
}

bool is_used(ColumnUse use) {
  return use != ColumnUse::unused && use != ColumnUse::set;
}

// Is it a whole number in any of its writings, as 7, 7.0 and NumPy's 7.000000000000000000e+00? What
// is no number is said to be whole.
bool is_whole(std::string_view field) {
  if (!is_number(field)) return true;
  const double value = std::strtod(std::string(field).c_str(), nullptr);
  return value == std::floor(value);
}

// What a sample says about one column.
struct ColumnLook {
  std::set<std::string_view> values;
  bool is_text = false, is_whole = true;  // text: something in it is no number
};

ColumnLook look_at(const std::vector<Fields>& rows, std::size_t column) {
  ColumnLook look;
  for (const Fields& row : rows) {
    if (column >= row.size()) continue;
    const std::string_view field = row[column];
    look.values.insert(field);
    look.is_text = look.is_text || !is_number(field);
    look.is_whole = look.is_whole && is_whole(field);
  }
  return look;
}

class Chooser {
 public:
  Chooser(const Fields& header, const std::vector<Fields>& rows, const std::string& label,
          const std::string& usual, const std::string& where)
      : header_(header),
        rows_(rows),
        asked_(label),
        usual_(usual),
        where_(where),
        columns_(rows.front().size()) {}

  std::vector<ColumnUse> choose() {
    uses_.assign(columns_, ColumnUse::value);
    name_columns();
    if (!asked_.empty()) {
      uses_[asked_column()] = ColumnUse::label;
    } else if (!holds(uses_, ColumnUse::label)) {
      find_label();
    }
    return uses_;
  }

 private:
  void name_columns() {
    std::size_t label = columns_;
    for (std::size_t i = 0; i < header_.size() && i < columns_; ++i) {
      if (is_unused_column(header_[i])) uses_[i] = ColumnUse::unused;
      if (is_set_column(header_[i])) uses_[i] = ColumnUse::set;
      if (is_label_column(header_[i]) && label == columns_) label = i;
    }
    for (std::size_t i = 0; i < columns_; ++i) {
      if (holds_two_numbers(rows_.front()[i])) uses_[i] = ColumnUse::values;
    }
    if (asked_.empty() && label < columns_) uses_[label] = ColumnUse::label;
    if (!holds(uses_, ColumnUse::values)) return;
    for (ColumnUse& use : uses_) {
      if (use == ColumnUse::value) use = ColumnUse::unused;
    }
  }

  std::size_t asked_column() const {
    if (asked_ == "first") return first_used(uses_);
    if (asked_ == "last") return last_used(uses_);
    const auto found = std::find(header_.begin(), header_.end(), std::string_view(asked_));
    if (found == header_.end()) {
      throw Error(ErrorKind::usage,
                  str(where_, ": --label: there is no column ", shown(asked_),
                      header_.empty() ? ", for the table has no header: expected first or last"
                                      : " in the header"));
    }
    return static_cast<std::size_t>(found - header_.begin());
  }

  void find_label() {
    const auto values =
        static_cast<std::size_t>(std::count(uses_.begin(), uses_.end(), ColumnUse::value));
    if (is_square(values) && !is_square(values - 1)) return;  // no column is left for a label
    const std::size_t front = first_used(uses_), back = last_used(uses_);
    const ColumnLook first = look_at(rows_, front), last = look_at(rows_, back);
    const auto may_label = [](const ColumnLook& look) {
      return look.is_text || (look.is_whole && look.values.size() > 1);
    };
    const bool first_may = may_label(first), last_may = may_label(last);
    if (first.is_text != last.is_text) {
      uses_[first.is_text ? front : back] = ColumnUse::label;
    } else if (first_may != last_may) {
      uses_[first_may ? front : back] = ColumnUse::label;
    } else if (!usual_.empty()) {
      uses_[usual_ == "first" ? front : back] = ColumnUse::label;
    } else {
      throw Error(ErrorKind::data,
                  str(where_, ": which of its ", columns_, " columns is the label? ",
                      "--label first, --label last or --label NAME says so"));
    }
  }

  const Fields& header_;
  const std::vector<Fields>& rows_;
  const std::string &asked_, &usual_;
  const std::string& where_;
  std::size_t columns_;
  std::vector<ColumnUse> uses_;
};

}  // namespace

bool is_label_column(std::string_view name) {
  std::string word = small(name);
  std::replace(word.begin(), word.end(), ' ', '_');
  return holds(kLabelNames, word);
}

bool is_set_column(std::string_view name) {
  return holds(kSetNames, small(name));
}

bool is_unused_column(std::string_view name) {
  return holds(kUnusedNames, small(name));
}

char delimiter_of(std::string_view line) {
  const std::string found = delimiters_in(line);
  for (const char delimiter : {',', ';', '\t'}) {
    if (found.find(delimiter) != std::string::npos) return delimiter;
  }
  return ' ';
}

std::size_t first_used(const std::vector<ColumnUse>& uses) {
  const auto found = std::find_if(uses.begin(), uses.end(), is_used);
  return found == uses.end() ? 0 : static_cast<std::size_t>(found - uses.begin());
}

std::size_t last_used(const std::vector<ColumnUse>& uses) {
  const auto found = std::find_if(uses.rbegin(), uses.rend(), is_used);
  return static_cast<std::size_t>(uses.rend() - found) - (found == uses.rend() ? 0 : 1);
}

bool TableColumns::has(ColumnUse use) const {
  return std::find(uses.begin(), uses.end(), use) != uses.end();
}

TableColumns columns_of(std::string_view first, const std::vector<std::string_view>& sample,
                        const std::string& label, const std::string& usual,
                        const std::string& where) {
  TableColumns columns;
  columns.delimiter = delimiter_of(first);
  Fields header = fields_of(first, columns.delimiter);
  columns.has_header = are_names(header) || counts_columns(header) ||
                       std::any_of(header.begin(), header.end(), [](std::string_view field) {
                         return field.size() > 1 && holds(kLabelNames, small(field));
                       });
  if (!columns.has_header) header.clear();
  std::vector<Fields> rows;
  if (!columns.has_header) rows.push_back(fields_of(first, columns.delimiter));
  for (const std::string_view line : sample) rows.push_back(fields_of(line, columns.delimiter));
  if (rows.empty()) throw Error(ErrorKind::data, str(where, ": no rows below the header"));
  if (columns.has_header && header.size() != rows.front().size()) {
    throw Error(ErrorKind::data, str(where, ": ", header.size(), " names in the header, but ",
                                     rows.front().size(), " columns"));
  }
  columns.uses = Chooser(header, rows, label, usual, where).choose();
  return columns;
}

}  // namespace weft::data
