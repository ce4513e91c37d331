// SPDX-License-Identifier: MIT
// Tells the memory of the device that has a value. What nobody has written has bytes that make a
// NaN of every width; copies and fills of the host are remembered besides.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::host_cuda {

void fill_unwritten(void* data, std::size_t bytes);
// Have all of these bytes the value that unwritten ones have at these addresses of the device?
bool looks_unwritten(std::uintptr_t address, std::size_t bytes);
// The same of a copy of bytes of the device.
bool has_unwritten_bytes(const void* copy, std::uintptr_t address, std::size_t bytes);
constexpr std::uint32_t kUnwrittenWord = 0xfff7fff7;  // at a multiple of 4

// By a copy or fill, or by a grid that is over.
void mark_written(std::uintptr_t begin, std::uintptr_t end);
void mark_unwritten(std::uintptr_t begin, std::uintptr_t end);
bool is_known_as_written(std::uintptr_t address, std::size_t bytes);

}  // namespace weft::host_cuda
