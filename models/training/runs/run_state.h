// SPDX-License-Identifier: MIT
// The state of a training run, and its JSON text: what stands in config.json, metrics.jsonl and
// state.json, and in the lines of the program's --json.
//
// Numbers survive the round trip exactly. Reading throws Error{data}, prefixed by `where`, for text
// that is not strict JSON, lacks a field or holds a value out of range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/timer.h"
#include "kernels/loss/loss.h"
#include "models/answers/metrics.h"
#include "models/model.h"
#include "models/training/runs/fingerprint.h"
#include "models/training/runs/run_session.h"
#include "models/training/train_config.h"

namespace weft::models {

// Everything about a run except its tensors.
struct RunState {
  TrainConfig config;
  DataFingerprint data;
  std::vector<EpochRecord> history;
  std::vector<StepRecord> log;
  std::vector<RunSession> sessions;  // in the order of time; older runs have none
  std::int64_t step = 0;             // steps done; within an epoch when the run was interrupted
  kernels::MetricTotals totals;      // of the steps done in that epoch
  double partial_seconds = 0;        // spent on them
};

// Keeps the times of the session that a run is in.
class SessionWatch {
 public:
  // Adds the session to the run.
  void begin(RunState& run, RunSession session);
  // Brings its times up to what the run has done; nothing before begin(). Returns all sessions.
  const std::vector<RunSession>& tell(RunState& run) const;

 private:
  std::optional<Timer> since_begin_;
  RunSession before_;  // images and seconds of the sessions before
};

// One line each, without the newline.
std::string to_json(const TrainConfig& config);
std::string to_json(const EpochRecord& record);  // "event": "epoch"
std::string to_json(const RunState& state);
std::string to_json(const RunSession& session);
// What the model of a run tells of where it comes from: the same wherever the same command runs.
Origin origin_of(const RunState& state);

// The settings of `start`, but for those that the text has: that of a config.json, or part of it.
TrainConfig train_config_from_json(std::string_view text, const TrainConfig& start,
                                   const std::string& where);
// Does this text, which train_config_from_json() has read, have a value of the setting?
bool names_setting(std::string_view text, const char* name);
RunState run_state_from_json(std::string_view text, const std::string& where);

// The settings of a run one by one, "schedule.kind" and its value as JSON; without the path of the
// user's own data, which may lie elsewhere on another machine.
std::vector<std::pair<std::string, std::string>> settings_of(const TrainConfig& config);

}  // namespace weft::models
