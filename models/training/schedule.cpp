// SPDX-License-Identifier: MIT
#include "models/training/schedule.h"

#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "engine/names.h"

namespace weft::models {

namespace {

// From `high` at t = 0 down to `low` at t = 1.
double half_cosine(double high, double low, double t) {
  return low + (high - low) * 0.5 * (1 + std::cos(std::numbers::pi * t));
}

double constant(const Schedule& schedule, const StepOfRun&) {
  return schedule.peak;
}

double step(const Schedule& schedule, const StepOfRun& at) {
  const std::int64_t drops = at.step / at.steps_per_epoch / schedule.step_every_epochs;
  return double{schedule.peak} * std::pow(schedule.step_factor, static_cast<double>(drops));
}

double cosine(const Schedule& schedule, const StepOfRun& at) {
  return half_cosine(schedule.peak, 0,
                     static_cast<double>(at.step) / static_cast<double>(at.steps));
}

double one_cycle(const Schedule& schedule, const StepOfRun& at) {
  const double peak = schedule.peak;
  const std::int64_t warmup =
      std::llround(schedule.warmup_fraction * static_cast<double>(at.steps));
  const auto step = static_cast<double>(at.step);
  if (at.step < warmup) return peak / 25 + (peak - peak / 25) * step / static_cast<double>(warmup);
  const std::int64_t descent = at.steps - 1 - warmup;  // the last step is at the very bottom
  const double t =
      descent > 0 ? static_cast<double>(at.step - warmup) / static_cast<double>(descent) : 0;
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

std::span<const ScheduleKind> schedules() {
  static const ScheduleKind kRows[] = {
      {.name = "constant", .summary = "stays", .rate = constant, .may_lengthen = true},
      {.name = "step",
       .summary = "drops after every few epochs",
       .rate = step,
       .may_lengthen = true,
       .settings = {"schedule.step_every_epochs", "schedule.step_factor"}},
      {.name = "cosine", .summary = "falls to 0", .rate = cosine},
      {.name = "one-cycle",
       .summary = "goes up, then down",
       .rate = one_cycle,
       .settings = {"schedule.warmup_fraction"}},
  };
  return kRows;
}

const ScheduleKind* schedule_named(std::string_view name) {
  return &row_named(schedules(), "schedule", name);
}

std::vector<float> tabulate(const Schedule& schedule, int epochs, std::int64_t steps_per_epoch) {
  check(schedule, epochs, steps_per_epoch);
  const std::int64_t steps = epochs * steps_per_epoch;
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(steps));
  for (std::int64_t step = 0; step < steps; ++step) {
    table.push_back(
        static_cast<float>(schedule.kind->rate(schedule, {step, steps, steps_per_epoch})));
  }
  return table;
}

}  // namespace weft::models
