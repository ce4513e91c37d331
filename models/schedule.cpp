// SPDX-License-Identifier: MIT
#include "models/schedule.h"

#include <cmath>
#include <numbers>

#include "engine/error.h"

namespace weft::models {

namespace {

// From `high` at t = 0 down to `low` at t = 1.
double half_cosine(double high, double low, double t) {
  return low + (high - low) * 0.5 * (1 + std::cos(std::numbers::pi * t));
}

double one_cycle(double peak, std::int64_t warmup, std::int64_t step, std::int64_t steps) {
  if (step < warmup) {
    return peak / 25 + (peak - peak / 25) * static_cast<double>(step) / static_cast<double>(warmup);
  }
  const std::int64_t descent = steps - 1 - warmup;  // the last step is at the very bottom
  const double t =
      descent > 0 ? static_cast<double>(step - warmup) / static_cast<double>(descent) : 0;
  return half_cosine(peak, peak / 2500, t);
}

void check(const Schedule& schedule, int epochs, std::int64_t steps_per_epoch) {
  if (schedule.step_every_epochs < 1) {  // tabulate() divides by it
    throw Error(ErrorKind::usage,
                str("expected a step of >= 1 epochs, found ", schedule.step_every_epochs));
  }
  if (epochs < 0 || steps_per_epoch < 0) {
    throw Error(ErrorKind::usage,
                str("expected epochs and steps >= 0, found ", epochs, " and ", steps_per_epoch));
  }
  if (epochs > 0 && steps_per_epoch > kMaxSteps / epochs) {
    throw Error(ErrorKind::usage, str(epochs, " epochs of ", steps_per_epoch,
                                      " steps: the limit is ", kMaxSteps, " steps"));
  }
}

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  return name_in(kSchedules, kind);
}

std::vector<float> tabulate(const Schedule& schedule, int epochs, std::int64_t steps_per_epoch) {
  check(schedule, epochs, steps_per_epoch);
  const std::int64_t steps = epochs * steps_per_epoch;
  const double peak = schedule.peak;
  const auto warmup = static_cast<std::int64_t>(
      std::llround(schedule.warmup_fraction * static_cast<double>(steps)));
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(steps));
  for (std::int64_t step = 0; step < steps; ++step) {
    double lr = peak;
    switch (schedule.kind) {
      case ScheduleKind::constant:
        break;
      case ScheduleKind::step: {
        const std::int64_t drops = step / steps_per_epoch / schedule.step_every_epochs;
        lr = peak * std::pow(schedule.step_factor, static_cast<double>(drops));
        break;
      }
      case ScheduleKind::cosine:
        lr = half_cosine(peak, 0, static_cast<double>(step) / static_cast<double>(steps));
        break;
      case ScheduleKind::one_cycle:
        lr = one_cycle(peak, warmup, step, steps);
        break;
    }
    table.push_back(static_cast<float>(lr));
  }
  return table;
}

}  // namespace weft::models
