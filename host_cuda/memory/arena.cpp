// SPDX-License-Identifier: MIT
#include "host_cuda/memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/extent.h"

namespace weft::host_cuda {

Addresses arena;

namespace {

#ifndef __SANITIZE_ADDRESS__
const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
char* next = nullptr;

// Addresses cost nothing. Where their number is limited (ulimit -v), fewer have to do.
void reserve() {
  for (std::size_t bytes = std::size_t{1} << 42; arena.bytes == 0 && bytes > page_bytes;
       bytes /= 2) {
    void* memory =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    next = static_cast<char*>(memory);
    arena = {reinterpret_cast<std::uintptr_t>(memory), bytes};
  }
}

std::size_t whole_pages(std::size_t bytes) {
  return round_up(bytes, page_bytes);
}
#endif

}  // namespace

// AddressSanitizer watches over its own allocations, to the byte.
#ifdef __SANITIZE_ADDRESS__
void* take_from_arena(std::size_t bytes) {
  void* data = nullptr;
  return posix_memalign(&data, 256, bytes) == 0 ? data : nullptr;
}
void give_back_to_arena(void* data, std::size_t) {
  std::free(data);
}
#else
void* take_from_arena(std::size_t bytes) {
  if (arena.bytes == 0) reserve();
  const std::size_t left = arena.begin + arena.bytes - reinterpret_cast<std::uintptr_t>(next);
  if (bytes > left || whole_pages(bytes + 1) + page_bytes > left) return nullptr;
  char* data = next + page_bytes;
  if (mprotect(data, whole_pages(bytes + 1), PROT_READ | PROT_WRITE) != 0) return nullptr;
  next = data + whole_pages(bytes + 1);
  return data;
}

void give_back_to_arena(void* data, std::size_t bytes) {
  // Where this fails, the memory stays as it is, and a later access to it is not seen.
  static_cast<void>(mmap(data, whole_pages(bytes + 1), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}
#endif

}  // namespace weft::host_cuda
