// SPDX-License-Identifier: MIT
// What the warps of a grid do, put together from what their threads did one after another: blocks
// of code that lanes run together, requests to memory, barriers.
//
// Lanes of a warp act as one where they execute the same instruction between the same barriers of
// their block and in the same trip of the loops around it. So lanes that part at a branch meet
// again where its ways join, which is what nvcc compiles for.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host_cuda/access/access_counts.h"
#include "host_cuda/language/language.h"

namespace weft::host_cuda {

struct Block;
struct Grid;
struct Thread;

// Where a warp is in its program.
struct Place {
  uint3 block{};
  int warp = 0;                          // of the block
  std::uint32_t phase = 0;               // barriers of the block passed
  std::uint64_t step = 0;                // of this warp in this block, in program order, from 0
  std::span<const std::uint32_t> trips;  // of the loops around it, the outermost first, from 0
};

// One of the ways that lanes take out of a step.
struct Way {
  std::uint32_t node = 0;  // where to: a number of this kernel's
  std::uint32_t lanes = 0;
};

// Lanes of a warp run a basic block of the code together.
struct Step {
  const Place& place;
  std::uint32_t node = 0;             // the basic block, and the calls that led there
  const void* site = nullptr;         // where it begins, as a return address (source_line())
  const void* branch_site = nullptr;  // its last instruction: the branch, if it ends with one
  std::uint32_t lanes = 0;            // a bit each
  std::span<const Way> ways;          // none where the lanes return or wait at a barrier
};

using Bytes = std::array<std::uint64_t, 2>;  // the first ones of an access

// One instruction's access to memory by lanes of a warp, in one step.
struct Request {
  const Place* place = nullptr;
  const void* site = nullptr;  // the instruction, as a return address
  AccessKind kind = AccessKind::global_load;
  std::uint32_t bytes = 0;  // of one lane; where lanes differ, the most
  std::uint32_t lanes = 0;  // a bit each
  std::array<std::uintptr_t, 32> address{};
  std::array<Bytes, 32> value{};  // what a lane has read, or what was there when it had written
  bool product = false;           // it is an mma.sync instead, and the address its WarpOp
};

// Hears of it all while it lives. The warps of a block are told one after another, each up to the
// next barrier of the block: its steps in program order, and behind each step its requests in
// program order. Grids are told as they run, each under one schedule. What is passed is valid
// during the call.
class RequestListener {
 public:
  RequestListener();
  virtual ~RequestListener();
  RequestListener(const RequestListener&) = delete;
  RequestListener& operator=(const RequestListener&) = delete;

  virtual void launch(const Grid&) {}
  virtual void block_begin(const Block&) {}
  virtual void step(const Step&) {}
  virtual void request(const Request&) {}
  virtual void product(const Request&) {}  // an mma.sync, in program order among the requests
  virtual void barrier(const Block&, const void* /*site*/) {}  // all threads of the block passed it
  virtual void block_end(const Block&) {}
  // A check has found something, which is told at once, before the requests that have led to it.
  // `thread` is null where the grid cannot go on; `site` is that of its access, or null.
  virtual void finding(const Thread* /*thread*/, const std::string& /*text*/,
                       const void* /*site*/) {}
};

// What follows is for the layer itself.

// A thread's way since the last barrier.
struct ThreadTrace {
  struct Event {
    std::uintptr_t address = 0;
    std::uint32_t code = 0;   // of an access: the instruction; else the basic block that begins
    std::uint16_t bytes = 0;  // 0: a basic block begins
    AccessKind kind = AccessKind::global_load;
    bool product = false;  // an mma.sync, whose WarpOp the address is
    bool open = false;     // a write, whose value is not there yet
    Bytes value{};
  };
  struct Call {
    std::uint64_t context;
    const void* site;
  };
  std::vector<Event> events;
  std::vector<std::size_t> open;  // places among them
  std::vector<Call> calls;        // of functions that are not inlined
  std::uint64_t context = 0;      // stands for `calls`
  std::uint32_t node = UINT32_MAX;
};

extern bool somebody_listens;
inline bool recording() {
  return somebody_listens;
}

void record_launch(const Grid& grid);
void record_block_begin(Block& block);
void record_access(Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind,
                   const void* site);
// The same of an access for which no memory is: it has no value.
void record_bad_access(Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind,
                       const void* site);
// The thread is about to stop: what it has written is there.
void record_values(Thread& thread);
void record_finding(const std::string& text, const void* site);  // of the running thread
void record_product(Thread& thread, std::uintptr_t op, const void* site);
// All threads of the block have come to its barrier number `phase`, and none runs on yet.
void record_barrier(Block& block, std::uint32_t phase, const void* site);
void record_block_end(Block& block);

}  // namespace weft::host_cuda
