// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/conv/cpu/templates.h"

#include "kernels/conv/cpu/grouped_flat.h"
#include "kernels/conv/cpu/grouped_table.h"
#include "kernels/conv/cpu/implicit_gemm.h"
#include "kernels/conv/cpu/table.h"
#include "kernels/conv/cpu/weight_gradient.h"
#include "kernels/conv/cpu/winograd_weights.h"

namespace weft::kernels::WEFT_ISA {

extern const ConvCpu conv_cpu = {
    cpu::conv2d_forward_direct<float>,
    cpu::conv2d_backward_data_direct<float>,
    cpu::conv2d_backward_weights_direct<float>,
    cpu::conv2d_forward_implicit_gemm,
    cpu::conv2d_backward_data_implicit_gemm,
    cpu::conv2d_backward_weights_implicit_gemm,
    cpu::conv2d_fits_winograd,
    cpu::conv2d_forward_winograd,
    cpu::conv2d_backward_data_winograd,
    cpu::conv2d_backward_weights_winograd,
    cpu::conv2d_winograd_scratch,
    cpu::conv2d_forward_scratch,
    cpu::conv2d_backward_data_scratch,
    cpu::conv2d_backward_weights_scratch,
};

extern const GroupedConvCpu grouped_conv_cpu = {
    cpu::grouped_conv2d_forward_flat,
    cpu::grouped_conv2d_backward_data_flat,
    cpu::grouped_conv2d_backward_weights_flat,
};

}  // namespace weft::kernels::WEFT_ISA
