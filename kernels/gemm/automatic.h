// SPDX-License-Identifier: MIT
// What `automatic` takes for a GEMM on a GPU.
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels {

struct GemmDevice {
  int compute_capability = 0;  // 90 is sm_90
  bool hopper = false;         // it runs code for sm_90a, and there is some
  int multiprocessors = 132;
};

// The copy engine of Hopper counts rows and columns in 32 bits.
constexpr bool fits_copy_engine(const GemmDims& dims) {
  constexpr std::int64_t kMost = 0x7fffffff;
  return dims.m <= kMost && dims.n <= kMost && dims.k <= kMost;
}

// A tensor-core mode on a device without tf32 tensor cores runs in fp32.
Choice gemm_automatic(const GemmProblem& problem, const GemmDevice& device);

}  // namespace weft::kernels
