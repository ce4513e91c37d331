// SPDX-License-Identifier: MIT
// predict --rows N --columns M: the cells of a form, as text, as JSON and as a table.
#pragma once

#include <string>
#include <vector>

#include "examples/weft/predict/csv.h"
#include "examples/weft/predict/marks.h"

namespace weft::cli {

struct FormCell {
  std::vector<std::size_t> marks = {};  // of the form, in reading order
  std::size_t left_out = 0;             // marks that were taken for no writing
  bool is_empty() const { return marks.empty() && left_out == 0; }
};

struct Form {
  std::int64_t rows = 0, columns = 0;
  bool is_inverted = false;          // the picture, for the network
  std::vector<ReadMark> marks;       // of the whole picture, without printed boxes
  std::vector<FormCell> cells;       // (rows, columns)
  std::vector<std::size_t> outside;  // marks beside the grid

  std::string text_of(const FormCell& cell, const Classes& classes) const;
  bool is_unsure(const FormCell& cell) const;
  // The least of its marks; 0 where there are none.
  double probability(const FormCell& cell) const;
};

// Reads the marks and sorts them into the cells. Where the form has printed boxes, these are the
// grid, and they may all be empty; else the marks are. Throws data unless there is such a grid;
// `path` is for the message.
Form read_form(const data::GreyImage& image, data::Invert invert, const std::string& path,
               std::int64_t rows, std::int64_t columns, models::Classifier& classifier,
               data::PictureSize size);

// A line for each row: what the cells hold, ? behind it where it is unsure, - for nothing and ? for
// marks that were left out. Then which cells are empty or unsure, and what lies beside the grid.
std::string form_as_text(const Form& form, const Classes& classes);

// One line of JSON: text, with lines for rows and tabs between cells, and the cells.
std::string form_as_json(const std::string& path, const Form& form, const Classes& classes,
                         const models::ModelInfo& info);

// Cells as rows of a table: file, row and column (from 1), text, probability, unsure, left_out and
// error.
class CellTable {
 public:
  explicit CellTable(const std::string& path);  // as AnswerTable's
  void add(const std::string& file, const Form& form, const Classes& classes);
  void add_failure(const std::string& file, const std::string& error);
  void commit() { file_.commit(); }

 private:
  TableFile file_;
};

}  // namespace weft::cli
