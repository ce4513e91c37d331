// SPDX-License-Identifier: MIT
#include "examples/weft/predict/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/ink/grid.h"
#include "engine/error.h"
#include "engine/text.h"
#include "examples/weft/input/array_input.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

data::Grid grid_of_marks(const std::vector<ReadMark>& marks, const std::string& path,
                         std::int64_t rows, std::int64_t columns) {
  std::vector<data::InkBox> boxes;
  for (const ReadMark& mark : marks) boxes.push_back(mark.prepared.box);
  return {boxes, rows, columns, path, boxes.size() == 1 ? "mark" : "marks"};
}

// Is the mark a box that nothing is written in? Then it is larger than the ground inside of it.
bool is_printed(const data::InkBox& mark, const std::vector<data::InkBox>& printed) {
  return std::any_of(printed.begin(), printed.end(), [&](const data::InkBox& box) {
    return mark.left <= box.left && mark.top <= box.top && mark.right() >= box.right() &&
           mark.bottom() >= box.bottom();
  });
}

// "2 cells are empty: row 1, column 2; row 3, column 1"; "" for none.
template <class Is>
std::string cells_that(const Form& form, const char* what, Is is) {
  std::string where;
  int count = 0;
  for (std::size_t i = 0; i < form.cells.size(); ++i) {
    if (!is(form.cells[i])) continue;
    ++count;
    const auto at = static_cast<std::int64_t>(i);
    where += fmt::format("{}row {}, column {}", where.empty() ? "" : "; ", at / form.columns + 1,
                         at % form.columns + 1);
  }
  if (count == 0) return "";
  return fmt::format("  {} {} {}: {}\n", count, count == 1 ? "cell is" : "cells are", what, where);
}

std::string cell_text(const Form& form, const FormCell& cell, const Classes& classes) {
  if (cell.is_empty()) return "-";
  if (cell.marks.empty()) return "?";
  return form.text_of(cell, classes) + (form.is_unsure(cell) ? "?" : "");
}

}  // namespace

std::string Form::text_of(const FormCell& cell, const Classes& classes) const {
  std::string text;
  for (const std::size_t mark : cell.marks) {
    text += classes.name(static_cast<std::int64_t>(marks[mark].answer.ranking.front()));
  }
  return text;
}

bool Form::is_unsure(const FormCell& cell) const {
  return std::any_of(cell.marks.begin(), cell.marks.end(),
                     [&](std::size_t mark) { return marks[mark].answer.unsure; });
}

double Form::probability(const FormCell& cell) const {
  double least = cell.marks.empty() ? 0 : 1;
  for (const std::size_t mark : cell.marks) least = std::min(least, certainty(marks[mark]));
  return least;
}

Form read_form(const data::GreyImage& image, data::Invert invert, const std::string& path,
               std::int64_t rows, std::int64_t columns, models::Classifier& classifier,
               data::PictureSize size) {
  const std::vector<data::InkBox> printed = data::boxes_of_form(image, invert);
  // The printed boxes are the grid when they are more than half of it.
  const bool has_boxes = 2 * std::ssize(printed) > rows * columns;
  Form form{rows, columns, false, {}, {}, {}};
  std::vector<ReadMark> marks;
  std::vector<data::InkBox> left_out;
  try {
    marks = read_marks(image, invert, path, classifier, size);
    form.is_inverted = marks.front().prepared.inverted;
    left_out = marks.front().prepared.left_out.boxes;
  } catch (const data::NothingToRead& nothing) {
    if (!has_boxes) throw;
    form.is_inverted = nothing.inverted;
    left_out = nothing.left_out.boxes;
  }
  std::erase_if(marks,
                [&](const ReadMark& mark) { return is_printed(mark.prepared.box, printed); });
  const data::Grid grid = has_boxes ? data::Grid(printed, rows, columns, path, "printed boxes")
                                    : grid_of_marks(marks, path, rows, columns);
  form.marks = std::move(marks);
  form.cells.resize(static_cast<std::size_t>(rows * columns));
  const auto cell_at = [&](const data::InkBox& box) -> FormCell* {
    const auto cell = grid.cell_of(box);
    if (!cell) return nullptr;
    return &form.cells[static_cast<std::size_t>(cell->row * columns + cell->column)];
  };
  for (std::size_t i = 0; i < form.marks.size(); ++i) {
    if (FormCell* cell = cell_at(form.marks[i].prepared.box)) {
      cell->marks.push_back(i);
    } else {
      form.outside.push_back(i);
    }
  }
  for (const data::InkBox& box : left_out) {
    if (FormCell* cell = cell_at(box)) ++cell->left_out;
  }
  return form;
}

