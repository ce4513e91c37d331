// SPDX-License-Identifier: MIT
// OpenMP on a machine that does other work as well. Idle threads of GCC's OpenMP spin for a while
// before they sleep. That is the fastest way to wait on cores of one's own. Where another program
// needs one of these cores, it takes the time that the working threads would have had: with one of
// two cores busy, LeNet-5 trains at 20 000 images/s with spinning and 35 000 without.
//
// A user who sets OMP_WAIT_POLICY or GOMP_SPINCOUNT decides, and nothing below does anything.
#pragma once

namespace weft::cli {

// Starts this program again, so that OpenMP's threads spin for microseconds instead of
// milliseconds: GCC's OpenMP reads its settings when it is loaded. Where that fails the program
// goes on as it is.
void limit_spinning(char** argv);

// From now on a thread looks ten times a second at how much of this process's cores other programs
// use. While it is more than the OpenMP threads of the caller leave free, idle threads sleep at
// once: GCC's OpenMP does that while it has more threads than cores, so a few idle ones are added.
// It ends with the program.
void watch_other_work();

}  // namespace weft::cli
