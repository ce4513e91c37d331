// SPDX-License-Identifier: MIT
#include "host_cuda/checks/device_memory.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "engine/error.h"
#include "host_cuda/checks/arena.h"
#include "host_cuda/checks/failures.h"
#include "host_cuda/checks/order.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/checks/symbols.h"

namespace weft::host_cuda {
namespace {

constexpr unsigned char kFill = 0xff;  // NaN: what a kernel reads before anyone writes it shows
// Cells of the shadow, 384 MiB. When there are more, it starts anew: memory stays bounded, and of a
// grid that uses more, races of accesses that are far apart are missed.
constexpr std::size_t kMostCells = std::size_t{1} << 24;

std::mutex mutex;            // guards the next four
std::size_t live_bytes = 0;  // of device memory
std::map<std::uintptr_t, Allocation> allocations;
std::map<std::uintptr_t, std::uintptr_t> written;  // from, to: by the host, or long ago
std::vector<Allocation> freed;                     // since the last grid

std::vector<Allocation> known;  // a copy, by address, for the running grid
struct Bounds {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};
std::array<Allocation, 256> before;  // that were freed
std::size_t next_before = 0;
std::array<Bounds, 4> recent;
std::size_t next_recent = 0;

void mark_written(std::uintptr_t begin, std::uintptr_t end) {
  auto next = written.upper_bound(begin);
  if (next != written.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != written.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = written.erase(next);
  }
  written[begin] = end;
}

void mark_unwritten(std::uintptr_t begin, std::uintptr_t end) {
  auto next = written.upper_bound(begin);
  if (next != written.begin() && std::prev(next)->second > begin) --next;
  while (next != written.end() && next->first < end) {
    const auto [from, to] = *next;
    next = written.erase(next);
    if (from < begin) written[from] = begin;
    if (to > end) written[end] = to;
  }
}

// Memory that nobody has written still has the bytes that it was allocated with.
bool host_has_written(std::uintptr_t address, std::size_t bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(address);
  if (std::any_of(data, data + bytes, [](unsigned char byte) { return byte != kFill; })) {
    return true;
  }
  const std::lock_guard lock(mutex);
  const auto next = written.upper_bound(address);
  return next != written.begin() && std::prev(next)->second >= address + bytes;
}

Shadow shadow(host_has_written);

const Allocation* nearest(std::uintptr_t address) {
  const auto next =
      std::upper_bound(known.begin(), known.end(), address,
                       [](std::uintptr_t value, const Allocation& a) { return value < a.begin; });
  return next == known.begin() ? nullptr : &*(next - 1);
}

// "a device allocation of 4000 bytes"
std::string of(const Allocation& a) {
  return str(a.name, " of ", a.bytes, " bytes");
}

}  // namespace

void* allocate_device_memory(std::size_t bytes, Memory memory) {
  const std::lock_guard lock(mutex);
  const bool counts = memory == Memory::device;
  if (counts && (bytes > device_memory_bytes() || live_bytes > device_memory_bytes() - bytes)) {
    return nullptr;
  }
  void* data = take_from_arena(bytes);
  if (data == nullptr) return nullptr;
  if (counts) live_bytes += bytes;
  std::memset(data, kFill, bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  Allocation& made = allocations[begin] = {begin, bytes};
  if (memory != Memory::device) {
    made.memory = memory;
    made.name = memory == Memory::managed ? "managed memory" : "pinned memory";
    mark_written(begin, begin + bytes);
  }
  return data;
}

bool free_device_memory(void* data) {
  if (data == nullptr) return true;
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == allocations.end()) return false;
  if (found->second.memory == Memory::device) live_bytes -= found->second.bytes;
  freed.push_back(found->second);
  mark_unwritten(found->first, found->first + found->second.bytes);
  give_back_to_arena(data, found->second.bytes);
  allocations.erase(found);
  return true;
}

bool register_host_memory(void* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (data == nullptr || bytes == 0 || allocation_at(begin).bytes > 0) return false;
  const std::lock_guard lock(mutex);
  allocations[begin] = {begin, bytes, "registered memory", Memory::registered};
  mark_written(begin, begin + bytes);
  return true;
}
bool unregister_host_memory(void* data) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == allocations.end() || found->second.memory != Memory::registered) return false;
  freed.push_back(found->second);
  mark_unwritten(found->first, found->first + found->second.bytes);
  allocations.erase(found);
  return true;
}

