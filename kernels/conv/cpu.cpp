// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/conv/cpu.h"

#include "kernels/conv/cpu_table.h"
#include "kernels/conv/implicit_gemm.h"
#include "kernels/conv/relu_pool_data.h"
#include "kernels/conv/relu_pool_forward.h"
#include "kernels/conv/relu_pool_weights.h"
#include "kernels/conv/weight_gradient.h"

namespace weft::kernels::WEFT_ISA {

extern const ConvCpu conv_cpu = {
    cpu::conv2d_forward_direct<float>,
    cpu::conv2d_backward_data_direct<float>,
    cpu::conv2d_backward_weights_direct<float>,
    cpu::conv2d_forward_implicit_gemm,
    cpu::conv2d_backward_data_implicit_gemm,
    cpu::conv2d_backward_weights_implicit_gemm,
    cpu::conv2d_forward_scratch,
    cpu::conv2d_backward_data_scratch,
    cpu::conv2d_backward_weights_scratch,
    cpu::conv2d_relu_pool_forward_strips,
    cpu::conv2d_relu_pool_backward_data_sparse,
    cpu::conv2d_relu_pool_backward_weights_sparse,
};

}  // namespace weft::kernels::WEFT_ISA
