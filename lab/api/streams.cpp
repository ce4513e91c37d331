// SPDX-License-Identifier: MIT
#include "lab/api/streams.h"

#include "host_cuda/checks/host.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/graphs.h"

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  weft::host_cuda::host_waits();
  weft::host_cuda::host_follows_stream(stream);
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  weft::host_cuda::submit(
      stream,
      [=] {
        const weft::host_cuda::CalledByStream here;
        function(data);
      },
      cudaGraphNodeTypeHost);
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned) {
  weft::host_cuda::submit(
      stream,
      [=] {
        const weft::host_cuda::CalledByStream here;
        function(stream, cudaSuccess, data);
      },
      cudaGraphNodeTypeHost);
  return cudaSuccess;
}

namespace weft::host_cuda::lab {
cudaError_t wait_for_event(cudaStream_t stream, cudaEvent_t event, unsigned) {
  stream_follows(stream, event);
  stream_joins_capture(stream, event);
  return cudaSuccess;
}
}  // namespace weft::host_cuda::lab

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  weft::host_cuda::host_waits();
  weft::host_cuda::host_follows_event(event);
  return cudaSuccess;
}