Allocation allocation_at(std::uintptr_t address) {
  const std::lock_guard lock(mutex);
  const auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return {};
  const Allocation& at = std::prev(next)->second;
  return address - at.begin < at.bytes ? at : Allocation{};
}

std::string describe_host_address(std::uintptr_t address) {
  refresh_device_memory();
  return describe_address(address);
}

void host_writes(const void* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::lock_guard lock(mutex);
  const auto next = allocations.upper_bound(begin);
  if (next == allocations.begin()) return;
  const Allocation& at = std::prev(next)->second;
  if (bytes > 0 && begin - at.begin < at.bytes) mark_written(begin, begin + bytes);
}

void refresh_device_memory() {
  const std::lock_guard lock(mutex);
  static const bool once = [] {
    for (const Variable& one : device_variables()) {
      allocations[one.begin] = {one.begin, one.bytes, "__device__ " + one.name};
      mark_written(one.begin, one.begin + one.bytes);
    }
    return true;
  }();
  static_cast<void>(once);
  known.clear();
  for (const auto& [begin, allocation] : allocations) known.push_back(allocation);
  for (const Allocation& one : freed) {
    shadow.forget(one.begin, one.begin + one.bytes, [](auto, auto) {});
    before[next_before++ % before.size()] = one;
  }
  freed.clear();
  recent.fill({});
  shadow.begin(next_segment(), next_segment());
}

void begin_device_checks() {
  refresh_device_memory();
  shadow.begin(next_segment(), grid_begins(next_segment()));
}

void forget_device_accesses() {
  const std::lock_guard lock(mutex);
  shadow.forget(0, UINTPTR_MAX, mark_written);
}

Finding device_access(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                      const void* site) {
  if (shadow.cells() > kMostCells) forget_device_accesses();
  return shadow.access(address, bytes, access, by, site);
}

bool in_device_memory(std::uintptr_t address, std::size_t bytes) {
  for (const Bounds& a : recent) {
    if (address - a.begin < a.bytes) return address - a.begin + bytes <= a.bytes;
  }
  const Allocation* a = nearest(address);
  if (a == nullptr || address - a->begin >= a->bytes) return false;
  recent[next_recent++ % recent.size()] = {a->begin, a->bytes};
  return address - a->begin + bytes <= a->bytes;
}

std::pair<std::uintptr_t, std::size_t> allocation_of(std::uintptr_t address) {
  const Allocation* a = nearest(address);
  if (a == nullptr || address - a->begin >= a->bytes) return {0, 0};
  return {a->begin, a->bytes};
}

std::string describe_address(std::uintptr_t address) {
  constexpr std::uintptr_t kNear = 1 << 20;
  for (const Allocation& a : before) {
    if (address - a.begin < a.bytes) {
      return str("byte ", address - a.begin, " of ", of(a), ", which was freed");
    }
  }
  const Allocation* near = nearest(address);
  if (near != nullptr && address - near->begin < near->bytes) {
    return str("byte ", address - near->begin, " of ", of(*near));
  }
  if (near != nullptr && address - near->begin - near->bytes < kNear) {
    return str("byte ", address - near->begin - near->bytes, " past the end of ", of(*near));
  }
  for (const Allocation& a : known) {
    if (a.begin > address && a.begin - address < kNear) {
      return str(a.begin - address, " bytes before ", of(a));
    }
  }
  return "an address that is not device memory";
}

std::vector<char> device_memory_contents() {
  std::vector<char> contents;
  for (const Allocation& a : known) {
    const char* data = reinterpret_cast<const char*>(a.begin);
    contents.insert(contents.end(), data, data + a.bytes);
  }
  return contents;
}

void restore_device_memory(const std::vector<char>& contents) {
  const char* from = contents.data();
  for (const Allocation& a : known) {
    std::memcpy(reinterpret_cast<char*>(a.begin), from, a.bytes);
    from += a.bytes;
  }
}

std::string first_difference(const std::vector<char>& a, const std::vector<char>& b) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return "";  // much faster than mismatch()
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin()).first;
  auto at = static_cast<std::size_t>(differ - a.begin());
  for (const Allocation& one : known) {
    if (at < one.bytes) {
      return str("byte ", at, " of ", of(one));
    }
    at -= one.bytes;
  }
  return "device memory";
}

}  // namespace weft::host_cuda
