// SPDX-License-Identifier: MIT
// Tables of text for people: aligned columns, one rule under the headings.
#pragma once

#include <string>
#include <vector>

#include "examples/weft/output/terminal.h"

namespace weft::cli {

enum class Align { left, right };

struct Column {
  std::string heading;
  Align align = Align::right;
  int width = 0;  // at least; wider cells widen the column of a whole table
};

// One line, for tables whose rows arrive over time; includes the newline.
std::string format_row(const std::vector<Column>& columns, const std::vector<std::string>& cells);
std::string format_heading(const std::vector<Column>& columns, const Terminal& terminal);
std::string format_table(std::vector<Column> columns,
                         const std::vector<std::vector<std::string>>& rows,
                         const Terminal& terminal);

std::string counted(std::int64_t n, std::string_view what);  // "1 epoch", "2 epochs"

// "name      value" lines with aligned values.
std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs,
                         const Terminal& terminal);

}  // namespace weft::cli
