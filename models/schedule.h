// SPDX-License-Identifier: MIT
// Learning-rate schedules, tabulated for every step of a run before it starts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/names.h"

namespace weft::models {

enum class ScheduleKind { constant, step, cosine, one_cycle };
inline constexpr Named<ScheduleKind> kSchedules[] = {{"constant", ScheduleKind::constant},
                                                     {"step", ScheduleKind::step},
                                                     {"cosine", ScheduleKind::cosine},
                                                     {"one-cycle", ScheduleKind::one_cycle}};

struct Schedule {
  ScheduleKind kind = ScheduleKind::one_cycle;
  float peak = 0.1f;
  double warmup_fraction =
      0.25;                   // one_cycle: linear from peak/25 to peak, then cosine to peak/2500
  int step_every_epochs = 2;  // step: times step_factor every so many epochs
  float step_factor = 0.1f;
};

std::string_view name_of(ScheduleKind kind);

inline constexpr std::int64_t kMaxSteps = 100'000'000;  // of a whole run; the table is 400 MB then

// lr for each of steps_per_epoch * epochs steps, by a schedule that validate() has let pass. Throws
// usage for numbers below 0, for steps of no epoch and for too many steps.
// Computed on the host, so that CPU and GPU runs use the same bits.
std::vector<float> tabulate(const Schedule& schedule, int epochs, std::int64_t steps_per_epoch);

}  // namespace weft::models
