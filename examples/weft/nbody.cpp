// SPDX-License-Identifier: MIT
// weft nbody: gravity between all pairs of bodies, measured and drawn on the way.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>

#include "data/files/file_io.h"
#include "data/picture/animation.h"
#include "data/picture/image.h"
#include "engine/error.h"
#include "engine/stop.h"
#include "engine/timer.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/interrupt.h"
#include "examples/weft/nbody/flags.h"
#include "examples/weft/nbody/report.h"
#include "examples/weft/train/flags.h"
#include "models/training/runs/run_directory.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

// The files of a run beside its checkpoint and its frames.
constexpr std::string_view kEnergyFile = "energy.csv", kFinalFile = "final.npy";
constexpr std::string_view kAnimationFile = "animation.png", kOrbitsFile = "orbits.csv";
constexpr std::string_view kFiles[] = {kEnergyFile, kFinalFile, kAnimationFile, kOrbitsFile};
constexpr std::string_view kFramePrefix = "frame_", kSnapshotPrefix = "snapshot_";

std::string frame_name(std::int64_t number) {
  return fmt::format("{}{:04}.png", kFramePrefix, number);
}

void write_bytes(const data::OutputPath& to, const data::Bytes& bytes) {
  data::write_file_atomically(to, std::as_bytes(std::span(bytes)));
}

// Steps a simulation from one event to the next: samples, frames, checkpoints, the end. All ranks
// do so together, and the first of them writes.
class Run {
 public:
  // `folder` is that of the first rank; the others have none.
  Run(models::NbodyState state, std::optional<models::RunFolder> folder, const NbodyFlags& flags,
      const Stream& stream, distributed::Communicator& ranks)
      : ranks_(ranks),
        state_(std::move(state)),
        folder_(std::move(folder)),
        flags_(flags),
        stream_(stream),
        first_step_(state_.step),
        last_step_(std::min(flags.stop_after.value_or(state_.plan.steps), state_.plan.steps)),
        report_(flags.json) {}

  int run() {
    const std::atomic<bool>& stop_requested = catch_interrupts();
    const Timer timer;
    models::NbodySimulation simulation(state_.bodies, state_.plan.step, stream_, ranks_);
    const fs::path run_dir = folder_ ? folder_->directory().path() : fs::path();
    const NbodyFacts facts{state_, stream_.device(), run_dir, ranks_, first_step_};
    report_.start(facts);
    if (state_.samples.empty()) {
      sample(simulation);
      commit(simulation);  // before the first frame, so that a folder with a frame can be resumed
    }
    if (state_.step == 0) {
      draw(simulation);
      take_snapshot(simulation);
    }
    judge_units();
    Progress progress(ranks_.is_first() ? flags_.progress : "off", 10);
    const Timer since_start;
    bool stop = ranks_.any(stop_requested), given_up = false;
    while (state_.step < last_step_ && !stop) {
      if (!reach_event(simulation, progress)) {
        stop = given_up = true;
        break;
      }
      const Turn turn = agreed({chunk_, checkpoint_due(), stop_requested});
      chunk_ = turn.chunk;
      stop = turn.stop;
      if (turn.commit) commit(simulation);
      if (!progress.due()) continue;
      const double rate = static_cast<double>(state_.step - first_step_) / since_start.seconds();
      progress.show(
          fmt::format("step {}/{}", state_.step, last_step_),
          static_cast<double>(state_.step) / static_cast<double>(last_step_),
          rate_text(rate * kernels::nbody_interactions(state_.bodies.count())) + " interactions/s",
          static_cast<double>(last_step_ - state_.step) / rate);
    }
    progress.clear();
    if (given_up) {
      save();
    } else {
      commit(simulation);
    }
    NbodyEnd end = write_results();
    end.step_seconds = step_seconds_;
    end.interrupted = stop && state_.step < last_step_;
    end.seconds = timer.seconds();
    report_.end(facts, end);
    if (end.interrupted) return kInterrupted;
    judge_energy();
    return 0;
  }

