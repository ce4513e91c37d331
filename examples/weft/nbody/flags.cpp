// SPDX-License-Identifier: MIT
#include "examples/weft/nbody/flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "distributed/program.h"
#include "engine/error.h"
#include "examples/weft/output/terminal.h"
#include "kernels/catalogue.h"
#include "models/nbody/starts.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxSteps = 1'000'000'000;

bool given(const CLI::App& app, const char* name) {
  return app.get_option(name)->count() > 0;
}

bool is_file_start(const std::string& start) {
  return start != "galaxies" && start != "plummer";
}

// A word that is no start and no file is more likely misspelt than missing.
void check_start(const std::string& start) {
  const bool looks_like_a_path = start.find_first_of("./") != std::string::npos;
  if (!is_file_start(start) || looks_like_a_path || fs::exists(start)) return;
  throw_unknown("start", start, {"galaxies", "plummer", "FILE.npy", "FILE.csv"});
}

void check_save(const fs::path& path) {
  if (path.extension() != ".npy" && path.extension() != ".csv") {
    throw Error(ErrorKind::usage,
                fmt::format("--save: expected FILE.npy or FILE.csv, found '{}'", path.string()));
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(path) && ::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw Error(ErrorKind::data,
              fmt::format("could not write {}: {}", path.string(),
                          fs::is_directory(path) ? "it is a folder" : std::strerror(errno)));
}

// Softening and step that suit each start at G = 1.
struct Defaults {
  double softening, dt;
};
constexpr Defaults kGalaxies{0.03, 0.025}, kPlummer{0.02, 0.01};

models::Bodies initial_bodies(const NbodyFlags& flags, double gravity) {
  const std::uint64_t seed = static_cast<std::uint64_t>(flags.seed);
  if (flags.start == "plummer") {
    return models::plummer_sphere(flags.bodies, seed, {.gravity = gravity});
  }
  if (flags.start == "galaxies") {
    models::CollisionOptions options = models::default_collision();
    options.gravity = gravity;
    return models::colliding_galaxies(flags.bodies, seed, options);
  }
  return models::read_bodies(flags.start);
}

// What was asked for must fit; a default gives way to a short run.
std::int64_t fitted(const CLI::App& app, const char* flag, std::int64_t count, std::int64_t most,
                    std::int64_t steps) {
  if (count > most && given(app, flag)) {
    throw Error(ErrorKind::usage, fmt::format("{}: expected at most {} for {} steps, found {}",
                                              flag, most, steps, count));
  }
  return std::min(count, most);
}

}  // namespace

void add_nbody_flags(CLI::App& app, NbodyFlags& flags) {
  app.footer(
      "Two galaxies collide on every core or on the GPU, drawn as 60 frames and an animation:\n"
      "  weft nbody\n"
      "A star cluster of your own, from NumPy: np.save('cluster.npy', a) with a of shape (n, 7),\n"
      "x y z vx vy vz mass:\n"
      "  weft nbody --start cluster.npy --steps 1000 --save later.npy");
  app.add_option("--start", flags.start,
                 "galaxies (two that collide), plummer (a star cluster), or a file of bodies")
      ->capture_default_str()
      ->type_name("galaxies|plummer|FILE");
  add_whole(app, "--bodies", flags.bodies, 1, models::kMaxBodies, "bodies to draw at random")
      ->capture_default_str();
  add_whole(app, "--steps", flags.steps, 0, kMaxSteps, "steps of the run; with --resume, in all")
      ->capture_default_str();
  add_whole(app, "--seed", flags.seed, 0, std::numeric_limits<std::int64_t>::max(),
            "seed of the random bodies")
      ->capture_default_str();
  add_whole(app, "--samples", flags.samples, 1, 10'000,
            "how often energy and momentum are measured")
      ->capture_default_str();
  add_whole(app, "--snapshots", flags.snapshots, 0, 9999,
            "files of all bodies in the run, .npy and .csv with ids; 0: none")
      ->capture_default_str();

  app.option_defaults()->group("Force and step");
  add_real(app, "--dt", flags.dt, 1e-30, 1e30, "length of a step in time; default by the start");
  add_real(app, "--softening", flags.softening, 1e-12, 1e12,
           "length below which gravity is blurred; default by the start");
  add_choice(app, "--units", flags.units, names_of(models::units()),
             "of the bodies, which say the constant of gravity: natural, 1; astronomical: au, "
             "years, suns; si: m, s, kg")
      ->capture_default_str();
  add_real(app, "--gravity", flags.gravity, 1e-12, 1e12,
           "the constant of gravity; default that of the units");

  add_device_flags(app, flags.device, false);
  app.option_defaults()->group("Device");
  app.add_option("--impl", flags.kernel, "kernel of the forces; weft kernel list nbody names them")
      ->capture_default_str()
      ->type_name("NAME");
  add_rank_flags(app, flags.ranks);

  app.option_defaults()->group("Pictures");
  add_whole(app, "--frames", flags.frames, 0, 9999, "pictures in the run; 0: none")
      ->capture_default_str();
  add_whole(app, "--image-size", flags.image_size, 16, 4096, "width and height in pixels")
      ->capture_default_str();
  add_choice(app, "--colour,--color", flags.colour, {"speed", "galaxy"},
             "what colours tell; default by the start");
  add_whole(app, "--frame-time", flags.frame_milliseconds, 10, 10'000,
            "milliseconds of a frame in the animation")
      ->capture_default_str();

  app.option_defaults()->group("Run");
  app.add_option("--out", flags.out, "run directory; default runs/nbody-START-N")->type_name("RUN");
  app.add_option("--save", flags.save, "write the last state here too, as .npy or .csv")
      ->type_name("FILE");
  add_whole(app, "--checkpoint", flags.checkpoint, 1, kMaxSteps,
            "steps between checkpoints; default: every 30 seconds, and at the end");
  app.add_option("--resume", flags.resume, "go on with this run; its settings stay as they were")
      ->type_name("RUN");
  add_whole(app, "--stop-after", flags.stop_after, 1, kMaxSteps,
            "end after step N, to be resumed later");
  add_choice(app, "--progress", flags.progress, {"auto", "on", "off"},
             "progress bar; auto: when stderr is a terminal")
      ->capture_default_str();
  app.add_flag("--json", flags.json, "one JSON object per line on stdout");
}

