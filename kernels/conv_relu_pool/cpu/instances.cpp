// SPDX-License-Identifier: MIT
// Compiled once per instruction set: see kernels/isa.h.
#include "kernels/conv_relu_pool/cpu/backward_data.h"
#include "kernels/conv_relu_pool/cpu/backward_weights.h"
#include "kernels/conv_relu_pool/cpu/forward.h"
#include "kernels/conv_relu_pool/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const ReluPoolCpu relu_pool_cpu = {
    cpu::conv2d_relu_pool_forward_strips,
    cpu::conv2d_relu_pool_backward_data_sparse,
    cpu::conv2d_relu_pool_backward_weights_sparse,
};

}  // namespace weft::kernels::WEFT_ISA
