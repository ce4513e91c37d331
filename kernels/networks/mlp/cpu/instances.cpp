// SPDX-License-Identifier: MIT
#include "kernels/networks/mlp/cpu/templates.h"

#include "kernels/networks/mlp/cpu/table.h"

namespace weft::kernels::WEFT_ISA {
namespace {

std::size_t workspace_bytes(const FusedMlpDims& dims, std::int64_t rows) {
  cpu::FusedMlpMemory<float> memory;
  return memory.cut(nullptr, dims, rows);
}

}  // namespace

extern const FusedMlpCpu fused_mlp_cpu = {workspace_bytes, cpu::fused_mlp_train<float>};

}  // namespace weft::kernels::WEFT_ISA
