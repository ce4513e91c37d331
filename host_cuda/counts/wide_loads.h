// SPDX-License-Identifier: MIT
// Shared loads as a compiler for GPUs may make them. Neighbouring words that a thread loads one
// after the other become one load of 8 or 16 bytes. A word that the thread has loaded shortly
// before is not loaded again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "host_cuda/counts/requests.h"

namespace weft::host_cuda {

// Takes the requests of a grid in the order in which they are told, and hands on each shared load
// as it is made then. A store to shared memory, an atomic operation, a barrier and the end of the
// warp's part end what may be put together, and so do kMostOpen loads.
class WideLoads {
 public:
  using Made = std::function<void(const Request&)>;
  explicit WideLoads(Made made) : made_(std::move(made)) {}

  void request(const Request& request);
  void finish();  // nothing follows that could be put to what is there

 private:
  static constexpr std::size_t kMostOpen = 32;
  static constexpr std::uint32_t kMostBytes = 64;
  static constexpr std::uint64_t kNear = 8;  // loads for which a word stays in a register
  struct Open {
    Request first;
    std::uint32_t bytes = 0;                                   // of a lane, from first.address on
    std::array<std::uint64_t, (kMostBytes + 16) / 4> asked{};  // number of its last load, by word
  };
  bool put(const Request& request);
  void make(const Open& open);

  Made made_;
  std::vector<Open> open_;  // the oldest first
  std::uint64_t loads_ = 0;
  uint3 block_{};
  int warp_ = -1;
  std::uint32_t phase_ = 0;
};

}  // namespace weft::host_cuda
