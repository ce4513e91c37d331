// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/gemm/cpu/templates.h"

#include "kernels/gemm/cpu/packed.h"
#include "kernels/gemm/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const GemmCpu gemm_cpu = {cpu::gemm_naive<float>, cpu::gemm_packed,
                                 cpu::gemm_packed_scratch};

}  // namespace weft::kernels::WEFT_ISA
