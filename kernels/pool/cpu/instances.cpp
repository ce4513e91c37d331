// SPDX-License-Identifier: MIT
#include "kernels/pool/cpu/templates.h"

#include "kernels/pool/cpu/bias_sigmoid.h"
#include "kernels/pool/cpu/halved.h"
#include "kernels/pool/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

namespace {

void max_forward(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims) {
  if (cpu::detail::halves_planes(dims)) {
    cpu::max_pool2d_forward_halved(y, argmax, x, dims);
  } else {
    cpu::max_pool2d_forward(y, argmax, x, dims);
  }
}

}  // namespace

extern const PoolCpu pool_cpu = {
    max_forward,
    cpu::max_pool2d_backward<float>,
    cpu::avg_pool2d_forward<float>,
    cpu::avg_pool2d_backward<float>,
    cpu::avg_pool2d_bias_sigmoid_forward<float>,
    cpu::avg_pool2d_bias_sigmoid_backward<float>,
};

}  // namespace weft::kernels::WEFT_ISA
