// SPDX-License-Identifier: MIT
#include "host_cuda/memory/device_memory.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "engine/error.h"
#include "engine/extent.h"
#include "host_cuda/checks/failures.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/order.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/memory/written.h"
#include "host_cuda/sample/repeats.h"
#include "host_cuda/workers/unchecked.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {
namespace {

// Cells of the shadow, 384 MiB. When there are more, it starts anew: memory stays bounded, and of a
// grid that uses more, races of accesses that are far apart are missed.
constexpr std::size_t kMostCells = std::size_t{1} << 24;

std::mutex mutex;  // guards the next five
std::uint64_t made_allocations = 0;
[[gnu::init_priority(200)]] std::map<std::uintptr_t, Allocation> allocations;
[[gnu::init_priority(200)]] std::vector<Allocation> freed;  // since the last grid
std::size_t heap_bytes = std::size_t{8} << 20, heap_used = 0;

// A copy, by address, for the running grid; and those that were freed.
[[gnu::init_priority(200)]] std::vector<Allocation> known;
[[gnu::init_priority(200)]] std::array<Allocation, 256> before;
std::size_t next_before = 0;
[[gnu::init_priority(200)]] std::vector<Bounds> slabs;  // of the heap
std::size_t next_recent = 0;

const Allocation* allocation_around(std::uintptr_t address) {  // the mutex is locked
  const auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  const Allocation& at = std::prev(next)->second;
  return address - at.begin < at.bytes ? &at : nullptr;
}

// The managed or pinned memory that the address is in, else null. The mutex is locked.
const Allocation* memory_of_host(std::uintptr_t address) {
  const Allocation* in = allocation_around(address);
  if (in == nullptr) return nullptr;
  return in->memory == Memory::managed || in->memory == Memory::pinned ? in : nullptr;
}

// Host code writes managed and pinned memory unseen. A byte there may have its old value by chance,
// but not the eight around it.
bool looks_unwritten_by_host(const Allocation& in, std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t from = std::max(address / 8 * 8, in.begin);
  const std::uintptr_t to = std::min(round_up(address + bytes, 8), in.begin + in.bytes);
  return looks_unwritten(from, to - from);
}

// Memory that nobody has written still has the bytes that it was allocated with.
bool host_has_written(std::uintptr_t address, std::size_t bytes) {
  if (!looks_unwritten(address, bytes)) return true;
  const std::lock_guard lock(mutex);
  const Allocation* in = memory_of_host(address);
  return is_known_as_written(address, bytes) ||
         (in != nullptr && !looks_unwritten_by_host(*in, address, bytes));
}

bool is_before(std::uintptr_t address, const Allocation& a) {
  return address < a.begin;
}

const Allocation* nearest(std::uintptr_t address) {
  const auto next = std::upper_bound(known.begin(), known.end(), address, is_before);
  return next == known.begin() ? nullptr : &*(next - 1);
}

// "a device allocation of 4000 bytes"
std::string of(const Allocation& a) {
  return str(a.name, " of ", a.bytes, " bytes");
}

// "byte 8 past the end of a device allocation of 4000 bytes", of allocations by address
std::string described(const std::vector<Allocation>& all, std::uintptr_t address);

}  // namespace

Shadow device_shadow(host_has_written);
std::array<Bounds, 4> recent_allocations;

bool host_finds_unwritten(std::uintptr_t address, std::size_t bytes) {
  if (!looks_unwritten(address, bytes)) return false;
  const std::lock_guard lock(mutex);
  const Allocation* in = memory_of_host(address);
  return in != nullptr && !is_known_as_written(address, bytes) &&
         looks_unwritten_by_host(*in, address, bytes);
}

std::vector<Stretch> unwritten_in(const void* data, std::size_t bytes) {
  constexpr std::uintptr_t kWord = 4;
  std::vector<Stretch> found;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (!in_arena(begin)) return found;
  for (std::uintptr_t at = round_up(begin, kWord); at + kWord <= begin + bytes; at += kWord) {
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(at), kWord);
    if (word != kUnwrittenWord) continue;
    const std::lock_guard lock(mutex);
    const Allocation* in = allocation_around(at);
    if (in == nullptr || in->memory == Memory::registered || is_known_as_written(at, kWord)) {
      continue;
    }
    if (!found.empty() && found.back().second == at) {
      found.back().second = at + kWord;
    } else {
      found.emplace_back(at, at + kWord);
    }
  }
  return found;
}

