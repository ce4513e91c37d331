// SPDX-License-Identifier: MIT
// The CPU versions of GEMM, one table per instruction set.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/isa.h"

namespace weft::kernels {

// Leading dimensions are resolved (not 0) and m, n > 0.
struct GemmCpu {
  void (*naive)(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                float alpha, float beta, Epilogue epilogue);
  void (*packed)(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                 float alpha, float beta, Epilogue epilogue, float* scratch);
  std::size_t (*packed_scratch)(const GemmDims& dims);  // floats
};

WEFT_DECLARE_CPU_TABLE(GemmCpu, gemm_cpu)

}  // namespace weft::kernels
