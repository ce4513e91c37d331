// SPDX-License-Identifier: MIT
// Labels in a table of their own, as y_train.csv beside X_train.csv.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/tables/labelled_values.h"
#include "data/tables/table_text.h"

namespace weft::data {

struct LabelColumn {
  std::string where;
  std::optional<Split> set;  // by the name of the table
  std::vector<std::string> labels;
};

// The fields of a table with one column, without a header; nothing when it has more columns.
std::optional<std::vector<std::string>> read_label_column(TableText& text);

// Gives the images the labels of the column of the same set. False when there is none with as many.
bool take_labels(LabelledValues& images, std::optional<Split> set,
                 const std::vector<LabelColumn>& columns);

}  // namespace weft::data
