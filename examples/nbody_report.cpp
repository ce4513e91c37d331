// SPDX-License-Identifier: MIT
#include "examples/nbody_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "examples/draw.h"
#include "examples/flags.h"
#include "examples/json_lines.h"
#include "examples/tables.h"
#include "examples/train_report.h"

namespace weft::cli {
namespace {

const std::vector<Column> kColumns = {{"step", Align::right, 7},
                                      {"time", Align::right, 9},
                                      {"energy", Align::right, 11},
                                      {"energy drift", Align::right, 12},
                                      {"momentum drift", Align::right, 14},
                                      {"2K/|U|", Align::right, 6},
                                      {"interactions/s", Align::right, 14}};

double interactions(const models::NbodyState& state) {
  return kernels::nbody_interactions(state.bodies.count());
}

double time_of(const models::NbodyState& state, std::int64_t step) {
  return static_cast<double>(state.plan.step.dt) * static_cast<double>(step);
}

models::NbodyDrift drift_of(const models::NbodyState& state, const models::NbodySample& sample) {
  return models::drift(state.samples.front().totals, sample.totals, state.plan.sums);
}

std::string rate_text(double rate) {  // "2.41e9"
  return rate > 0 && std::isfinite(rate) ? fmt::format("{:.2f}e9", rate / 1e9) : "";
}

// JSON has no infinity: the energy may be 0.
nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json vector_json(const double (&v)[3]) {
  return {v[0], v[1], v[2]};
}

void add_drift(nlohmann::ordered_json& event, const models::NbodyState& state,
               const models::NbodySample& sample) {
  const models::NbodyDrift drift = drift_of(state, sample);
  event["energy_drift"] = number_or_null(drift.energy);
  event["momentum_drift"] = number_or_null(drift.momentum);
  event["angular_momentum_drift"] = number_or_null(drift.angular_momentum);
  event["virial_ratio"] = number_or_null(models::virial_ratio(sample.totals));
}

// The picture as a small grey one, brightest colour first, for the terminal.
std::string preview(const std::vector<std::uint8_t>& rgb, const Terminal& terminal) {
  const std::int64_t side = std::llround(std::sqrt(static_cast<double>(rgb.size()) / 3));
  const int cells = static_cast<int>(std::min<std::int64_t>({60, terminal.width - 4, side}));
  std::vector<std::uint8_t> grey;
  for (std::int64_t y = 0; y < cells; ++y) {
    for (std::int64_t x = 0; x < cells; ++x) {
      std::int64_t sum = 0, count = 0;
      for (std::int64_t row = y * side / cells; row < (y + 1) * side / cells; ++row) {
        for (std::int64_t column = x * side / cells; column < (x + 1) * side / cells; ++column) {
          const std::uint8_t* pixel = rgb.data() + 3 * (row * side + column);
          sum += std::max({pixel[0], pixel[1], pixel[2]});
          ++count;
        }
      }
      grey.push_back(static_cast<std::uint8_t>(sum / count));
    }
  }
  return draw_picture({grey, cells, cells, ""}, terminal);
}

}  // namespace

void NbodyReport::start(const NbodyFacts& facts) {
  const models::NbodyState& state = facts.state;
  const models::NbodyPlan& plan = state.plan;
  const kernels::NbodyOptions& force = plan.step.force;
  const std::int64_t frames = plan.frames.times == 0 ? 0 : plan.frames.first_from(plan.steps) + 1;
  if (json_) {
    nlohmann::ordered_json event = json_event("start");
    event["start"] = plan.start;
    event["bodies"] = state.bodies.count();
    event["seed"] = plan.seed;
    event["steps"] = plan.steps;
    event["first_step"] = facts.first_step;
    event["dt"] = plan.step.dt;
    event["softening"] = force.softening;
    event["gravity"] = force.gravity;
    event["kernel"] = models::name_of(force.variant);
    event["device"] = to_string(facts.device);
    event["device_name"] = device_properties(facts.device).name;
    event["frames"] = frames;
    event["run_dir"] = facts.run_dir.string();
    write_out(json_line(event));
    return;
  }
  const bool drawn = plan.start == "galaxies" || plan.start == "plummer";
  std::string run = printable(facts.run_dir.string());
  if (facts.first_step > 0) run += fmt::format(", resumed at step {}", facts.first_step);
  write_out(
      format_pairs(
          {{"start", fmt::format("{}, {} bodies{}", printable(plan.start),
                                 format_count(state.bodies.count()),
                                 drawn ? fmt::format(", seed {}", plan.seed) : "")},
           {"device", device_text(facts.device)},
           {"force", fmt::format("all pairs, softening {:g}, G = {:g}, kernel {}", force.softening,
                                 force.gravity, models::name_of(force.variant))},
           {"steps", fmt::format("{} of {:g} (leapfrog: kick, drift, kick)",
                                 format_count(plan.steps), plan.step.dt)},
           {"pictures", frames == 0 ? "none"
                                    : fmt::format("{} frames of {} x {}, coloured by {}", frames,
                                                  plan.style.size, plan.style.size,
                                                  models::name_of(plan.style.colour))},
           {"run", run}},
          terminal_) +
      "\n" + format_heading(kColumns, terminal_));
}

void NbodyReport::sample(const models::NbodyState& state, double rate) {
  const models::NbodySample& sample = state.samples.back();
  const models::NbodyDrift drift = drift_of(state, sample);
  if (json_) {
    nlohmann::ordered_json event = json_event("sample");
    event["step"] = sample.step;
    event["time"] = time_of(state, sample.step);
    event["kinetic"] = sample.totals.kinetic;
    event["potential"] = sample.totals.potential;
    event["energy"] = sample.totals.energy();
    event["momentum"] = vector_json(sample.totals.momentum);
    event["angular_momentum"] = vector_json(sample.totals.angular_momentum);
    add_drift(event, state, sample);
    event["interactions_per_second"] = number_or_null(rate);
    write_out(json_line(event));
    return;
  }
  write_out(format_row(
      kColumns, {format_count(sample.step), fmt::format("{:.4g}", time_of(state, sample.step)),
                 fmt::format("{:.6g}", sample.totals.energy()), fmt::format("{:.1e}", drift.energy),
                 fmt::format("{:.1e}", drift.momentum),
                 fmt::format("{:.3f}", models::virial_ratio(sample.totals)), rate_text(rate)}));
}

void NbodyReport::json_end(const NbodyFacts& facts, const NbodyEnd& end) {
  const models::NbodyState& state = facts.state;
  const double steps = static_cast<double>(state.step - facts.first_step);
  const double rate = end.step_seconds > 0 ? steps / end.step_seconds : 0;
  const auto path_or_null = [](const std::filesystem::path& path) {
    return std::filesystem::exists(path) ? nlohmann::ordered_json(path.string())
                                         : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json event = json_event("end");
  event["interrupted"] = end.interrupted;
  event["finished"] = state.step == state.plan.steps;
  event["step"] = state.step;
  event["steps"] = state.plan.steps;
  event["seconds"] = end.seconds;
  event["steps_per_second"] = rate;
  event["interactions_per_second"] = rate * interactions(state);
  event["flops_per_second"] = rate * kernels::nbody_flops(state.bodies.count());
  event["flops_per_interaction"] = kernels::nbody_flops(1);
  add_drift(event, state, state.samples.back());
  event["device"] = to_string(facts.device);
  event["animation"] = path_or_null(end.animation);
  event["final"] = path_or_null(facts.run_dir / "final.npy");
  event["run_dir"] = facts.run_dir.string();
  write_out(json_line(event));
}

void NbodyReport::end(const NbodyFacts& facts, const NbodyEnd& end) {
  if (json_) return json_end(facts, end);
  const models::NbodyState& state = facts.state;
  const bool finished = state.step == state.plan.steps;
  const std::int64_t steps = state.step - facts.first_step;
  std::string text = "\n";
  if (!end.picture.empty()) text += preview(end.picture, terminal_) + "\n";
  text += fmt::format("{} {} step{} in {}", paint(terminal_, "1", finished ? "Done:" : "Stopped:"),
                      format_count(steps), steps == 1 ? "" : "s", format_duration(end.seconds));
  if (end.step_seconds > 0 && steps > 0) {
    const double rate = static_cast<double>(steps) / end.step_seconds;
    text +=
        fmt::format("; {:.4g} steps/s, {}e9 interactions/s, {:.1f} GFLOP/s (20 operations each)",
                    rate, fmt::format("{:.2f}", rate * interactions(state) / 1e9),
                    rate * kernels::nbody_flops(state.bodies.count()) / 1e9);
  }
  const models::NbodyDrift drift = drift_of(state, state.samples.back());
  text += fmt::format(
      "\nSince step 0 the energy drifted by {:.1e}, momentum by {:.1e}, angular momentum by {:.1e} "
      "of their scales.\n\n",
      drift.energy, drift.momentum, drift.angular_momentum);
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto add = [&](const char* name, const std::filesystem::path& path, const char* what) {
    if (!path.empty()) pairs.emplace_back(name, printable(path.string()) + what);
  };
  add("animation", end.animation, " (a browser plays it)");
  if (finished) add("bodies", facts.run_dir / "final.npy", "");
  add("energies", facts.run_dir / "energy.csv", "");
  text += format_pairs(pairs, terminal_);
  const std::string program = program_name(), run = shell_quoted(facts.run_dir.string());
  if (finished) {
    text +=
        fmt::format("\n{}\n  {} nbody --resume {} --steps {}\n", paint(terminal_, "1", "Next, try"),
                    program, run, std::max<std::int64_t>(1, 2 * state.plan.steps));
    if (state.plan.start == "galaxies")
      text += fmt::format("  {} nbody --start plummer\n", program);
  } else {
    text += fmt::format(
        "\nEverything up to step {} of {} is saved. Go on with\n  {} nbody --resume {}\n",
        state.step, state.plan.steps, program, run);
  }
  write_out(text);
}

NbodyProgress::NbodyProgress(ProgressMode mode, std::int64_t first_step, std::int64_t last_step,
                             std::int64_t bodies)
    : terminal_(detect_terminal(kStderr)),
      first_step_(first_step),
      last_step_(last_step),
      interactions_(kernels::nbody_interactions(bodies)) {
  bar_ = mode == ProgressMode::on || (mode == ProgressMode::automatic && terminal_.interactive);
  lines_ = mode == ProgressMode::automatic && !terminal_.interactive;
}

void NbodyProgress::update(std::int64_t step) {
  if ((!bar_ && !lines_) || step <= first_step_) return;
  const Clock::time_point now = Clock::now();
  const auto seconds_since = [&](Clock::time_point then) {
    return std::max(1e-6, std::chrono::duration<double>(now - then).count());
  };
  const bool first_bar = bar_ && shown_ == start_;  // at once, so that a short run shows one too
  if (!first_bar && seconds_since(shown_) < (bar_ ? 0.1 : 10.0)) return;
  shown_ = now;
  const double done = static_cast<double>(step - first_step_);
  const double rate = done / seconds_since(start_);
  const std::string place = fmt::format("step {}/{}", step, last_step_);
  const std::string pace =
      fmt::format("{} interactions/s  {} left", rate_text(rate * interactions_),
                  time_left(static_cast<double>(last_step_ - step) / rate));
  const double part = static_cast<double>(step) / static_cast<double>(last_step_);
  if (bar_) {
    write_log(progress_bar(terminal_, place, part, pace));
    visible_ = true;
  } else {
    write_log(fmt::format("weft: {}: {:.0f} %  {}\n", place, 100 * part, pace));
  }
}

void NbodyProgress::clear() {
  if (visible_) write_log("\r\033[K");
  visible_ = false;
}

}  // namespace weft::cli
