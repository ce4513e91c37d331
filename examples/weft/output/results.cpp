// SPDX-License-Identifier: MIT
#include "examples/weft/output/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "examples/weft/output/draw.h"
#include "examples/weft/output/tables.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kLargestMatrix = 16;  // classes; more do not fit a terminal

std::int64_t classes_of(const models::Evaluation& evaluation) {
  return std::llround(std::sqrt(static_cast<double>(evaluation.confusion.size())));
}

std::int64_t confused(const models::Evaluation& evaluation, std::int64_t truth,
                      std::int64_t answer) {
  const std::int64_t classes = classes_of(evaluation);
  return evaluation.confusion[static_cast<std::size_t>(truth * classes + answer)];
}

// With many classes the matrix is mostly zeros: the largest entries off the diagonal say more.
std::string format_frequent_confusions(const models::Evaluation& evaluation, const Classes& classes,
                                       const Terminal& terminal) {
  const std::int64_t count = classes_of(evaluation);
  std::vector<std::int64_t> cells;
  for (std::int64_t cell = 0; cell < count * count; ++cell) {
    if (cell / count != cell % count && confused(evaluation, cell / count, cell % count) > 0) {
      cells.push_back(cell);
    }
  }
  std::stable_sort(cells.begin(), cells.end(), [&](std::int64_t a, std::int64_t b) {
    return evaluation.confusion[static_cast<std::size_t>(a)] >
           evaluation.confusion[static_cast<std::size_t>(b)];
  });
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < std::min<std::size_t>(cells.size(), 20); ++i) {
    const std::int64_t truth = cells[i] / count, answer = cells[i] % count;
    rows.push_back({classes.name(truth), classes.name(answer),
                    format_count(confused(evaluation, truth, answer))});
  }
  return format_table({{"true", Align::left}, {"answer", Align::left}, {"images"}}, rows, terminal);
}

}  // namespace

Classes Classes::shown() const {
  Classes safe(names);
  for (std::string& name : safe.names) name = printable(name);
  return safe;
}

std::string Classes::name(std::int64_t label) const {
  return label >= 0 && label < count() ? names[static_cast<std::size_t>(label)]
                                       : fmt::format("{}", label);
}

std::string format_accuracy(const models::Metrics& metrics) {
  return fmt::format("{:.2f} {} {:.2f} %", 100 * metrics.accuracy, plus_minus(),
                     100 * metrics.standard_error());
}

std::string explain_error(const models::Metrics& metrics) {
  return fmt::format(
      "{} is one standard error: of other test sets of {} images, two in three would come as "
      "near.\n",
      plus_minus(), format_count(metrics.images));
}

std::string format_probability(double probability) {
  return fmt::format("{:.1f} %", 100 * probability);
}

std::string format_confusion(const models::Evaluation& evaluation, const Classes& classes,
                             const Terminal& terminal) {
  const std::int64_t count = classes_of(evaluation);
  if (count > kLargestMatrix) return format_frequent_confusions(evaluation, classes, terminal);
  // Long names label the rows; the columns then carry the class numbers.
  const bool short_names = std::all_of(classes.names.begin(), classes.names.end(),
                                       [](const std::string& name) { return name.size() <= 4; });
  std::vector<Column> columns = {{"true", short_names ? Align::right : Align::left}};
  std::vector<Cells> rows;
  for (std::int64_t truth = 0; truth < count; ++truth) {
    const std::string number = fmt::format("{}", truth), name = classes.name(truth);
    columns.push_back({short_names ? name : number, Align::right, 4});
    Cells row = {short_names ? name : number + " " + name};
    for (std::int64_t answer = 0; answer < count; ++answer) {
      const std::int64_t images = confused(evaluation, truth, answer);
      const std::string text = images == 0 ? "·" : fmt::format("{}", images);
      row.emplace_back(images == 0 && !terminal.unicode ? "." : text, images == 0       ? "2"
                                                                      : truth == answer ? "32"
                                                                                        : "33");
    }
    rows.push_back(std::move(row));
  }
  return format_table(columns, rows, terminal);
}

