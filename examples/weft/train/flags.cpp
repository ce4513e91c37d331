// SPDX-License-Identifier: MIT
#include "examples/weft/train/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/extent.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/train/report.h"
#include "models/files/json_fields.h"
#include "models/networks/networks.h"
#include "models/training/recipes.h"
#include "models/training/runs/run_state.h"
#include "models/training/settings.h"
#include "models/training/start.h"

namespace weft::cli {
namespace {

constexpr const char* kModel = "lenet5";

// "--no-nesterov" of "--nesterov".
std::string no(std::string_view flag) {
  return fmt::format("--no-{}", flag.substr(2));
}

constexpr std::int64_t kMostConfigBytes = 1 << 20;

// May this flag stand beside --resume? The table of settings says which of them may change; so may
// what is no setting: where the run computes, where its data lies and what is printed.
bool may_change(const std::string& flag) {
  if (flag == "--recipe" || flag == "--config" || flag == "--out") return false;
  const std::string on = flag.starts_with("--no-") ? "--" + flag.substr(5) : flag;
  return std::ranges::none_of(models::settings(), [&](const models::Setting& setting) {
    return !setting.rules.may_resume && (setting.flag == flag || setting.flag == on);
  });
}

// A flag for each setting below one heading of --help.
void add_settings(CLI::App& app, std::string_view heading, GivenSettings& given) {
  app.option_defaults()->group(std::string(heading));
  for (const models::Setting& setting : models::settings()) {
    if (setting.group != heading || setting.help.empty()) continue;
    const std::string flag(setting.flag), type = setting.type(), help = setting.help_text();
    const auto keep = [&given, &setting](const std::string& text) { given[setting.name] = text; };
    if (type.empty()) {
      app.add_flag_callback(
          flag, [keep] { keep("true"); }, help);
      if (setting.rules.help_off.empty()) continue;
      app.add_flag_callback(
          no(flag), [keep] { keep("false"); }, std::string(setting.rules.help_off));
      continue;
    }
    const auto check = [&setting](const std::string& text) -> std::string {
      try {
        models::TrainConfig unused;
        models::set(unused, setting, text);
        return "";
      } catch (const Error& error) {
        return error.what();
      }
    };
    app.add_option_function<std::string>(flag, keep, help)
        ->check(CLI::Validator(check, ""))
        ->type_name(type);
  }
}

// Sets what flags gave, the augmentation or all else: that of pictures depends on their channels.
enum class Given { augmentation, others };
void set_given(models::TrainConfig& config, const GivenSettings& given, Given which) {
  for (const auto& [name, text] : given) {
    if (name.starts_with("augmentation.") != (which == Given::augmentation)) continue;
    models::set(config, models::setting_named(name), text);
  }
}

// The settings where no flag and no file says otherwise.
models::TrainConfig unasked(models::TrainConfig config) {
  config.calibration_split = models::kCalibrationSplit;
  return config;
}

// The network that --model names, of which a file is read.
models::NetworkOptions asked_network(const std::optional<std::string>& model) {
  if (model && models::is_network_file(*model)) return models::read_network(*model);
  models::NetworkOptions network;
  network.name = model.value_or(kModel);
  return network;
}

// `dataset` gets the name of the data set, where the file has it.
models::TrainConfig read_config(const std::string& path, const models::NetworkOptions& asked,
                                std::optional<std::string>& dataset) {
  const data::InputFile file(path);
  if (file.size() > kMostConfigBytes) {
    throw Error(ErrorKind::data, fmt::format("{}: more than 1 MiB, expected a config.json", path));
  }
  std::string text(file.size(), '\0');
  file.read(std::as_writable_bytes(std::span(text)), 0);
  const auto with_defaults_of = [&](const models::NetworkOptions& network,
                                    const models::Optimizer* optimizer) {
    models::TrainConfig start = unasked(models::default_config(network.name));
    start.network.definition = network.definition;
    models::choose_optimizer(start, optimizer);
    return models::train_config_from_json(text, start, path);
  };
  // A part of a config.json has the other settings of its network and its optimizer.
  const models::TrainConfig part = with_defaults_of(asked, models::TrainConfig().optimizer);
  const models::TrainConfig config = with_defaults_of(part.network, part.optimizer);
  if (models::names_setting(text, "dataset")) dataset = config.dataset;
  return config;
}

// The network of --model, else that of the model that --from names, else the usual one; whether
// the flags say one.
std::pair<models::NetworkOptions, bool> chosen_network(const TrainFlags& flags) {
  const auto from = flags.settings.find("start_from");
  if (flags.model || from == flags.settings.end()) {
    return {asked_network(flags.model), flags.model.has_value()};
  }
  return {models::network_of_start(from->second), true};
}

// The settings that single flags change.
models::TrainConfig start_of(const TrainFlags& flags, std::optional<std::string>& dataset) {
  if (flags.recipe && flags.config) {
    throw Error(ErrorKind::usage, "--recipe and --config exclude each other");
  }
  const auto [asked, is_said] = chosen_network(flags);
  models::TrainConfig config = flags.config   ? read_config(*flags.config, asked, dataset)
                               : flags.recipe ? unasked(models::recipe_config(*flags.recipe))
                                              : unasked(models::default_config(asked.name));
  if (flags.recipe && !dataset && !flags.data.own.path &&
      config.dataset != models::TrainConfig().dataset) {
    dataset = config.dataset;
  }
  if (is_said) {
    config.network.name = asked.name;
    config.network.definition = asked.definition;
  }
  if (is_said && !flags.model) config.network.dropout = asked.dropout;
  models::TrainConfig changed = config;
  set_given(changed, flags.settings, Given::others);
  models::choose_optimizer(config, changed.optimizer);
  return config;
}

// Throws usage for flags that exclude each other, or that `config` has no use for.
void check_given(const CLI::App& app, const TrainFlags& flags, const models::TrainConfig& config) {
  const auto exclude = [&](std::string_view one, std::string_view other, const char* why = "") {
    if (app.count(std::string(one)) == 0 || app.count(std::string(other)) == 0) return;
    throw Error(ErrorKind::usage, fmt::format("{} and {} exclude each other{}", one, other, why));
  };
  exclude("--augment", "--no-augment");
  if (config.validation_split > 0) {
    exclude("--calibration-split", "--val-split",
            ": the validation images serve the calibration too");
  }
  for (const auto& [name, text] : flags.settings) {
    const models::Setting& setting = models::setting_named(name);
    if (!setting.rules.help_off.empty()) exclude(setting.flag, no(setting.flag));
    if (name.starts_with("augmentation.")) exclude(setting.flag, "--no-augment");
    const std::string missing = models::missing_choice(config, setting);
    if (!missing.empty()) {
      throw Error(ErrorKind::usage, fmt::format("{} is for {}", setting.flag, missing));
    }
  }
  if (app.count("--nesterov") > 0 && config.momentum == 0) {
    throw Error(ErrorKind::usage, "--nesterov needs a momentum above 0");
  }
  if (app.count("--dropout") > 0 && config.network.dropout > 0 &&
      !models::takes_dropout(config.network)) {
    throw Error(ErrorKind::usage,
                fmt::format("--dropout is for convnet, and for files that say dropout rate; {} has "
                            "none",
                            config.network.name));
  }
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
  add_settings(app, "Start from a model", flags.settings);
  add_data_flags(app, flags.data, "mnist, or the built-in digits when it cannot be had");
  add_own_data_flags(app, flags.data.own, true);
  add_settings(app, "Data", flags.settings);
  app.option_defaults()->group("Augmentation");
  app.add_flag_callback(
      "--augment", [&flags] { flags.augment = true; },
      "change the training images from epoch to epoch: grey ones are turned, scaled, sheared and "
      "shifted, coloured ones flipped and cropped as by --flip --crop 4");
  app.add_flag_callback(
      "--no-augment", [&flags] { flags.augment = false; }, "take them as they are: the default");
  add_settings(app, "Augmentation", flags.settings);
  add_settings(app, "Recipe", flags.settings);

  add_device_flags(app, flags.device, true);
  add_rank_flags(app, flags.ranks);
  add_settings(app, "Several devices", flags.settings);
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
  add_settings(app, "Run", flags.settings);
  add_choice(app, "--progress", flags.progress, {"auto", "on", "off"},
             "progress bar; auto: when stderr is a terminal")
      ->capture_default_str();
  app.add_flag("--json", flags.json, "one JSON object per line on stdout");
}

void check_resume_flags(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || may_change(option->get_name())) continue;
    throw Error(ErrorKind::usage,
                fmt::format("{} cannot be combined with --resume: the run keeps its settings",
                            option->get_name()));
  }
}

