// SPDX-License-Identifier: MIT
// Rows at a pitch.
//
//   33 floats at a pitch of 64   |------.....|------.....|   every row starts at a boundary of 128
//                                                            bytes
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

void memory_pitched_rows(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                         std::int64_t y_pitch, std::int64_t x_pitch, const Stream& stream) {
  copy_rows(y, x, rows, cols, y_pitch, x_pitch, stream);
}

}  // namespace weft::kernels::cuda
