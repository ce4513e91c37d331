// SPDX-License-Identifier: MIT
#include "data/tables/label_column.h"

#include <algorithm>

#include "data/arrays/number_fields.h"
#include "data/tables/csv_columns.h"

namespace weft::data {

std::optional<std::vector<std::string>> read_label_column(TableText& text) {
  std::vector<std::string> labels;
  while (const std::optional<std::string_view> line = text.next()) {
    const std::vector<std::string_view> fields = fields_of(*line, delimiter_of(*line));
    if (fields.empty() || (fields.size() == 1 && fields.front().empty())) continue;
    if (fields.size() > 1 || holds_two_numbers(fields.front())) return std::nullopt;
    labels.emplace_back(fields.front());
  }
  if (labels.size() < 2) return std::nullopt;
  // A header is the name of a label, or the only word above numbers.
  const bool are_numbers = std::all_of(labels.begin() + 1, labels.end(),
                                       [](const auto& label) { return is_number(label); });
  if (is_label_column(labels.front()) || (are_numbers && !is_number(labels.front()))) {
    labels.erase(labels.begin());
  }
  return labels;
}

bool take_labels(LabelledValues& images, std::optional<Split> set,
                 const std::vector<LabelColumn>& columns) {
  for (const LabelColumn& column : columns) {
    if (column.set != set || std::ssize(column.labels) != images.count) continue;
    images.labels = column.labels;
    return true;
  }
  return false;
}

}  // namespace weft::data
