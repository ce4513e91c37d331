// SPDX-License-Identifier: MIT
#include "models/training/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "engine/error.h"
#include "engine/text.h"
#include "kernels/catalogue.h"

namespace weft::models {

namespace {

using Config = TrainConfig;
using kernels::Augmentation;
using layers::KernelChoice;

constexpr double kMost = 1e12;  // images, and steps
constexpr double kBelowOne = 0.999999;

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// The setting's bounds as numbers of the type T; a seed is any number.
template <class T>
std::pair<T, T> bounds_of(const Setting& setting) {
  if constexpr (std::is_same_v<T, std::uint64_t>) return {0, std::numeric_limits<T>::max()};
  return {static_cast<T>(setting.bounds.low), static_cast<T>(setting.bounds.high)};
}

constexpr Rules kRequired{.written = Written::always};
constexpr Rules kOfOwnData{.written = Written::with_object};
constexpr Rules kTogether{.written = Written::together};

// The rows, each with the path of members that leads to its value.
struct Table {
  template <auto... path>
  void add(std::string_view name, Bounds bounds, std::string_view flag, std::string_view help,
           Rules rules = {}) {
    using T = std::remove_reference_t<decltype((std::declval<Config&>().*....*path))>;
    const Place<T> place{[](Config& config) -> T& { return (config.*....*path); },
                         [](const Config& config) -> const T& { return (config.*....*path); }};
    rows.push_back({name, place, bounds, flag, group, help, rules});
  }
  // A setting without a flag, or with one that settings or commands share: it is added elsewhere.
  template <auto... path>
  void add_unlisted(std::string_view name, Bounds bounds, std::string_view flag, Rules rules = {}) {
    add<path...>(name, bounds, flag, {}, rules);
  }

