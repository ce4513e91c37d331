// SPDX-License-Identifier: MIT
#include "host_cuda/sample/repeats.h"

#include <sys/mman.h>
#include <sys/single_threaded.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host_cuda/grid.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {

// An allocation or a variable, and a hash of its contents.
struct MemoryPiece {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  bool is_device = false;  // only kernels and copies write it
  std::size_t hash = 0;

  bool operator==(const MemoryPiece& other) const {
    return begin == other.begin && bytes == other.bytes && hash == other.hash;
  }
  std::string_view contents() const { return {reinterpret_cast<const char*>(begin), bytes}; }
};

namespace {

constexpr std::size_t kMostKept = std::size_t{256} << 20;  // bytes of contents

// Kernels run in other processes, too (workers.h), which the program begins later than this. Null
// where there is no memory that they share.
std::atomic<bool>* effects() {
  static auto* const flag = [] {
    void* const memory = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) std::atomic<bool>;
  }();
  return flag;
}

std::atomic<std::uint64_t> change_count = 1;

std::vector<MemoryPiece> known_pieces;  // as they were looked at last,
std::uint64_t changes_then = 0;         // behind so many changes
double seconds_per_byte = 0.5e-9;       // that is looked at

bool begins_before(const MemoryPiece& a, const MemoryPiece& b) {
  return a.begin < b.begin;
}

std::vector<MemoryPiece> all_pieces() {
  std::vector<MemoryPiece> all;
  for (const Allocation& one : known_allocations()) {
    const bool is_variable = in_program(one.begin);
    all.push_back({one.begin, one.bytes, one.memory == Memory::device && !is_variable});
  }
  for (const Variable& one : constant_variables()) all.push_back({one.begin, one.bytes});
  std::sort(all.begin(), all.end(), begins_before);
  return all;
}

// What is known of the piece; null where somebody may have changed it since.
const MemoryPiece* looked_at(const MemoryPiece& piece) {
  if (!piece.is_device || change_count != changes_then) return nullptr;
  const auto same =
      std::lower_bound(known_pieces.begin(), known_pieces.end(), piece, begins_before);
  return same != known_pieces.end() && same->begin == piece.begin ? &*same : nullptr;
}

std::size_t bytes_to_look_at(const std::vector<MemoryPiece>& all) {
  std::size_t bytes = 0;
  for (const MemoryPiece& one : all) bytes += looked_at(one) == nullptr ? one.bytes : 0;
  return bytes;
}

void look_at_memory() {
  const auto began = std::chrono::steady_clock::now();
  std::vector<MemoryPiece> all = all_pieces();
  const std::size_t bytes = bytes_to_look_at(all);
  for (MemoryPiece& one : all) {
    const MemoryPiece* const before = looked_at(one);
    one.hash = before != nullptr ? before->hash : std::hash<std::string_view>()(one.contents());
  }
  known_pieces = std::move(all);
  changes_then = change_count;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  constexpr std::size_t kEnough = 1 << 20;
  if (bytes > kEnough) seconds_per_byte = took.count() / static_cast<double>(bytes);
}

// What a launch has found and left.
struct Done {
  std::vector<MemoryPiece> before, after;
  std::vector<std::pair<std::uintptr_t, std::string>> changed;  // contents of pieces
  std::chrono::nanoseconds took{};
  std::size_t kept() const {
    std::size_t bytes = (before.size() + after.size()) * sizeof(MemoryPiece);
    for (const auto& [begin, contents] : changed) bytes += contents.size();
    return bytes;
  }
};
[[gnu::init_priority(200)]] std::map<std::string, Done> launches_done;  // by Parts::key
std::size_t kept_bytes = 0;                                             // bytes of them all

std::chrono::nanoseconds time_left_out{};

void forget_done(const std::string& key) {
  const auto old = launches_done.find(key);
  if (old == launches_done.end()) return;
  kept_bytes -= old->second.kept();
  launches_done.erase(old);
}

std::string key_of(const Grid& grid) {
  std::string key(reinterpret_cast<const char*>(grid.call.get()), grid.call->bytes());
  for (const unsigned one : {grid.grid.x, grid.grid.y, grid.grid.z, grid.block.x, grid.block.y,
                             grid.block.z, static_cast<unsigned>(grid.shared_bytes)}) {
    key += std::to_string(one) + ',';
  }
  return key;
}

}  // namespace

struct Repeat::Parts {
  std::string key;
  std::vector<MemoryPiece> before;  // empty where nobody has looked
  std::chrono::steady_clock::time_point began;
};

void kernel_has_effects() {
  if (running != nullptr && effects() != nullptr) *effects() = true;
}
std::chrono::nanoseconds time_of_repeats() {
  return time_left_out;
}
void memory_changes() {
  ++change_count;
}

Repeat::Repeat(const Grid& grid) : parts_(std::make_unique<Parts>()) {
  if (effects() != nullptr) *effects() = false;
  parts_->key = key_of(grid);
}
Repeat::~Repeat() = default;

bool Repeat::repeated(double seconds) {
  // Another thread could free memory meanwhile.
  if (effects() == nullptr || __libc_single_threaded == 0 || !kernels_stay_on_device()) {
    return false;
  }
  const std::vector<MemoryPiece> all = all_pieces();
  const std::size_t now = bytes_to_look_at(all);
  std::size_t behind = 0;  // the launch
  for (const MemoryPiece& one : all) behind += one.bytes;
  const auto takes = [&](std::size_t bytes) {
    constexpr double kOfPiece = 1e-7;
    return static_cast<double>(bytes) * seconds_per_byte +
           static_cast<double>(all.size()) * kOfPiece;
  };
  const bool may_be_kept = takes(now) + takes(behind) <= seconds;
  constexpr std::size_t kLittle = 1 << 16;
  if (!may_be_kept && now > kLittle) return false;
  look_at_memory();
  looked_ = takes(now) + (may_be_kept ? takes(behind) : 0);
  const auto same = launches_done.find(parts_->key);
  if (same == launches_done.end() || same->second.before != known_pieces) {
    if (may_be_kept) parts_->before = known_pieces;
    parts_->began = std::chrono::steady_clock::now();
    return false;
  }
  for (const auto& [begin, contents] : same->second.changed) {
    std::memcpy(reinterpret_cast<void*>(begin), contents.data(), contents.size());
  }
  known_pieces = same->second.after;
  time_left_out += same->second.took;
  looked_ = takes(now);
  return true;
}

void Repeat::ended() {
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - parts_->began;
  if (parts_->before.empty() || *effects() || !kernels_stay_on_device()) return;
  look_at_memory();
  Done made{std::move(parts_->before), known_pieces, {}, took};
  forget_done(parts_->key);
  std::size_t bytes = kept_bytes + made.kept();
  if (made.before.size() != known_pieces.size() || bytes > kMostKept) return;
  for (std::size_t i = 0; i < known_pieces.size(); ++i) {
    if (made.before[i] == known_pieces[i]) continue;
    bytes += known_pieces[i].bytes;
    if (bytes > kMostKept) return;
    made.changed.emplace_back(known_pieces[i].begin, known_pieces[i].contents());
  }
  kept_bytes = bytes;
  launches_done[parts_->key] = std::move(made);
}

}  // namespace weft::host_cuda
