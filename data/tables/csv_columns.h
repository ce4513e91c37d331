// SPDX-License-Identifier: MIT
// What the columns of a table of images are. Internal to csv.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

enum class ColumnUse : std::uint8_t {
  value,   // of one pixel and channel
  values,  // of all pixels, with blanks between them, as FER2013 has it
  label,
  set,    // "Training", "PublicTest": which set the row belongs to
  unused  // a number or a name of the row
};

// What the name of a column in a header says, in any case of letters.
bool is_label_column(std::string_view name);
bool is_set_column(std::string_view name);     // "Usage", "split"
bool is_unused_column(std::string_view name);  // "id", "index", ""

// The comma, semicolon or tab that parts the fields of the line, or a blank.
char delimiter_of(std::string_view line);

// The first and the last column that holds pixels or the label.
std::size_t first_used(const std::vector<ColumnUse>& uses);
std::size_t last_used(const std::vector<ColumnUse>& uses);

struct TableColumns {
  char delimiter = ',';
  bool has_header = false;
  std::vector<ColumnUse> uses;  // of each column

  bool has(ColumnUse use) const;
};

// From the first line and a sample of those below it. `label` is "first", "last", a name in the
// header, or empty. `usual` is "first", "last" or empty: where the label stands in a table beside
// this one, which decides where this one does not tell. Names in a header tell by themselves:
// label, class, target or the like; Usage or split; id or index. Numbers from 0 on are a header,
// too: pandas writes such. Without a name for it the label stands in the first or the last column:
// in the one that holds text, or whole numbers of 2 values or more where the other one has a single
// value, as the corner of a picture has. Where as many columns as a square of pixels has are left
// without a label, there is none. Throws data, with `where`, when the columns cannot be told, and
// usage when the table has no such `label`.
TableColumns columns_of(std::string_view first, const std::vector<std::string_view>& sample,
                        const std::string& label, const std::string& usual,
                        const std::string& where);

}  // namespace weft::data