  std::vector<Setting> rows;
  std::string_view group;  // the heading of --help for the flags that follow
};

std::vector<Setting> make_table() {
  Table table;
  table.add_unlisted<&Config::network, &NetworkOptions::name>(
      "network", {}, "--model", {.may_resume = true, .written = Written::always});
  table.add_unlisted<&Config::dataset>("dataset", {}, "--dataset", kRequired);
  table.add_unlisted<&Config::schedule, &Schedule::step_every_epochs>("schedule.step_every_epochs",
                                                                      {1, 1e6}, {}, kRequired);
  table.add_unlisted<&Config::schedule, &Schedule::step_factor>("schedule.step_factor", {0, 1e30},
                                                                {}, kRequired);

  table.add_unlisted<&Config::normalisation>("normalisation", {}, {});

  table.group = "Start from a model";
  table.add<&Config::start_from>(
      "start_from", {}, "--from",
      "begin with the weights of this run or model file; its network is the default of --model",
      {.fallback = "none"});
  table.add<&Config::freeze>("freeze", {}, "--freeze",
                             "layers that are not trained, by name: conv1,conv2 or conv*",
                             {.fallback = "none"});

  table.group = "Data";
  table.add<&Config::limit_train>("limit_train", {1, kMost}, "--limit-train",
                                  "use only the first N training images", kRequired);
  table.add<&Config::limit_test>("limit_test", {1, kMost}, "--limit-test",
                                 "evaluate on the first N test images only");
  table.add<&Config::validation_split>(
      "validation_split", {0, 0.9}, "--val-split",
      "share of the training images held out to choose best.safetensors",
      {.fallback = "0, and 0.1 with --data and no val/", .written = Written::always});
  table.add<&Config::calibration_split>(
      "calibration_split", {0, 0.9}, "--calibration-split",
      "share held out to learn when to be unsure, without --val-split",
      {.fallback = "0.05, 0: none"});
  table.add<&Config::balance>(
      "balance", {}, "--balance",
      "repeat training images of rare classes until each has as many as the largest");

  table.group = "Your own data";
  table.add_unlisted<&Config::own_data, &OwnData::path>(
      "own_data.path", {}, "--data", {.may_resume = true, .written = Written::with_object});
  table.add_unlisted<&Config::own_data, &OwnData::label>("own_data.label", {}, "--label");
  table.add_unlisted<&Config::own_data, &OwnData::label_pattern>("own_data.label_pattern", {},
                                                                 "--label-pattern");
  table.add_unlisted<&Config::own_data, &OwnData::shape, &data::PictureShape::channels>(
      "own_data.channels", {0, 3}, "--channels", kOfOwnData);
  table.add_unlisted<&Config::own_data, &OwnData::shape, &data::PictureShape::height>(
      "own_data.height", {0, data::kMaxDatasetSide}, "--image-size", kOfOwnData);
  table.add_unlisted<&Config::own_data, &OwnData::shape, &data::PictureShape::width>(
      "own_data.width", {0, data::kMaxDatasetSide}, "--image-size", kOfOwnData);
  table.add_unlisted<&Config::own_data, &OwnData::shape, &data::PictureShape::fit>(
      "own_data.fit", {}, "--fit", kOfOwnData);
  table.add_unlisted<&Config::own_data, &OwnData::shape, &data::PictureShape::sample_bits>(
      "own_data.sample_bits", {0, 16}, "--sample-bits");
  table.add_unlisted<&Config::own_data, &OwnData::skip_broken>(
      "own_data.skip_broken", {}, "--skip-broken",
      {.may_resume = true, .written = Written::with_object});

  table.group = "Augmentation";
  table.add_unlisted<&Config::augmentation, &Augmentation::rotate_degrees>(
      "augmentation.rotate_degrees", {0, 180}, "--augment", kRequired);
  table.add_unlisted<&Config::augmentation, &Augmentation::scale>("augmentation.scale", {0, 0.9},
                                                                  "--augment", kRequired);
  table.add_unlisted<&Config::augmentation, &Augmentation::shear>("augmentation.shear", {0, 4},
                                                                  "--augment", kRequired);
  table.add_unlisted<&Config::augmentation, &Augmentation::shift>("augmentation.shift", {0, 1024},
                                                                  "--augment", kRequired);

  table.add<&Config::augmentation, &Augmentation::flip>(
      "augmentation.flip", {}, "--flip", "mirror every other image, left to right", kTogether);
  table.add<&Config::augmentation, &Augmentation::crop>(
      "augmentation.crop", {0, Augmentation::kMaxCrop}, "--crop",
      "move each image by up to N pixels: a window of its padded self", kTogether);
  table.add<&Config::augmentation, &Augmentation::brightness>(
      "augmentation.brightness", {0, 1}, "--brightness",
      "make each lighter or darker by up to this part of white", kTogether);
  table.add<&Config::augmentation, &Augmentation::contrast>(
      "augmentation.contrast", {0, 1}, "--contrast",
      "change the contrast of each by up to this part", kTogether);
  table.add<&Config::augmentation, &Augmentation::cutout>(
      "augmentation.cutout", {0, Augmentation::kMaxCrop}, "--cutout",
      "blank out a square of N pixels a side, anywhere", kTogether);

  table.group = "Recipe";
  table.add<&Config::epochs>("epochs", {1, 1e6}, "--epochs", "passes over the data",
                             {.fallback = "by network, up to 10 times as many for a small --data",
                              .may_resume = true,
                              .written = Written::always});
  table.add<&Config::batch_size>("batch_size", {1, 65'536}, "--batch-size",
                                 "images per step, of all devices", kRequired);
  table.add<&Config::schedule, &Schedule::peak>(
      "schedule.peak", {1e-9, 1000}, "--lr", "peak learning rate",
      {.fallback = "by network", .written = Written::always});
  table.add<&Config::schedule, &Schedule::kind>("schedule.kind", {}, "--lr-schedule",
                                                "how the learning rate changes", kRequired);
  table.add<&Config::schedule, &Schedule::warmup_fraction>(
      "schedule.warmup_fraction", {0, 1}, "--warmup", "share of one-cycle that goes up", kRequired);
  table.add<&Config::optimizer>("optimizer", {}, "--optimizer", "rule of the update");
  table.add<&Config::momentum>("momentum", {0, kBelowOne}, "--momentum", "momentum of SGD",
                               kRequired);
  table.add<&Config::nesterov>(
      "nesterov", {}, "--nesterov", "Nesterov's momentum: the default",
      {.help_off = "classical momentum instead", .written = Written::always});
  table.add<&Config::beta1>("beta1", {0, kBelowOne}, "--beta1", "adamw: decay of the mean");
  table.add<&Config::beta2>("beta2", {0, 0.999999999}, "--beta2",
                            "adamw: decay of the mean of squares");
  table.add<&Config::epsilon>("epsilon", {1e-30, 1}, "--epsilon",
                              "adamw: added to the root of that mean");
  table.add<&Config::weight_decay>("weight_decay", {0, 1e6}, "--weight-decay", "weight decay",
                                   {.fallback = "by network", .written = Written::always});
  table.add<&Config::clip_norm>(
      "clip_norm", {0, 1e18}, "--clip-norm",
      "clip gradients to this norm over all parameters, layer by layer; 0: do not");
  table.add<&Config::label_smoothing>("label_smoothing", {0, kBelowOne}, "--label-smoothing",
                                      "share of each label that is spread over all classes");
  table.add<&Config::init_gain>("init_gain", {0, 100}, "--init-gain",
                                "factor on the initial weights; 2.45 gives He's for ReLU");
  table.add<&Config::ema_decay>(
      "ema_decay", {0, kBelowOne}, "--ema",
      "average the weights, keeping this share of the average at each step");
  table.add<&Config::network, &NetworkOptions::dropout>(
      "dropout", {0, kBelowOne}, "--dropout",
      "dropout before the last layer of convnet; rate in a FILE.net", kRequired);
  table.add<&Config::seed>("seed", {}, "--seed", "seed of weights, order and augmentation",
                           kRequired);

  table.group = "Device";
  table.add_unlisted<&Config::kernels, &KernelChoice::mode>("precision", {}, "--precision",
                                                            kRequired);
  table.add_unlisted<&Config::kernels, &KernelChoice::gemm>(
      "gemm", {}, "--impl", {.written = Written::always, .rungs = "gemm"});
  table.add_unlisted<&Config::kernels, &KernelChoice::conv>(
      "conv", {}, "--impl", {.written = Written::always, .rungs = "conv"});
  table.add_unlisted<&Config::kernels, &KernelChoice::conv_relu_pool>(
      "conv_relu_pool", {}, "--impl", {.rungs = "conv_relu_pool"});
  table.add_unlisted<&Config::kernels, &KernelChoice::fuse>("fuse", {}, "--impl");

  table.group = "Several devices";
  table.add<&Config::sync_batch_norm>(
      "sync_batch_norm", {}, "--sync-batch-norm",
      "batch norm over the images of all devices, not of each alone");

  table.group = "Run";
  table.add<&Config::log_every>(
      "log_every", {1, kMost}, "--log-every",
      "steps at least between two rows of metrics.csv; a row never makes a GPU wait");
  return std::move(table.rows);
}

// Throws usage unless `text` is a number of the type T in the setting's range.
template <class T>
T number_in(const Setting& setting, std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, end, value);
  const auto [low, high] = bounds_of<T>(setting);
  if (error == std::errc{} && stop == end && value >= low && value <= high) return value;
  throw Error(ErrorKind::usage,
              fmt::format("expected a {} from {} to {}, found '{}'",
                          std::is_integral_v<T> ? "whole number" : "number", low, high, text));
}

}  // namespace

std::string Setting::key() const {
  const std::size_t dot = name.find('.');
  const bool by_flag = dot != name.npos && !help.empty();
  std::string key(by_flag ? flag.substr(2) : name.substr(dot + 1));
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string Setting::type() const {
  return visit(TrainConfig(), []<class T>(const T& value) -> std::string {
    if constexpr (has_words<T>) return joined(names_of(words_of(value)), "|");
    if constexpr (std::is_same_v<T, bool>) return "";
    return std::is_floating_point_v<T> ? "X" : std::is_same_v<T, std::string> ? "TEXT" : "N";
  });
}

std::string Setting::help_text() const {
  return visit(TrainConfig(), [&]<class T>(const T& value) {
    std::string text(help), standard(rules.fallback);
    if constexpr (has_words<T>) standard = name_of(value);
    if constexpr (is_number<T>) {
      if (standard.empty()) standard = fmt::format("{}", value);
    }
    if (!standard.empty()) text += "; default " + standard;
    for (const Optimizer& optimizer : optimizers()) {
      for (const auto& [setting, own] : optimizer.defaults) {
        if (setting == name) text += fmt::format(", {} with {}", own, optimizer.name);
      }
    }
    if constexpr (std::is_pointer_v<T>) {
      for (const auto& row : words_of(value))
        text += fmt::format("; {}: {}", row.name, row.summary);
    }
    return text;
  });
}

std::span<const Setting> settings() {
  static const std::vector<Setting> kTable = make_table();
  return kTable;
}

const Setting& setting_named(std::string_view name) {
  return row_named(settings(), "setting", name);
}

void set(TrainConfig& config, const Setting& setting, std::string_view text) {
  setting.change(config, [&]<class T>(T& value) {
    if constexpr (has_words<T>) {
      const auto& row = row_named(words_of(value), setting.key(), text);
      if constexpr (std::is_pointer_v<T>) value = &row;
      if constexpr (std::is_enum_v<T>) value = row.value;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "false") {
        throw Error(ErrorKind::usage, fmt::format("expected true or false, found '{}'", text));
      }
      value = text == "true";
    } else if constexpr (std::is_same_v<T, std::string>) {
      const std::string_view family = setting.rules.rungs;
      value = family.empty() ? text : kernels::rung_name(family, text);
    } else if constexpr (is_optional<T>) {
      value = number_in<typename T::value_type>(setting, text);
    } else {
      value = number_in<T>(setting, text);
    }
  });
}

std::string missing_choice(const TrainConfig& config, const Setting& setting) {
  std::string missing;
  for (const Setting& choice : settings()) {
    choice.visit(config, [&]<class T>(const T& chosen) {
      if constexpr (std::is_pointer_v<T>) {
        const auto has = [&](const auto& row) {
          return std::ranges::count(row.settings, setting.name) > 0;
        };
        Names owners;
        for (const auto& row : words_of(chosen)) {
          if (has(row)) owners.push_back(row.name);
        }
        if (owners.empty() || has(*chosen)) return;
        missing = fmt::format("{} {}", choice.flag, joined(owners, " or "));
      }
    });
  }
  return missing;
}

std::string text_of(const TrainConfig& config, std::string_view group) {
  std::vector<std::string> parts;
  for (const Setting& setting : settings()) {
    if (setting.group != group) continue;
    if (!missing_choice(config, setting).empty()) continue;
    std::string label = setting.key();
    std::ranges::replace(label, '_', ' ');
    setting.visit(config, [&]<class T>(const T& value) {
      if constexpr (has_words<T>) {
        parts.push_back(fmt::format("{} {}", label, name_of(value)));
      } else if constexpr (is_number<T>) {
        if (value != 0) parts.push_back(fmt::format("{} {}", label, value));
      } else if constexpr (std::is_same_v<T, bool>) {
        if (value) parts.push_back(label);
      }
    });
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

void validate(const TrainConfig& config) {
  for (const Setting& setting : settings()) {
    const auto check = [&]<class T>(const T& value) {
      if constexpr (is_number<T>) {
        const auto [low, high] = bounds_of<T>(setting);
        if (value >= low && value <= high) return;
        throw Error(ErrorKind::usage, fmt::format("expected {} from {} to {}, found {}",
                                                  setting.name, low, high, value));
      }
    };
    setting.visit(config, [&]<class T>(const T& value) {
      if constexpr (is_optional<T>) {
        if (value) check(*value);
      } else {
        check(value);
      }
    });
  }
}

}  // namespace weft::models