 private:
  // The files of the end, and what the report tells of them.
  NbodyEnd write_results() {
    NbodyEnd end;
    end.orbits = models::orbits_of(state_.bodies, state_.plan.step.force.gravity);
    if (state_.step == state_.plan.steps && folder_) {
      models::write_bodies(folder_->directory() / kFinalFile, state_.bodies);
      if (!end.orbits.empty()) {
        data::write_file_atomically(folder_->directory() / kOrbitsFile,
                                    models::orbits_csv(end.orbits));
      }
      if (!flags_.save.empty()) models::write_bodies(flags_.save, state_.bodies);
    }
    if (folder_) end.animation = write_animation();
    // The end has no frame of its own where a resume made the run longer.
    if (folder_ && state_.plan.frames.times > 0) {
      end.picture = models::draw_bodies(state_.bodies, state_.plan.camera, state_.plan.style);
    }
    return end;
  }

  // What all ranks do next, whatever their clocks and signals say.
  struct Turn {
    std::int64_t chunk, commit, stop;
  };
  Turn agreed(const Turn& mine) {
    const std::vector<Turn> all = ranks_.gather(mine);
    Turn turn = all.front();
    for (const Turn& other : all) turn.stop |= other.stop;
    return turn;
  }

  // As many steps as take about a tenth of a second, but not past the next event.
  void advance(models::NbodySimulation& simulation) {
    std::int64_t target = std::min(last_step_, state_.step + chunk_);
    for (const models::Pace& pace :
         {state_.plan.samples, state_.plan.frames, state_.plan.snapshots}) {
      const std::int64_t next = pace.first_from(state_.step + 1);
      if (next >= 0) target = std::min(target, pace.step_of(next));
    }
    if (flags_.checkpoint) {
      target = std::min(target, (state_.step / *flags_.checkpoint + 1) * *flags_.checkpoint);
    }
    const std::int64_t steps = target - state_.step;
    const Timer timer;
    simulation.advance(steps);
    stream_.synchronize();
    const double seconds = timer.seconds();
    step_seconds_ += seconds;
    state_.seconds += seconds;
    state_.step = target;
    if (seconds < 0.05 && steps == chunk_) chunk_ *= 2;
    if (seconds > 0.2) chunk_ = std::max<std::int64_t>(1, chunk_ / 2);
  }

  // Steps to the next event, and what is due there. False when host-cuda was asked to stop within
  // them: then they have not been.
  bool reach_event(models::NbodySimulation& simulation, Progress& progress) {
    const std::int64_t step = state_.step;
    if (built_for_host_cuda()) state_.bodies = simulation.bodies();
    try {
      advance(simulation);
      const bool due = state_.plan.samples.falls_on(state_.step);
      if (due || state_.step == state_.plan.steps) progress.clear();
      sample(simulation);
    } catch (const Stopped&) {
      state_.step = step;
      return false;
    }
    draw(simulation);
    take_snapshot(simulation);
    return true;
  }

  // The sample of this step, when it is due.
  void sample(models::NbodySimulation& simulation) {
    const bool at_end = state_.step == state_.plan.steps;
    if (state_.plan.samples.falls_on(state_.step) || at_end) {
      models::NbodySample sample{state_.step, simulation.totals(), {}};
      if (!models::is_finite(sample.totals)) throw_diverged();
      sample.centre = std::to_array(models::mass_sums(simulation.bodies()).centre);
      const bool first = state_.samples.empty();
      state_.samples.push_back(sample);
      const double interactions = kernels::nbody_interactions(state_.bodies.count()) *
                                  static_cast<double>(state_.step - sampled_step_);
      report_.sample(state_, first ? 0 : interactions / (step_seconds_ - sampled_seconds_));
      sampled_step_ = state_.step;
      sampled_seconds_ = step_seconds_;
    }
  }

