// SPDX-License-Identifier: MIT
// Runs blocks of a grid in several processes at the same time. Each process has a copy of the
// memory, runs a stretch of the blocks in order, and tells what they have changed. The changes are
// taken over where no stretch has touched what another one wrote, and nothing has asked for an
// order: then the memory, and what is known of each access, are those of all blocks in order.
// Else they are dropped, and the blocks run in order. So a program gets the same findings, in the
// same order, as on one core.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace weft::host_cuda {

inline constexpr int kMostWorkers = 256;
// The most processes at once: WEFT_HOST_CUDA_JOBS, or the cores of this computer. 1 in a program
// that is no one of the lab, or has begun a thread of its own.
int workers();
void allow_workers();  // in this program
bool is_worker();      // one of the processes that run_on_workers() or unchecked.h has begun
void become_worker();
// How long the blocks that are left have to take on one core: 50 ms, or as many microseconds as
// WEFT_HOST_CUDA_JOBS_FROM says.
std::chrono::microseconds workers_pay_from();

// The blocks do what depends on their order, or is seen outside: an atomic operation on device
// memory, a fence, a finding, printf, the heap. Does not return in a process of run_on_workers().
// In one of unchecked.h it returns when all earlier blocks have ended.
void order_matters();
// Has it been called since the grid began?
bool in_order();
void begin_workers();  // of a grid

// How many blocks of the running grid have ended, in all processes.
std::uint64_t blocks_done();
void block_is_done();

// Calls run(from, to) in processes, on pieces of [first, last). run() returns whether all went
// well. False where nothing has been changed.
bool run_on_workers(std::uint64_t first, std::uint64_t last,
                    const std::function<bool(std::uint64_t, std::uint64_t)>& run);

}  // namespace weft::host_cuda
