// SPDX-License-Identifier: MIT
// The CUDA runtime of the host: device, streams and their capture, memory and events.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "host_cuda/checks/failures.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/findings/device_error.h"
#include "host_cuda/graphs.h"
#include "host_cuda/grid.h"
#include "host_cuda/host_cuda.h"
#include "host_cuda/language/runtime_api.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/written.h"
#include "host_cuda/sample/repeats.h"

struct CUstream_st {
  weft::host_cuda::Capture capture;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  weft::host_cuda::Capture capture;  // that its stream was in
};

namespace weft::host_cuda {

static int told_version = 0;
void set_cuda_version(int version) {
  told_version = version;
}

bool is_captured(cudaStream_t stream) {
  return stream != nullptr && goes_on(stream->capture);
}
void submit(cudaStream_t stream, std::function<void()> work, cudaGraphNodeType type) {
  if (!is_captured(stream)) return work();
  auto& nodes = (*stream->capture)->nodes;
  auto node = std::make_unique<CUgraphNode_st>(CUgraphNode_st{type, std::move(work), {}});
  if (!nodes.empty()) node->behind.push_back(nodes.back().get());
  nodes.push_back(std::move(node));
}
void submit(cudaStream_t stream, std::function<void()> work) {  // of a kernel
  submit(stream, std::move(work), cudaGraphNodeTypeKernel);
}
void stream_joins_capture(cudaStream_t stream, cudaEvent_t event) {
  if (stream != nullptr && goes_on(event->capture)) stream->capture = event->capture;
}

long long clock() {
  kernel_has_effects();
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace weft::host_cuda

using namespace weft::host_cuda;

// A kernel may call what CUDA's device runtime has: those functions hold an Unchecked.

// What nobody has written stays so where it is copied to.
static void run_copy(const HostCall& call, void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  host_writes(to, bytes);
  for (const auto& [begin, end] : unwritten_in(from, bytes)) {
    const auto offset = begin - reinterpret_cast<std::uintptr_t>(from);
    mark_unwritten(reinterpret_cast<std::uintptr_t>(to) + offset,
                   reinterpret_cast<std::uintptr_t>(to) + offset + (end - begin));
  }
  copied_out(call, to, from, bytes);
  copy_runs(call, to, from, bytes);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = told_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = told_version;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Unchecked here;
  *stream = new CUstream_st;
  stream_made(*stream, flags != cudaStreamNonBlocking);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Unchecked here;
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (device_is_lost()) return cudaErrorLaunchFailure;
  host_waits();
  host_follows_stream(stream);
  return device_error();
}
cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t) {
  const Unchecked here;
  if (device_is_lost()) return cudaErrorLaunchFailure;
  return weft::host_cuda::give_memory(data, bytes, Memory::device);
}
cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  return cudaMallocAsync(data, bytes, nullptr);
}
cudaError_t cudaFree(void* data) {
  const Unchecked here;
  if (!check_free({"cudaFree", __builtin_return_address(0)}, data, Memory::device)) {
    return noted(cudaErrorInvalidValue);
  }
  host_waits();
  host_follows_all();
  weft::host_cuda::free_device_memory(data);
  return device_error();
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t) {
  if (!check_free({"cudaFreeAsync", __builtin_return_address(0)}, data, Memory::device)) {
    return noted(cudaErrorInvalidValue);
  }
  weft::host_cuda::free_device_memory(data);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  return weft::host_cuda::give_memory(data, bytes, Memory::pinned);
}
cudaError_t cudaFreeHost(void* data) {
  if (!check_free({"cudaFreeHost", __builtin_return_address(0)}, data, Memory::pinned)) {
    return noted(cudaErrorInvalidValue);
  }
  weft::host_cuda::free_device_memory(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Unchecked here;
  if (device_is_lost()) return cudaErrorLaunchFailure;
  const Calling calling({"cudaMemcpyAsync", __builtin_return_address(0)});
  const HostCall call = Calling::outermost();
  if (!check_copy(call, dst, src, bytes, kind)) return noted(cudaErrorInvalidValue);
  stream_works(stream);
  weft::host_cuda::submit(
      stream, [=] { run_copy(call, dst, src, bytes); }, cudaGraphNodeTypeMemcpy);
  return device_error();
}
cudaError_t cudaMemsetAsync(void* dst, int value, std::size_t bytes, cudaStream_t stream) {
  const Unchecked here;
  if (device_is_lost()) return cudaErrorLaunchFailure;
  if (!check_fill({"cudaMemsetAsync", __builtin_return_address(0)}, dst, bytes)) {
    return noted(cudaErrorInvalidValue);
  }
  stream_works(stream);
  weft::host_cuda::submit(
      stream,
      [=] {
        std::memset(dst, value, bytes);
        weft::host_cuda::host_writes(dst, bytes);
      },
      cudaGraphNodeTypeMemset);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const Unchecked here;
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Unchecked here;
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Unchecked here;
  if (event == nullptr) return noted(cudaErrorInvalidResourceHandle);
  event_follows(event, stream);
  event->capture = stream != nullptr ? stream->capture : nullptr;
  event->time = std::chrono::steady_clock::now() + weft::host_cuda::time_of_repeats();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (device_is_lost()) return cudaErrorLaunchFailure;
  host_waits();
  host_follows_event(event);
  return device_error();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (milliseconds == nullptr) return noted(cudaErrorInvalidValue);
  if (begin == nullptr || end == nullptr) return noted(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr) return cudaErrorStreamCaptureUnsupported;
  if (is_captured(stream)) return cudaErrorIllegalState;
  stream->capture = std::make_shared<std::unique_ptr<CUgraph_st>>(std::make_unique<CUgraph_st>());
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!is_captured(stream)) return cudaErrorIllegalState;
  *graph = stream->capture->release();  // which ends it for all streams that have joined
  return cudaSuccess;
}
