// SPDX-License-Identifier: MIT
// Reads alone, of every s-th element: the sectors are those of copy_by_stride, and nothing is
// written.
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

void memory_read_by_stride(std::int64_t* sum, const std::int32_t* x, std::int64_t n,
                           const Access& access, const Stream& stream) {
  read_strided(sum, x, n, access, stream);
}

}  // namespace weft::kernels::cuda
