// SPDX-License-Identifier: MIT
// Tells what memory the kernels of a GPU reach. A pointer to other memory of the host is a mistake
// that a launch reports late, and then for all of the process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/device.h"

namespace weft {

// Where an address lies, as the driver tells it.
enum class Residence {
  device,    // in the memory of a GPU
  mapped,    // elsewhere, but a GPU reaches it: locked or managed memory
  pageable,  // in memory of the host that the driver knows nothing of
};

// Remembers where memory of GPUs lies: to ask the driver takes 0.3 to 1 us, to look here 2 ns. Any
// number of threads may ask. The driver keeps the addresses of a GPU's memory to itself, so what
// was such an address once is never one of the host's.
class ReachCache {
 public:
  using Query = Residence (*)(const void* pointer);

  explicit ReachCache(Query query) : query_(query) {}
  bool reaches(const void* pointer);  // Is it anything but pageable?

 private:
  static constexpr int kPieceBits = 16;  // a piece of 64 KiB, the least page of a GPU's memory
  static constexpr std::size_t kPieces = 1024;

  Query query_;
  std::array<std::atomic<std::uintptr_t>, kPieces> known_{};  // the number of a piece, or 0
};

// Do kernels on this device reach this address? On a CPU and on host-cuda they reach any. A GPU
// reaches pageable memory only where it reads the page tables of the host, or has its own filled
// from there (cudaDevAttrPageableMemoryAccess).
bool reaches(Device device, const void* pointer);

}  // namespace weft
