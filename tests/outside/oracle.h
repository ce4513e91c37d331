// SPDX-License-Identifier: MIT
// Runs kernels of the Indigo suite thread by thread and tells whether their accesses race.
// truth.py puts this in front of programs' kernels, which then read and write through the types
// below. It shares nothing with host-cuda: it is what host-cuda is scored by.
//
// The rule is that of the PTX memory model, for programs without fences and without locks: two
// accesses to the same location by two threads conflict when at least one of them writes. They race
// unless both are atomic, or both threads are of one block and a barrier of that block lies
// between. Shuffles and votes order no memory (PTX ISA, "Memory Consistency Model").
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace oracle {

struct Index3 {
  int x = 0, y = 0, z = 0;
};
inline Index3 thread_index, block_index, block_size, grid_size;

struct Access {
  int block, thread, phase;
  bool write, atomic;
};
inline bool has_race = false, leaves_an_array = false;
inline int phase = 0;  // barriers that the running thread has passed

inline bool races(const Access& a, const Access& b) {
  if (a.block == b.block && a.thread == b.thread) return false;
  if (!a.write && !b.write) return false;
  if (a.atomic && b.atomic) return false;
  return a.block != b.block || a.phase == b.phase;
}

// One location in memory. Equal accesses are kept once.
class Location {
 public:
  int value = 0;
  void note(bool write, bool atomic) {
    if (has_race) return;  // a second race tells nothing new
    const Access now{block_index.x, thread_index.x, phase, write, atomic};
    for (const Access& other : accesses_) {
      if (races(now, other)) has_race = true;
      if (other.block == now.block && other.thread == now.thread && other.phase == now.phase &&
          other.write == write && other.atomic == atomic) {
        return;
      }
    }
    accesses_.push_back(now);
  }

 private:
  std::vector<Access> accesses_;
};

inline int load(Location& at) {
  at.note(false, false);
  return at.value;
}
inline void store(Location& at, int value) {
  at.note(true, false);
  at.value = value;
}

class Reference {
 public:
  explicit Reference(Location* at) : at_(at) {}
  operator int() const { return load(*at_); }
  Reference& operator=(int value) { return store(*at_, value), *this; }
  Reference& operator=(const Reference& other) { return *this = static_cast<int>(other); }
  Reference& operator+=(int value) { return *this = *this + value; }
  int operator++(int) {
    const int old = *this;
    *this = old + 1;
    return old;
  }
  Location* operator&() const { return at_; }

 private:
  Location* at_;
};

class Array {
 public:
  explicit Array(std::vector<int> values) : locations_(values.size() + 1) {
    for (std::size_t i = 0; i < values.size(); ++i) locations_[i].value = values[i];
  }
  Reference operator[](int i) {
    if (i < 0 || i + 1 >= static_cast<int>(locations_.size())) {
      leaves_an_array = true;
      return Reference(&locations_.back());
    }
    return Reference(&locations_[static_cast<std::size_t>(i)]);
  }
  operator Location*() { return &locations_.front(); }

 private:
  std::vector<Location> locations_;  // and one for all that lies outside
};

using Kernel = void (*)(Array& nindex, Array& nlist, Array& data1, Array& data2, int nodes);
extern const Kernel kernels[];  // of the programs, in the order of their numbers

// __shared__ arrays of the running block.
inline std::map<const void*, std::vector<Location>> shared;
template <int kSize>
class Shared {
 public:
  Reference operator[](int i) {
    std::vector<Location>& all = shared[this];
    if (all.empty()) all.resize(kSize);
    if (i < 0 || i >= kSize) {
      leaves_an_array = true;
      i = 0;
    }
    return Reference(&all[static_cast<std::size_t>(i)]);
  }
};

// The threads of a block take turns at barriers, votes and shuffles.
struct Thread {
  ucontext_t context;  // where it begins
  std::jmp_buf left;   // where it has left off
  bool started = false;
  bool done = false;
  int said = 0;  // at a meeting
  long met = 0;
};
inline std::vector<Thread> threads;
inline std::jmp_buf scheduler;  // jumps, since swapcontext() would call the kernel each time
inline int current = 0;

[[gnu::noinline]] inline void go_on(Thread& thread) {
  if (_setjmp(scheduler) != 0) return;
  if (thread.started) _longjmp(thread.left, 1);
  thread.started = true;
  setcontext(&thread.context);
}
[[gnu::noinline]] inline void leave_off(Thread& thread) {
  if (_setjmp(thread.left) == 0) _longjmp(scheduler, 1);
}

// By first and last thread: the meetings at which all of them have been.
inline std::map<std::pair<int, int>, long> whole_meetings;

// Waits for all threads of [first, last) that have not ended, each of which says `value`.
inline void meet(int first, int last, int value) {
  Thread& mine = threads[static_cast<std::size_t>(current)];
  mine.said = value;
  const long now = ++mine.met;
  long& all_met = whole_meetings[{first, last}];
  while (all_met < now) {
    const bool all =
        std::all_of(threads.begin() + first, threads.begin() + last,
                    [=](const Thread& other) { return other.done || other.met >= now; });
    if (!all) leave_off(mine);
    if (all) all_met = now;
  }
}
// Meets, combines what was said, and meets again so that nobody says something new before.
template <class Combine>
int agree(int first, int last, int value, Combine combine) {
  meet(first, last, value);
  int result = 0;
  for (int t = first; t < last; ++t) {
    if (!threads[static_cast<std::size_t>(t)].done) {
      result = combine(result, t, threads[static_cast<std::size_t>(t)].said);
    }
  }
  meet(first, last, value);
  return result;
}
inline int warp_begin() {
  return current / 32 * 32;
}
inline int warp_end() {
  return std::min(warp_begin() + 32, block_size.x);
}

}  // namespace oracle

