// SPDX-License-Identifier: MIT
// What weft nbody tells: the lines before the run, a row per sample, and the summary after it; as
// text for people or as JSON lines for programs; and the progress line.
#pragma once

#include <filesystem>

#include "examples/weft/output/terminal.h"
#include "models/nbody/orbits.h"
#include "models/nbody/run.h"

namespace weft::cli {

struct NbodyFacts {
  const models::NbodyState& state;
  Device device;
  std::filesystem::path run_dir;
  const distributed::Communicator& ranks;
  std::int64_t first_step = 0;  // where this call of the program began
};

// What this call of the program did.
struct NbodyEnd {
  double seconds = 0, step_seconds = 0;  // in all, and in steps
  bool interrupted = false;
  std::filesystem::path animation;    // empty when there is none
  std::vector<std::uint8_t> picture;  // of the last state, RGB; may be empty
  std::vector<models::Orbit> orbits;  // of a few bodies, at the last state
};

std::string rate_text(double rate);  // "2.41e9", or "" for none

class NbodyReport {
 public:
  explicit NbodyReport(bool json) : json_(json), terminal_(detect_terminal(kStdout)) {}

  void start(const NbodyFacts& facts);
  // The last sample of the state; `rate` is interactions per second since the sample before, 0 when
  // there is none.
  void sample(const models::NbodyState& state, double rate);
  void end(const NbodyFacts& facts, const NbodyEnd& end);

 private:
  void json_end(const NbodyFacts& facts, const NbodyEnd& end);

  bool json_;
  Terminal terminal_;
};

// A bar with interactions/s and time left on a terminal, a plain line now and then elsewhere.
}  // namespace weft::cli
