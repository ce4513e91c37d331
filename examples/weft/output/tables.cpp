// SPDX-License-Identifier: MIT
#include "examples/weft/output/tables.h"

#include <algorithm>

namespace weft::cli {
namespace {

std::string padded(std::string_view text, Align align, int width) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return align == Align::left ? std::string(text) + fill : fill + std::string(text);
}

}  // namespace

std::string counted(std::int64_t n, std::string_view what) {
  return format_count(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

std::string format_row(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string_view cell = i < cells.size() ? std::string_view(cells[i]) : "";
    const int width = std::max(columns[i].width, display_width(columns[i].heading));
    line += (i == 0 ? "" : "  ") + padded(cell, columns[i].align, width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string format_heading(const std::vector<Column>& columns, const Terminal& terminal) {
  std::vector<std::string> headings;
  std::size_t rule = 0;
  for (const Column& column : columns) {
    headings.push_back(column.heading);
    rule += static_cast<std::size_t>(std::max(column.width, display_width(column.heading))) + 2;
  }
  std::string line = format_row(columns, headings);
  line.pop_back();
  std::string under;
  for (std::size_t i = 0; i + 2 < rule; ++i) under += terminal.unicode ? "─" : "-";
  return paint(terminal, "1", line) + "\n" + paint(terminal, "2", under) + "\n";
}

std::string format_table(std::vector<Column> columns,
                         const std::vector<std::vector<std::string>>& rows,
                         const Terminal& terminal) {
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < columns.size() && i < row.size(); ++i) {
      columns[i].width = std::max(columns[i].width, display_width(row[i]));
    }
  }
  std::string text = format_heading(columns, terminal);
  for (const std::vector<std::string>& row : rows) text += format_row(columns, row);
  return text;
}

std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs,
                         const Terminal& terminal) {
  int width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, display_width(name));
  std::string text;
  for (const auto& [name, value] : pairs) {
    text += paint(terminal, "2", padded(name, Align::left, width)) + "  " +
            wrapped(value, terminal.width, width + 2) + "\n";
  }
  return text;
}

}  // namespace weft::cli
