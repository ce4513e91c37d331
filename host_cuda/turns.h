// SPDX-License-Identifier: MIT
// How a thread of a block ends or waits, and which one runs behind it.
#pragma once

#include "host_cuda/language/language.h"

namespace weft::host_cuda {

extern bool in_turn;  // the threads of a block run by number, and nobody asks between them
extern bool polled;   // the thread that ran last waits for memory to change

extern uint3 thread_index asm("threadIdx");  // which kernels see as const

// What the fiber of a thread runs.
void thread_main();
bool has_failed();  // has a failure ended the grid?

}  // namespace weft::host_cuda
