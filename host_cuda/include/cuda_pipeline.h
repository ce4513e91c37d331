// SPDX-License-Identifier: MIT
// The pipeline primitives: asynchronous copies to shared memory, as cp.async does them.
#pragma once

#include <cuda_runtime.h>

#include "host_cuda/language/macros_hidden.inc"

[[gnu::always_inline]] inline void __pipeline_memcpy_async(void* shared, const void* global,
                                                           std::size_t bytes,
                                                           std::size_t zeros = 0) {
  weft::host_cuda::async_copy(shared, global, static_cast<int>(bytes),
                              static_cast<int>(bytes - zeros));
}
inline void __pipeline_commit() {
  weft::host_cuda::async_commit();
}
inline void __pipeline_wait_prior(unsigned pending) {
  weft::host_cuda::async_wait(static_cast<int>(pending));
}

#include "host_cuda/language/macros_shown.inc"