std::vector<ClassScores> class_scores(const models::Evaluation& evaluation) {
  const std::int64_t count = classes_of(evaluation);
  std::vector<ClassScores> scores(static_cast<std::size_t>(count));
  for (std::int64_t label = 0; label < count; ++label) {
    ClassScores& score = scores[static_cast<std::size_t>(label)];
    std::int64_t answered = 0;
    for (std::int64_t other = 0; other < count; ++other) {
      score.images += confused(evaluation, label, other);
      answered += confused(evaluation, other, label);
    }
    score.right = confused(evaluation, label, label);
    const auto share = [&](std::int64_t of) {
      return of == 0 ? 0.0 : static_cast<double>(score.right) / static_cast<double>(of);
    };
    score.precision = share(answered);
    score.recall = share(score.images);
    const double sum = score.precision + score.recall;
    score.f1 = sum == 0 ? 0 : 2 * score.precision * score.recall / sum;
  }
  return scores;
}

std::string format_per_class(const models::Evaluation& evaluation, const Classes& classes,
                             const Terminal& terminal) {
  std::vector<Cells> rows;
  const std::vector<ClassScores> scores = class_scores(evaluation);
  for (std::size_t label = 0; label < scores.size(); ++label) {
    const ClassScores& score = scores[label];
    const auto percent = [](double value) { return fmt::format("{:.2f} %", 100 * value); };
    rows.push_back({classes.name(static_cast<std::int64_t>(label)), format_count(score.images),
                    format_count(score.right), percent(score.precision), percent(score.recall),
                    percent(score.f1)});
  }
  return format_table(
      {{"class", Align::left}, {"images"}, {"right"}, {"precision"}, {"recall"}, {"F1"}}, rows,
      terminal);
}

namespace {

float confidence(const models::Evaluation& evaluation, std::size_t image) {
  const auto classes = static_cast<std::size_t>(classes_of(evaluation));
  return evaluation
      .probabilities[image * classes + static_cast<std::size_t>(evaluation.predictions[image])];
}

}  // namespace

std::vector<std::size_t> worst_mistakes(const models::Evaluation& evaluation,
                                        const data::ImageSet& set, std::size_t count) {
  std::vector<std::size_t> wrong;
  for (std::size_t image = 0; image < evaluation.predictions.size(); ++image) {
    if (evaluation.predictions[image] != set.labels[image]) wrong.push_back(image);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [&](std::size_t a, std::size_t b) {
    return confidence(evaluation, a) > confidence(evaluation, b);
  });
  wrong.resize(std::min(wrong.size(), count));
  return wrong;
}

std::string mistake_caption(const models::Evaluation& evaluation, const data::ImageSet& set,
                            const Classes& classes, std::size_t image) {
  return fmt::format("{} read as {}, {:.0f} %", classes.name(set.labels[image]),
                     classes.name(evaluation.predictions[image]),
                     100 * confidence(evaluation, image));
}

std::string draw_mistakes(const models::Evaluation& evaluation, const data::ImageSet& set,
                          const Classes& classes, const Terminal& terminal) {
  constexpr std::size_t kPictures = 8;
  constexpr int kRows = 2;
  std::vector<Picture> pictures;
  for (const std::size_t image : worst_mistakes(evaluation, set, kPictures)) {
    pictures.push_back({set.image(static_cast<std::int64_t>(image)), static_cast<int>(set.height),
                        static_cast<int>(set.width),
                        mistake_caption(evaluation, set, classes, image),
                        static_cast<int>(set.channels)});
  }
  if (pictures.empty()) return "No mistakes at all.\n";
  return draw_side_by_side(pictures, kRows, terminal);
}

}  // namespace weft::cli
