// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/conv/cpu.h"

#include "kernels/conv/cpu_table.h"

namespace weft::kernels::WEFT_ISA {

extern const ConvCpu conv_cpu = {
    cpu::conv2d_forward_direct<float>,
    cpu::conv2d_backward_data_direct<float>,
    cpu::conv2d_backward_weights_direct<float>,
};

}  // namespace weft::kernels::WEFT_ISA
