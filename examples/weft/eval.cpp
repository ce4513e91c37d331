// SPDX-License-Identifier: MIT
// weft eval: how well a trained model reads a test set.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/labelled_data.h"
#include "examples/weft/input/normalisation.h"
#include "examples/weft/input/picture_model.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/results.h"
#include "examples/weft/output/tables.h"
#include "models/int8/ranges.h"
#include "models/training/split.h"
#include "models/training/trainer.h"

namespace weft::cli {
namespace {

struct EvalFlags {
  std::string model;
  DataFlags data;
  DeviceFlags device;
  std::int64_t batch_size = 256;
  std::optional<std::int64_t> limit_test;
  bool confusion = false, per_class = false, json = false;
  bool all_pictures = false;
};

std::string as_json(const EvalFlags& flags, const data::Dataset& dataset, Device device,
                    const models::Evaluation& evaluation, const models::ModelInfo& info) {
  const Classes classes(info.class_names);
  const models::Metrics& metrics = evaluation.metrics;
  nlohmann::ordered_json event =
      json_event("eval", {{"model", flags.model},
                          {"dataset", dataset.name},
                          {"source", dataset.source},
                          {"device", to_string(device)},
                          {"images", metrics.images},
                          {"accuracy", metrics.accuracy},
                          {"standard_error", metrics.standard_error()},
                          {"loss", metrics.loss},
                          {"calibration_error", evaluation.calibration_error},
                          {"calibration_bins", models::kCalibrationBins},
                          {"unsure", evaluation.unsure},
                          {"seconds", evaluation.seconds},
                          {"normalisation", models::name_of(info.normalisation)}});
  const std::vector<ClassScores> scores = class_scores(evaluation);
  if (flags.confusion) {
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const auto begin =
          evaluation.confusion.begin() + static_cast<std::ptrdiff_t>(row * scores.size());
      event["confusion"].push_back(std::vector<std::int64_t>(begin, begin + std::ssize(scores)));
    }
  }
  if (flags.per_class) {
    for (std::size_t label = 0; label < scores.size(); ++label) {
      const ClassScores& score = scores[label];
      event["per_class"].push_back({{"class", classes.name(static_cast<std::int64_t>(label))},
                                    {"images", score.images},
                                    {"right", score.right},
                                    {"precision", score.precision},
                                    {"recall", score.recall},
                                    {"f1", score.f1}});
    }
  }
  return json_line(event);
}

std::string calibration_text(const models::Calibration& calibration,
                             const models::Evaluation& evaluation) {
  const std::string fitted =
      calibration.images > 0
          ? fmt::format("temperature {:.3f}, fitted on {} held-out images", calibration.temperature,
                        format_count(calibration.images))
          : "not fitted: no images were held out";
  return fmt::format("error {:.2f} % in {} bins, {}", 100 * evaluation.calibration_error,
                     models::kCalibrationBins, fitted);
}

std::string unsure_text(const models::Calibration& calibration,
                        const models::Evaluation& evaluation) {
  const std::string unfamiliar =
      calibration.images == 0 ? "; the model has no threshold of familiarity"
      : calibration.certainty
          ? std::string(", or are taken for wrong by probability and familiarity together")
          : fmt::format(", or have a familiarity below {:.3f}", calibration.threshold);
  return fmt::format("{:.2f} % of the images, {} of {}, are answered below {:.0f} %{}",
                     100.0 * static_cast<double>(evaluation.unsure) /
                         static_cast<double>(evaluation.metrics.images),
                     format_count(evaluation.unsure), format_count(evaluation.metrics.images),
                     100 * models::kLeastCertain, unfamiliar);
}

std::string as_text(const EvalFlags& flags, const data::Dataset& dataset, Device device,
                    const models::Evaluation& evaluation, const models::ModelInfo& info) {
  const Classes classes(info.class_names);
  const Terminal terminal = detect_terminal(kStdout);
  const models::Metrics& metrics = evaluation.metrics;
  const double rate =
      evaluation.seconds > 0 ? static_cast<double>(metrics.images) / evaluation.seconds : 0;
  std::string text =
      format_pairs({{"accuracy", {format_accuracy(metrics), "1"}},
                    {"loss", fmt::format("{:.4f}", metrics.loss)},
                    {"calibration", calibration_text(info.calibration, evaluation)},
                    {"unsure", unsure_text(info.calibration, evaluation)},
                    {"data", fmt::format("{}: {} test images, {}", dataset.name,
                                         format_count(metrics.images), dataset.source)},
                    {"device", fmt::format("{}{}, {} images/s", to_string(device),
                                           is_int8(flags.device) ? " in int8" : "",
                                           format_count(std::llround(rate)))}},
                   terminal);
  text += explain_error(metrics);
  if (flags.per_class) text += "\n" + format_per_class(evaluation, classes, terminal);
  if (flags.confusion) {
    text += "\nWhat it answered, by true class\n" + format_confusion(evaluation, classes, terminal);
  }
  return text;
}

int run_eval(const EvalFlags& flags) {
  models::Model model = models::load_model(flags.model);
  check_data_flags(flags.data);
  own_data_from(flags.data.own);
  const bool own = flags.data.own.path.has_value();
  const std::string name = dataset_for(model.info, flags.model, flags.data);
  if (flags.all_pictures && !own) {
    throw Error(ErrorKind::usage, "--all-pictures goes with --data DIR only");
  }
  const std::uint64_t limit = device_data_limit(flags.device);
  const bool int8 = is_int8(flags.device), measures_ranges = int8 && model.info.ranges.empty();
  const auto load = [&] {
    return own               ? load_own_for(model.info, flags.data.own,
                              flags.all_pictures ? data::Holding::nothing : data::Holding::tenth,
                              flags.json ? "off" : "auto")
           : measures_ranges ? load_images(name, flags.data.data_dir, models::kRangeImages)
                             : load_images(name, flags.data.data_dir, 1, true);
  };
  std::future<data::Dataset> loading;
  if (!own && is_here(name, flags.data.data_dir)) {
    loading = in_the_background(load);
  }
  const Device device = int8 ? Device::cpu() : select_device(flags.device);
  const layers::KernelChoice kernels =
      int8 ? layers::KernelChoice() : select_kernels(flags.device, device);
  announce_device(flags.device, device);
  const Stream stream(device);
  data::Dataset dataset = loading.valid() ? loading.get() : load();
  check_fit(model.info, dataset);
  notice_limit("--limit-test", flags.limit_test, dataset.test.count, "test", dataset.name);
  models::keep_first(dataset.test, flags.limit_test);
  notice_assumption(model.info, flags.model);
  if (measures_ranges) model.info.ranges = models::measure_ranges(model, dataset.train);
  const models::Evaluation evaluation =
      int8 ? models::evaluate(model, int8_network(model, flags.model), dataset.test)
           : models::evaluate(model, dataset.test, flags.batch_size, kernels, stream, limit);
  if (flags.json) {
    write_out(as_json(flags, dataset, device, evaluation, model.info));
    return 0;
  }
  write_out(as_text(flags, dataset, device, evaluation, model.info));
  if (name == "digits" && !flags.data.dataset && is_here(kDefaultDataset, flags.data.data_dir)) {
    print_notice(fmt::format("real MNIST is here too: {} eval {} --dataset mnist{}", program_name(),
                             shell_word(flags.model), data_arguments(flags.data, {})));
  }
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* sub = app.add_subcommand("eval", "Measure a model on a test set");
  add_model(*sub, flags->model);
  add_data_flags(*sub, flags->data, "what the model was trained on");
  add_own_data_flags(*sub, flags->data.own, false);
  sub->add_flag("--all-pictures", flags->all_pictures,
                "of a --data DIR without train/: all pictures, not a tenth, because the model was "
                "trained on others")
      ->group("Your own data");
  add_whole(*sub, "--limit-test", flags->limit_test, 1, 1'000'000'000,
            "evaluate on the first N test images only")
      ->group("Data");
  add_whole(*sub, "--batch-size", flags->batch_size, 1, 1'000'000, "images per step")
      ->capture_default_str();
  sub->add_flag("--confusion", flags->confusion, "the confusion matrix");
  sub->add_flag("--per-class", flags->per_class, "precision, recall and F1 of every class");
  sub->add_flag("--json", flags->json, "one JSON object instead of text");
  flags->device.offers_int8 = true;
  add_device_flags(*sub, flags->device, true);
  add_batch_invariant(*sub, flags->device);
  add_device_data_limit(*sub, flags->device);
  sub->callback([flags, &action] { action.run = [flags] { return run_eval(*flags); }; });
}

}  // namespace weft::cli
