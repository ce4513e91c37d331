// SPDX-License-Identifier: MIT
#include "host_cuda/workers/workers.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "host_cuda/environment.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/workers/changes.h"
#include "host_cuda/workers/unchecked.h"

namespace weft::host_cuda {
namespace {

bool allowed = false, asked_for_order = false, in_worker = false;
std::atomic<std::uint64_t> counted_here{0};
std::atomic<std::uint64_t>* counted = &counted_here;  // in memory that all processes share

int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, kMostWorkers);
}

// A process that runs some blocks, and the file for what they change.
class Worker {
 public:
  template <class Run>
  explicit Worker(const Parting& since, Run run) : file_(memfd_create("weft", MFD_CLOEXEC)) {
    if (file_ < 0) return;
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ > 0) state_ = State::running;
    if (process_ != 0) return;
    become_worker();
    make_memory_private();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool done = false;
    try {
      device_shadow.note_pages();
      done = getppid() == parent && run() && write_changes(since, file_);
    } catch (...) {  // it is met again when the blocks run in order
    }
    _exit(done ? 0 : 1);
  }
  Worker(Worker&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        process_(std::exchange(other.process_, -1)),
        state_(other.state_) {}
  Worker& operator=(Worker&&) = delete;
  ~Worker() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    if (file_ >= 0) close(file_);
  }

  enum class State : std::uint8_t { running, done, failed };
  State state() const { return state_; }
  void look() {  // whether it has ended
    if (process_ <= 0) return;
    int status = 0;
    const pid_t ended = waitpid(process_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return;
    process_ = -1;
    const bool well = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    state_ = well ? State::done : State::failed;
  }
  int file() const { return file_; }

 private:
  int file_;
  pid_t process_ = -1;
  State state_ = State::failed;
};

}  // namespace

void allow_workers() {
  share_arena();
  share_device_variables();
  void* memory =
      mmap(nullptr, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  counted = new (memory) std::atomic<std::uint64_t>(0);
  allowed = true;
}
int workers() {
  if (!allowed || in_worker || !__libc_single_threaded) return 1;
  static const int count = from_environment("WEFT_HOST_CUDA_JOBS", cores(), kMostWorkers);
  return count;
}

std::chrono::microseconds workers_pay_from() {
  static const int from = from_environment("WEFT_HOST_CUDA_JOBS_FROM", 50'000, 1'000'000'000);
  return std::chrono::microseconds(from);
}

bool is_worker() {
  return in_worker;
}
void become_worker() {
  in_worker = true;
}

void begin_workers() {
  asked_for_order = false;
  *counted = 0;
}
std::uint64_t blocks_done() {
  return *counted;
}
void block_is_done() {
  ++*counted;
}
void order_matters() {
  asked_for_order = true;
  if (!in_worker) return;
  if (!runs_unchecked_blocks()) _exit(1);
  wait_for_turn();
}
bool in_order() {
  return asked_for_order;
}

bool run_on_workers(std::uint64_t first, std::uint64_t last,
                    const std::function<bool(std::uint64_t, std::uint64_t)>& run) {
  using std::chrono_literals::operator""ms;
  const auto count = std::min(static_cast<std::uint64_t>(workers()), last - first);
  const Parting since = part();
  std::vector<Worker> running_now;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t from = first + (last - first) * i / count;
    const std::uint64_t to = first + (last - first) * (i + 1) / count;
    running_now.emplace_back(since, [&] { return run(from, to); });
  }
  const auto are = [&](Worker::State state) {
    return std::count_if(running_now.begin(), running_now.end(),
                         [&](const Worker& one) { return one.state() == state; });
  };
  while (are(Worker::State::running) > 0) {
    if (are(Worker::State::failed) > 0) break;
    std::this_thread::sleep_for(1ms);
    for (Worker& one : running_now) one.look();
  }
  std::vector<int> files;
  for (const Worker& one : running_now) files.push_back(one.file());
  if (are(Worker::State::failed) == 0 && take_over(since, files)) return true;
  running_now.clear();
  *counted = first;
  return false;
}

}  // namespace weft::host_cuda
