// SPDX-License-Identifier: MIT
// The answers of `weft predict` as a table for spreadsheets: one row for each picture.
#pragma once

#include <optional>
#include <string>

#include "data/files/file_io.h"
#include "examples/weft/output/results.h"
#include "models/answers/classifier.h"

namespace weft::cli {

// A table that appears, whole, with commit(). The path - is standard output, where each row appears
// at once.
class TableFile {
 public:
  // Throws usage unless `path` is - or ends in .csv, and data when it cannot be written.
  explicit TableFile(const std::string& path);
  void write(const std::string& text);
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::optional<data::AtomicFile> file_;  // nothing: standard output
};

// The columns are file, label, class, probability, unsure, inverted and error. `top_k` classes add
// class_2, probability_2 and so on.
class AnswerTable {
 public:
  AnswerTable(const std::string& path, std::size_t top_k);

  void add(const std::string& file, const models::Answer& answer, const Classes& classes,
           bool inverted);
  void add_failure(const std::string& file, const std::string& error);
  void commit() { file_.commit(); }

 private:
  TableFile file_;
  std::size_t top_k_;
};

}  // namespace weft::cli
