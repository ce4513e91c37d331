// SPDX-License-Identifier: MIT
#include "kernels/batch_norm/cpu/templates.h"

#include "kernels/batch_norm/cpu/group_norm.h"
#include "kernels/batch_norm/cpu/group_norm_table.h"
#include "kernels/batch_norm/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const BatchNormCpu batch_norm_cpu = {
    cpu::batch_norm_forward<float>,       cpu::batch_norm_inference<float>,
    cpu::batch_norm_backward<float>,      cpu::batch_norm_moments<float>,
    cpu::batch_norm_gradient_sums<float>, cpu::batch_norm_input_gradient<float>,
};

extern const GroupNormCpu group_norm_cpu = {
    cpu::group_norm_forward,
    cpu::group_norm_input_gradient,
    cpu::group_norm_parameter_gradients,
};

}  // namespace weft::kernels::WEFT_ISA
