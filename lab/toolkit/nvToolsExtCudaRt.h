// SPDX-License-Identifier: MIT
// Names of CUDA's objects for a profiler. There is none here, so they do nothing.
#pragma once

#include "nvToolsExt.h"

#include <cuda_runtime.h>

inline void nvtxNameCudaDeviceA(int, const char*) {}
inline void nvtxNameCudaStreamA(cudaStream_t, const char*) {}
inline void nvtxNameCudaEventA(cudaEvent_t, const char*) {}
