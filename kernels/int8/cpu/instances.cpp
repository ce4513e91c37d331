// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/int8/cpu/table.h"
#include "kernels/int8/cpu/templates.h"

namespace weft::kernels::WEFT_ISA {

extern const Int8Cpu int8_cpu = {cpu::int8_conv<std::uint8_t>, cpu::int8_conv<float>};

}  // namespace weft::kernels::WEFT_ISA