#define __global__
#define __device__
#define __shared__
#define threadIdx oracle::thread_index
#define blockIdx oracle::block_index
#define blockDim oracle::block_size
#define gridDim oracle::grid_size

inline int max(int a, int b) {
  return a > b ? a : b;
}
inline int min(int a, int b) {
  return a < b ? a : b;
}

template <class Change>
int atomic(oracle::Location* at, Change change) {
  at->note(true, true);
  const int old = at->value;
  at->value = change(old);
  return old;
}
inline int atomicAdd(oracle::Location* at, int v) {
  return atomic(at, [=](int x) { return x + v; });
}
inline int atomicMax(oracle::Location* at, int v) {
  return atomic(at, [=](int x) { return max(x, v); });
}
inline int atomicMin(oracle::Location* at, int v) {
  return atomic(at, [=](int x) { return min(x, v); });
}
inline int atomicOr(oracle::Location* at, int v) {
  return atomic(at, [=](int x) { return x | v; });
}
inline int atomicExch(oracle::Location* at, int v) {
  return atomic(at, [=](int) { return v; });
}

inline void __syncthreads() {
  oracle::meet(0, oracle::block_size.x, 0);
  ++oracle::phase;
}
inline int __syncthreads_count(bool v) {
  const int sum =
      oracle::agree(0, oracle::block_size.x, v, [](int s, int, int x) { return s + x; });
  ++oracle::phase;
  return sum;
}
inline int __syncthreads_or(bool v) {
  return __syncthreads_count(v) != 0;
}
inline unsigned __ballot_sync(unsigned, bool v) {
  return static_cast<unsigned>(oracle::agree(oracle::warp_begin(), oracle::warp_end(), v,
                                             [](int s, int t, int x) { return s | x << t % 32; }));
}
inline int __any_sync(unsigned mask, bool v) {
  return __ballot_sync(mask, v) != 0;
}
inline int __popc(unsigned v) {
  return __builtin_popcount(v);
}
inline int from_lane(int value, int lane) {
  const int first = oracle::warp_begin();
  return oracle::agree(first, oracle::warp_end(), value,
                       [=](int s, int t, int x) { return t == first + lane ? x : s; });
}
inline int __shfl_xor_sync(unsigned, int v, int mask) {
  return from_lane(v, threadIdx.x % 32 ^ mask);
}
inline int __shfl_up_sync(unsigned, int v, int delta) {
  const int lane = threadIdx.x % 32;
  return from_lane(v, lane < delta ? lane : lane - delta);
}
