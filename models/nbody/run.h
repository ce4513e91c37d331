// SPDX-License-Identifier: MIT
// A simulation on its way: what was planned, how far it is, and its checkpoint, one safetensors
// file from which it goes on bit for bit.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "distributed/communicator.h"
#include "models/nbody/picture.h"
#include "models/nbody/simulation.h"
#include "models/nbody/units.h"

namespace weft::models {

// Something that happens at step 0 and then `times` times in `steps` steps, as evenly as whole
// steps allow: the k-th time at step floor(k steps / times). A run that is made longer keeps the
// pace.
struct Pace {
  std::int64_t steps = 0, times = 0;  // times 0: never; else at most `steps`, or 1 when that is 0

  std::int64_t step_of(std::int64_t k) const { return k * steps / times; }
  // The first k whose step is `step` or later; -1 when there is none.
  std::int64_t first_from(std::int64_t step) const;
  bool falls_on(std::int64_t step) const;
};

struct NbodyPlan {
  std::string start;  // where the bodies came from, for people
  std::int64_t seed = 1, steps = 0;
  NbodyStep step;
  Pace samples, frames, snapshots;
  const Units* units = &models::units().front();  // that `step` and the bodies are in
  PictureStyle style;
  Camera camera;
  MassSums sums;  // at step 0
};

struct NbodySample {
  std::int64_t step = 0;
  kernels::NbodyTotals totals;
  std::optional<std::array<double, 3>> centre;  // of mass; older checkpoints do not have it
};

struct NbodyState {
  double time_of(std::int64_t at) const { return plan.step.dt * static_cast<double>(at); }

  NbodyPlan plan;
  std::int64_t step = 0;  // done, with its sample and its frame
  double seconds = 0;     // spent on steps
  std::vector<NbodySample> samples;
  Bodies bodies;
};

inline constexpr char kNbodyCheckpoint[] = "checkpoint.safetensors";  // in the folder of a run

// Crash-safe. A checkpoint whose bodies are fp32, as before they were double, goes on from them.
// Reading throws Error{data}, naming the file, for anything that does not hold
// together.
void write_nbody_checkpoint(const data::OutputPath& to, const NbodyState& state);
NbodyState read_nbody_checkpoint(const data::InputFile& file);

// All ranks get the state of the first one. A call of all ranks; blocks.
void share_state(NbodyState& state, distributed::Communicator& ranks);

// The samples as a table for other programs: step, time, energies, momenta and the centre of mass,
// one line each.
std::string samples_csv(const NbodyState& state);

}  // namespace weft::models
