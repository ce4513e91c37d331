// SPDX-License-Identifier: MIT
#include "examples/weft/predict/csv.h"

#include <fmt/format.h>

#include "engine/text.h"
#include "examples/weft/input/array_input.h"

namespace weft::cli {

TableFile::TableFile(const std::string& path) {
  if (path == "-") return;
  output_ending("--csv", path, {".csv"});
  file_.emplace(path);
}

void TableFile::write(const std::string& text) {
  if (file_) {
    file_->write(text);
  } else {
    write_out(text);
  }
}

AnswerTable::AnswerTable(const std::string& path, std::size_t top_k) : file_(path), top_k_(top_k) {
  std::string header = "file,label,class,probability,unsure,inverted,error";
  for (std::size_t i = 2; i <= top_k; ++i) header += fmt::format(",class_{0},probability_{0}", i);
  file_.write(header + "\n");
}

void AnswerTable::add(const std::string& file, const models::Answer& answer, const Classes& classes,
                      bool inverted) {
  const auto choice = [&](std::size_t rank) {
    const std::size_t label = answer.ranking[rank];
    return fmt::format("{},{:.6f}", csv_field(classes.name(static_cast<std::int64_t>(label))),
                       answer.probabilities[label]);
  };
  std::string row = fmt::format("{},{},{},{},{},", csv_field(file), answer.ranking.front(),
                                choice(0), answer.unsure ? "yes" : "no", inverted ? "yes" : "no");
  for (std::size_t i = 1; i < top_k_; ++i) {
    row += "," + (i < answer.ranking.size() ? choice(i) : ",");
  }
  file_.write(row + "\n");
}

void AnswerTable::add_failure(const std::string& file, const std::string& error) {
  std::string row = fmt::format("{},,,,,,{}", csv_field(file), csv_field(error));
  for (std::size_t i = 1; i < top_k_; ++i) row += ",,";
  file_.write(row + "\n");
}

}  // namespace weft::cli
