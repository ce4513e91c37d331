// SPDX-License-Identifier: MIT
// The allocations of the device, which are host memory, and the __device__ variables: their bounds,
// who used them, and what of them has been written.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host_cuda/language/runtime_api.h"
#include "host_cuda/memory/shadow.h"

namespace weft::host_cuda {

// Host code may touch all but device memory. Registered memory is the program's own.
// The heap's is what kernels allocate by malloc and new.
enum class Memory : std::uint8_t { device, managed, pinned, registered, heap };
struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name = "a device allocation";
  Memory memory = Memory::device;
  const void* site = nullptr;  // where a kernel has allocated it
};

// Null when there is not enough. It is filled with bytes that make a NaN of every width: what still
// has them, and no copy or fill has covered, nobody has written.
void* allocate_device_memory(std::size_t bytes, Memory memory = Memory::device);
// The same, as cudaMalloc() answers.
inline cudaError_t give_memory(void** data, std::size_t bytes, Memory memory) {
  if (data == nullptr) return cudaErrorInvalidValue;
  *data = allocate_device_memory(bytes, memory);
  return *data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline std::atomic<std::size_t> device_bytes_in_use = 0;   // of Memory::device
bool free_device_memory(void* data);                       // false when there is no such allocation
bool register_host_memory(void* data, std::size_t bytes);  // false where it is known already
bool unregister_host_memory(void* data);
void host_writes(const void* data, std::size_t bytes);  // a copy or fill, which may go elsewhere
// The stretches of device memory that nobody has written, of 4 bytes and more, in what is copied.
using Stretch = std::pair<std::uintptr_t, std::uintptr_t>;  // from, to
std::vector<Stretch> unwritten_in(const void* data, std::size_t bytes);
// Managed or pinned memory that nobody has written. The writes of host code are not seen: it would
// have other bytes.
bool host_finds_unwritten(std::uintptr_t address, std::size_t bytes);

// Do processes that this one forks write to all memory that kernels may, and need no heap?
bool kernels_share_memory();
// Do kernels use device memory alone: neither their heap nor registered memory?
bool kernels_stay_on_device();

// The heap of kernels. Null when it is full; false when there is no such allocation.
void* allocate_in_kernel(std::size_t bytes, const void* site);
bool free_in_kernel(void* data);
void set_heap_bytes(std::size_t bytes);
bool is_in_heap(std::uintptr_t address);
struct Left {
  std::size_t allocations = 0, bytes = 0;
  const void* site = nullptr;  // of the first
};
Left left_in_heap();

// The one that the address is in, of 0 bytes where it is in none; and in words. For host code.
Allocation allocation_at(std::uintptr_t address);
std::string describe_host_address(std::uintptr_t address);

// Takes note of allocations since the last call; what is below is for the thread that runs grids.
void refresh_device_memory();
void begin_device_checks();     // of a grid
void forget_device_accesses();  // but not what was written
void all_memory_is_written();   // by blocks of which the accesses are not known
void make_room_for_accesses();  // by that, where very many are known
const std::vector<Allocation>& known_allocations();  // and __device__ variables, by address
// An access of the running thread to a part of an allocation.
Finding device_access(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                      const void* site);
bool in_device_memory(std::uintptr_t address, std::size_t bytes);
struct Bounds {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};
extern std::array<Bounds, 4> recent_allocations;  // that in_device_memory() has found
inline bool in_recent_device_memory(std::uintptr_t address, std::size_t bytes) {
  for (const Bounds& one : recent_allocations) {
    if (address - one.begin < one.bytes) return address - one.begin + bytes <= one.bytes;
  }
  return false;
}
extern Shadow device_shadow;
// The allocation that the address is in: its begin and its bytes; {0, 0} where it is in none.
std::pair<std::uintptr_t, std::size_t> allocation_of(std::uintptr_t address);
// "byte 8 past the end of a device allocation of 4000 bytes"
std::string describe_address(std::uintptr_t address);

// All allocations and their contents, one behind the other.
struct Contents {
  std::vector<Allocation> allocations;
  std::vector<char> bytes;
};
Contents device_memory_contents();
void restore_device_memory(const Contents& contents);
// The first place where two contents differ; empty when they do not. The heap of kernels, and
// addresses in it, depend on the order of the threads.
std::string first_difference(const Contents& a, const Contents& b);

}  // namespace weft::host_cuda