void* allocate_device_memory(std::size_t bytes, Memory memory) {
  const std::lock_guard lock(mutex);
  const bool counts = memory == Memory::device;
  const std::size_t all = device_memory_bytes();
  if (counts && (bytes > all || device_bytes_in_use > all - bytes)) return nullptr;
  void* data = take_from_arena(bytes);
  if (data == nullptr) return nullptr;
  if (counts) device_bytes_in_use += bytes;
  fill_unwritten(data, bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  Allocation& made = allocations[begin] = {begin, bytes};
  ++made_allocations;
  memory_changes();
  if (memory != Memory::device) {
    made.memory = memory;
    made.name = memory == Memory::managed ? "managed memory" : "pinned memory";
  }
  return data;
}

bool free_device_memory(void* data) {
  if (data == nullptr) return true;
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == allocations.end()) return false;
  if (found->second.memory == Memory::device) device_bytes_in_use -= found->second.bytes;
  freed.push_back(found->second);
  mark_unwritten(found->first, found->first + found->second.bytes);
  give_back_to_arena(data, found->second.bytes);
  memory_changes();
  allocations.erase(found);
  allocations_change();
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
  allocations_change();
  return true;
}

bool kernels_share_memory() {
  return memory_is_shared() && kernels_stay_on_device();
}
bool kernels_stay_on_device() {
  const std::lock_guard lock(mutex);
  return slabs.empty() && std::none_of(allocations.begin(), allocations.end(), [](const auto& one) {
           return one.second.memory == Memory::registered;
         });
}

// Addresses are used once, as those of the arena, and have unused ones between.
void* allocate_in_kernel(std::size_t bytes, const void* site) {
  constexpr std::size_t kAlignment = 16, kSlab = std::size_t{1} << 20;
  static char *next = nullptr, *end = nullptr;
  order_matters();
  kernel_has_effects();
  if (runs_unchecked_blocks()) refuse_in_worker("allocates or frees memory");
  const std::lock_guard lock(mutex);
  if (bytes > heap_bytes || heap_used > heap_bytes - bytes) return nullptr;
  const std::size_t taken = round_up(bytes + kAlignment, kAlignment);
  if (static_cast<std::size_t>(end - next) < taken) {
    const std::size_t slab = std::max(kSlab, taken);
    next = static_cast<char*>(take_from_arena(slab));
    if (next == nullptr) {
      end = nullptr;
      return nullptr;
    }
    end = next + slab;
    slabs.push_back({reinterpret_cast<std::uintptr_t>(next), slab});
  }
  void* data = std::exchange(next, next + taken);
  fill_unwritten(data, bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const Allocation made{begin, bytes, "memory of the heap of kernels", Memory::heap, site};
  allocations[begin] = made;
  ++made_allocations;
  known.insert(std::upper_bound(known.begin(), known.end(), begin, is_before), made);
  heap_used += bytes;
  return data;
}
bool free_in_kernel(void* data) {
  order_matters();
  kernel_has_effects();
  if (runs_unchecked_blocks()) refuse_in_worker("allocates or frees memory");
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == allocations.end() || found->second.memory != Memory::heap) return false;
  heap_used -= found->second.bytes;
  before[next_before++ % before.size()] = found->second;
  freed.push_back(found->second);
  known[static_cast<std::size_t>(nearest(found->first) - known.data())].bytes = 0;
  recent_allocations.fill({});
  allocations.erase(found);
  allocations_change();
  return true;
}
void set_heap_bytes(std::size_t bytes) {
  const std::lock_guard lock(mutex);
  heap_bytes = bytes;
}
bool is_in_heap(std::uintptr_t address) {
  return std::any_of(slabs.begin(), slabs.end(),
                     [&](const Bounds& one) { return address - one.begin < one.bytes; });
}
Left left_in_heap() {
  const std::lock_guard lock(mutex);
  Left left{0, heap_used};
  for (const auto& [begin, one] : allocations) {
    if (one.memory == Memory::heap && left.allocations++ == 0) left.site = one.site;
  }
  return left;
}

Allocation allocation_at(std::uintptr_t address) {
  const std::lock_guard lock(mutex);
  const Allocation* in = allocation_around(address);
  return in != nullptr ? *in : Allocation{};
}