  // The frame of this step, when it is due.
  void draw(models::NbodySimulation& simulation) {
    if (state_.plan.frames.falls_on(state_.step)) {
      const models::Bodies bodies = simulation.bodies();
      if (!folder_) return;
      const std::int64_t size = state_.plan.style.size;
      const std::int64_t number = state_.plan.frames.first_from(state_.step) + 1;
      write_bytes(
          folder_->directory() / frame_name(number),
          data::encode_png(models::draw_bodies(bodies, state_.plan.camera, state_.plan.style), size,
                           size, 3));
    }
  }

  // The snapshot of this step, when it is due.
  void take_snapshot(models::NbodySimulation& simulation) {
    if (!state_.plan.snapshots.falls_on(state_.step)) return;
    const models::Bodies bodies = simulation.bodies();
    if (!folder_) return;
    const std::string name =
        fmt::format("{}{:04}", kSnapshotPrefix, state_.plan.snapshots.first_from(state_.step) + 1);
    models::write_bodies(folder_->directory() / (name + ".npy"), bodies);
    models::write_bodies_with_ids(folder_->directory() / (name + ".csv"), bodies);
  }

  bool checkpoint_due() const {
    if (flags_.checkpoint) return state_.step % *flags_.checkpoint == 0;
    return since_commit_.seconds() > 30;
  }

  void commit(models::NbodySimulation& simulation) {
    state_.bodies = simulation.bodies();
    save();
  }

  void save() {
    if (!models::is_finite(state_.bodies)) throw_diverged();
    since_commit_.restart();
    if (!folder_) return;
    const data::Directory& run = folder_->directory();
    models::write_nbody_checkpoint(run / models::kNbodyCheckpoint, state_);
    data::write_file_atomically(run / kEnergyFile, models::samples_csv(state_));
  }

  [[noreturn]] void throw_diverged() const {
    throw Error(ErrorKind::check_failed,
                fmt::format("the simulation diverged: a value is not finite at step {}; a smaller "
                            "--dt or a larger --softening may help",
                            state_.step));
  }

  // Says so when the steps made or lost more than a tenth of the energy that the bodies had,
  // kinetic and potential, and throws check_failed when it was more than all of it.
  void judge_energy() const {
    const kernels::NbodyTotals& first = state_.samples.front().totals;
    const double had = first.kinetic + std::abs(first.potential);
    const double share = std::abs(state_.samples.back().totals.energy() - first.energy()) / had;
    if (!(share > 0.1)) return;
    const std::string line = fmt::format(
        "the steps changed the energy by {:.2g} times what the bodies had, so their paths are {}; "
        "a "
        "smaller --dt or a larger --softening may help",
        share, share > 1 ? "wrong" : "inaccurate");
    if (share > 1) throw Error(ErrorKind::check_failed, line);
    print_notice(line);
  }

  // Says so at the start when gravity can hardly hold these bodies or hardly lets them move, and
  // with which units it would.
  void judge_units() const {
    constexpr double kFar = 1e4, kNoUnits = 1e30;  // beyond it no units are at fault
    if (state_.step > 0 || !ranks_.is_first()) return;
    const kernels::NbodyTotals& totals = state_.samples.front().totals;
    const double ratio = models::virial_ratio(totals);
    const double off = std::max(ratio, 1 / ratio);
    if (!(totals.kinetic > 0) || totals.potential == 0 || off < kFar || off > kNoUnits) return;
    std::string better;
    for (const models::Units& units : models::units()) {
      const double then = ratio * state_.plan.step.force.gravity / units.gravity;
      if (then < kFar && then > 1 / kFar) better = fmt::format("--units {}", units.name);
    }
    print_notice(fmt::format("2K/|U| is {:.2g}: with G = {:g} {} ({} would fit)", ratio,
                             state_.plan.step.force.gravity,
                             ratio > 1 ? "gravity is too weak to matter to these bodies"
                                       : "these bodies all but stand still",
                             better.empty() ? "another --units or --gravity" : better));
  }

