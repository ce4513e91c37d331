// SPDX-License-Identifier: MIT
#include "examples/weft/nbody/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "examples/weft/input/flags.h"
#include "examples/weft/output/draw.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "examples/weft/train/report.h"

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

models::NbodyDrift drift_of(const models::NbodyState& state, const models::NbodySample& sample) {
  return models::drift(state.samples.front().totals, sample.totals, state.plan.sums);
}

// Nothing where an older run did not store the centre.
std::optional<models::CentreMotion> centre_motion_of(const models::NbodyState& state,
                                                     const models::NbodySample& sample) {
  if (!sample.centre) return std::nullopt;
  const auto& [x, y, z] = *sample.centre;
  return models::centre_motion(state.plan.sums, {x, y, z}, state.time_of(sample.step));
}

const char* arithmetic_of(const models::NbodyState& state) {
  const kernels::NbodyOptions& force = state.plan.step.force;
  return models::forces_in_double(force, state.bodies.count()) ? "fp64" : "fp32";
}

// JSON has no infinity: the energy may be 0.
nlohmann::ordered_json number_or_null(double value) {
  return or_null(std::isfinite(value), value);
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
  if (const auto centre = centre_motion_of(state, sample)) {
    event["centre_of_mass"] = *sample.centre;
    event["centre_of_mass_moved"] = number_or_null(centre->moved);
    event["centre_of_mass_off"] = number_or_null(centre->off);
  }
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

std::int64_t times_until(const models::Pace& pace, std::int64_t step) {
  if (pace.times == 0) return 0;
  const std::int64_t next = pace.first_from(step + 1);
  return next < 0 ? 1 : next;  // a run of no steps has one
}

std::string in_units(double value, std::string_view unit) {
  return unit.empty() ? fmt::format("{:.6g}", value) : fmt::format("{:.6g} {}", value, unit);
}

std::string orbit_table(const models::NbodyState& state, const std::vector<models::Orbit>& orbits,
                        const Terminal& terminal) {
  std::vector<Cells> rows;
  for (const models::Orbit& orbit : orbits) {
    const auto angle = [](double degrees) { return fmt::format("{:.3f}°", degrees); };
    rows.push_back(
        {fmt::format("{}", orbit.body), in_units(orbit.semi_major, state.plan.units->length),
         fmt::format("{:.6f}", orbit.eccentricity), angle(orbit.inclination), angle(orbit.node),
         angle(orbit.periapsis), angle(orbit.anomaly),
         std::isfinite(orbit.period) ? in_units(orbit.period, state.plan.units->time) : "leaves"});
  }
  return fmt::format("Orbits around body {}, the heaviest\n", models::heaviest(state.bodies)) +
         format_table({{"body"},
                       {"semi-major axis"},
                       {"eccentricity"},
                       {"inclination"},
                       {"node"},
                       {"periapsis"},
                       {"true anomaly"},
                       {"period"}},
                      rows, terminal);
}

nlohmann::ordered_json orbits_json(const std::vector<models::Orbit>& orbits) {
  auto list = nlohmann::ordered_json::array();
  for (const models::Orbit& orbit : orbits) {
    list.push_back({{"id", orbit.body},
                    {"semi_major", number_or_null(orbit.semi_major)},
                    {"eccentricity", orbit.eccentricity},
                    {"inclination", orbit.inclination},
                    {"node", orbit.node},
                    {"periapsis", orbit.periapsis},
                    {"anomaly", orbit.anomaly},
                    {"period", number_or_null(orbit.period)}});
  }
  return list;
}

}  // namespace

std::string rate_text(double rate) {
  return rate > 0 && std::isfinite(rate) ? fmt::format("{:.2f}e9", rate / 1e9) : "";
}

void NbodyReport::start(const NbodyFacts& facts) {
  const models::NbodyState& state = facts.state;
  const models::NbodyPlan& plan = state.plan;
  const kernels::NbodyOptions& force = plan.step.force;
  const std::int64_t frames = times_until(plan.frames, plan.steps);
  if (json_) {
    print_event("start", {{"start", plan.start},
                          {"bodies", state.bodies.count()},
                          {"seed", plan.seed},
                          {"steps", plan.steps},
                          {"first_step", facts.first_step},
                          {"dt", plan.step.dt},
                          {"softening", force.softening},
                          {"gravity", force.gravity},
                          {"units", plan.units->name},
                          {"kernel", force.variant},
                          {"arithmetic", arithmetic_of(state)},
                          {"device", to_string(facts.device)},
                          {"device_name", device_properties(facts.device).name},
                          {"ranks", facts.ranks.size()},
                          {"frames", frames},
                          {"snapshots", times_until(plan.snapshots, plan.steps)},
                          {"run_dir", facts.run_dir.string()}});
    return;
  }
  const bool drawn = plan.start == "galaxies" || plan.start == "plummer";
  std::string run = facts.run_dir.string();
  if (facts.first_step > 0) run += fmt::format(", resumed at step {}", facts.first_step);
  Pairs pairs = {
      {"start", fmt::format("{}, {} bodies{}", plan.start, format_count(state.bodies.count()),
                            drawn ? fmt::format(", seed {}", plan.seed) : "")},
      {"device", device_text(facts.device)}};
  if (facts.ranks.size() > 1) pairs.emplace_back("ranks", facts.ranks.describe());
  pairs.emplace_back(
      "force", fmt::format("all pairs in {}, softening {:g}, G = {:g}, kernel {}",
                           arithmetic_of(state), force.softening, force.gravity, force.variant));
  pairs.emplace_back("steps",
                     fmt::format("{} of {} (leapfrog: kick, drift, kick)", format_count(plan.steps),
                                 in_units(plan.step.dt, plan.units->time)));
  if (plan.snapshots.times > 0) {
    pairs.emplace_back(
        "snapshots", fmt::format("{}, as .npy and .csv", times_until(plan.snapshots, plan.steps)));
  }
  pairs.emplace_back("pictures", frames == 0 ? "none"
                                             : fmt::format("{} frames of {} x {}, coloured by {}",
                                                           frames, plan.style.size, plan.style.size,
                                                           models::name_of(plan.style.colour)));
  pairs.emplace_back("run", run);
  write_out(format_pairs(pairs, terminal_) + "\n" + format_heading(kColumns, terminal_));
}

