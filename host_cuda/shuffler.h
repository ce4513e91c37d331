// SPDX-License-Identifier: MIT
// The order in which a schedule runs blocks and threads.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::host_cuda {

// Numbers for schedules; splitmix64.
class Shuffler {
 public:
  explicit Shuffler(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[(next() >> 32) * i >> 32]);  // fewer than 2^32 items
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft::host_cuda
