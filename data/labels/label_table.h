// SPDX-License-Identifier: MIT
// A table that may tell what pictures show: its rows, and which column is the label. Internal to
// labels/picture_labels.h.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/folder/layout.h"

namespace weft::data {

struct LabelRow {
  std::size_t line;
  std::vector<std::string_view> fields;
};

struct LabelTable {
  std::string where, name;
  std::vector<std::string_view> header = {};  // empty where there is none
  std::vector<LabelRow> rows = {};
  std::size_t pictures = 0, label = 0;  // columns
  // Where each class has a column of 0 and 1; the label is the name of the one with a 1.
  std::vector<std::size_t> one_hot = {};
  std::optional<std::size_t> set = {};  // a column
  std::optional<Split> split = {};      // of the table, by its name or that of its folder
  std::deque<std::string> cells = {};   // what the fields are views of, where it is no text

  // Throws data when a row has several classes, or none.
  std::string_view label_of(const LabelRow& row) const;
};

// By the ending of its name.
bool is_label_json(std::string_view name);

// The rows of a text with commas, semicolons, tabs or blanks, up to `most`.
std::vector<LabelRow> label_rows(std::string_view text, std::size_t most);

// The rows of JSON: an object on each line, a list of objects, {"1.png": "cat"}, [["1.png", 3]], or
// {"labels": any of these}. The first row is the header where the values have names. False when it
// is nothing of the kind.
bool read_label_json(std::string_view text, LabelTable& table);

// The value that a JSON object has by the name of a label; "" when it has none.
std::string label_in_json(std::string_view text);

// Finds the columns of label and set; table.pictures is known. `asked` is a column's name, first or
// last, or "". `classes`: those that labels have to be, or none where any will do. Of two columns
// that tell the same classes, as class_id and class_name, the words are taken. False when no column
// is left for a label. Throws data when several could be it, and usage when the one asked for is
// not there.
bool find_label(LabelTable& table, const std::string& asked,
                const std::set<std::string, std::less<>>& classes);

// Is it the name of a column that says, with 1 or True, that a row is for validation?
bool is_validation_flag(std::string_view name);

}  // namespace weft::data
