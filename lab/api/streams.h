// SPDX-License-Identifier: MIT
// Streams and events as programs use them. Work is done when it is submitted, so every stream is
// always idle, and an event's time is real time of this computer.
#pragma once

#include "host_cuda/language/runtime_api.h"

inline constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1,
                          cudaEventDisableTiming = 2;
using cudaHostFn_t = void (*)(void*);
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);

// What a kernel names as the stream of a launch. Each comes behind the kernel here.
#define cudaStreamTailLaunch (reinterpret_cast<cudaStream_t>(3))
#define cudaStreamFireAndForget (reinterpret_cast<cudaStream_t>(4))

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned flags);
// Weft's own kernels have one of the name that does nothing; here the order counts.
#define cudaStreamWaitEvent weft::host_cuda::lab::wait_for_event
namespace weft::host_cuda::lab {
cudaError_t wait_for_event(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventQuery(cudaEvent_t event);
inline cudaError_t cudaEventRecord(cudaEvent_t event) {
  return cudaEventRecord(event, nullptr);
}
