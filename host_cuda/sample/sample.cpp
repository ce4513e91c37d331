// SPDX-License-Identifier: MIT
#include "host_cuda/sample/sample.h"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/error.h"
#include "host_cuda/checks/checks.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/findings/findings.h"
#include "host_cuda/grid.h"
#include "host_cuda/host_cuda.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/sample/idle_hooks.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {

bool blocks_are_checked = true;
Sample* running_sample = nullptr;

struct KernelSample {
  std::string name;
  std::uint64_t launches = 0, whole = 0;  // all of them, and those that were checked whole
  std::uint64_t repeated = 0;             // that did not run
  std::uint64_t parts = 0;                // launches of which some blocks were checked,
  std::uint64_t checked_blocks = 0, blocks_of_parts = 0;  // and their blocks
  std::uint64_t clean_blocks = 0;  // that were checked, of launches without a finding
  Sample::Seconds ran{};           // with checks or without
  double looked = 0;               // seconds, at memory (repeats.h)
};

namespace {

constexpr std::uint64_t kLaunches = 2;       // of a kernel are checked, or as many blocks
constexpr double kOfBudget = 0.05;           // such a launch may take, when that is used up
constexpr double kOfLongLaunch = 0.5;        // and one that stops within a block has taken
constexpr double kOfRunning = 0.1;           // a look at memory may take, of what launches took
constexpr std::uint64_t kTimesResident = 4;  // blocks of a launch, for each that fits the device

std::optional<Sample::Seconds> budget;
Sample::Seconds used{};
using Time = std::chrono::steady_clock;
const Time::time_point program_began = Time::now();
std::size_t host_places_left_out = 0;
// Never destroyed: the last to ask may be behind all destructors.
auto& samples = *new std::map<const void*, KernelSample>;

std::string sentence(const KernelSample& of) {
  std::string checked;
  if (of.whole > 0) checked = str(of.whole, " of ", of.launches, " launches");
  if (of.parts > 0) {
    checked += checked.empty() ? "" : ", and ";
    checked += of.checked_blocks == 0
                   ? "a part of a block"
                   : str(of.checked_blocks, " of the ", of.blocks_of_parts, " blocks");
    checked +=
        str(" of ", of.parts, of.whole > 0 ? " more" : "", of.parts > 1 ? " launches" : " launch");
  }
  const std::string taken = str("since checks had taken ", budget->count(), " s");
  std::string rest, remedy = "--check all checks the rest, too";
  if (of.parts > 0 || of.whole + of.repeated < of.launches) rest = "; the rest without, " + taken;
  if (of.repeated > 0) {
    rest +=
        str("; ", of.repeated, of.repeated > 1 ? " launches" : " launch", " did not run, since ",
            of.repeated > 1 ? "each" : "it", " would have done again what an earlier one did",
            rest.empty() ? ", and " + taken : "");
    remedy = "--check all runs and checks all";
  }
  return str("kernel ", of.name, ": ", checked, " ran with checks", rest, ": ", remedy);
}

void tell_sample(const KernelSample& of) {
  tell_at(kUncheckedKind, str(kUncheckedKind, ": ", sentence(of)), "", true);
}

void run_without_checks() {
  blocks_are_checked = false;
  unchecked_blocks_begin();
}

}  // namespace

void sample_checks(double seconds) {
  budget = Sample::Seconds(seconds);
}

Sample::Sample(const Grid& grid, int orders) {
  blocks_are_checked = true;
  if (!budget || orders > 1 || recording() || !lists_findings()) return;
  kernel_ = &samples[grid.call->kernel()];
  if (kernel_->launches++ == 0) kernel_->name = kernel_name(*grid.call);
  blocks_ = std::uint64_t{grid.grid.x} * grid.grid.y * grid.grid.z;
  can_stop_ = !grid.cooperative;  // whose blocks run together
  found_before_ = times_found();
  launched_ = began_ = Time::now();
  used_before_ = used;
  running_sample = this;
  if (used >= *budget) look_for_repeat(grid);
  if (used >= *budget && kernel_->launches > kLaunches &&
      kernel_->clean_blocks >= kLaunches * blocks_)
    run_without_checks();
}

