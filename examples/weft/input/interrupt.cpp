// SPDX-License-Identifier: MIT
#include "examples/weft/input/interrupt.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>

#include "engine/leftovers.h"
#include "engine/stop.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr std::int64_t kOnePress = 1'000'000'000;  // nanoseconds between signals that are one wish

std::array<struct sigaction, kSignals.size()> actions_before;  // what the signals did
bool handlers_installed = false;
StopQuestion asked_before = nullptr;
std::string first_words;  // what the first signal says

std::atomic<bool> run_is_saved{false};       // catch_interrupts() was called
std::atomic<bool> stop_is_requested{false};  // a signal came since
std::atomic<int> caught_signal{0};           // which one
std::atomic<std::int64_t> caught_at{0};      // and when, in nanoseconds
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler writes them");

std::int64_t monotonic_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void end_by(int number) {
  remove_leftovers();
  signal(number, SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, number);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  raise(number);
  _exit(128 + number);
}

extern "C" void on_signal(int number) {
  const int code = errno;
  std::int64_t first = 0;
  if (!run_is_saved) {
    end_by(number);
  } else if (const std::int64_t time = monotonic_time();
             caught_at.compare_exchange_strong(first, time)) {
    caught_signal = number;
    stop_is_requested = true;
    pollfd log{STDERR_FILENO, POLLOUT, 0};  // a full pipe would wait
    if (poll(&log, 1, 0) == 1) (void)!write(STDERR_FILENO, first_words.data(), first_words.size());
  } else if (time - first >= kOnePress) {
    end_by(number);
  }
  errno = code;
}

bool asked_to_stop() {
  return stop_is_requested;
}

}  // namespace

void end_on_signals() {
  if (handlers_installed) return;
  handlers_installed = true;
  run_is_saved = stop_is_requested = false;
  caught_signal = 0;
  caught_at = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &actions_before[i]);
    if (actions_before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

const std::atomic<bool>& catch_interrupts(std::string_view says) {
  if (run_is_saved) return stop_is_requested;
  const bool over_a_bar = detect_terminal(kStderr).interactive;
  first_words = notices_are_shown() && !says.empty()
                    ? fmt::format("{}weft: {}\n", over_a_bar ? "\r\033[K" : "", printable(says))
                    : "";
  end_on_signals();
  asked_before = set_stop(asked_to_stop);
  run_is_saved = true;
  return stop_is_requested;
}

void end_by_caught_signal() {
  if (caught_signal != 0) end_by(caught_signal);
}

void leave_signals() {
  if (!handlers_installed) return;
  if (run_is_saved) set_stop(asked_before);
  if (caught_signal != 0) return;  // a second press may still come on the way out
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &actions_before[i], nullptr);
  handlers_installed = run_is_saved = false;
}

}  // namespace weft::cli
