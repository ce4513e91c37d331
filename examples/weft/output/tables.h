// SPDX-License-Identifier: MIT
// Tables of text for people: aligned columns, one rule under the headings.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "examples/weft/output/terminal.h"

namespace weft::cli {

enum class Align { left, right };

// A cell, which is printed in one line whatever its text holds, and how: "1" is bold, "31" red.
struct Cell {
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view> Cell(const Text& content,
                                                                     std::string_view painted = {})
      : text(content), style(painted) {}

  std::string text;
  std::string_view style;
};
using Cells = std::vector<Cell>;
using Pairs = std::vector<std::pair<std::string, Cell>>;  // a name and what is told of it

struct Column {
  std::string heading;
  Align align = Align::right;
  int width = 0;  // at least; wider cells widen the column of a whole table
};

// One line, for tables whose rows arrive over time; includes the newline.
std::string format_row(const std::vector<Column>& columns, const Cells& cells,
                       const Terminal& terminal = {});
std::string format_heading(const std::vector<Column>& columns, const Terminal& terminal);
// A table that is wider than a terminal is shown row by row: the first cell, and below it a line
// with heading and value for each other cell. In a pipe a table stays one.
std::string format_table(std::vector<Column> columns, const std::vector<Cells>& rows,
                         const Terminal& terminal);

std::string counted(std::int64_t n, std::string_view what);  // "1 epoch", "2 epochs"

// "name      value" lines with aligned values.
std::string format_pairs(const Pairs& pairs, const Terminal& terminal);

}  // namespace weft::cli
