// SPDX-License-Identifier: MIT
#include "examples/train_report.h"

#include <fmt/core.h>
#include <omp.h>

#include "examples/flags.h"
#include "examples/json_lines.h"
#include "examples/tables.h"
#include "kernels/isa.h"
#include "models/json_fields.h"
#include "models/records.h"

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

std::string recipe_text(const models::TrainConfig& config) {
  std::string text = fmt::format("{} epoch{}, batch {}, ", config.epochs,
                                 config.epochs == 1 ? "" : "s", config.batch_size);
  if (config.momentum > 0) {
    text += fmt::format("{} {:g}, ", config.nesterov ? "Nesterov" : "momentum", config.momentum);
  }
  return text + fmt::format("weight decay {:g}, seed {}", config.weight_decay, config.seed);
}

}  // namespace

std::string augmentation_text(const kernels::Augmentation& augmentation) {
  if (!augmentation.any()) return "none";
  return fmt::format("turn ±{:g}°, size ±{:g} %, shear ±{:g}, shift ±{:g} px",
                     augmentation.rotate_degrees, 100 * augmentation.scale, augmentation.shear,
                     augmentation.shift);
}

std::string average_text(const models::TrainConfig& config) {
  if (config.ema_decay == 0) return "none";
  return fmt::format("of the weights over about {:.0f} steps", 1 / (1 - config.ema_decay));
}

std::string schedule_text(const models::Schedule& schedule) {
  const char* how = schedule.kind == models::ScheduleKind::one_cycle  ? "up to"
                    : schedule.kind == models::ScheduleKind::constant ? "of"
                                                                      : "from";
  return fmt::format("{}, {} {:g}", models::name_of(schedule.kind), how, schedule.peak);
}

std::string device_text(Device device) {
  const DeviceProperties& properties = device_properties(device);
  if (device.is_cuda()) return fmt::format("{} ({})", to_string(device), properties.name);
  return fmt::format("cpu ({}, {} thread{}, {})", properties.name, omp_get_max_threads(),
                     omp_get_max_threads() == 1 ? "" : "s", kernels::name_of(kernels::cpu_isa()));
}

void TrainReport::start(const TrainFacts& facts) {
  const models::TrainConfig& config = facts.config;
  validation_ = config.validation_split > 0;
  const std::int64_t used = config.limit_train > 0
                                ? std::min(config.limit_train, facts.dataset.train.count)
                                : facts.dataset.train.count;
  if (json_) {
    nlohmann::ordered_json event = json_event("start");
    event["model"] = config.network.name;
    event["parameters"] = facts.parameters;
    event["dataset"] = facts.dataset.name;
    event["source"] = facts.dataset.source;
    event["train_images"] = used;
    event["test_images"] = facts.dataset.test.count;
    event["device"] = to_string(facts.device);
    event["device_name"] = device_properties(facts.device).name;
    event["threads"] = omp_get_max_threads();
    event["epochs"] = config.epochs;
    event["epochs_before"] = facts.epochs_before;
    event["batch_size"] = config.batch_size;
    event["lr"] = models::shortest(config.schedule.peak);
    event["lr_schedule"] = models::name_of(config.schedule.kind);
    event["momentum"] = models::shortest(config.momentum);
    event["nesterov"] = config.nesterov;
    event["weight_decay"] = models::shortest(config.weight_decay);
    event["ema_decay"] = models::shortest(config.ema_decay);
    event["precision"] = models::name_of(config.kernels.mode);
    event["seed"] = config.seed;
    event["run_dir"] = facts.run_dir.string();
    write_out(json_line(event));
    return;
  }
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"model",
       fmt::format("{}, {} parameters", config.network.name, format_count(facts.parameters))},
      {"device", device_text(facts.device)},
      {"data",
       fmt::format("{}: {} training and {} test images, {}", facts.dataset.name, format_count(used),
                   format_count(facts.dataset.test.count), printable(facts.dataset.source))},
      {"recipe", recipe_text(config)},
      {"rate", schedule_text(config.schedule)}};
  if (config.augmentation.any()) {
    pairs.emplace_back("augment", augmentation_text(config.augmentation));
  }
  if (config.ema_decay > 0) pairs.emplace_back("average", average_text(config));
  std::string run = printable(facts.run_dir.string());
  if (facts.epochs_before > 0) run += fmt::format(", resumed after epoch {}", facts.epochs_before);
  pairs.emplace_back("run", run);
  write_out(format_pairs(pairs, terminal_) + "\n" +
            format_heading(epoch_columns(validation_), terminal_));
}

void TrainReport::epoch(const models::EpochRecord& record) {
  if (json_) {
    write_out(models::to_json(record) + "\n");
    return;
  }
  std::vector<std::string> cells = {fmt::format("{}", record.epoch),
                                    fmt::format("{:.4f}", record.train.loss),
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
  nlohmann::ordered_json event = json_event("end");
  event["interrupted"] = interrupted;
  event["test_accuracy"] = history.empty() ? nlohmann::ordered_json(nullptr)
                                           : nlohmann::ordered_json(history.back().test.accuracy);
  event["seconds"] = seconds;
  event["epochs"] = history.empty() ? 0 : history.back().epoch;
  event["device"] = to_string(facts.device);
  const std::filesystem::path model = facts.run_dir / "model.safetensors";
  event["model_path"] = std::filesystem::exists(model) ? nlohmann::ordered_json(model.string())
                                                       : nlohmann::ordered_json(nullptr);
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
  std::string text =
      fmt::format("\n{} {} of the test images right, {} of {} wrong, after {} epoch{} in {}.\n",
                  paint(terminal_, "1", "Done:"), format_accuracy(metrics), format_count(wrong),
                  format_count(metrics.images), history.size(), history.size() == 1 ? "" : "s",
                  format_duration(seconds));
  text += fmt::format("\n{}\n{}", paint(terminal_, "1", "What it answered, by true class"),
                      format_confusion(evaluation, classes, terminal_));
  text += fmt::format("\n{}\n{}", paint(terminal_, "1", "Its worst mistakes"),
                      draw_mistakes(evaluation, facts.dataset.test, classes, terminal_));

  const std::string run = shell_quoted(facts.run_dir.string()), program = program_name();
  text += fmt::format(
      "\n{}", format_pairs({{"model", printable((facts.run_dir / "model.safetensors").string())},
                            {"curves", printable((facts.run_dir / "curves.svg").string())}},
                           terminal_));
  text += fmt::format("\n{}\n", paint(terminal_, "1", "Next, try"));
  if (!samples.empty()) {
    text += fmt::format("  {} predict {} {}/*.png\n", program, run, shell_quoted(samples.string()));
  }
  text += fmt::format("  {} eval {}{} --per-class\n", program, run, facts.data_arguments);
  text += fmt::format("  {} inspect {}\n", program, run);
  write_out(text);
}

void TrainReport::stopped(const TrainFacts& facts, const std::vector<models::EpochRecord>& history,
                          double seconds) {
  if (json_) return json_end(facts, history, seconds, true);
  const std::string resume =
      fmt::format("  {} train --resume {}{}\n", program_name(),
                  shell_quoted(facts.run_dir.string()), facts.data_arguments);
  const int done = history.empty() ? 0 : history.back().epoch;
  write_out(fmt::format(
      "\nStopped with {} of {} epochs done; everything up to this step is saved. Go on with\n{}",
      done, facts.config.epochs, resume));
}

}  // namespace weft::cli
