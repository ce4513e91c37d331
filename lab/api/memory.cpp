// SPDX-License-Identifier: MIT
#include "lab/api/memory.h"

#include "engine/extent.h"
#include "host_cuda/checks/failures.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/memory/device_memory.h"

using namespace weft::host_cuda;

// The host waits for a copy of the default stream.
static void finish(cudaStream_t stream) {
  if (stream != nullptr) return;
  host_waits();
  host_follows_stream(nullptr);
}
static cudaError_t copy_and_wait(const HostCall& call, void* to, const void* from,
                                 std::size_t bytes, cudaMemcpyKind kind) {
  const Calling calling(call);
  const cudaError_t code = noted(cudaMemcpyAsync(to, from, bytes, kind, nullptr));
  finish(nullptr);
  return code;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy_and_wait({"cudaMemcpy", __builtin_return_address(0)}, to, from, bytes, kind);
}
cudaError_t weft::host_cuda::lab::copy_elements(void* to, const void* from, std::size_t bytes,
                                                cudaMemcpyKind kind, std::size_t element) {
  return copy_and_wait({"cudaMemcpy", __builtin_return_address(0), element}, to, from, bytes, kind);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  const HostCall call{"cudaMemset", __builtin_return_address(0)};
  if (!check_fill(call, to, bytes)) return noted(cudaErrorInvalidValue);
  return noted(cudaMemsetAsync(to, value, bytes, nullptr));
}

cudaError_t cudaMallocPitch(void** data, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  constexpr std::size_t kRowAlignment = 512;
  if (pitch == nullptr) return noted(cudaErrorInvalidValue);
  *pitch = weft::divide_up(width, kRowAlignment) * kRowAlignment;
  return noted(cudaMalloc(data, *pitch * height));
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return noted(cudaErrorInvalidPitchValue);
  const HostCall call{"cudaMemcpy2D", __builtin_return_address(0)};
  const Calling calling(call);
  if (height > 0 &&
      (!check_copy(call, to, from, width, kind) ||
       !check_copy(call, static_cast<char*>(to) + (height - 1) * to_pitch,
                   static_cast<const char*>(from) + (height - 1) * from_pitch, width, kind))) {
    return noted(cudaErrorInvalidValue);
  }
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t code =
        cudaMemcpyAsync(static_cast<char*>(to) + row * to_pitch,
                        static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
    if (code != cudaSuccess) return noted(code);
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  const Calling calling({"cudaMemcpy2D", __builtin_return_address(0)});
  const cudaError_t code =
      cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
  finish(nullptr);
  return code;
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  if (width > pitch) return noted(cudaErrorInvalidPitchValue);
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t code = cudaMemset(static_cast<char*>(to) + row * pitch, value, width);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *total_bytes = device_memory_bytes();
  *free_bytes = *total_bytes - device_bytes_in_use;
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void** data, std::size_t bytes, unsigned) {
  return noted(give_memory(data, bytes, Memory::managed));
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  return noted(cudaMallocHost(data, bytes));
}
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
  const bool done = register_host_memory(data, bytes);
  return noted(done ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaHostUnregister(void* data) {
  host_waits();
  return noted(unregister_host_memory(data) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

namespace weft::host_cuda::lab {
cudaError_t copy_to_variable(void* variable, std::size_t size, const void* from, std::size_t bytes,
                             std::size_t offset, cudaStream_t stream) {
  if (offset > size || bytes > size - offset) return noted(cudaErrorInvalidValue);
  const cudaError_t code = cudaMemcpyAsync(static_cast<char*>(variable) + offset, from, bytes,
                                           cudaMemcpyHostToDevice, stream);
  finish(stream);
  return noted(code);
}
cudaError_t copy_from_variable(void* to, const void* variable, std::size_t size, std::size_t bytes,
                               std::size_t offset, cudaStream_t stream) {
  if (offset > size || bytes > size - offset) return noted(cudaErrorInvalidValue);
  const cudaError_t code = cudaMemcpyAsync(to, static_cast<const char*>(variable) + offset, bytes,
                                           cudaMemcpyDeviceToHost, stream);
  finish(stream);
  return noted(code);
}

}  // namespace weft::host_cuda::lab
