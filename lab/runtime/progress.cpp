// SPDX-License-Identifier: MIT
#include "lab/runtime/progress.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "engine/text.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda::lab {
namespace {

constexpr std::int64_t kFirst = 5'000'000'000, kFactor = 3;  // nanoseconds; 5 s, 15 s, 45 s

// What the handler of the signal reads. It is written while no timer is set.
struct {
  std::array<char, 512> what{};
  std::size_t bytes = 0;
  std::uint64_t blocks = 0, launches = 0;
  std::int64_t began = 0, before = 0, next = kFirst;  // ns: this launch, those before, to tell at
  int within = 0;  // launches that live: a kernel's run within the one that has launched it
} state;

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A line that is made without memory or locks, as the handler of a signal has to.
class Line {
 public:
  Line& operator<<(std::string_view text) {
    const std::size_t count = std::min(text.size(), text_.size() - used_);
    std::memcpy(text_.data() + used_, text.data(), count);
    used_ += count;
    return *this;
  }
  Line& operator<<(std::uint64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  void write() const {
    if (::write(STDERR_FILENO, text_.data(), used_) < 0) return;  // there is nobody to tell
  }

 private:
  std::array<char, 1024> text_{};
  std::size_t used_ = 0;
};

std::uint64_t seconds(std::int64_t nanoseconds) {
  return static_cast<std::uint64_t>((nanoseconds + 500'000'000) / 1'000'000'000);
}

void set_timer(std::int64_t nanoseconds);

void tell(int) {
  const int error = errno;
  const std::int64_t taken = now() - state.began, together = state.before + taken;
  const std::uint64_t done = blocks_done();
  Line line;
  line << "weft: note: slow: kernels have run for " << seconds(together) << " s; launch "
       << state.launches << ", " << std::string_view(state.what.data(), state.bytes)
       << ", has finished " << done << " of its " << state.blocks << " blocks";
  if (done > 0 && done < state.blocks) {
    const double left = static_cast<double>(taken) / static_cast<double>(done) *
                        static_cast<double>(state.blocks - done);
    line << ", and needs some " << seconds(static_cast<std::int64_t>(left)) << " s more";
  }
  if (state.next == kFirst) {
    line << ". Fewer elements, blocks or steps take less time; too few of them can hide a race";
  }
  line << "\n";
  line.write();
  state.next *= kFactor;
  set_timer(state.next - together);
  errno = error;
}

void set_timer(std::int64_t nanoseconds) {
  static timer_t timer;
  static const bool is_there = [] {
    struct sigaction before {};
    if (sigaction(SIGURG, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return false;
    struct sigaction action {};
    action.sa_handler = tell;
    action.sa_flags = SA_RESTART;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGURG;
    return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
           sigaction(SIGURG, &action, nullptr) == 0;
  }();
  if (!is_there) return;
  itimerspec at{};
  at.it_value = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  timer_settime(timer, 0, &at, nullptr);
}

}  // namespace

TimedLaunch::TimedLaunch(const std::string& what, std::uint64_t blocks) {
  if (state.within++ > 0) state.before += now() - state.began;
  const std::string shown = printable(what);
  state.bytes = std::min(shown.size(), state.what.size());
  std::memcpy(state.what.data(), shown.data(), state.bytes);
  state.blocks = blocks;
  ++state.launches;
  state.began = now();
  set_timer(std::max<std::int64_t>(state.next - state.before, 1));
}
TimedLaunch::~TimedLaunch() {
  set_timer(0);
  const std::int64_t end = now();
  state.before += end - state.began;
  state.began = end;
  --state.within;
}

}  // namespace weft::host_cuda::lab
