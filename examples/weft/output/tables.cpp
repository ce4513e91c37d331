// SPDX-License-Identifier: MIT
#include "examples/weft/output/tables.h"

#include <algorithm>

namespace weft::cli {
namespace {

std::string shown(const Cell& cell, const Terminal& terminal) {
  const std::string text = printable(cell.text);
  return cell.style.empty() ? text : paint(terminal, cell.style, text);
}

std::string padded(std::string_view text, Align align, int width) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return align == Align::left ? std::string(text) + fill : fill + std::string(text);
}

std::string row_by_row(const std::vector<Column>& columns, const std::vector<Cells>& rows,
                       const Terminal& terminal) {
  int width = 0;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    width = std::max(width, display_width(columns[i].heading));
  }
  std::string text;
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < columns.size() && i < row.size(); ++i) {
      if (i == 0) {
        text += paint(terminal, "1", wrapped(shown(row[i], {}), terminal.width, 0)) + "\n";
      } else if (!row[i].text.empty()) {
        text += "  " + paint(terminal, "2", padded(columns[i].heading, Align::left, width)) + "  " +
                wrapped(shown(row[i], terminal), terminal.width, width + 4) + "\n";
      }
    }
  }
  return text;
}

}  // namespace

std::string counted(std::int64_t n, std::string_view what) {
  return format_count(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

std::string format_row(const std::vector<Column>& columns, const Cells& cells,
                       const Terminal& terminal) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = i < cells.size() ? shown(cells[i], terminal) : "";
    const int width = std::max(columns[i].width, display_width(columns[i].heading));
    line += (i == 0 ? "" : "  ") + padded(cell, columns[i].align, width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string format_heading(const std::vector<Column>& columns, const Terminal& terminal) {
  Cells headings;
  std::size_t rule = 0;
  for (const Column& column : columns) {
    headings.emplace_back(column.heading);
    rule += static_cast<std::size_t>(std::max(column.width, display_width(column.heading))) + 2;
  }
  std::string line = format_row(columns, headings);
  line.pop_back();
  std::string under;
  for (std::size_t i = 0; i + 2 < rule; ++i) under += terminal.unicode ? "─" : "-";
  return paint(terminal, "1", line) + "\n" + paint(terminal, "2", under) + "\n";
}

std::string format_table(std::vector<Column> columns, const std::vector<Cells>& rows,
                         const Terminal& terminal) {
  for (Column& column : columns) column.heading = printable(column.heading);
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < columns.size() && i < row.size(); ++i) {
      columns[i].width = std::max(columns[i].width, display_width(printable(row[i].text)));
    }
  }
  int width = -2;
  for (const Column& column : columns) {
    width += std::max(column.width, display_width(column.heading)) + 2;
  }
  if (terminal.interactive && width > terminal.width) return row_by_row(columns, rows, terminal);
  std::string text = format_heading(columns, terminal);
  for (const Cells& row : rows) text += format_row(columns, row, terminal);
  return text;
}

std::string format_pairs(const Pairs& pairs, const Terminal& terminal) {
  int width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, display_width(name));
  std::string text;
  for (const auto& [name, value] : pairs) {
    text += paint(terminal, "2", padded(name, Align::left, width)) + "  " +
            wrapped(shown(value, terminal), terminal.width, width + 2) + "\n";
  }
  return text;
}

}  // namespace weft::cli
