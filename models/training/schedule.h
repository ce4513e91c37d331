// SPDX-License-Identifier: MIT
// Learning-rate schedules, tabulated for every step of a run before it starts. A new one is a row
// of schedule.cpp with its formula.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::models {

struct Schedule;

struct StepOfRun {
  std::int64_t step, steps, steps_per_epoch;  // from 0; of the whole run; of an epoch
};

struct ScheduleKind {
  std::string_view name, summary;
  double (*rate)(const Schedule& schedule, const StepOfRun& at);
  // Do the steps of a longer run begin with the same rates? Then a resumed run may have other
  // epochs.
  bool may_lengthen = false;
  std::vector<std::string_view> settings = {};  // those that other schedules have no use for
};

std::span<const ScheduleKind> schedules();
const ScheduleKind* schedule_named(std::string_view name);  // throws usage for other names
inline std::string_view name_of(const ScheduleKind* kind) {
  return kind->name;
}

struct Schedule {
  const ScheduleKind* kind = schedule_named("one-cycle");
  float peak = 0.1f;
  double warmup_fraction =
      0.25;                   // one-cycle: linear from peak/25 to peak, then cosine to peak/2500
  int step_every_epochs = 2;  // step: times step_factor every so many epochs
  float step_factor = 0.1f;
};

inline constexpr std::int64_t kMaxSteps = 100'000'000;  // of a whole run; the table is 400 MB then

// lr for each of steps_per_epoch * epochs steps, by a schedule that validate() has let pass. Throws
// usage for numbers below 0, for steps of no epoch and for too many steps.
// Computed on the host, so that CPU and GPU runs use the same bits.
std::vector<float> tabulate(const Schedule& schedule, int epochs, std::int64_t steps_per_epoch);

}  // namespace weft::models
