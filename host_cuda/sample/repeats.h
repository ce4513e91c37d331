// SPDX-License-Identifier: MIT
// Benchmarks launch the same kernel many times on the same data. A kernel is a function of its
// arguments and of device memory, unless it prints, reads a clock, or uses the heap. So a launch
// that finds the contents of memory which an earlier launch with the same arguments has found would
// do the same again: it need not run. What the earlier one has changed is put there.
//
// Contents are compared by a hash of 64 bits for each allocation. Memory that only kernels and
// copies write is hashed again only when one of them has run.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

namespace weft::host_cuda {

struct Grid;

// The running kernel does what does not show in device memory, or depends on more than that.
void kernel_has_effects();
// A copy, a fill, an allocation, or one that is freed.
void memory_changes();
// What the launches would have taken that did not run: as long as the ones that they repeat.
// Events count it.
std::chrono::nanoseconds time_of_repeats();

// A launch that may be repeated later, or repeats an earlier one. There is one at a time.
class Repeat {
 public:
  explicit Repeat(const Grid& grid);
  Repeat(const Repeat&) = delete;
  Repeat& operator=(const Repeat&) = delete;
  ~Repeat();

  // Puts what the same launch has left before into memory. False where it has to run. Looks at
  // memory before and after a launch may take so many seconds; where they would take longer, it is
  // only asked for what is known.
  bool repeated(double seconds);
  // It has run, and all went well: what it leaves is kept where it may be repeated.
  void ended();
  double looked() const { return looked_; }  // seconds, by the number of bytes

 private:
  double looked_ = 0;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace weft::host_cuda
