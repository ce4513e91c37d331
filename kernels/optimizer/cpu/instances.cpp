// SPDX-License-Identifier: MIT
#include "kernels/optimizer/cpu/templates.h"

#include "kernels/optimizer/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const OptimizerCpu optimizer_cpu = {
    cpu::sgd_update<float>,
    cpu::adamw_update<float>,
    cpu::ema_update<float>,
};

}  // namespace weft::kernels::WEFT_ISA