models::TrainConfig config_from(const CLI::App& app, TrainFlags& flags) {
  std::optional<std::string> dataset;
  models::TrainConfig config = start_of(flags, dataset);
  set_given(config, flags.settings, Given::others);
  check_given(app, flags, config);
  check_data_flags(flags.data);
  if (flags.data.dataset) config.own_data = {};
  config.own_data = own_data_from(flags.data.own, config.own_data);
  if (config.own_data.path.empty()) {
    if (!flags.data.dataset) flags.data.dataset = dataset;
    check_data_flags(flags.data);
  }
  config.nesterov = config.nesterov && config.momentum > 0;
  if (config.validation_split > 0) config.calibration_split = 0;
  return config;
}

void augment(models::TrainConfig& config, const TrainFlags& flags) {
  // What --augment does to drawings, with one channel, and to pictures in colour.
  constexpr kernels::Augmentation kGrey{
      .rotate_degrees = 10, .scale = 0.1f, .shear = 0.1f, .shift = 2};
  constexpr kernels::Augmentation kColour{.flip = true, .crop = 4};
  if (!flags.augment.value_or(true)) config.augmentation = {};
  if (flags.augment.value_or(false) && !config.augmentation.any()) {
    config.augmentation = config.network.channels == 1 ? kGrey : kColour;
  }
  set_given(config, flags.settings, Given::augmentation);
}

std::optional<int> epochs_given(const GivenSettings& given) {
  if (!given.contains("epochs")) return std::nullopt;
  models::TrainConfig config;
  models::set(config, models::setting_named("epochs"), given.at("epochs"));
  return config.epochs;
}

void check_same_network(const TrainFlags& flags, const models::TrainConfig& run) {
  if (!flags.model) return;
  const models::NetworkOptions asked = asked_network(flags.model);
  if (models::definition_of(asked) == models::definition_of(run.network)) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} differs from the network that the run in {} began with, {}; without "
                          "--model the run goes on with its own copy",
                          *flags.model, *flags.resume, run.network.name));
}

layers::KernelChoice kernels_from(const TrainFlags& flags, const models::TrainConfig& config,
                                  Device device) {
  DeviceFlags chosen = flags.device;
  if (!chosen.precision) {
    const bool recipe_on_cpu = !flags.config && device.is_cpu();
    chosen.precision = recipe_on_cpu ? "fp32" : models::name_of(config.kernels.mode);
  }
  return select_kernels(chosen, device, config.kernels);
}

}  // namespace weft::cli
