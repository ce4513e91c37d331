// SPDX-License-Identifier: MIT
#include "kernels/pool/cpu.h"

#include "kernels/pool/cpu_table.h"

namespace weft::kernels::WEFT_ISA {

extern const PoolCpu pool_cpu = {
    cpu::max_pool2d_forward<float>,
    cpu::max_pool2d_backward<float>,
    cpu::avg_pool2d_forward<float>,
    cpu::avg_pool2d_backward<float>,
};

}  // namespace weft::kernels::WEFT_ISA
