// SPDX-License-Identifier: MIT
#include "kernels/networks/cnn/cpu/templates.h"

#include "kernels/networks/cnn/cpu/table.h"

namespace weft::kernels::WEFT_ISA {
namespace {

std::size_t workspace_bytes(const FusedCnnDims& dims, std::int64_t rows) {
  cpu::FusedCnnMemory<float> memory;
  return memory.cut(nullptr, dims, rows);
}

}  // namespace

extern const FusedCnnCpu fused_cnn_cpu = {
    workspace_bytes,
    cpu::fused_cnn_train<float>,
    cpu::fused_cnn_infer<float>,
};

}  // namespace weft::kernels::WEFT_ISA
