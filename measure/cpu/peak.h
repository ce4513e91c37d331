// SPDX-License-Identifier: MIT
// The loops that measure what one thread of the CPU can do, compiled as the CPU kernels are: once
// for each instruction set, with the same flags (see kernels/isa.h).
#pragma once

#include <cstdint>

namespace weft::measure {

struct CpuPeak {
  double flops;                                  // of one call of fma()
  float (*fma)(float start);                     // multiply-adds in registers
  float (*sum)(const float* x, std::int64_t n);  // reads memory once
};

// The peak of the instruction set that the kernels run with here.
const CpuPeak& cpu_peak();

}  // namespace weft::measure