Sample::~Sample() {
  take_time();
  if (kernel_ != nullptr && !is_repeated_) kernel_->ran += Time::now() - launched_;
  running_sample = nullptr;
  accesses_until_yield = 0;
  if (!blocks_are_checked) unchecked_blocks_end();
  blocks_are_checked = true;
}

void Sample::look_for_repeat(const Grid& grid) {
  repeat_.emplace(grid);
  is_repeated_ = repeat_->repeated(kOfRunning * kernel_->ran.count() - kernel_->looked);
  kernel_->looked += repeat_->looked();
  launched_ = began_ = Time::now();
}

void Sample::take_time() {
  if (kernel_ == nullptr || !blocks_are_checked) return;
  const Time::time_point now = Time::now();
  used += now - began_;
  began_ = now;
}

bool Sample::has_long_finding() const {
  if (times_found() == found_before_) return false;
  if (used - used_before_ >= *budget * kOfLongLaunch) launch_with_finding_takes_long();
  return true;
}

void Sample::block_begins(std::uint64_t place) {
  begun_ = place;
  if (!can_stop_ || !blocks_are_checked || is_worker()) return;
  const auto resident = static_cast<std::uint64_t>(kBlocksPerMultiprocessor * multiprocessors());
  if (place < kTimesResident * resident) return;
  take_time();
  if (used < *budget || has_long_finding()) return;
  const bool is_early = kernel_->launches <= kLaunches;
  if (is_early && used - used_before_ < *budget * kOfBudget) return;
  in_part_ = true;
  checked_blocks_ = place;
  run_without_checks();
}

// Nothing may be open: an access that is still to be judged, or one that waits for another
// thread's.
void Sample::takes_long() {
  if (!blocks_are_checked || is_worker() || doubts_open) return;
  take_time();
  const Seconds here = used - used_before_;
  if (used < *budget || here < *budget * kOfLongLaunch || has_long_finding()) return;
  const Block& block = *running->block;
  const bool is_open = std::any_of(block.thread.begin(), block.thread.begin() + block.threads,
                                   [](const Thread& one) { return one.has_pending; });
  if (is_open) return;
  in_part_ = true;
  checked_blocks_ = begun_;
  run_without_checks();
}

void Sample::ended(bool well) {
  if (kernel_ == nullptr) return;
  if (is_repeated_) {
    ++kernel_->repeated;
    return tell_sample(*kernel_);
  }
  if (repeat_ && well && times_found() == found_before_) {
    take_time();
    repeat_->ended();
    began_ = Time::now();
  }
  if (well && times_found() == found_before_) {
    kernel_->clean_blocks += blocks_are_checked ? blocks_ : checked_blocks_;
  }
  if (blocks_are_checked) {
    ++kernel_->whole;
    return;
  }
  if (in_part_) {
    ++kernel_->parts;
    kernel_->checked_blocks += checked_blocks_;
    kernel_->blocks_of_parts += blocks_;
  }
  all_memory_is_written();
  tell_sample(*kernel_);
}

bool checks_host_code() {
  return !budget || !lists_findings() || recording() || Time::now() - program_began < *budget;
}

void host_code_goes_unchecked() {
  ++host_places_left_out;
  tell_at(kUncheckedKind, left_unchecked(""), "", true);
}

std::string left_unchecked(const std::string& kernel) {
  if (kernel.empty()) {
    return str(kUncheckedKind, ": host code: ", host_places_left_out,
               host_places_left_out == 1 ? " place that has" : " places that have each",
               " accessed host memory more than a million times ran on without checks, since the "
               "program had taken ",
               budget->count(), " s: --check all checks them, too");
  }
  for (const auto& [address, one] : samples) {
    if (one.name == kernel) return str(kUncheckedKind, ": ", sentence(one));
  }
  return "";
}

}  // namespace weft::host_cuda
