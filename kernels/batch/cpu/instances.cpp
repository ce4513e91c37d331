// SPDX-License-Identifier: MIT
#include "kernels/batch/cpu/templates.h"

#include "kernels/batch/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const BatchCpu batch_cpu = {
    cpu::gather_batch<float>,
};

}  // namespace weft::kernels::WEFT_ISA
