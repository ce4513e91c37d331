// SPDX-License-Identifier: MIT
#include "engine/timings.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

namespace weft {
namespace {

struct KeptTimings {
  std::mutex mutex;
  std::vector<TimedPart> parts;
  std::thread::id main_thread;
  double began = 0;  // seconds on the clock
};

std::atomic<bool> keeps{false};
thread_local int depth = 0;

KeptTimings& kept() {
  static KeptTimings all;
  return all;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// On the same clock, from the 22nd field of /proc/self/stat (proc(5)); the second may hold spaces.
double process_start() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == line.npos) return now();
  std::istringstream fields(line.substr(end_of_name + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double ticks = 0;
  return fields >> ticks ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : now();
}

}  // namespace

void keep_timings() {
  KeptTimings& all = kept();
  all.began = process_start();
  all.main_thread = std::this_thread::get_id();
  all.parts.push_back({"start the process", 0, now() - all.began, 0, false});
  keeps = true;
}

double seconds_since_start() {
  return now() - process_start();
}

TimedScope::TimedScope(std::string_view name) {
  if (!keeps) return;
  name_ = name;
  start_ = now();
  ++depth;
}

TimedScope::~TimedScope() {
  if (start_ < 0) return;
  const double end = now();
  --depth;
  KeptTimings& all = kept();
  const std::lock_guard lock(all.mutex);
  all.parts.push_back({std::move(name_), start_ - all.began, end - start_, depth,
                       std::this_thread::get_id() != all.main_thread});
}

std::vector<TimedPart> timings() {
  KeptTimings& all = kept();
  const std::lock_guard lock(all.mutex);
  std::vector<TimedPart> parts = all.parts;
  std::ranges::stable_sort(
      parts, {}, [](const TimedPart& part) { return std::pair(part.start, -part.seconds); });
  return parts;
}

}  // namespace weft
