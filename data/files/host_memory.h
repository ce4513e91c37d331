// SPDX-License-Identifier: MIT
// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::data {

// In bytes: what Linux calls available, or what the control group of this process has left when
// that is less. 0 when the system does not say.
std::uint64_t available_memory();

// Throws data when `copies` copies of `bytes` bytes need more than `available` bytes; 0 available
// means unknown and is enough. The message says the numbers, what they are for, and the `remedy`.
void require_memory(const std::string& what, std::uint64_t bytes, int copies,
                    std::uint64_t available, const std::string& remedy);

}  // namespace weft::data