void check_nbody_flags(const CLI::App& app, NbodyFlags& flags) {
  if (given(app, "--resume")) {
    for (const char* name :
         {"--start", "--bodies", "--seed", "--samples", "--dt", "--softening", "--gravity",
          "--impl", "--frames", "--image-size", "--colour", "--out", "--snapshots", "--units"}) {
      if (!given(app, name)) continue;
      throw Error(
          ErrorKind::usage,
          fmt::format("{} cannot be combined with --resume: the run keeps its settings", name));
    }
    if (flags.resume.empty()) throw Error(ErrorKind::usage, "--resume needs a run directory");
  } else {
    if (given(app, "--out") && flags.out.empty()) {
      throw Error(ErrorKind::usage, "--out needs a run directory");
    }
    check_start(flags.start);
    if (given(app, "--units") && given(app, "--gravity")) {
      throw Error(ErrorKind::usage, "--units and --gravity: either says the constant of gravity");
    }
    if (is_file_start(flags.start) && given(app, "--bodies")) {
      throw Error(ErrorKind::usage, "--bodies is for galaxies and plummer; a file has its own");
    }
  }
  if (given(app, "--save")) check_save(flags.save);
}

std::vector<std::pair<std::string, std::string>> nbody_facts(const CLI::App& app, Device device) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"the program", distributed::program_fingerprint()},
      {"the kind of device", device.is_cpu() ? "cpu" : "cuda"}};
  for (const char* name : {"--start", "--bodies", "--steps", "--seed", "--samples", "--dt",
                           "--softening", "--gravity", "--units", "--snapshots", "--impl",
                           "--frames", "--checkpoint", "--stop-after", "--resume"}) {
    const std::vector<std::string> found = app.get_option(name)->results();
    facts.emplace_back(name, found.empty() ? "its default" : found.back());
  }
  return facts;
}

models::NbodyState planned(const CLI::App& app, const NbodyFlags& flags, const Stream& stream,
                           int ranks) {
  models::NbodyState state;
  models::NbodyPlan& plan = state.plan;
  plan.units = &row_named(models::units(), "units", flags.units);
  const double gravity = given(app, "--gravity") ? flags.gravity : plan.units->gravity;
  plan.step.force = {kernels::rung_name("nbody", flags.kernel), flags.softening, gravity};
  plan.start = flags.start;
  plan.seed = flags.seed;
  plan.steps = flags.steps;
  const std::int64_t steps = flags.steps, least = std::max<std::int64_t>(1, steps);
  plan.samples = {steps, fitted(app, "--samples", flags.samples, least, steps)};
  const auto paced = [&](const char* flag, std::int64_t times) -> models::Pace {
    if (times == 1) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: expected 0 or 2 and more: the start and the end count", flag));
    }
    if (times == 0) return {};
    return {steps, fitted(app, flag, times, least + 1, steps) - 1};
  };
  plan.frames = paced("--frames", flags.frames);
  plan.snapshots = paced("--snapshots", flags.snapshots);
  state.bodies = initial_bodies(flags, gravity);
  const bool from_file = is_file_start(flags.start);
  const Defaults& defaults = flags.start == "plummer" ? kPlummer : kGalaxies;
  if (flags.softening == 0) {
    plan.step.force.softening =
        from_file ? models::suggested_softening(state.bodies) : defaults.softening;
  }
  plan.step.dt = flags.dt;
  if (flags.dt == 0) {
    plan.step.dt = from_file ? models::suggested_dt(state.bodies, plan.step.force, stream)
                             : defaults.dt / std::sqrt(gravity);
  }
  models::check_step(state.bodies, plan.step);
  // Throws for a kernel that does not run here.
  static_cast<void>(kernels::nbody_split(plan.step.force.variant, {state.bodies.count(), ranks},
                                         stream.device()));
  const bool by_galaxy =
      flags.colour.empty() ? flags.start == "galaxies" : flags.colour == "galaxy";
  plan.style.colour = by_galaxy ? models::BodyColour::galaxy : models::BodyColour::speed;
  plan.style.size = flags.image_size;
  plan.camera = models::fitted_camera(state.bodies, plan.style);
  plan.sums = models::mass_sums(state.bodies);
  return state;
}

models::NbodyState resumed(const CLI::App& app, const NbodyFlags& flags,
                           const data::InputFile& checkpoint) {
  models::NbodyState state = models::read_nbody_checkpoint(checkpoint);
  if (given(app, "--steps")) {
    if (flags.steps < state.step) {
      throw Error(ErrorKind::usage, fmt::format("--steps: the run has done {} steps already, "
                                                "expected that or more, found {}",
                                                state.step, flags.steps));
    }
    state.plan.steps = flags.steps;
  } else if (state.step == state.plan.steps) {
    // Its last files may be missing all the same: they are written again.
    print_notice(fmt::format("{} has done all of its {} steps; --steps makes it longer",
                             flags.resume, state.plan.steps));
  }
  return state;
}

}  // namespace weft::cli
