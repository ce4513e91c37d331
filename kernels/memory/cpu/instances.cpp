// SPDX-License-Identifier: MIT
#include "kernels/memory/cpu/templates.h"

#include "kernels/memory/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const MemoryCpu memory_cpu = {
    cpu::vector_add<float>, cpu::copy_strided<float>, cpu::read_strided,
    cpu::shared_strided,    cpu::copy_rows<float>,
};

}  // namespace weft::kernels::WEFT_ISA
