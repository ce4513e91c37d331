// SPDX-License-Identifier: MIT
#include "kernels/activation/cpu/templates.h"

#include "kernels/activation/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const ActivationCpu activation_cpu = {
    cpu::activation_forward<float>, cpu::activation_backward<float>, cpu::prelu_forward<float>,
    cpu::prelu_backward<float>,     cpu::bias_forward<float>,        cpu::bias_backward<float>,
};

}  // namespace weft::kernels::WEFT_ISA
