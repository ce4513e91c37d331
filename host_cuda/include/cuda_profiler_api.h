// SPDX-License-Identifier: MIT
// There is no profiler: both do nothing.
#pragma once

#include <cuda_runtime.h>

inline cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
inline cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}
