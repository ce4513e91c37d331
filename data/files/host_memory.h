// SPDX-License-Identifier: MIT
// How much memory this process may still take, and how much disk instead of it.
#pragma once

#include <cstdint>
#include <string>

namespace weft::data {

// In bytes, the least of: what Linux calls available, what the control groups of this process have
// left (version 1 or 2), and what `ulimit -v` and `ulimit -d` leave. 0 when the system does not
// say.
std::uint64_t available_memory();

// An array of so many bytes is in memory when it is not larger than this: the environment variable
// WEFT_HOST_DATA_LIMIT, such as 256M, or an eighth of available_memory(), for a data set is there
// up to three times. Throws usage when the variable is no size.
std::uint64_t host_data_limit(std::uint64_t bytes);

// What data may take, in memory or in files of the cache folder (scratch_file.h). 0 when the system
// does not say.
struct HostRoom {
  std::uint64_t memory = 0, disk = 0;

  std::uint64_t bytes() const { return memory == 0 ? 0 : memory + disk; }
};
// `memory` bytes and no disk where it is not 0; else what there is.
HostRoom host_room(std::uint64_t memory = 0);

// Throws data when `copies` copies of `bytes` bytes need more than the room; one that is unknown is
// enough. The message says the numbers, what they are for, and the `remedy`.
void require_room(const std::string& what, std::uint64_t bytes, int copies, const HostRoom& room,
                  const std::string& remedy);

}  // namespace weft::data