void NbodyReport::sample(const models::NbodyState& state, double rate) {
  const models::NbodySample& sample = state.samples.back();
  const models::NbodyDrift drift = drift_of(state, sample);
  if (json_) {
    nlohmann::ordered_json event =
        json_event("sample", {{"step", sample.step},
                              {"time", state.time_of(sample.step)},
                              {"kinetic", sample.totals.kinetic},
                              {"potential", sample.totals.potential},
                              {"energy", sample.totals.energy()},
                              {"momentum", vector_json(sample.totals.momentum)},
                              {"angular_momentum", vector_json(sample.totals.angular_momentum)}});
    add_drift(event, state, sample);
    event["interactions_per_second"] = number_or_null(rate);
    write_out(json_line(event));
    return;
  }
  write_out(format_row(
      kColumns, {format_count(sample.step), fmt::format("{:.4g}", state.time_of(sample.step)),
                 fmt::format("{:.6g}", sample.totals.energy()), fmt::format("{:.1e}", drift.energy),
                 fmt::format("{:.1e}", drift.momentum),
                 fmt::format("{:.3f}", models::virial_ratio(sample.totals)), rate_text(rate)}));
}

void NbodyReport::json_end(const NbodyFacts& facts, const NbodyEnd& end) {
  const models::NbodyState& state = facts.state;
  const double steps = static_cast<double>(state.step - facts.first_step);
  const double rate = end.step_seconds > 0 ? steps / end.step_seconds : 0;
  const auto path_or_null = [](const std::filesystem::path& path) {
    return or_null(std::filesystem::exists(path), path.string());
  };
  nlohmann::ordered_json event =
      json_event("end", {{"interrupted", end.interrupted},
                         {"finished", state.step == state.plan.steps},
                         {"step", state.step},
                         {"steps", state.plan.steps},
                         {"seconds", end.seconds},
                         {"steps_per_second", rate},
                         {"interactions_per_second", rate * interactions(state)},
                         {"flops_per_second", rate * kernels::nbody_flops(state.bodies.count())},
                         {"flops_per_interaction", kernels::nbody_flops(1)}});
  add_drift(event, state, state.samples.back());
  event["device"] = to_string(facts.device);
  event["frames"] = times_until(state.plan.frames, state.step);
  event["snapshots"] = times_until(state.plan.snapshots, state.step);
  event["orbits"] = orbits_json(end.orbits);
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
    text += fmt::format(
        ". The steps alone took {}: {:.4g} steps/s,\n{}e9 interactions/s, {:.1f} "
        "GFLOP/s (20 operations each).",
        format_duration(end.step_seconds), rate,
        fmt::format("{:.2f}", rate * interactions(state) / 1e9),
        rate * kernels::nbody_flops(state.bodies.count()) / 1e9);
  }
  const models::NbodyDrift drift = drift_of(state, state.samples.back());
  text += fmt::format(
      "\nSince step 0 the energy drifted by {:.1e}, momentum by {:.1e}, angular momentum by {:.1e} "
      "of their scales",
      drift.energy, drift.momentum, drift.angular_momentum);
  if (const auto centre = centre_motion_of(state, state.samples.back())) {
    text += fmt::format("; the centre of mass moved by {:.4g}, {:.1e} off its straight way",
                        centre->moved, centre->off);
  }
  text += ".\n\n";
  if (!end.orbits.empty()) text += orbit_table(state, end.orbits, terminal_) + "\n";
  Pairs pairs;
  const auto count = [&](const char* name, const models::Pace& pace, const char* files) {
    if (pace.times == 0) return;
    const std::int64_t times = times_until(pace, state.step);
    pairs.emplace_back(name, fmt::format("{}, {}/{}", times, facts.run_dir.string(), files));
  };
  count("frames", state.plan.frames, "frame_*.png");
  count("snapshots", state.plan.snapshots, "snapshot_*");
  const auto add = [&](const char* name, const std::filesystem::path& path, const char* what) {
    if (!path.empty()) pairs.emplace_back(name, path.string() + what);
  };
  add("animation", end.animation, " (a browser plays it)");
  if (finished) add("bodies", facts.run_dir / "final.npy", "");
  if (finished && !end.orbits.empty()) add("orbits", facts.run_dir / "orbits.csv", "");
  add("energies", facts.run_dir / "energy.csv", "");
  text += format_pairs(pairs, terminal_);
  const std::string program = program_name(), run = shell_word(facts.run_dir.string());
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

}  // namespace weft::cli
