// SPDX-License-Identifier: MIT
#include "kernels/batch/cpu.h"

#include "kernels/batch/cpu_table.h"

namespace weft::kernels::WEFT_ISA {

extern const BatchCpu batch_cpu = {
    cpu::gather_batch<float>,
};

}  // namespace weft::kernels::WEFT_ISA
