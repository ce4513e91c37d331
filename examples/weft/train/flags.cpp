// SPDX-License-Identifier: MIT
#include "examples/weft/train/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "data/file_io.h"
#include "engine/error.h"
#include "engine/extent.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/train/report.h"
#include "models/json_fields.h"
#include "models/networks.h"
#include "models/recipes.h"
#include "models/records.h"

namespace weft::cli {
namespace {

constexpr const char* kModel = "lenet5";

constexpr double kCalibrationSplit = 0.05;
constexpr std::int64_t kMostConfigBytes = 1 << 20;

// What may change when a run goes on: where it runs, where its data lies, how far it goes and what
// is printed. --model and the data must be those of the run, which is checked.
bool may_change(const std::string& flag) {
  constexpr std::array<std::string_view, 26> kFlags = {
      "--resume",     "--model",         "--epochs",      "--stop-after",     "--dry-run",
      "--data-dir",   "--data",          "--skip-broken", "--no-cache",       "--device",
      "--threads",    "--deterministic", "--timings",     "--devices",        "--rank",
      "--world-size", "--rendezvous",    "--reduction",   "--rank-timeout",   "--device-data-limit",
      "--progress",   "--json",          "--help",        "--run-token-file", "--no-token",
      "--no-links"};
  return std::ranges::count(kFlags, flag) > 0;
}

// The settings where no flag and no file says otherwise.
models::TrainConfig unasked(models::TrainConfig config) {
  config.dataset.clear();
  config.calibration_split = kCalibrationSplit;
  return config;
}

// The network that --model names, of which a file is read.
models::NetworkOptions asked_network(const std::string& model) {
  if (models::is_network_file(model)) return models::read_network(model);
  models::NetworkOptions network;
  network.name = model.empty() ? kModel : model;
  return network;
}

models::TrainConfig read_config(const std::string& path, const models::NetworkOptions& asked) {
  const data::InputFile file(path);
  if (file.size() > kMostConfigBytes) {
    throw Error(ErrorKind::data, fmt::format("{}: more than 1 MiB, expected a config.json", path));
  }
  std::string text(file.size(), '\0');
  file.read(std::as_writable_bytes(std::span(text)), 0);
  const auto with_defaults_of = [&](const models::NetworkOptions& network,
                                    models::Optimizer optimizer) {
    models::TrainConfig start = unasked(models::default_config(network.name));
    start.network.definition = network.definition;
    models::choose_optimizer(start, optimizer);
    return models::train_config_from_json(text, start, path);
  };
  // A part of a config.json has the other settings of its network and its optimizer.
  const models::TrainConfig part = with_defaults_of(asked, models::Optimizer::sgd);
  return with_defaults_of(part.network, part.optimizer);
}

// The settings that the flags change.
models::TrainConfig start_of(const TrainFlags& flags) {
  const models::NetworkOptions asked = asked_network(flags.model);
  models::TrainConfig config;
  if (!flags.config.empty()) {
    config = read_config(flags.config, asked);
  } else if (!flags.recipe.empty()) {
    config = unasked(models::recipe_config(flags.recipe));
  } else {
    config = unasked(models::default_config(asked.name));
  }
  if (!flags.model.empty()) {
    config.network.name = asked.name;
    config.network.definition = asked.definition;
  }
  if (!flags.optimizer.empty()) {
    models::choose_optimizer(config, models::parse_optimizer(flags.optimizer));
  }
  return config;
}

}  // namespace

void add_train_flags(CLI::App& app, TrainFlags& flags) {
  const std::string names = joined(names_of(models::networks()));
  std::string recipes = "all settings at once; other flags change single ones:";
  for (const models::RecipeInfo& info : models::recipes()) {
    recipes += fmt::format("\n{}: {}", info.name, info.summary);
  }
  app.add_option("--recipe", flags.recipe, recipes)->type_name("NAME");
  app.add_option(
         "--config", flags.config,
         "take the settings from this file, the config.json of a run or a part of one; other "
         "flags change single ones")
      ->type_name("FILE");
  app.add_option(
         "--model", flags.model,
         fmt::format("network: {}; or FILE.net, a text with a layer in each line; default {}",
                     names, kModel))
      ->type_name("NAME");
  add_data_flags(app, flags.data, "mnist, or the built-in digits when it cannot be had");
  add_own_data_flags(app, flags.data.own, true);
  app.option_defaults()->group("Data");
  add_whole(app, "--limit-train", flags.limit_train, 1, 1'000'000'000,
            "use only the first N training images");
  add_whole(app, "--limit-test", flags.limit_test, 1, 1'000'000'000,
            "evaluate on the first N test images only");
  add_real(app, "--val-split", flags.val_split, 0, 0.9,
           "share of the training images held out to choose best.safetensors; default 0, and 0.1 "
           "with --data and no val/");
  add_real(app, "--calibration-split", flags.calibration_split, 0, 0.9,
           "share held out to learn when to be unsure, without --val-split; default 0.05, 0: none");
  add_augment_flags(app, flags.augment);

  app.option_defaults()->group("Recipe");
  add_whole(app, "--epochs", flags.epochs, 1, 100'000,
            "passes over the data; default by network, up to 10 times as many for a small --data");
  add_whole(app, "--batch-size", flags.batch_size, 1, models::kMaxBatchSize,
            "images per step, of all devices; default 64");
  add_real(app, "--lr", flags.lr, 1e-9, 1000,
           "peak learning rate; default by network, 0.001 with adamw");
  add_choice(app, "--lr-schedule", flags.schedule, {"constant", "step", "cosine", "one-cycle"},
             "how the learning rate changes; default one-cycle");
  add_real(app, "--warmup", flags.warmup, 0, 1, "share of one-cycle that goes up; default 0.25");
  add_choice(app, "--optimizer", flags.optimizer, {"sgd", "adamw"},
             "rule of the update; default sgd. adamw trains layer by layer, never in one kernel");
  add_real(app, "--momentum", flags.momentum, 0, 0.9999, "momentum of SGD; default 0.9");
  app.add_flag("--nesterov", flags.nesterov, "Nesterov's momentum: the default");
  app.add_flag("--no-nesterov", flags.no_nesterov, "classical momentum instead");
  add_real(app, "--beta1", flags.beta1, 0, 0.999999, "adamw: decay of the mean; default 0.9");
  add_real(app, "--beta2", flags.beta2, 0, 0.999999999,
           "adamw: decay of the mean of squares; default 0.999");
  add_real(app, "--epsilon", flags.epsilon, 1e-30, 1,
           "adamw: added to the root of that mean; default 1e-8");
  add_real(app, "--weight-decay", flags.weight_decay, 0, 10,
           "weight decay; default by network, 0.01 with adamw, which decouples it");
  add_real(app, "--clip-norm", flags.clip_norm, 0, 1e18,
           "clip gradients to this norm over all parameters, layer by layer; default 0: do not");
  add_real(app, "--label-smoothing", flags.smoothing, 0, 0.9,
           "share of each label that is spread over all classes");
  add_real(app, "--init-gain", flags.gain, 0, 100,
           "factor on the initial weights; 2.45 gives He's for ReLU");
  add_real(app, "--ema", flags.ema, 0, 0.999999,
           "average the weights, keeping this share of the average at each step");
  add_real(app, "--dropout", flags.dropout, 0, 0.99,
           "dropout before the last layer of convnet; rate in a FILE.net");
  add_whole(app, "--seed", flags.seed, 0, std::numeric_limits<std::int64_t>::max(),
            "seed of weights, order and augmentation; default 1");

  add_device_flags(app, flags.device, true);
  add_rank_flags(app, flags.ranks);
  app.add_flag("--sync-batch-norm", flags.sync_batch_norm,
               "batch norm over the images of all devices, not of each alone")
      ->group("Several devices");
  add_device_data_limit(app, flags.device);

  app.option_defaults()->group("Run");
  app.add_option("--out", flags.out, "run directory; default runs/MODEL-DATASET-N")
      ->type_name("RUN");
  app.add_option("--resume", flags.resume, "go on with this run; its settings stay as they were")
      ->type_name("RUN");
  add_whole(app, "--stop-after", flags.stop_after, 1, 100'000,
            "end after epoch N of the schedule, to be resumed later");
  app.add_flag("--dry-run", flags.dry_run,
               "show settings, steps and memory: read and check what the run would, train nothing");
  add_whole(
      app, "--log-every", flags.log_every, 1, 1'000'000'000,
      "steps at least between two rows of metrics.csv, default 100; a row never makes a GPU wait");
  add_choice(app, "--progress", flags.progress, {"auto", "on", "off"},
             "progress bar; auto: when stderr is a terminal")
      ->capture_default_str();
  app.add_flag("--json", flags.json, "one JSON object per line on stdout");
}

void check_train_flags(const CLI::App& app, const TrainFlags& flags) {
  device_data_limit(flags.device);
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  if (given("--resume")) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() == 0 || may_change(option->get_name())) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("{} cannot be combined with --resume: the run keeps its settings",
                              option->get_name()));
    }
    return;
  }
  if (given("--recipe") && given("--config")) {
    throw Error(ErrorKind::usage, "--recipe and --config exclude each other");
  }
  const models::TrainConfig start = start_of(flags);
  const models::NetworkOptions& network = start.network;
  const bool adamw = start.optimizer == models::Optimizer::adamw;
  for (const char* name : {"--momentum", "--nesterov", "--no-nesterov"}) {
    if (!adamw || !given(name)) continue;
    throw Error(ErrorKind::usage,
                fmt::format("{} is for sgd; adamw has --beta1 and --beta2", name));
  }
  for (const char* name : {"--beta1", "--beta2", "--epsilon"}) {
    if (adamw || !given(name)) continue;
    throw Error(ErrorKind::usage, fmt::format("{} is for --optimizer adamw", name));
  }
  if (given("--dropout") && flags.dropout > 0 && !models::takes_dropout(network)) {
    throw Error(ErrorKind::usage,
                fmt::format("--dropout is for convnet, and for files that say dropout rate; {} has "
                            "none",
                            network.name));
  }
  if (given("--calibration-split") && flags.val_split > 0) {
    throw Error(ErrorKind::usage,
                "--calibration-split and --val-split exclude each other: the validation images "
                "serve the calibration too");
  }
  check_augment_flags(app, flags.augment);
  if (flags.nesterov && (flags.no_nesterov || flags.momentum == 0)) {
    throw Error(ErrorKind::usage, flags.no_nesterov
                                      ? "--nesterov and --no-nesterov exclude each other"
                                      : "--nesterov needs a momentum above 0");
  }
}

