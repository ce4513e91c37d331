// SPDX-License-Identifier: MIT
#include "host_cuda/workers/unchecked.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <vector>

#include "engine/error.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/findings/findings.h"
#include "host_cuda/grid.h"
#include "host_cuda/launched_grids.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {
namespace {

constexpr std::uint64_t kDone = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMicrosecond = 1000;

std::int64_t now(clockid_t clock = CLOCK_MONOTONIC) {  // ns
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// What the processes see of each other, in memory that they share.
struct Board {
  struct alignas(64) Place {
    std::atomic<std::uint64_t> block{kDone};  // all earlier ones that the process took have ended
  };
  std::atomic<std::uint64_t> next{0};  // that nobody has
  std::atomic<int> active{0};
  std::atomic<bool> asked_for_order{false}, waits_long{false};
  std::array<Place, kMostWorkers> at{};
};
Board* board = nullptr;

// This process, where it is one of them.
struct Self {
  int number = -1;
  int pipe = -1;
  std::int64_t began = 0, waited = 0;
  bool has_turn = false;
};
Self self;
std::ptrdiff_t most_processes = 0;
bool lost = false;

std::atomic<std::uint64_t>& place() {
  return board->at[static_cast<std::size_t>(self.number)].block;
}

enum class What : std::uint32_t { again, found, found_at, failure };
struct Frame {
  What what = What::again;
  bool flag = false;
  const char* kind = nullptr;  // the processes have the same addresses
  const void *site = nullptr, *other = nullptr;
  std::uint32_t text = 0, line = 0;  // bytes of what follows
};

void send(Frame frame, const std::string& text, const std::string& line) {
  wait_for_turn();
  frame.text = static_cast<std::uint32_t>(text.size());
  frame.line = static_cast<std::uint32_t>(line.size());
  std::string all(reinterpret_cast<const char*>(&frame), sizeof frame);
  all += text;
  all += line;
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t count = write(self.pipe, all.data() + done, all.size() - done);
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) _exit(1);
  }
}

// What comes through the pipe is told here.
class Receiver {
 public:
  explicit Receiver(int pipe) : pipe_(pipe) {}

  // Waits for a millisecond where nothing is there. False when the grid has failed.
  bool receive() {
    pollfd one{pipe_, POLLIN, 0};
    if (all_have_closed_) {
      usleep(200);
    } else if (poll(&one, 1, 1) > 0) {
      std::array<char, 4096> piece;
      const ssize_t count = read(pipe_, piece.data(), piece.size());
      if (count > 0) bytes_.append(piece.data(), static_cast<std::size_t>(count));
      all_have_closed_ = count == 0;  // those that are about to end
    }
    while (take()) {
    }
    return !failed_;
  }
  void drain() {
    std::array<char, 4096> piece;
    ssize_t count = 0;
    while ((count = read(pipe_, piece.data(), piece.size())) > 0) {
      bytes_.append(piece.data(), static_cast<std::size_t>(count));
    }
    while (take()) {
    }
  }
  bool failed() const { return failed_; }

 private:
  bool take() {
    Frame frame;
    if (bytes_.size() < sizeof frame || failed_) return false;
    std::memcpy(&frame, bytes_.data(), sizeof frame);
    if (bytes_.size() < sizeof frame + frame.text + frame.line) return false;
    const std::string text = bytes_.substr(sizeof frame, frame.text);
    const std::string line = bytes_.substr(sizeof frame + frame.text, frame.line);
    bytes_.erase(0, sizeof frame + frame.text + frame.line);
    switch (frame.what) {
      case What::again:
        told_before(frame.kind, frame.site, frame.other);
        break;
      case What::found:
        tell(frame.kind, text, frame.site, frame.other);
        break;
      case What::found_at:
        tell_at(frame.kind, text, line, frame.flag);
        break;
      case What::failure:
        failed_ = true;
        lost = frame.flag;
        set_failure(text.substr(0, text.find('\n')).c_str(), text.substr(text.find('\n') + 1),
                    line);
        break;
    }
    return true;
  }

  int pipe_;
  std::string bytes_;
  bool failed_ = false, all_have_closed_ = false;
};

// The processes of a stretch of blocks. What still runs is ended with it.
class Crew {
 public:
  using Run = std::function<void(std::uint64_t, std::uint64_t)>;

