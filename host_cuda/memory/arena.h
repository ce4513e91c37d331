// SPDX-License-Identifier: MIT
// The addresses of device memory. No address is used twice, and host memory is never among them, so
// an address tells by itself what it belongs to, also after it was freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::host_cuda {

inline constexpr std::uintptr_t kPage = 4096;  // bytes

// Whole pages, behind at least a page that nobody can touch. Null when there is no more memory.
void* take_from_arena(std::size_t bytes);
void give_back_to_arena(void* data, std::size_t bytes);

// From then on, where nothing was allocated before, processes that this one forks write to the same
// memory, unless they ask for a copy that is their own.
void share_arena();
void share_memory(void* begin, std::size_t bytes);  // the same of whole pages elsewhere
void make_memory_private();                         // or ends the process
bool memory_is_shared();                            // false where the system has no files in memory

struct Addresses {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};
extern Addresses arena;
inline bool in_arena(std::uintptr_t address) {
  return address - arena.begin < arena.bytes;
}

}  // namespace weft::host_cuda
