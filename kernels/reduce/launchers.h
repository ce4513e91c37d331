// SPDX-License-Identifier: MIT
// The functions behind reduce() and argmax(): the launcher of a rung, which its file in rungs/
// defines.
#pragma once

#include "kernels/reduce/reduce.h"

namespace weft::kernels {

// A call after validation.
struct ReduceCall {
  ElementType type = ElementType::f32;
  void* result = nullptr;         // null for argmax
  std::int64_t* index = nullptr;  // null, or where argmax goes
  const void* x = nullptr;        // (n,)
  std::int64_t n = 0;
  Reduction kind = Reduction::sum;  // max for argmax
  int threads = 0;                  // of a block
  void* workspace = nullptr;
  int per_thread = 0;  // elements of a thread in one level, from the row of the rung
};

namespace cuda {

using ReduceLauncher = void(const ReduceCall& call, const Stream& stream);
// Bytes, enough for any element type and for argmax.
using ReduceWorkspace = std::size_t(std::int64_t n, int threads);

// The size of the largest partial result, which is argmax's.
constexpr std::size_t kReducePartialBytes = 16;

// So short that it lies in the L2 cache with all blocks resident at once: blocks that are in place
// before the kernel before them has ended can fetch it meanwhile.
constexpr bool reduce_is_short(std::int64_t n, std::size_t element_bytes) {
  return n <= (std::int64_t{16} << 20) / static_cast<std::int64_t>(element_bytes);
}

}  // namespace cuda
}  // namespace weft::kernels
