// SPDX-License-Identifier: MIT
#include "kernels/reduce/cpu.h"

#include "kernels/reduce/cpu_table.h"

namespace weft::kernels::WEFT_ISA {

extern const ReduceCpu reduce_cpu = {
    cpu::reduce<float>,
};

}  // namespace weft::kernels::WEFT_ISA
