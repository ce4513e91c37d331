// SPDX-License-Identifier: MIT
#include "examples/weft/input/other_work.h"

#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace weft::cli {
namespace {

// Pauses that a thread spins before it sleeps: tens of microseconds. The policy makes it none while
// there are more threads than cores.
constexpr std::pair<const char*, const char*> kWaiting[] = {{"GOMP_SPINCOUNT", "2000"},
                                                            {"OMP_WAIT_POLICY", "passive"}};
constexpr char kStartedAgain[] = "WEFT_STARTED_AGAIN";

bool we_decide = false;  // is it for this program to say how threads wait?

// Runs on a thread of its own until told to end.
class Background {
 public:
  template <class Body>  // called with this object
  explicit Background(Body body) : thread_([this, body] { body(*this); }) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void wait_for_the_end() {
    while (!ends_within(std::chrono::hours(1))) {  // wait() would need the libstdc++ of GCC 12
    }
  }
  bool ends_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return ends_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;  // the last: it uses the others
};

// The cores on which this process may run.
struct Cores {
  Cores() {
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
  }
  cpu_set_t set;
  int count = 0;
};

// Seconds that these cores have been at work for anybody, other guests of a virtual machine's host
// among them; below 0 where that cannot be told.
double seconds_at_work(const Cores& cores) {
  std::ifstream stat("/proc/stat");
  double ticks = 0;
  int found = 0;
  for (std::string row; std::getline(stat, row) && row.starts_with("cpu");) {
    std::istringstream words(row.substr(3));
    if (row.size() < 4 || row[3] == ' ') continue;  // the sum of all
    std::size_t core = 0;
    double user = 0, nice = 0, system = 0, idle = 0, waits = 0, hard = 0, soft = 0, steal = 0;
    words >> core >> user >> nice >> system >> idle >> waits >> hard >> soft >> steal;
    if (!words || core >= CPU_SETSIZE || !CPU_ISSET(core, &cores.set)) continue;
    ticks += user + nice + system + hard + soft + steal;
    ++found;
  }
  if (found < cores.count) return -1;
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A team of OpenMP threads that do nothing, for as long as its thread runs.
void keep_idle_team(Background& background, int threads) {
  int started = 0;
#pragma omp parallel num_threads(threads) reduction(+ : started)
  started += 1;
  if (started > 0) background.wait_for_the_end();
}

// Do other programs have more to do at this moment than `threads` of all cores leave free? Threads
// of this process that wait make the answer no where it may be yes.
bool others_run_now(int threads) {
  std::int64_t own = 0, running = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator task("/proc/self/task", failed), end;
       !failed && task != end; task.increment(failed)) {
    ++own;
  }
  std::ifstream stat("/proc/stat");
  for (std::string word; stat >> word && word != "procs_running";) {
  }
  return stat >> running && running - own > sysconf(_SC_NPROCESSORS_ONLN) - threads;
}

void watch(Background& background, int threads) {
  constexpr auto kBetween = std::chrono::milliseconds(100);
  constexpr double kMuch = 0.4, kLittle = 0.2;  // cores that others lack
  constexpr int kQuiet = 5;                     // looks without others before threads spin again
  const Cores cores;
  // One more than makes as many threads as there are cores.
  const int team = std::max(2, cores.count - threads + 2);
  std::unique_ptr<Background> idle;
  const auto add_idle_team = [&] {
    idle = std::make_unique<Background>([team](Background& it) { keep_idle_team(it, team); });
  };
  if (others_run_now(threads)) add_idle_team();
  int quiet = 0;
  double work = seconds_at_work(cores), own = own_seconds();
  auto time = std::chrono::steady_clock::now();
  while (work >= 0 && !background.ends_within(kBetween)) {
    const double work_now = seconds_at_work(cores), own_now = own_seconds();
    const auto time_now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(time_now - time).count();
    const double lacking =
        (work_now - work - (own_now - own)) / seconds - static_cast<double>(cores.count - threads);
    quiet = lacking < kLittle ? quiet + 1 : 0;
    if (lacking > kMuch && !idle) add_idle_team();
    if (quiet >= kQuiet) idle.reset();
    work = work_now;
    own = own_now;
    time = time_now;
  }
}

}  // namespace

void limit_spinning(char** argv) {
  const bool again = std::getenv(kStartedAgain) != nullptr;
  if (!again) {
    for (const auto& [name, value] : kWaiting) {
      if (std::getenv(name) != nullptr) return;
    }
    for (const auto& [name, value] : kWaiting) setenv(name, value, 1);
    setenv(kStartedAgain, "1", 1);
    execv("/proc/self/exe", argv);
  }
  // OpenMP has read them. The programs that this one starts decide for themselves.
  for (const auto& [name, value] : kWaiting) unsetenv(name);
  unsetenv(kStartedAgain);
  we_decide = true;
}

void watch_other_work() {
  const int threads = omp_get_max_threads();
  if (!we_decide || threads < 2) return;
  static std::unique_ptr<Background> watcher;
  watcher.reset();
  watcher = std::make_unique<Background>([threads](Background& it) { watch(it, threads); });
}

}  // namespace weft::cli
