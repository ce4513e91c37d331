// SPDX-License-Identifier: MIT
// CUDA C++ for the host compiler: what nvcc's own header of this name gives a kernel, so that the
// same .cu file runs thread by thread on a CPU. See engine/host_cuda/README.md.
#pragma once

#include "engine/host_cuda/async_copy.h"
#include "engine/host_cuda/atomics.h"
#include "engine/host_cuda/intrinsics.h"
#include "engine/host_cuda/language.h"
#include "engine/host_cuda/runtime_api.h"
#include "engine/host_cuda/tensor_core.h"
#include "engine/host_cuda/vector_types.h"
#include "engine/host_cuda/warp.h"
