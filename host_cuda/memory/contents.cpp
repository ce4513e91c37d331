// SPDX-License-Identifier: MIT
#include <cstring>

#include "engine/error.h"
#include "host_cuda/memory/device_memory.h"

namespace weft::host_cuda {

Contents device_memory_contents() {
  Contents contents;
  for (const Allocation& a : known_allocations()) {
    if (a.bytes == 0) continue;
    contents.allocations.push_back(a);
    const char* data = reinterpret_cast<const char*>(a.begin);
    contents.bytes.insert(contents.bytes.end(), data, data + a.bytes);
  }
  return contents;
}

std::string first_difference(const Contents& a, const Contents& b) {
  std::size_t at_a = 0, at_b = 0;
  auto other = b.allocations.begin();
  for (const Allocation& one : a.allocations) {
    while (other != b.allocations.end() && other->begin < one.begin) at_b += (other++)->bytes;
    const bool is_there = other != b.allocations.end() && other->begin == one.begin;
    const char *mine = a.bytes.data() + at_a, *its = b.bytes.data() + at_b;
    at_a += one.bytes;
    if (!is_there || one.memory == Memory::heap || std::memcmp(mine, its, one.bytes) == 0) continue;
    for (std::size_t i = 0; i < one.bytes; ++i) {
      if (mine[i] == its[i]) continue;
      std::uintptr_t first = 0, second = 0;
      const std::size_t word = i / sizeof first * sizeof first;
      if (word + sizeof first <= one.bytes) {
        std::memcpy(&first, mine + word, sizeof first);
        std::memcpy(&second, its + word, sizeof second);
      }
      if (!is_in_heap(first) || !is_in_heap(second))
        return str("byte ", i, " of ", one.name, " of ", one.bytes, " bytes");
      i = word + sizeof first - 1;
    }
  }
  return "";
}

}  // namespace weft::host_cuda
