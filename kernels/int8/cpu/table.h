// SPDX-License-Identifier: MIT
// The CPU versions of the convolution of bytes, one table per instruction set.
#pragma once

#include "kernels/int8/int8.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct Int8Cpu {
  void (*to_bytes)(std::uint8_t* y, const Int8Call& call, void* workspace);
  void (*to_reals)(float* y, const Int8Call& call, void* workspace);
};

WEFT_DECLARE_CPU_TABLE(Int8Cpu, int8_cpu)
#ifdef WEFT_X86_DISPATCH
namespace avx512vnni {
extern const Int8Cpu int8_cpu;  // where a processor of avx512 has VNNI
}
#endif

}  // namespace weft::kernels
