// SPDX-License-Identifier: MIT
// The allocations of the device, which are host memory, and the __device__ variables: their bounds,
// who used them, and what of them has been written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host_cuda/checks/shadow.h"

namespace weft::host_cuda {

// Host code may touch all but device memory. Registered memory is the program's own.
enum class Memory : std::uint8_t { device, managed, pinned, registered };
struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name = "a device allocation";
  Memory memory = Memory::device;
};

// Null when there is not enough. What the host writes to memory that it can touch is not seen, so
// all of that counts as written.
void* allocate_device_memory(std::size_t bytes, Memory memory = Memory::device);
bool free_device_memory(void* data);                       // false when there is no such allocation
bool register_host_memory(void* data, std::size_t bytes);  // false where it is known already
bool unregister_host_memory(void* data);
void host_writes(const void* data, std::size_t bytes);  // a copy or fill, which may go elsewhere

// The one that the address is in, of 0 bytes where it is in none; and in words. For host code.
Allocation allocation_at(std::uintptr_t address);
std::string describe_host_address(std::uintptr_t address);

// Takes note of allocations since the last call; what is below is for the thread that runs grids.
void refresh_device_memory();
void begin_device_checks();     // of a grid
void forget_device_accesses();  // but not what was written
// An access of the running thread to a part of an allocation.
Finding device_access(std::uintptr_t address, std::size_t bytes, Access access, const Thread& by,
                      const void* site);
bool in_device_memory(std::uintptr_t address, std::size_t bytes);
// The allocation that the address is in: its begin and its bytes; {0, 0} where it is in none.
std::pair<std::uintptr_t, std::size_t> allocation_of(std::uintptr_t address);
// "byte 8 past the end of a device allocation of 4000 bytes"
std::string describe_address(std::uintptr_t address);

// The contents of all allocations, one behind the other.
std::vector<char> device_memory_contents();
void restore_device_memory(const std::vector<char>& contents);
// The first place where two contents differ; empty when they do not.
std::string first_difference(const std::vector<char>& a, const std::vector<char>& b);

}  // namespace weft::host_cuda