std::string form_as_text(const Form& form, const Classes& classes) {
  std::vector<std::string> texts;
  int width = 0;
  for (const FormCell& cell : form.cells) {
    texts.push_back(cell_text(form, cell, classes));
    width = std::max(width, display_width(texts.back()));
  }
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool is_last = (i + 1) % static_cast<std::size_t>(form.columns) == 0;
    text += "  " + texts[i];
    const int missing = is_last ? 0 : width - display_width(texts[i]);
    text.append(static_cast<std::size_t>(missing), ' ');
    if (is_last) text += "\n";
  }
  text += cells_that(form, "empty", [](const FormCell& cell) { return cell.is_empty(); });
  text += cells_that(form, "unsure", [&](const FormCell& cell) { return form.is_unsure(cell); });
  text += cells_that(form, "not read, as their marks were left out",
                     [](const FormCell& cell) { return cell.marks.empty() && cell.left_out > 0; });
  if (!form.outside.empty()) {
    text +=
        fmt::format("  {} beside the grid\n",
                    form.outside.size() == 1 ? "1 mark lies"
                                             : fmt::format("{} marks lie", form.outside.size()));
  }
  return text;
}

std::string form_as_json(const std::string& path, const Form& form, const Classes& classes,
                         const models::ModelInfo& info) {
  nlohmann::ordered_json event = json_event("predict_form", {{"image", path}});
  std::string text;
  for (std::size_t i = 0; i < form.cells.size(); ++i) {
    const bool begins_row = i % static_cast<std::size_t>(form.columns) == 0;
    if (i > 0) text += begins_row ? "\n" : "\t";
    text += form.text_of(form.cells[i], classes);
  }
  event["text"] = text;
  event["rows"] = form.rows;
  event["columns"] = form.columns;
  event["inverted"] = form.is_inverted;
  event["output"] = models::name_of(info.output);
  event["normalisation"] = models::name_of(info.normalisation);
  for (std::size_t i = 0; i < form.cells.size(); ++i) {
    const FormCell& cell = form.cells[i];
    const auto at = static_cast<std::int64_t>(i);
    nlohmann::ordered_json entry = {{"row", at / form.columns + 1},
                                    {"column", at % form.columns + 1},
                                    {"text", form.text_of(cell, classes)},
                                    {"empty", cell.is_empty()},
                                    {"unsure", form.is_unsure(cell)},
                                    {"left_out", cell.left_out},
                                    {"marks", nlohmann::ordered_json::array()}};
    for (const std::size_t mark : cell.marks) {
      entry["marks"].push_back(mark_as_json(form.marks[mark], classes));
    }
    event["cells"].push_back(std::move(entry));
  }
  event["outside"] = nlohmann::ordered_json::array();
  for (const std::size_t mark : form.outside) {
    event["outside"].push_back(mark_as_json(form.marks[mark], classes));
  }
  return json_line(event);
}

CellTable::CellTable(const std::string& path) : file_(path) {
  file_.write("file,row,column,text,probability,unsure,left_out,error\n");
}

void CellTable::add(const std::string& file, const Form& form, const Classes& classes) {
  for (std::size_t i = 0; i < form.cells.size(); ++i) {
    const FormCell& cell = form.cells[i];
    const auto at = static_cast<std::int64_t>(i);
    const std::string probability =
        cell.marks.empty() ? "" : fmt::format("{:.6f}", form.probability(cell));
    file_.write(fmt::format("{},{},{},{},{},{},{},\n", csv_field(file), at / form.columns + 1,
                            at % form.columns + 1, csv_field(form.text_of(cell, classes)),
                            probability, form.is_unsure(cell) ? "yes" : "no", cell.left_out));
  }
}

void CellTable::add_failure(const std::string& file, const std::string& error) {
  file_.write(fmt::format("{},,,,,,,{}\n", csv_field(file), csv_field(error)));
}

}  // namespace weft::cli
