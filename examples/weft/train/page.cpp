// SPDX-License-Identifier: MIT
#include "examples/weft/train/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/picture/image.h"
#include "data/versions/build_info.h"
#include "engine/extent.h"
#include "engine/text.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/plot.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/train/curves.h"
#include "models/training/runs/run_state.h"
#include "models/training/settings.h"

namespace weft::cli {
namespace {

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark; --text: #24292f; --quiet: #57606a; --rule: #d0d7de; --page: #fff; }
@media (prefers-color-scheme: dark) {
:root { --text: #e6edf3; --quiet: #adb6c0; --rule: #3d444d; --page: #14181d; }
}
body { margin: 0 auto; padding: 1rem; max-width: 56rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0.5rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
p, figcaption, th { color: var(--quiet); } p { margin: 0.3rem 0; }
svg { max-width: 100%; height: auto; }
.row { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.9rem 0.2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 500; }
.scores th, .scores td { text-align: right; white-space: nowrap; }
@media (max-width: 30rem) { .scores { font-size: 0.8rem; } .scores td, .scores th { padding-right: 0.5rem; } }
.scores th:first-child, .scores td:first-child { text-align: left; }
figure { margin: 0; width: 6.2rem; } figcaption { font-size: 0.8rem; line-height: 1.25; }
img { width: 100%; image-rendering: pixelated; border-radius: 3px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--rule);
  padding-left: 0.75rem; margin: 0.5rem 0; }
</style>
)";

std::string table_of(const Pairs& pairs) {
  std::string table = "<table>\n";
  for (const auto& [name, value] : pairs) {
    table +=
        fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html_text(name), html_text(value.text));
  }
  return table + "</table>\n";
}

// A cell's colour tells its share of the images of its row. A page cannot show the squares of very
// many classes.
std::string confusion_svg(const models::Evaluation& evaluation, const Classes& classes) {
  constexpr std::int64_t kMostClasses = 128;
  if (classes.count() > kMostClasses) {
    return fmt::format(
        "<p>{} classes are too many to draw; weft eval --confusion lists the most "
        "frequent mistakes.</p>",
        classes.count());
  }
  const auto count = static_cast<std::size_t>(classes.count());
  const bool short_names = std::all_of(classes.names.begin(), classes.names.end(),
                                       [](const std::string& name) { return name.size() <= 3; });
  const double cell = std::clamp(400.0 / static_cast<double>(count), 10.0, 36.0), top = 54,
               left = short_names ? 70 : 130;
  const double side = cell * static_cast<double>(count);
  Plot plot{left + side + 10, top + side + 10, "Confusion matrix", {}};
  plot.shapes.push_back(Text{{left, 18}, "answer", Ink::label, 12});
  plot.shapes.push_back(Text{{left - 10, 18}, "true class", Ink::label, 12, Anchor::end});
  for (std::size_t row = 0; row < count; ++row) {
    const double y = top + cell * static_cast<double>(row), size = std::min(12.0, 0.7 * cell);
    const std::string number = fmt::format("{}", row),
                      name = classes.name(static_cast<std::int64_t>(row));
    plot.shapes.push_back(Text{{left - 10, y + cell / 2 + size / 3},
                               short_names ? name : name + " " + number,
                               Ink::label,
                               size,
                               Anchor::end});
    plot.shapes.push_back(Text{{left + cell * (static_cast<double>(row) + 0.5), top - 8},
                               short_names ? name : number,
                               Ink::label,
                               size,
                               Anchor::middle});
    const auto cells = std::span(evaluation.confusion).subspan(row * count, count);
    double images = 0;
    for (const std::int64_t n : cells) images += static_cast<double>(n);
    for (std::size_t answer = 0; answer < count; ++answer) {
      const double x = left + cell * static_cast<double>(answer), right = x + cell - 2,
                   bottom = y + cell - 2;
      const double share = images > 0 ? static_cast<double>(cells[answer]) / images : 0;
      const double opacity =
          row == answer ? 0.45 * share : std::min(0.75, 4 * std::sqrt(share) * 0.75);
      plot.shapes.push_back(Area{{{x, y}, {right, y}, {right, bottom}, {x, bottom}},
                                 cells[answer] == 0 ? Ink::neutral
                                 : row == answer    ? Ink::green
                                                    : Ink::red,
                                 cells[answer] == 0 ? 0.07 : std::max(0.12, opacity),
                                 fmt::format("{} images of {} read as {}", cells[answer], name,
                                             classes.name(static_cast<std::int64_t>(answer)))});
      if (cells[answer] > 0 && cell >= 24) {
        plot.shapes.push_back(Text{{x + cell / 2 - 1, y + cell / 2 + 4},
                                   fmt::format("{}", cells[answer]),
                                   Ink::title,
                                   11,
                                   Anchor::middle});
      }
    }
  }
  return plot_svg(plot);
}

std::string scores_table(const models::Evaluation& evaluation, const Classes& classes) {
  std::string table =
      "<table class=\"scores\">\n<tr><th>class</th><th>images</th><th>right</th>"
      "<th>precision</th><th>recall</th><th>F1</th></tr>\n";
  const std::vector<ClassScores> scores = class_scores(evaluation);
  for (std::size_t label = 0; label < scores.size(); ++label) {
    const ClassScores& score = scores[label];
    table += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f} %</td><td>{:.2f} %</td>"
        "<td>{:.2f} %</td></tr>\n",
        html_text(classes.name(static_cast<std::int64_t>(label))), score.images, score.right,
        100 * score.precision, 100 * score.recall, 100 * score.f1);
  }
  return table + "</table>\n";
}

