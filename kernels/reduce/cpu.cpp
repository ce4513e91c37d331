// SPDX-License-Identifier: MIT
#include "kernels/reduce/cpu.h"

#include "kernels/reduce/cpu_table.h"

namespace weft::kernels::WEFT_ISA {

extern const ReduceCpu reduce_cpu = {
    {cpu::reduce<std::int32_t>, cpu::argmax<std::int32_t>},
    {cpu::reduce<std::int64_t>, cpu::argmax<std::int64_t>},
    {cpu::reduce<float>, cpu::argmax<float>},
    {cpu::reduce<double>, cpu::argmax<double>},
};

}  // namespace weft::kernels::WEFT_ISA
