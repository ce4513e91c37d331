// SPDX-License-Identifier: MIT
// The flags of weft nbody, and the plan that they make.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "examples/weft/input/flags.h"
#include "examples/weft/input/ranks.h"
#include "models/nbody/run.h"

namespace weft::cli {

struct NbodyFlags {
  std::string units = "natural", start = "galaxies", kernel = "automatic", colour,
              progress = "auto", out, resume, save;
  DeviceFlags device;
  RankFlags ranks;
  std::int64_t bodies = 16384, steps = 400, seed = 1;
  double dt = 0, softening = 0, gravity = 1;  // 0: by the start
  std::int64_t frames = 60, image_size = 640, frame_milliseconds = 50;
  std::int64_t samples = 10, snapshots = 0;
  std::optional<std::int64_t> stop_after, checkpoint;  // none: no stop, by the clock
  bool json = false;
};

void add_nbody_flags(CLI::App& app, NbodyFlags& flags);
// What CLI11 cannot check: flags that exclude each other, and a --save that cannot be written.
void check_nbody_flags(const CLI::App& app, NbodyFlags& flags);

// What must be the same on all ranks of a run: the flags that were given, and the kind of device.
std::vector<std::pair<std::string, std::string>> nbody_facts(const CLI::App& app, Device device);

// A new run at step 0, without its first sample, for so many ranks.
models::NbodyState planned(const CLI::App& app, const NbodyFlags& flags, const Stream& stream,
                           int ranks);
// The run of this checkpoint, to go on with; its length is `steps` when that flag was given.
models::NbodyState resumed(const CLI::App& app, const NbodyFlags& flags,
                           const data::InputFile& checkpoint);

}  // namespace weft::cli
