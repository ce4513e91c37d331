// SPDX-License-Identifier: MIT
#include "kernels/softmax/cpu/templates.h"

#include "kernels/softmax/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const SoftmaxCpu softmax_cpu = {
    cpu::softmax_forward<float>,
    cpu::softmax_backward<float>,
    cpu::softmax_cross_entropy<float>,
};

}  // namespace weft::kernels::WEFT_ISA
