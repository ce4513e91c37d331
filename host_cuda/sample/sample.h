// SPDX-License-Identifier: MIT
// This decides which blocks of a program of the lab are checked. Checks cost many times what the
// accesses cost themselves, so a long program would not end. When its kernels have used a budget of
// checked time, these blocks run without checks of their accesses:
//
//   those of a launch, where as many blocks of its kernel were checked without a finding as two
//   such launches have;
//   those behind the first ones of any other launch, and the rest of a block that takes very long.
//   The first two launches of a kernel are checked whole, unless they take long.
//
// From then on a launch that would do again what an earlier one has done does not run (repeats.h).
// What runs without checks is told by a note for each kernel. Barriers, operations of a warp and
// atomics do the same in either case. Weft's own kernels are always checked, and so is what is
// counted, watched, or run in several orders.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "host_cuda/sample/repeats.h"

namespace weft::host_cuda {

struct Grid;
struct KernelSample;

// Are the accesses of the block that runs, and of those that begin now?
extern bool blocks_are_checked;

// From now on, when kernels have run with checks for so many seconds.
void sample_checks(double seconds);

// A launch. There is one at a time.
class Sample {
 public:
  using Seconds = std::chrono::duration<double>;

  // `orders`: it is to run in so many.
  Sample(const Grid& grid, int orders);
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  ~Sample();

  // The launch would do again what an earlier one has done, and memory has its results: there is
  // nothing to run (repeats.h).
  bool is_repeated() const { return is_repeated_; }

  // The block with this place in the order is about to begin, and no other one runs.
  void block_begins(std::uint64_t place);
  // The running thread has made many accesses. Where the launch has taken long, the rest of its
  // blocks runs without checks, and of the running ones, too.
  void takes_long();
  // The launch is over or repeated, and all went well, or its threads could not go on. Tells what
  // was not checked.
  void ended(bool well);

 private:
  void take_time();
  void look_for_repeat(const Grid& grid);
  // Has the launch a finding? Then all of it is checked, and where it takes long, the listener is
  // told.
  bool has_long_finding() const;

  KernelSample* kernel_ = nullptr;  // null: all is checked
  std::uint64_t blocks_ = 0, checked_blocks_ = 0;
  std::size_t found_before_ = 0;
  std::chrono::steady_clock::time_point launched_, began_;
  Seconds used_before_{};
  bool can_stop_ = false;  // behind its first blocks
  bool in_part_ = false;   // has it stopped?
  std::optional<Repeat> repeat_;
  bool is_repeated_ = false;
  std::uint64_t begun_ = 0;
};

extern Sample* running_sample;  // null: all is checked
inline constexpr int kAccessesOfSample = 1 << 20;

// Host code is checked as long. Then the places where it has accessed its own memory a million
// times are no longer.
bool checks_host_code();
void host_code_goes_unchecked();  // at one more place

// The note of a kernel, or of host code, of which some ran without checks: what that was until now.
inline constexpr const char* kUncheckedKind = "unchecked";
std::string left_unchecked(const std::string& kernel);

}  // namespace weft::host_cuda
