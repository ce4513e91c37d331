// SPDX-License-Identifier: MIT
// A copy that starts off a boundary.
//
//   a warp, offset 0   |################|     32 lanes, 128 bytes: 4 sectors of 32
//   offset 1           .|################|    one sector more
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

void memory_copy_by_offset(float* y, const float* x, std::int64_t n, const Access& access,
                           const Stream& stream) {
  copy_strided(y, x, n, access, stream);
}

}  // namespace weft::kernels::cuda
