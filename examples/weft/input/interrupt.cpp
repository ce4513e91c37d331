// SPDX-License-Identifier: MIT
#include "examples/weft/input/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace weft::cli {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

extern "C" void request_stop(int) {
  if (requested.exchange(true)) _exit(kInterrupted);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return requested;
}

}  // namespace weft::cli
