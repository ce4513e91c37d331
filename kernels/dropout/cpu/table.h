// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/dropout/dropout.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct DropoutCpu {
  void (*dropout)(float* y, const float* x, std::int64_t n, float p, const DropoutKey& key,
                  GradientMode mode);
};

WEFT_DECLARE_CPU_TABLE(DropoutCpu, dropout_cpu)

}  // namespace weft::kernels
