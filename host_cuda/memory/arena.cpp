// SPDX-License-Identifier: MIT
#include "host_cuda/memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine/extent.h"

namespace weft::host_cuda {

Addresses arena;

namespace {

#ifndef __SANITIZE_ADDRESS__
const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t kHugePage = std::size_t{1} << 21;

bool may_share = false;
char* next = nullptr;
int file = -1;  // that the addresses are of; -1 where there is none, and the memory is private
// What is in use, and where of the file it is.
struct Mapped {
  char* begin = nullptr;
  std::size_t bytes = 0;
  off_t at = 0;
};
[[gnu::init_priority(200)]] std::vector<Mapped> mapped;

void* map_file(const Mapped& one, int protection, int flags) {
  return mmap(one.begin, one.bytes, protection, flags | MAP_FIXED | MAP_NORESERVE, file, one.at);
}

// Addresses cost nothing. Where their number is limited (ulimit -v), fewer have to do.
void reserve() {
  for (std::size_t bytes = std::size_t{1} << 42; arena.bytes == 0 && bytes > kHugePage;
       bytes /= 2) {
    void* memory =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    next = static_cast<char*>(memory) + (round_up(begin, kHugePage) - begin);
    arena = {reinterpret_cast<std::uintptr_t>(next), bytes - kHugePage};
  }
  if (arena.bytes == 0 || !may_share) return;
  file = memfd_create("weft", MFD_CLOEXEC);
  const bool shares = file >= 0 && ftruncate(file, static_cast<off_t>(arena.bytes)) == 0 &&
                      map_file({next, arena.bytes, 0}, PROT_NONE, MAP_SHARED) != MAP_FAILED;
  if (!shares && file >= 0) {
    close(file);
    file = -1;
  }
}

std::size_t whole_pages(std::size_t bytes) {
  return round_up(bytes, page_bytes);
}

off_t place_of(const char* data) {
  return static_cast<off_t>(reinterpret_cast<std::uintptr_t>(data) - arena.begin);
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
bool memory_is_shared() {
  return false;
}
void share_arena() {}
void share_memory(void*, std::size_t) {}
void make_memory_private() {}
#else
void* take_from_arena(std::size_t bytes) {
  if (arena.bytes == 0) reserve();
  const std::size_t left = arena.begin + arena.bytes - reinterpret_cast<std::uintptr_t>(next);
  if (bytes > left || whole_pages(bytes + 1) + page_bytes + kHugePage > left) return nullptr;
  char* data = next + page_bytes;
  const bool is_large = bytes >= 2 * kHugePage;
  if (is_large) {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    data += round_up(at, kHugePage) - at;
  }
  const std::size_t whole = whole_pages(bytes + 1);
  if (mprotect(data, whole, PROT_READ | PROT_WRITE) != 0) return nullptr;
  if (is_large) madvise(data, whole, MADV_HUGEPAGE);  // where it can be
  mapped.push_back({data, whole, place_of(data)});
  next = data + whole;
  return data;
}

void give_back_to_arena(void* data, std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes + 1);
  std::erase_if(mapped, [&](const Mapped& one) { return one.begin == data; });
  // Where this fails, the memory stays as it is, and a later access to it is not seen.
  if (file >= 0) madvise(data, whole, MADV_REMOVE);
  static_cast<void>(
      mmap(data, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

bool memory_is_shared() {
  return file >= 0;
}

void share_arena() {
  may_share = arena.bytes == 0;
}

void share_memory(void* begin, std::size_t bytes) {
  void* const copy = take_from_arena(bytes);
  if (copy == nullptr || file < 0) return;
  std::memcpy(copy, begin, bytes);
  const Mapped one{static_cast<char*>(begin), bytes, place_of(static_cast<char*>(copy))};
  if (map_file(one, PROT_READ | PROT_WRITE, MAP_SHARED) == MAP_FAILED) {
    close(file);
    file = -1;
    return;
  }
  mapped.push_back(one);
}

void make_memory_private() {
  if (file < 0) return;
  for (const Mapped& one : mapped) {
    if (map_file(one, PROT_READ | PROT_WRITE, MAP_PRIVATE) == MAP_FAILED) _exit(1);
  }
}
#endif

}  // namespace weft::host_cuda
