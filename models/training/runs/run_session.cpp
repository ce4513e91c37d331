// SPDX-License-Identifier: MIT
#include "models/training/runs/run_session.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <ctime>

#include "data/versions/build_info.h"
#include "engine/error.h"
#include "engine/text.h"
#include "models/training/runs/run_state.h"

namespace weft::models {
namespace {

// What decides on data, devices and speed. Others may hold secrets.
constexpr const char* kVariables[] = {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "OMP_PROC_BIND",
                                      "WEFT_CPU_ISA", "WEFT_DATA_DIR"};

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof("2026-11-30T09:41:00Z") + 8];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

double RunSession::images_per_second() const {
  return training_seconds > 0 ? static_cast<double>(images) / training_seconds : 0;
}

namespace {

RunSession work_of(const RunState& run) {
  RunSession all;
  all.images = run.totals.rows;
  all.training_seconds = run.partial_seconds;
  for (const EpochRecord& record : run.history) {
    all.images += record.train.images;
    all.training_seconds += record.seconds;
  }
  return all;
}

}  // namespace

void SessionWatch::begin(RunState& run, RunSession session) {
  before_ = work_of(run);
  since_begin_.emplace();
  run.sessions.push_back(std::move(session));
}

const std::vector<RunSession>& SessionWatch::tell(RunState& run) const {
  if (since_begin_) {
    const RunSession all = work_of(run);
    RunSession& current = run.sessions.back();
    current.seconds = since_begin_->seconds();
    current.images = all.images - before_.images;
    current.training_seconds = all.training_seconds - before_.training_seconds;
  }
  return run.sessions;
}

RunSession begin_session(const std::string& program, const std::vector<std::string>& words,
                         Device device, int threads) {
  RunSession session;
  for (const char* name : kVariables) {
    if (const char* value = std::getenv(name))
      session.command += str(name, "=", shell_word(value), " ");
  }
  session.command += program;
  for (const std::string& word : words) session.command += " " + shell_word(word);
  session.version = build_info().version;
  session.commit = build_info().commit;
  session.commit_date = build_info().commit_date;
  session.host = host_name();
  session.device = device.is_cuda()
                       ? str(to_string(device), " (", device_properties(device).name, ")")
                       : str("cpu (", device_properties(device).name, ")");
  session.threads = threads;
  session.started = utc_now();
  return session;
}

}  // namespace weft::models
