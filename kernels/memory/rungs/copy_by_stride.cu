// SPDX-License-Identifier: MIT
// A copy of every s-th element.
//
//   a warp, stride 1   |################|                 32 lanes, 128 bytes: 4 sectors of 32
//   stride 2           |# # # # # # # # # # # # # # # #|  8 sectors, half of each is used
//   stride >= 8        one sector per lane: 4 bytes used of 32
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

void memory_copy_by_stride(float* y, const float* x, std::int64_t n, const Access& access,
                           const Stream& stream) {
  copy_strided(y, x, n, access, stream);
}

}  // namespace weft::kernels::cuda
