// SPDX-License-Identifier: MIT
// The weight of the newest values in a moving average, for the CPU and for the GPU.
#pragma once

#include <cstdint>

#include "engine/random.h"
#include "kernels/isa.h"

namespace weft::kernels::ema {
inline namespace WEFT_ISA {

// 1 - d of ema_update() in optimizer.h.
template <class T>
WEFT_HOST_DEVICE inline T rate(T decay, std::int64_t step) {
  const T young = T(9) / static_cast<T>(10 + step);  // 1 - (1 + s) / (10 + s)
  const T old = T(1) - decay;
  return young > old ? young : old;
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::ema
