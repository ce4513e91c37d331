// SPDX-License-Identifier: MIT
// The allocations of the device: host memory, remembered with its bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::host_cuda {

void* allocate_device_memory(std::size_t bytes);  // null when there is not enough
void free_device_memory(void* data);

// Takes note of allocations since the last call; the two below are for the thread that runs grids.
void refresh_device_memory();
bool in_device_memory(std::uintptr_t address, std::size_t bytes);
// "8 bytes past the end of an allocation of 4000 bytes"
std::string describe_address(std::uintptr_t address);

// The contents of all allocations, one behind the other.
std::vector<char> device_memory_contents();
void restore_device_memory(const std::vector<char>& contents);
// The first place where two contents differ; empty when they do not.
std::string first_difference(const std::vector<char>& a, const std::vector<char>& b);

}  // namespace weft::host_cuda