  Crew(std::uint64_t next, std::uint64_t total, std::uint64_t chunk, const Run& run) {
    void* memory =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    board = new (memory) Board;
    if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    fcntl(ends_[1], F_SETFL, 0);
    board->next = next;
    most_processes = workers();
    std::fflush(stdout);  // which they print to
    for (int i = 0; i < most_processes; ++i) {
      board->at[static_cast<std::size_t>(i)].block = next;
      ++board->active;
      const pid_t parent = getpid();
      const pid_t process = fork();
      if (process == 0) {
        self = {i, ends_[1], now(), 0, false};
        work(parent, total, chunk, run);
      }
      if (process < 0) {
        board->at[static_cast<std::size_t>(i)].block = kDone;
        --board->active;
        break;
      }
      processes_.push_back(process);
    }
    close(ends_[1]);
    ends_[1] = -1;
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() {
    for (const pid_t process : processes_) kill(process, SIGKILL);
    for (const pid_t process : processes_) {
      while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
    if (board != nullptr) munmap(board, sizeof(Board));
    board = nullptr;
  }

  bool has_begun() const { return !processes_.empty(); }

  // Until all have ended, or the grid has failed.
  void wait() {
    Receiver receiver(ends_[0]);
    while (!processes_.empty() && receiver.receive()) {
      std::optional<int> bad;
      std::erase_if(processes_, [&](pid_t process) {
        int status = 0;
        const pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
        if (status != 0) bad = status;
        return true;
      });
      if (bad) {
        receiver.drain();
        if (!receiver.failed()) end_as(*bad);
      }
    }
    receiver.drain();
  }

 private:
  [[noreturn]] static void work(pid_t parent, std::uint64_t total, std::uint64_t chunk,
                                const Run& run) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    become_worker();
    std::atomic<std::uint64_t>& at = place();
    for (;;) {
      const std::uint64_t from = board->next.fetch_add(chunk);
      if (from >= total) break;
      at = from;
      run(from, std::min(from + chunk, total));
      if (waits_too_long()) break;
    }
    at = kDone;
    _exit(0);
  }

  // Where each block waits for the one before it, one process is enough.
  static bool waits_too_long() {
    constexpr std::int64_t kEnough = 20'000'000;  // ns
    const std::int64_t time = now() - self.began;
    if (time < kEnough || self.waited * 2 < time) return false;
    board->waits_long = true;
    if (--board->active > 0) return true;
    ++board->active;
    return false;
  }

  // The program ends as the process has.
  [[noreturn]] static void end_as(int status) {
    if (!WIFSIGNALED(status)) std::_Exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    std::_Exit(128 + WTERMSIG(status));
  }

  std::array<int, 2> ends_{-1, -1};
  std::vector<pid_t> processes_;
};

// What is known of a kernel's blocks without checks.
struct Known {
  std::int64_t per_block = 0;  // ns on one core
  bool orders = false;         // they ask for their order
  bool stays = false;          // on one core
};
std::map<const void*, Known> kernels;

constexpr std::int64_t kToKnow = 1000 * kMicrosecond;      // of blocks on one core
constexpr std::int64_t kPiece = 500 * kMicrosecond;        // of blocks that a process takes
constexpr std::int64_t kOrderedBlock = 20 * kMicrosecond;  // shorter ones wait longer than they run

}  // namespace

UncheckedShare::UncheckedShare(const void* kernel) : kernel_(kernel) {
  lost = false;
}

bool UncheckedShare::run(std::uint64_t next, std::uint64_t total,
                         const std::function<void(std::uint64_t, std::uint64_t)>& run) {
  const std::int64_t pay_from = workers_pay_from().count() * kMicrosecond / 5;
  Known& known = kernels[kernel_];
  if (known.stays || workers() == 1 || recording() || !kernels_share_memory() || kernels_launch()) {
    return false;
  }
  if (known.per_block == 0) {
    if (began_ == 0) {
      began_ = now();
      began_on_core_ = now(CLOCK_PROCESS_CPUTIME_ID);
      first_ = next;
    }
    const std::int64_t enough = std::min(kToKnow, pay_from);
    if (next == first_ || now() - began_ < enough) return false;
    // Other programs may have had the core.
    const std::int64_t time = now(CLOCK_PROCESS_CPUTIME_ID) - began_on_core_;
    if (time < enough) return false;
    known.per_block = std::max<std::int64_t>(1, time / static_cast<std::int64_t>(next - first_));
  }
  known.orders = known.orders || in_order();
  const std::uint64_t left = total - next;
  const bool pays = left > 1 && left > static_cast<std::uint64_t>(pay_from / known.per_block);
  if (!pays || (known.orders && known.per_block < std::min(kOrderedBlock, pay_from))) return false;
  const auto piece = static_cast<std::uint64_t>(kPiece / known.per_block) + 1;
  const std::uint64_t most = left / (4 * static_cast<std::uint64_t>(workers())) + 1;
  Crew crew(next, total, known.orders ? 1 : std::min(piece, most), run);
  if (!crew.has_begun()) return false;
  crew.wait();
  known.orders = known.orders || board->asked_for_order;
  known.stays = board->waits_long;
  if (board->asked_for_order) order_matters();
  return true;
}

bool runs_unchecked_blocks() {
  return self.number >= 0;
}

void block_begins_in_order(std::uint64_t number) {
  if (self.number < 0) return;
  self.has_turn = false;
  place() = number;
}

void wait_for_turn() {
  constexpr int kSpins = 2000, kYields = 100;
  if (self.has_turn) return;
  board->asked_for_order = true;
  const std::uint64_t own = place();
  const auto others_are_behind = [&] {
    return std::all_of(board->at.begin(), board->at.begin() + most_processes,
                       [&](const Board::Place& one) { return one.block >= own; });
  };
  const std::int64_t from = now();
  for (int i = 0; !others_are_behind(); ++i) {
    if (i > kSpins + kYields) {
      usleep(50);
    } else if (i > kSpins) {
      sched_yield();
    }
  }
  self.waited += now() - from;
  self.has_turn = true;
}

void forward_again(const char* kind, const void* site, const void* other) {
  send({What::again, false, kind, site, other}, "", "");
}
void forward(const char* kind, const std::string& text, const void* site, const void* other) {
  send({What::found, false, kind, site, other}, text, "");
}
void forward_at(const char* kind, const std::string& text, const std::string& line, bool is_note) {
  send({What::found_at, is_note, kind}, text, line);
}
void forward_failure(const std::string& kind, const std::string& text, const std::string& line,
                     bool has_lost) {
  send({What::failure, has_lost}, kind + '\n' + text, line);
  _exit(0);
}
bool worker_has_lost() {
  return lost;
}

void refuse_in_worker(const char* what) {
  wait_for_turn();
  std::fflush(stdout);
  std::fprintf(stderr,
               "weft: error: host-cuda: kernel %s %s only behind the blocks that run with checks: "
               "run the program with --jobs 1\n",
               kernel_name(*running_grid->call).c_str(), what);
  std::_Exit(static_cast<int>(ErrorKind::usage));
}

}  // namespace weft::host_cuda
