// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM during long work: the first asks it to end with a checkpoint, the second ends
// the program at once.
#pragma once

#include <atomic>

namespace weft::cli {

inline constexpr int kInterrupted = 130;  // exit code: stopped by a signal, checkpoint written

// From now on those signals set the flag that this returns.
const std::atomic<bool>& catch_interrupts();

}  // namespace weft::cli
