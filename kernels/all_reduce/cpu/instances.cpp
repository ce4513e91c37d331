// SPDX-License-Identifier: MIT
#include "kernels/all_reduce/cpu/templates.h"

#include "kernels/all_reduce/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const AllReduceCpu all_reduce_cpu = {
    cpu::all_reduce<float>,
};

}  // namespace weft::kernels::WEFT_ISA
