// SPDX-License-Identifier: MIT
// The CPU kernel of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/signal/signal.h"

namespace weft::kernels {

struct SignalCpu {
  void (*convolve)(float* y, const float* x, const float* filter, const SignalDims& dims);
};

WEFT_DECLARE_CPU_TABLE(SignalCpu, signal_cpu)

}  // namespace weft::kernels
