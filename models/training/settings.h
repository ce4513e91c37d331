// SPDX-License-Identifier: MIT
// The table of training settings. A row holds all that is known of a setting: the flags of `weft
// train` with --help, manual and completion, --config, config.json, the checks, the program's
// --json lines and Python's weft.train() read it.
//
// A new setting is a member of TrainConfig and a row of settings.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "models/training/train_config.h"

namespace weft::models {

// Where a setting of type T stands in a TrainConfig.
template <class T>
struct Place {
  T& (*in)(TrainConfig&);
  const T& (*of)(const TrainConfig&);
};
using AnyPlace =
    std::variant<Place<bool>, Place<int>, Place<std::int64_t>, Place<std::uint64_t>,
                 Place<std::optional<std::int64_t>>, Place<float>, Place<double>,
                 Place<std::string>, Place<const ScheduleKind*>, Place<const Optimizer*>,
                 Place<data::Fit>, Place<kernels::ComputeMode>>;

// Between these a number lies, both ends included; NaN never does. Other types have no bounds.
struct Bounds {
  double low = 0, high = 0;
};

// A setting is in config.json always, with_object: wherever its object ("own_data") is, together:
// with all others of its object that are so, or in later versions of Weft.
enum class Written { always, with_object, together, later };

// What few settings need.
struct Rules {
  std::string_view fallback = {};  // what the help calls the default, where TrainConfig has another
  std::string_view help_off = {};  // of the flag --no-NAME, which a switch that is on has
  bool may_resume = false;         // may a resumed run change it?
  Written written = Written::later;
  std::string_view rungs = {};  // the family whose rungs it names
};

struct Setting {
  std::string_view name;  // in config.json; "schedule.peak" is {"schedule": {"peak": ...}}
  AnyPlace place;
  Bounds bounds;
  std::string_view flag;         // of `weft train`: "--lr"; empty: none
  std::string_view group, help;  // heading and sentence of --help; no sentence: the flag is shared
  Rules rules;

  // What the program's --json lines and Python call it: "lr", "weight_decay".
  std::string key() const;
  std::string type() const;       // of its values: "N", "X", "sgd|adamw"; empty for a switch
  std::string help_text() const;  // the sentence with the default

  // Calls visitor(value) with the value in `config`, whatever its type.
  template <class Visitor>
  auto visit(const TrainConfig& config, const Visitor& visitor) const {
    return std::visit([&](const auto& at) { return visitor(at.of(config)); }, place);
  }
  // The same with a value that may be changed.
  template <class Visitor>
  void change(TrainConfig& config, const Visitor& visitor) const {
    std::visit([&](const auto& at) { visitor(at.in(config)); }, place);
  }
  void copy(const TrainConfig& from, TrainConfig& to) const {
    std::visit([&](const auto& at) { at.in(to) = at.of(from); }, place);
  }
};

std::span<const Setting> settings();  // as --help has them
const Setting& setting_named(std::string_view name);

// The values of a setting that has names for them: an enum's, or rows of a table.
template <class T>
constexpr bool has_words = std::is_enum_v<T> || std::is_pointer_v<T>;
inline std::span<const ScheduleKind> words_of(const ScheduleKind*) {
  return schedules();
}
inline std::span<const Optimizer> words_of(const Optimizer*) {
  return optimizers();
}
constexpr std::span<const Named<data::Fit>> words_of(data::Fit) {
  return data::kFits;
}
constexpr std::span<const Named<kernels::ComputeMode>> words_of(kernels::ComputeMode) {
  return kPrecisions;
}

inline std::string_view name_of(kernels::ComputeMode mode) {
  return name_in(kPrecisions, mode);
}

// Gives the setting the value that a person wrote. Throws usage when the text is no such value.
void set(TrainConfig& config, const Setting& setting, std::string_view text);

// The choice that the setting belongs to, "--optimizer adamw", where `config` has made another one
// and has no use for it; else "".
std::string missing_choice(const TrainConfig& config, const Setting& setting);

// The settings of a group that do something in this run: "epochs 4, batch size 64, lr 0.05".
std::string text_of(const TrainConfig& config, std::string_view group);

// Throws usage, naming the setting, when a value lies out of its range. The network's name is
// checked where it is built.
void validate(const TrainConfig& config);

}  // namespace weft::models
