// SPDX-License-Identifier: MIT
#include "kernels/loss/cpu/templates.h"

#include "kernels/loss/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const LossCpu loss_cpu = {
    cpu::mean_squared_error<float>,
    cpu::accumulate_totals<float>,
};

}  // namespace weft::kernels::WEFT_ISA