  // From the files of all frames so far; empty when there are none.
  fs::path write_animation() const {
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 29;
    if (state_.plan.frames.times == 0) return {};
    const data::Directory& run = folder_->directory();
    std::vector<data::Bytes> pngs;
    std::uint64_t bytes = 0;
    for (std::int64_t k = 0; state_.plan.frames.step_of(k) <= state_.step; ++k) {
      const std::string name = frame_name(k + 1);
      if (!run.status(name)) {
        print_notice(fmt::format("no animation: {} is missing", (run.path() / name).string()));
        return {};
      }
      const data::InputFile frame(run, name);
      bytes += frame.size();
      if (bytes > kLargest) {
        print_notice("no animation: the frames hold more than 512 MiB");
        return {};
      }
      pngs.emplace_back(frame.size());
      frame.read(std::as_writable_bytes(std::span(pngs.back())), 0);
      if (state_.plan.frames.steps == 0) break;
    }
    const int milliseconds = static_cast<int>(flags_.frame_milliseconds);
    const data::OutputPath animation = run / kAnimationFile;
    write_bytes(animation,
                data::encode_animation(pngs, {milliseconds, std::max(milliseconds, 1500)}));
    return animation.path();
  }

  distributed::Communicator& ranks_;
  models::NbodyState state_;
  std::optional<models::RunFolder> folder_;
  const NbodyFlags& flags_;
  Stream stream_;
  std::int64_t first_step_, last_step_;
  NbodyReport report_;
  std::int64_t chunk_ = 1, sampled_step_ = first_step_;
  double step_seconds_ = 0, sampled_seconds_ = 0;
  Timer since_commit_;
};

// The folder of a run to go on with, which is not locked yet.
models::RunFolder opened(const std::string& path) {
  std::optional<models::RunFolder> folder =
      models::RunFolder::open(path, models::kNbodyCheckpoint, kFiles);
  if (!folder) {
    throw Error(ErrorKind::data, fmt::format("{}: holds no n-body run to resume (no {})", path,
                                             models::kNbodyCheckpoint));
  }
  for (const std::string& name : folder->directory().names()) {
    if (name.starts_with(kFramePrefix) || name.starts_with(kSnapshotPrefix)) {
      folder->directory().require_own_file(name);
    }
  }
  folder->require_free();
  return std::move(*folder);
}

// A new folder, which is locked.
models::RunFolder created(const NbodyFlags& flags) {
  const fs::path run_dir = flags.out.empty()
                               ? next_free_run("nbody-" + fs::path(flags.start).stem().string())
                               : fs::path(flags.out);
  return models::RunFolder::create(run_dir, models::kNbodyCheckpoint);
}

// The first rank plans or reads the run for all.
int run_nbody(const CLI::App& app, const NbodyFlags& flags, distributed::Communicator& ranks) {
  const Device device = select_device(flags.device);
  const Stream stream(device);
  ranks.require_same(nbody_facts(app, device));
  ranks.attach(stream, reduction_of(flags.ranks));
  models::NbodyState state;
  std::optional<models::RunFolder> folder;
  if (ranks.is_first()) {
    if (!flags.resume.empty()) folder = opened(flags.resume);
    state = folder ? resumed(app, flags, folder->checkpoint())
                   : planned(app, flags, stream, ranks.size());
    announce_device(flags.device, device);  // a bad file is one line
    catch_interrupts();                     // the folder shall hold a run
    if (folder) {
      folder->lock();
    } else {
      folder = created(flags);
    }
  }
  models::share_state(state, ranks);
  return Run(std::move(state), std::move(folder), flags, stream, ranks).run();
}

}  // namespace

void add_nbody(CLI::App& app, Action& action) {
  auto flags = std::make_shared<NbodyFlags>();
  CLI::App* sub = app.add_subcommand("nbody", "Let bodies attract each other, and draw them");
  add_nbody_flags(*sub, *flags);
  sub->callback([flags, sub, &action] {
    action.run = [flags, sub] {
      check_nbody_flags(*sub, *flags);
      distributed::Communicator& ranks = join_ranks(flags->ranks, flags->device);
      return run_nbody(*sub, *flags, ranks);
    };
  });
}

}  // namespace weft::cli
