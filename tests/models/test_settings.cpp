// SPDX-License-Identifier: MIT
// The table of training settings: it is whole, and what it says of a setting is so.
#include "models/training/settings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "models/training/recipes.h"
#include "models/training/runs/run_state.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::throws;

// Stands for a value of any type. It is never made: only its type is asked about.
struct Any {
  template <class T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    std::abort();
  }
};
// How many members an aggregate has: the longest list of values that it can be made of.
template <class T, class... Values>
constexpr std::size_t members() {
  if constexpr (requires { T{Values()..., Any()}; }) {
    return members<T, Values..., Any>();
  } else {
    return sizeof...(Values);
  }
}

// How many settings lie in this part of `config`.
template <class T>
std::size_t rows_in(const T& part, const TrainConfig& config) {
  const auto* begin = reinterpret_cast<const std::byte*>(&part);
  return static_cast<std::size_t>(std::ranges::count_if(settings(), [&](const Setting& setting) {
    const auto* at = setting.visit(
        config, [](const auto& value) { return reinterpret_cast<const std::byte*>(&value); });
    return at >= begin && at < begin + sizeof(T);
  }));
}

TEST(Settings, EveryMemberHasARow) {
  const TrainConfig config;
  EXPECT_EQ(rows_in(config.schedule, config), members<Schedule>());
  EXPECT_EQ(rows_in(config.augmentation, config), members<kernels::Augmentation>());
  EXPECT_EQ(rows_in(config.own_data.shape, config), members<data::PictureShape>());
  EXPECT_EQ(rows_in(config.own_data, config),
            members<OwnData>() - 1 + members<data::PictureShape>());
  // batch_invariant is of inference.
  EXPECT_EQ(rows_in(config.kernels, config), members<layers::KernelChoice>() - 1);
  // A network's name and dropout; the rest follows from these and from the data.
  EXPECT_EQ(rows_in(config.network, config), 2u);
  constexpr std::size_t kStructs = 5;  // those above that are members of TrainConfig
  EXPECT_EQ(settings().size() - rows_in(config.schedule, config) -
                rows_in(config.augmentation, config) - rows_in(config.own_data, config) -
                rows_in(config.kernels, config) - rows_in(config.network, config),
            members<TrainConfig>() - kStructs);
}

TEST(Settings, NamesPlacesAndKeysAreUnique) {
  std::set<std::string> names, keys;
  std::set<const void*> places;
  const TrainConfig config;
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(names.emplace(setting.name).second) << setting.name;
    const void* place =
        setting.visit(config, [](const auto& value) -> const void* { return &value; });
    EXPECT_TRUE(places.insert(place).second) << setting.name;
    if (setting.help.empty()) continue;
    EXPECT_TRUE(keys.insert(setting.key()).second) << setting.key();
    EXPECT_FALSE(setting.flag.empty() || setting.group.empty()) << setting.name;
  }
  EXPECT_EQ(setting_named("schedule.peak").key(), "lr");
  EXPECT_EQ(setting_named("ema_decay").key(), "ema_decay");
}

// The ends of the bounds are taken, written and read back, and nothing beyond them.
TEST(Settings, ValuesLieInTheirBounds) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(setting.name);
    const std::string type = setting.type();
    if ((type != "N" && type != "X") || setting.name == "seed") continue;
    for (const double end : {setting.bounds.low, setting.bounds.high}) {
      TrainConfig config;
      set(config, setting,
          type == "N" ? std::to_string(static_cast<std::int64_t>(end)) : fmt::format("{}", end));
      EXPECT_NO_THROW(validate(config));
      const std::string text = to_json(config);
      EXPECT_EQ(to_json(train_config_from_json(text, {}, "here")), text);
    }
    for (const char* text : {"-1", "1e39", "nan", "inf", "", "3x"}) {
      TrainConfig config;
      EXPECT_TRUE(throws(ErrorKind::usage, "expected a ", [&] { set(config, setting, text); }))
          << text;
    }
    TrainConfig config;
    setting.change(config, []<class T>(T& value) {
      if constexpr (std::is_floating_point_v<T>) {
        value = std::numeric_limits<T>::quiet_NaN();
      } else if constexpr (std::is_signed_v<T> || std::is_same_v<T, std::optional<std::int64_t>>) {
        value = -1;
      }
    });
    const std::string expected = "expected " + std::string(setting.name) + " from ";
    EXPECT_TRUE(throws(ErrorKind::usage, expected, [&] { validate(config); }));
  }
}

TEST(Settings, WordsAreThoseOfTheirTable) {
  const Setting& kind = setting_named("schedule.kind");
  EXPECT_EQ(kind.type(), "constant|step|cosine|one-cycle");
  TrainConfig config;
  for (const ScheduleKind& row : schedules()) {
    set(config, kind, row.name);
    EXPECT_EQ(config.schedule.kind, &row);
  }
  EXPECT_TRUE(throws(ErrorKind::usage, "unknown lr_schedule 'linear'",
                     [&] { set(config, kind, "linear"); }));
}

// What a schedule or an optimizer says of a setting names one, and the help and the refusals
// follow.
template <class Row>
void check_names(std::span<const Row> rows, std::string_view choice) {
  for (const Row& row : rows) {
    for (const std::string_view name : row.settings) {
      TrainConfig config;
      set(config, setting_named(choice), row.name);
      EXPECT_EQ(missing_choice(config, setting_named(name)), "") << name;
      for (const Row& other : rows) {
        if (&other == &row || std::ranges::count(other.settings, name) > 0) continue;
        set(config, setting_named(choice), other.name);
        EXPECT_NE(missing_choice(config, setting_named(name)).find(row.name), std::string::npos);
      }
    }
    EXPECT_NE(setting_named(choice).help_text().find(fmt::format("{}: {}", row.name, row.summary)),
              std::string::npos);
  }
}
TEST(Settings, RowsOfSchedulesAndOptimizersNameTheirSettings) {
  check_names(schedules(), "schedule.kind");
  check_names(optimizers(), "optimizer");
  for (const Optimizer& optimizer : optimizers()) {
    for (const auto& [name, text] : optimizer.defaults) {
      TrainConfig config = default_config("lenet5");
      const std::string of_network = to_json(config);
      choose_optimizer(config, &optimizer);
      const std::string chosen = to_json(config);
      set(config, setting_named(name), text);
      EXPECT_EQ(to_json(config), chosen);
      choose_optimizer(config, &optimizers().front());
      EXPECT_EQ(to_json(config), of_network);
      EXPECT_NE(
          setting_named(name).help_text().find(fmt::format("{} with {}", text, optimizer.name)),
          std::string::npos);
    }
  }
}

TEST(Settings, ASwitchIsTrueOrFalse) {
  TrainConfig config;
  set(config, setting_named("nesterov"), "false");
  EXPECT_FALSE(config.nesterov);
  EXPECT_TRUE(throws(ErrorKind::usage, "expected true or false, found 'yes'",
                     [&] { set(config, setting_named("nesterov"), "yes"); }));
}

TEST(Settings, HelpTellsTheDefault) {
  EXPECT_EQ(setting_named("momentum").help_text(), "momentum of SGD; default 0.9");
  EXPECT_EQ(setting_named("limit_train").help_text(), "use only the first N training images");
  EXPECT_NE(setting_named("epochs").help_text().find("default by network"), std::string::npos);
  EXPECT_NE(setting_named("optimizer").help_text().find("default sgd"), std::string::npos);
}

}  // namespace
}  // namespace weft::models
