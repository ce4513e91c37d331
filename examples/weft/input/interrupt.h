// SPDX-License-Identifier: MIT
// The signals that ask a program to end: Ctrl-C (SIGINT), SIGTERM, and SIGHUP, which a terminal
// sends when it is closed. One that was ignored when the program started, as nohup and the
// background jobs of a script have it, stays ignored.
#pragma once

#include <atomic>
#include <string_view>

namespace weft::cli {

inline constexpr int kInterrupted = 130;  // exit code: stopped by a signal, checkpoint written

// From now on such a signal ends the program at once, by the signal itself, and what
// remove_leftovers() removes does not stay behind.
void end_on_signals();

// From now on the first of those signals sets the flag that this returns and writes `line`, where
// it is not empty, to stderr. It also ends the grids of host-cuda, with Stopped. A second one
// within a second changes nothing: people press twice, and `timeout` sends twice. A later one ends
// the program at once.
const std::atomic<bool>& catch_interrupts(
    std::string_view line = "stopping, saving; once more quits without");

// Ends the program by the signal that was caught, without more ado. Returns when there was none.
void end_by_caught_signal();

// The signals do again what they did before the two functions above, unless one was caught: then
// the program is on its way out, and a second one within a second still changes nothing.
void leave_signals();

}  // namespace weft::cli
