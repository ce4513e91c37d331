// SPDX-License-Identifier: MIT
#include "kernels/divergence/cpu/templates.h"

#include "kernels/divergence/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const DivergenceCpu divergence_cpu = {cpu::sq_or_cube};

}  // namespace weft::kernels::WEFT_ISA
