// SPDX-License-Identifier: MIT
// What a program of `weft lab run` sees before its own first line, as nvcc's programs see
// cuda_runtime.h.
#pragma once

#include "host_cuda/language/macros_hidden.inc"

#include <ctype.h>
#include <cuda_runtime.h>
#include <limits.h>

#include "lab/api/device.h"
#include "lab/api/graphs.h"
#include "lab/api/math.h"
#include "lab/api/memory.h"
#include "lab/api/ptx.h"
#include "lab/api/rounding.h"
#include "lab/api/streams.h"
#include "lab/api/volumes.h"
#include "lab/api/words.h"
#include "lab/runtime/launch.h"
#include "lab/runtime/missing.h"

#include "host_cuda/language/macros_shown.inc"

// lab.ld finds __shared__ variables by this tag in their names. Without `used` the compiler would
// take one that nobody writes for a zero.
#undef __shared__
#define __shared__ static __attribute__((abi_tag("shared"), used))
// A table of the linker's lists the functions with an instruction in front of their entry: kernels.
#undef __global__
#define __global__ __attribute__((noinline, patchable_function_entry(1, 1)))
#define __managed__
#define CUDART_CB

// Headers of samples ask by these which headers of CUDA a program has included.
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__

#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDA_ARCH__ 800
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#undef CUDART_VERSION
#define CUDART_VERSION WEFT_LAB_CUDA_VERSION
#define CUDA_VERSION WEFT_LAB_CUDA_VERSION