std::string describe_host_address(std::uintptr_t address) {
  std::vector<Allocation> all;
  const std::lock_guard lock(mutex);
  for (const Allocation& one : freed) {
    if (address - one.begin < one.bytes) {
      return str("byte ", address - one.begin, " of ", of(one), ", which was freed");
    }
  }
  for (const auto& [begin, allocation] : allocations) all.push_back(allocation);
  return described(all, address);
}

void host_writes(const void* data, std::size_t bytes) {
  if (running == nullptr) memory_changes();
  if (running != nullptr && !blocks_are_checked) return;  // all_memory_is_written()
  const Unchecked here;                                   // atomicExch() calls this in a kernel
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::lock_guard lock(mutex);
  if (bytes > 0 && allocation_around(begin) != nullptr) mark_written(begin, begin + bytes);
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
    device_shadow.forget(one.begin, one.begin + one.bytes, [](auto, auto) {});
    before[next_before++ % before.size()] = one;
  }
  freed.clear();
  recent_allocations.fill({});
  device_shadow.begin(next_segment(), next_segment());
}

const std::vector<Allocation>& known_allocations() {
  return known;
}

void begin_device_checks() {
  refresh_device_memory();
  device_shadow.begin(next_segment(), grid_begins(next_segment()));
}

void forget_device_accesses() {
  const std::lock_guard lock(mutex);
  device_shadow.forget(0, UINTPTR_MAX, mark_written);
}

void all_memory_is_written() {
  static std::uint64_t marked = 0;
  const std::lock_guard lock(mutex);
  if (std::exchange(marked, made_allocations) == made_allocations) return;
  for (const auto& [begin, one] : allocations) mark_written(begin, begin + one.bytes);
}

void make_room_for_accesses() {
  if (device_shadow.cells() > kMostCells) forget_device_accesses();
}

Finding device_access(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                      const void* site) {
  if (!is_worker()) make_room_for_accesses();
  return device_shadow.access(address, bytes, access, by, site);
}

bool in_device_memory(std::uintptr_t address, std::size_t bytes) {
  if (in_recent_device_memory(address, bytes)) return true;
  const Allocation* a = nearest(address);
  if (a == nullptr || address - a->begin >= a->bytes) return false;
  recent_allocations[next_recent++ % recent_allocations.size()] = {a->begin, a->bytes};
  return address - a->begin + bytes <= a->bytes;
}

std::pair<std::uintptr_t, std::size_t> allocation_of(std::uintptr_t address) {
  const Allocation* a = nearest(address);
  const bool is_in = a != nullptr && address - a->begin < a->bytes;
  return is_in ? std::pair(a->begin, a->bytes) : std::pair(std::uintptr_t{0}, std::size_t{0});
}

namespace {

std::string described(const std::vector<Allocation>& all, std::uintptr_t address) {
  constexpr std::uintptr_t kNear = 1 << 20;
  for (const Allocation& a : before) {
    if (address - a.begin < a.bytes) {
      return str("byte ", address - a.begin, " of ", of(a), ", which was freed");
    }
  }
  const auto behind = std::upper_bound(all.begin(), all.end(), address, is_before);
  const Allocation* near = behind == all.begin() ? nullptr : &*(behind - 1);
  const bool is_in = near != nullptr && address - near->begin < near->bytes;
  if (is_in) return str("byte ", address - near->begin, " of ", of(*near));
  if (near != nullptr && address - near->begin - near->bytes < kNear) {
    return str("byte ", address - near->begin - near->bytes, " past the end of ", of(*near));
  }
  for (const Allocation& a : all) {
    if (a.begin > address && a.begin - address < kNear) {
      return str(a.begin - address, " bytes before ", of(a));
    }
  }
  return "an address that is not device memory";
}

}  // namespace

std::string describe_address(std::uintptr_t address) {
  return described(known, address);
}

void restore_device_memory(const Contents& contents) {
  const char* from = contents.bytes.data();
  for (const Allocation& a : contents.allocations) {
    std::memcpy(reinterpret_cast<char*>(a.begin), from, a.bytes);
    from += a.bytes;
  }
  const std::lock_guard lock(mutex);
  std::erase_if(allocations, [](const auto& one) { return one.second.memory == Memory::heap; });
  heap_used = 0;
  for (const Allocation& a : contents.allocations) {
    if (a.memory != Memory::heap) continue;
    allocations[a.begin] = a;
    heap_used += a.bytes;
  }
}

}  // namespace weft::host_cuda
