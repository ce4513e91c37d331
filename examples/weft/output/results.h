// SPDX-License-Identifier: MIT
// How an evaluation is shown: accuracy with its error, confusion matrix, scores per class and the
// worst mistakes, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "data/sets/dataset.h"
#include "examples/weft/output/terminal.h"
#include "models/training/trainer.h"

namespace weft::cli {

// The classes' names, as they are for JSON, CSV and tables, or shown(): printable.
struct Classes {
  explicit Classes(const std::vector<std::string>& class_names) : names(class_names) {}
  Classes shown() const;
  std::string name(std::int64_t label) const;
  std::int64_t count() const { return static_cast<std::int64_t>(names.size()); }
  std::vector<std::string> names;
};

std::string format_accuracy(const models::Metrics& metrics);  // "99.12 ± 0.09 %"
std::string explain_error(const models::Metrics& metrics);    // a line that says what ± means
std::string format_probability(double probability);           // "97.3 %"
std::string format_confusion(const models::Evaluation& evaluation, const Classes& classes,
                             const Terminal& terminal);
std::string format_per_class(const models::Evaluation& evaluation, const Classes& classes,
                             const Terminal& terminal);
// At most `count` images that were read wrong, the most probable answers first.
std::vector<std::size_t> worst_mistakes(const models::Evaluation& evaluation,
                                        const data::ImageSet& set, std::size_t count);
// "7 read as 2, 97 %"
std::string mistake_caption(const models::Evaluation& evaluation, const data::ImageSet& set,
                            const Classes& classes, std::size_t image);
// The worst mistakes, drawn side by side.
std::string draw_mistakes(const models::Evaluation& evaluation, const data::ImageSet& set,
                          const Classes& classes, const Terminal& terminal);

struct ClassScores {
  std::int64_t images = 0, right = 0;
  double precision = 0, recall = 0, f1 = 0;  // 0 where undefined
};
std::vector<ClassScores> class_scores(const models::Evaluation& evaluation);

}  // namespace weft::cli
