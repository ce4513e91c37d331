// SPDX-License-Identifier: MIT
#include "kernels/optimizer/cpu.h"

#include "kernels/optimizer/cpu_table.h"

namespace weft::kernels::WEFT_ISA {

extern const OptimizerCpu optimizer_cpu = {
    cpu::sgd_update<float>,
    cpu::ema_update<float>,
};

}  // namespace weft::kernels::WEFT_ISA
