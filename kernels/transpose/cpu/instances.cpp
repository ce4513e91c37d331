// SPDX-License-Identifier: MIT
#include "kernels/transpose/cpu/templates.h"

#include "kernels/transpose/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const TransposeCpu transpose_cpu = {
    cpu::transpose_naive<float>,
    cpu::transpose_tiled<float>,
};

}  // namespace weft::kernels::WEFT_ISA
