// SPDX-License-Identifier: MIT
#include "examples/weft/train/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <omp.h>

#include "examples/weft/input/flags.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "kernels/isa.h"
#include "models/files/json_fields.h"
#include "models/training/runs/run_state.h"
#include "models/training/settings.h"
#include "models/training/split.h"

namespace weft::cli {
namespace {

std::vector<Column> epoch_columns(bool validation) {
  std::vector<Column> columns = {
      {"epoch", Align::right, 5}, {"loss", Align::right, 6}, {"accuracy", Align::right, 8}};
  if (validation) columns.push_back({"validation", Align::right, 15});
  columns.push_back({"test loss", Align::right, 9});
  columns.push_back({"test accuracy", Align::right, 15});
  columns.push_back({"rate", Align::right, 7});
  columns.push_back({"time", Align::right, 7});
  columns.push_back({"images/s", Align::right, 9});
  return columns;
}

double images_per_second(const models::EpochRecord& record) {
  return record.seconds > 0 ? static_cast<double>(record.train.images) / record.seconds : 0;
}

// The first line of --json.
std::string start_event(const TrainFacts& facts, std::int64_t held_out) {
  const models::TrainConfig& config = facts.config;
  nlohmann::ordered_json event =
      json_event("start", {{"model", config.network.name},
                           {"parameters", facts.parameters},
                           {"dataset", facts.dataset.name},
                           {"source", facts.dataset.source},
                           {"train_images", facts.train_images},
                           {"held_out_images", held_out},
                           {"test_images", facts.dataset.test.count},
                           {"device", to_string(facts.device)},
                           {"device_name", device_properties(facts.device).name},
                           {"threads", omp_get_max_threads()},
                           {"ranks", facts.ranks.size()},
                           {"step", facts.step},
                           {"streams_images", facts.streams},
                           {"epochs_before", facts.epochs_before},
                           {"images_before", facts.images_before},
                           {"precision", models::name_of(config.kernels.mode)},
                           {"run_dir", facts.run_dir.string()}});
  event.update(models::settings_by_key(config));
  return json_line(event);
}

// What stands above the table of epochs.
Pairs start_pairs(const TrainFacts& facts, std::int64_t held_out) {
  const models::TrainConfig& config = facts.config;
  Pairs pairs = {
      {"model",
       fmt::format("{}, {} parameters", config.network.name, format_count(facts.parameters))},
      {"device", device_text(facts.device)},
      {"data", fmt::format("{}: {} training{} and {} test images, {}", facts.dataset.name,
                           format_count(facts.train_images),
                           held_out > 0 ? fmt::format(", {} held-out", format_count(held_out)) : "",
                           format_count(facts.dataset.test.count), facts.dataset.source)},
      {"recipe", models::text_of(config, "Recipe")}};
  if (facts.ranks.size() > 1) pairs.emplace_back("ranks", facts.ranks.describe());
  if (config.augmentation.any()) {
    pairs.emplace_back("augment", models::text_of(config, "Augmentation"));
  }
  if (facts.streams) {
    const std::int64_t bytes =
        (facts.train_images + held_out + facts.dataset.test.count) * facts.dataset.train.pixels();
    pairs.emplace_back("images", fmt::format("{}, streamed from host memory batch by batch",
                                             format_bytes(static_cast<double>(bytes))));
  }
  std::string run = facts.run_dir.string();
  if (!facts.has_work()) {
    run += fmt::format(", finished: nothing is left to train after {}",
                       counted(config.epochs, "epoch"));
  } else if (facts.images_before > 0) {
    run += fmt::format(", goes on in epoch {} after {}", facts.epochs_before + 1,
                       counted(facts.images_before, "image"));
  } else if (facts.epochs_before > 0) {
    run += fmt::format(", goes on after epoch {}", facts.epochs_before);
  }
  pairs.emplace_back("run", run);
  return pairs;
}

}  // namespace

std::string device_text(Device device) {
  const DeviceProperties& properties = device_properties(device);
  if (device.is_cuda()) return fmt::format("{} ({})", to_string(device), properties.name);
  return fmt::format("cpu ({}, {} thread{}, {})", properties.name, omp_get_max_threads(),
                     omp_get_max_threads() == 1 ? "" : "s", kernels::name_of(kernels::cpu_isa()));
}

void TrainReport::start(const TrainFacts& facts) {
  const models::TrainConfig& config = facts.config;
  const std::int64_t given = facts.dataset.validation.count;
  validation_ = config.validation_split > 0 || given > 0;
  const std::int64_t used = models::images_used(facts.dataset, config);
  const std::int64_t held_out = given > 0 ? given : models::held_out_images(config, used);
  if (json_) {
    write_out(start_event(facts, held_out));
    return;
  }
  write_out(format_pairs(start_pairs(facts, held_out), terminal_));
  if (facts.has_work()) write_out("\n" + format_heading(epoch_columns(validation_), terminal_));
}

void TrainReport::epoch(const models::EpochRecord& record) {
  if (json_) {
    write_out(models::to_json(record) + "\n");
    return;
  }
  Cells cells = {fmt::format("{}", record.epoch), fmt::format("{:.4f}", record.train.loss),
                 fmt::format("{:.2f} %", 100 * record.train.accuracy)};
  if (validation_) {
    cells.push_back(record.validation ? format_accuracy(*record.validation) : "-");
  }
  cells.push_back(fmt::format("{:.4f}", record.test.loss));
  cells.push_back(format_accuracy(record.test));
  cells.push_back(fmt::format("{:.2g}", record.lr));
  cells.push_back(format_duration(record.seconds));
  cells.push_back(format_count(std::llround(images_per_second(record))));
  write_out(format_row(epoch_columns(validation_), cells));
}

void TrainReport::json_end(const TrainFacts& facts, const std::vector<models::EpochRecord>& history,
                           double seconds, bool interrupted) {
  nlohmann::ordered_json event = json_event(
      "end", {{"interrupted", interrupted},
              {"test_accuracy",
               or_null(!history.empty(), history.empty() ? 0.0 : history.back().test.accuracy)},
              {"seconds", seconds},
              {"epochs", history.empty() ? 0 : history.back().epoch},
              {"device", to_string(facts.device)}});
  const std::filesystem::path model = facts.run_dir / "model.safetensors";
  event["model_path"] = or_null(std::filesystem::exists(model), model.string());
  event["run_dir"] = facts.run_dir.string();
  write_out(json_line(event));
}

void TrainReport::finished(const TrainFacts& facts, const std::vector<models::EpochRecord>& history,
                           const models::Evaluation& evaluation, double seconds,
                           const std::filesystem::path& samples) {
  if (json_) return json_end(facts, history, seconds, false);
  const models::Metrics& metrics = evaluation.metrics;
  const Classes classes(facts.dataset.class_names);
  const std::int64_t wrong = static_cast<std::int64_t>(
      std::llround((1 - metrics.accuracy) * static_cast<double>(metrics.images)));
  std::string text = fmt::format(
      "\n{} {} of the test images right, {} of {} wrong, after {}{}.\n{}",
      paint(terminal_, "1", "Done:"), format_accuracy(metrics), format_count(wrong),
      format_count(metrics.images), counted(std::ssize(history), "epoch"),
      facts.has_work() ? " in " + format_duration(seconds) : "", explain_error(metrics));
  text += fmt::format("\n{}\n{}", paint(terminal_, "1", "What it answered, by true class"),
                      format_confusion(evaluation, classes, terminal_));
  text += fmt::format("\n{}\n{}", paint(terminal_, "1", "Its worst mistakes"),
                      draw_mistakes(evaluation, facts.dataset.test, classes, terminal_));

  const std::string run = shell_word(facts.run_dir.string()), program = program_name();
  text +=
      fmt::format("\n{}", format_pairs({{"model", (facts.run_dir / "model.safetensors").string()},
                                        {"curves", (facts.run_dir / "curves.svg").string()},
                                        {"report", (facts.run_dir / "report.html").string()}},
                                       terminal_));
  text += fmt::format("\n{}\n", paint(terminal_, "1", "Next, try"));
  if (!samples.empty()) {
    text += fmt::format("  {} predict {} {}/*.png\n", program, run, shell_word(samples.string()));
  }
  text += fmt::format("  {} eval {}{} --per-class\n", program, run, facts.data_arguments);
  text += fmt::format("  {} inspect {}\n", program, run);
  write_out(text);
}

void TrainReport::stopped(const TrainFacts& facts, const std::vector<models::EpochRecord>& history,
                          std::int64_t images, double seconds) {
  if (json_) return json_end(facts, history, seconds, true);
  const std::string resume = fmt::format("  {} train --resume {}{}\n", program_name(),
                                         shell_word(facts.run_dir.string()), facts.data_arguments);
  const int done = history.empty() ? 0 : history.back().epoch;
  write_out(fmt::format("\nStopped with {} of {} done{}; everything is saved. Go on with\n{}", done,
                        counted(facts.config.epochs, "epoch"),
                        images > 0 ? " and " + counted(images, "image") + " of the next" : "",
                        resume));
}

}  // namespace weft::cli