std::string mistakes(const models::Evaluation& evaluation, const data::ImageSet& set,
                     const Classes& classes) {
  constexpr std::size_t kPictures = 24;
  std::string figures;
  for (const std::size_t image : worst_mistakes(evaluation, set, kPictures)) {
    const data::Bytes png =
        data::encode_png(data::interleaved(set, static_cast<std::int64_t>(image)), set.width,
                         set.height, static_cast<int>(set.channels));
    std::string caption = html_text(mistake_caption(evaluation, set, classes, image));
    caption.replace(caption.rfind(", "), 2, "<br>");
    figures += fmt::format(
        "<figure><img alt=\"test image {}\" src=\"data:image/png;base64,{}\">"
        "<figcaption>{}</figcaption></figure>\n",
        image, base64(png), caption);
  }
  return figures.empty() ? "<p>There are none.</p>\n"
                         : "<div class=\"row\">\n" + figures + "</div>\n";
}

Pairs results(const models::Calibration& calibration, const models::Evaluation& evaluation) {
  const models::Metrics& metrics = evaluation.metrics;
  const auto images = static_cast<double>(metrics.images);
  const auto wrong = static_cast<std::int64_t>(std::llround((1 - metrics.accuracy) * images));
  Pairs pairs = {
      {"test accuracy", fmt::format("{}; ± is one standard error", format_accuracy(metrics))},
      {"wrong", fmt::format("{} of {} images", format_count(wrong), format_count(metrics.images))},
      {"test loss", fmt::format("{:.4f} per image", metrics.loss)},
      {"calibration error", fmt::format("{:.2f} % in {} bins", 100 * evaluation.calibration_error,
                                        models::kCalibrationBins)}};
  if (calibration.images > 0) {
    pairs.emplace_back("temperature",
                       fmt::format("{:.3f}, fitted on {} held-out images", calibration.temperature,
                                   format_count(calibration.images)));
    pairs.emplace_back("unsure",
                       fmt::format("{:.2f} % of the test images",
                                   100 * static_cast<double>(evaluation.unsure) / images));
  }
  return pairs;
}

Pairs recipe(const TrainFacts& facts, const std::string& data_checksum) {
  const models::TrainConfig& config = facts.config;
  return {{"model",
           fmt::format("{}, {} parameters", config.network.name, format_count(facts.parameters))},
          {"data", fmt::format("{}, {}; checksum {}", facts.dataset.name, facts.dataset.source,
                               data_checksum)},
          {"recipe", models::text_of(config, "Recipe")},
          {"augmentation", models::text_of(config, "Augmentation")},
          {"device", device_text(facts.device)}};
}

// Each command that worked on the run, with what it ran on.
std::string sessions_section(const std::vector<models::RunSession>& sessions) {
  std::string section;
  for (const models::RunSession& session : sessions) {
    const BuildInfo build{session.version, session.commit, session.commit_date};
    section +=
        "<pre>" + html_text(session.command) + "</pre>\n" +
        table_of({{"begun", session.started},
                  {"took", format_duration(session.seconds)},
                  {"images per second", format_count(std::llround(session.images_per_second()))},
                  {"device", session.device},
                  {"CPU threads", fmt::format("{}", session.threads)},
                  {"host", session.host},
                  {"Weft", build.text()}});
  }
  return section;
}

std::string settings_table(const models::TrainConfig& config) {
  Pairs pairs;
  for (const auto& [name, value] : models::settings_of(config)) {
    if (name != "definition" && name != "schema_version") pairs.emplace_back(name, value);
  }
  return table_of(pairs);
}

}  // namespace

std::string report_page(const TrainFacts& facts, const models::Trainer& trainer,
                        const models::Model& model, const models::Evaluation& evaluation) {
  const Classes classes(facts.dataset.class_names);
  const std::string title =
      html_text(fmt::format("{} on {}", facts.config.network.name, facts.config.dataset));
  std::string curves;
  const std::vector<float> rates =
      models::tabulate(facts.config.schedule, facts.config.epochs,
                       divide_up(facts.train_images, facts.config.batch_size));
  for (const std::string& panel : curve_panels(trainer.history(), trainer.log(), rates)) {
    curves += panel;
  }
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{2}\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n{1}</head>\n<body>\n<h1>{0}</h1>\n",
      title, kStyle, policy_element());
  const auto section = [&](const char* heading, const std::string& content) {
    page += fmt::format("<h2>{}</h2>\n{}", heading, content);
  };
  page += table_of(results(model.info.calibration, evaluation));
  section("How it learned", "<div class=\"row\">\n" + curves + "</div>\n");
  section("What it answered, by true class",
          "<div class=\"wide\">" + confusion_svg(evaluation, classes) + "</div>\n");
  section("Precision and recall of every class",
          "<div class=\"wide\">" + scores_table(evaluation, classes) + "</div>\n");
  section("Its worst mistakes", "<p>The wrong answers with the highest probability.</p>\n" +
                                    mistakes(evaluation, facts.dataset.test, classes));
  section("The recipe", table_of(recipe(facts, model.info.origin.data)));
  section(trainer.sessions().size() == 1 ? "The command" : "The commands",
          sessions_section(trainer.sessions()));
  section("All settings", settings_table(facts.config));
  return page + "</body>\n</html>\n";
}

}  // namespace weft::cli
