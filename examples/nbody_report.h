// SPDX-License-Identifier: MIT
// What weft nbody tells: the lines before the run, a row per sample, and the summary after it; as
// text for people or as JSON lines for programs; and the progress line.
#pragma once

#include <chrono>
#include <filesystem>

#include "examples/terminal.h"
#include "models/nbody/run.h"

namespace weft::cli {

struct NbodyFacts {
  const models::NbodyState& state;
  Device device;
  std::filesystem::path run_dir;
  std::int64_t first_step = 0;  // where this call of the program began
};

// What this call of the program did.
struct NbodyEnd {
  double seconds = 0, step_seconds = 0;  // in all, and in steps
  bool interrupted = false;
  std::filesystem::path animation;    // empty when there is none
  std::vector<std::uint8_t> picture;  // the last frame, RGB; may be empty
};

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
class NbodyProgress {
 public:
  NbodyProgress(ProgressMode mode, std::int64_t first_step, std::int64_t last_step,
                std::int64_t bodies);
  ~NbodyProgress() { clear(); }
  NbodyProgress(const NbodyProgress&) = delete;
  NbodyProgress& operator=(const NbodyProgress&) = delete;

  void update(std::int64_t step);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  Terminal terminal_;
  bool bar_ = false, lines_ = false, visible_ = false;
  std::int64_t first_step_, last_step_;
  double interactions_;  // of one step
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace weft::cli
