// SPDX-License-Identifier: MIT
#include "kernels/dropout/cpu/templates.h"

#include "kernels/dropout/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const DropoutCpu dropout_cpu = {
    cpu::dropout<float>,
};

}  // namespace weft::kernels::WEFT_ISA
