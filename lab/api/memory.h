// SPDX-License-Identifier: MIT
// The synchronous memory functions of the CUDA runtime, with variables of the device, pitches,
// managed and pinned memory.
#pragma once

#include "host_cuda/language/runtime_api.h"

inline constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1,
                          cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4;
inline constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1,
                          cudaHostRegisterMapped = 2, cudaHostRegisterReadOnly = 8;
inline constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2;
inline constexpr int cudaCpuDeviceId = -1;
// Work is done when it is submitted: every copy is a synchronous one.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
namespace weft::host_cuda::lab {
cudaError_t copy_elements(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                          std::size_t element);
}
template <class To, class From, class = std::enable_if_t<!std::is_void_v<From>>>
[[gnu::always_inline]] inline cudaError_t cudaMemcpy(To* to, const From* from, std::size_t bytes,
                                                     cudaMemcpyKind kind) {
  return weft::host_cuda::lab::copy_elements(to, from, bytes, kind, sizeof(From));
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes);
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

// `pitch`: bytes from one row to the next. `width`: bytes of a row that count.
cudaError_t cudaMallocPitch(void** data, std::size_t* pitch, std::size_t width, std::size_t height);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height);
inline cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                     std::size_t height, cudaStream_t = nullptr) {
  return cudaMemset2D(to, pitch, value, width, height);
}
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                       cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes);

cudaError_t cudaMallocManaged(void** data, std::size_t bytes, unsigned flags = cudaMemAttachGlobal);
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
// The program's own memory, which kernels may use from then on.
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* data);
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) {
  return cudaSuccess;
}
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int) {
  return cudaSuccess;
}

// The same with a typed pointer.
template <class T>
cudaError_t cudaMalloc(T** data, std::size_t bytes) {
  return weft::host_cuda::noted(cudaMalloc(reinterpret_cast<void**>(data), bytes));
}
template <class T>
cudaError_t cudaMallocPitch(T** data, std::size_t* pitch, std::size_t width, std::size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(data), pitch, width, height);
}
template <class T>
cudaError_t cudaMallocManaged(T** data, std::size_t bytes, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(data), bytes, flags);
}
template <class T>
cudaError_t cudaMallocHost(T** data, std::size_t bytes, unsigned = 0) {
  return weft::host_cuda::noted(cudaMallocHost(reinterpret_cast<void**>(data), bytes));
}
template <class T>
cudaError_t cudaHostAlloc(T** data, std::size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(data), bytes, flags);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

// Variables: __constant__, __device__ and __managed__.
namespace weft::host_cuda::lab {
cudaError_t copy_to_variable(void* variable, std::size_t size, const void* from, std::size_t bytes,
                             std::size_t offset, cudaStream_t stream);
cudaError_t copy_from_variable(void* to, const void* variable, std::size_t size, std::size_t bytes,
                               std::size_t offset, cudaStream_t stream);
}  // namespace weft::host_cuda::lab

template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, std::size_t bytes,
                               std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return weft::host_cuda::lab::copy_to_variable(&symbol, sizeof symbol, from, bytes, offset,
                                                nullptr);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes,
                                 std::size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return weft::host_cuda::lab::copy_from_variable(to, &symbol, sizeof symbol, bytes, offset,
                                                  nullptr);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind,
                                      cudaStream_t stream = nullptr) {
  return weft::host_cuda::lab::copy_from_variable(to, &symbol, sizeof symbol, bytes, offset,
                                                  stream);
}
template <class Pointer, class T>
cudaError_t cudaGetSymbolAddress(Pointer** address, const T& symbol) {
  *address = reinterpret_cast<Pointer*>(const_cast<T*>(&symbol));
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T& symbol) {
  *bytes = sizeof symbol;
  return cudaSuccess;
}
