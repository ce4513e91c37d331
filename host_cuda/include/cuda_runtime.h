// SPDX-License-Identifier: MIT
// CUDA C++ for the host compiler: what nvcc's own header of this name gives a kernel, so that the
// same .cu file runs thread by thread on a CPU. See host_cuda/README.md.
#pragma once

#include "host_cuda/language/async_copy.h"
#include "host_cuda/language/atomics.h"
#include "host_cuda/language/intrinsics.h"
#include "host_cuda/language/language.h"
#include "host_cuda/language/runtime_api.h"
#include "host_cuda/language/tensor_core.h"
#include "host_cuda/language/vector_types.h"
#include "host_cuda/language/warp.h"
