// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/nbody/cpu/templates.h"

#include "kernels/nbody/cpu/few_steps.h"
#include "kernels/nbody/cpu/table.h"
#include "kernels/nbody/cpu/vectorized.h"

namespace weft::kernels::WEFT_ISA {

extern const NbodyCpu nbody_cpu = {
    cpu::nbody_naive<float>,   cpu::nbody_struct_of_arrays, cpu::nbody_struct_of_arrays_scratch,
    cpu::nbody_advance<float>, cpu::nbody_advance_wide,     cpu::nbody_few_steps,
    cpu::nbody_totals<float>,  cpu::nbody_totals<double>,
};

}  // namespace weft::kernels::WEFT_ISA
