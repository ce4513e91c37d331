// SPDX-License-Identifier: MIT
// Tables of images as text: a row for each, with its label and the values of its pixels, separated
// by commas, semicolons, tabs or blanks, with or without a header. It is how Kaggle, OpenML and UCI
// keep MNIST and its like.
#pragma once

#include <string>
#include <vector>

#include "data/tables/labelled_values.h"
#include "data/tables/table_text.h"

namespace weft::data {

struct CsvImages {
  LabelledValues values;    // without labels where the table has none
  std::string label;        // where it stands: "first", "last" or else ""
  std::vector<Split> sets;  // of each row; empty where no column tells it
};

// The rows of one set, where a column tells it.
LabelledValues rows_of(const CsvImages& images, Split set);

// The columns are those of columns_of(). A table with fewer than 4 values in a row is none of
// images, and gives none. Colours are taken to stand together, red, green and blue of
// each pixel. A line that begins with # and has not as many fields is a comment. A row is refused,
// with its line, when it has not as many fields as the first one or when a value is no number.
// Throws data.
CsvImages read_csv(TableText& text, const std::string& label, const std::string& usual,
                   const PictureShape& shape, const std::string& where);

}  // namespace weft::data