models::TrainConfig config_from(const TrainFlags& flags) {
  models::TrainConfig config = start_of(flags);
  if (flags.dropout >= 0) config.network.dropout = static_cast<float>(flags.dropout);
  check_data_flags(flags.data);
  if (!flags.data.dataset.empty()) {
    config.dataset = flags.data.dataset;
    config.own_data = {};
  }
  config.own_data = own_data_from(flags.data.own, config.own_data);
  if (config.own_data.path.empty()) check_data_flags({config.dataset, flags.data.data_dir, {}});
  if (flags.epochs > 0) config.epochs = static_cast<int>(flags.epochs);
  if (flags.batch_size > 0) config.batch_size = flags.batch_size;
  if (!flags.schedule.empty()) config.schedule.kind = models::parse_schedule(flags.schedule);
  if (flags.lr > 0) config.schedule.peak = static_cast<float>(flags.lr);
  if (flags.warmup >= 0) config.schedule.warmup_fraction = flags.warmup;
  if (flags.momentum >= 0) config.momentum = static_cast<float>(flags.momentum);
  config.nesterov =
      (config.nesterov || flags.nesterov) && !flags.no_nesterov && config.momentum > 0;
  if (flags.weight_decay >= 0) config.weight_decay = static_cast<float>(flags.weight_decay);
  if (flags.beta1 >= 0) config.beta1 = flags.beta1;
  if (flags.beta2 >= 0) config.beta2 = flags.beta2;
  if (flags.epsilon > 0) config.epsilon = flags.epsilon;
  if (flags.clip_norm >= 0) config.clip_norm = static_cast<float>(flags.clip_norm);
  if (flags.smoothing >= 0) config.label_smoothing = static_cast<float>(flags.smoothing);
  if (flags.gain >= 0) config.init_gain = static_cast<float>(flags.gain);
  if (flags.ema >= 0) config.ema_decay = static_cast<float>(flags.ema);
  if (flags.seed >= 0) config.seed = static_cast<std::uint64_t>(flags.seed);
  if (flags.val_split >= 0) config.validation_split = flags.val_split;
  if (flags.limit_train > 0) config.limit_train = flags.limit_train;
  if (flags.limit_test > 0) config.limit_test = flags.limit_test;
  if (flags.calibration_split >= 0) config.calibration_split = flags.calibration_split;
  if (config.validation_split > 0) config.calibration_split = 0;
  if (flags.log_every > 0) config.log_every = flags.log_every;
  config.sync_batch_norm |= flags.sync_batch_norm;
  return config;
}

void check_same_network(const TrainFlags& flags, const models::TrainConfig& run) {
  if (flags.model.empty()) return;
  const models::NetworkOptions asked = asked_network(flags.model);
  if (models::definition_of(asked) == models::definition_of(run.network)) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} differs from the network that the run in {} began with, {}; without "
                          "--model the run goes on with its own copy",
                          flags.model, flags.resume, run.network.name));
}

layers::KernelChoice kernels_from(const TrainFlags& flags, const models::TrainConfig& config,
                                  Device device) {
  DeviceFlags chosen = flags.device;
  if (chosen.precision.empty()) {
    const bool recipe_on_cpu = flags.config.empty() && device.is_cpu();
    chosen.precision = recipe_on_cpu ? "fp32" : models::name_of(config.kernels.mode);
  }
  return select_kernels(chosen, device, config.kernels);
}

}  // namespace weft::cli
