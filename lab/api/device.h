// SPDX-License-Identifier: MIT
// The device, its kernels' attributes, and launches that are function calls.
#pragma once

#include "host_cuda/language/runtime_api.h"
#include "lab/runtime/launch.h"

inline constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1,
                          cudaDeviceScheduleYield = 2, cudaDeviceScheduleBlockingSync = 4,
                          cudaDeviceMapHost = 8;

cudaError_t cudaDeviceSynchronize();
inline cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}
cudaError_t cudaDeviceReset();
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache cache);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* cache);
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config);
cudaError_t cudaGetDeviceFlags(unsigned* flags);
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties);
cudaError_t cudaSetValidDevices(int* devices, int count);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);
// There is one device, which has no peers.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to);

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return weft::host_cuda::lab::set_attribute(reinterpret_cast<const void*>(kernel), attribute,
                                             value);
}
template <class... Parameters>
cudaError_t cudaFuncSetSharedMemConfig(void (*)(Parameters...), cudaSharedMemConfig) {
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaFuncSetCacheConfig(void (*)(Parameters...), cudaFuncCache) {
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                          void (*kernel)(Parameters...),
                                                          int threads, std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(kernel), threads, shared_bytes);
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, void (*kernel)(Parameters...),
                                               std::size_t shared_bytes = 0, int limit = 0) {
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  int blocks = 0;
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  const cudaError_t code =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, *block, shared_bytes);
  *grid = blocks * properties.multiProcessorCount;
  return code;
}

namespace weft::host_cuda::lab {

// A kernel with its arguments behind pointers, as cudaLaunchKernel takes them. One that a program
// casts to void* is remembered, and found by its address.
template <class... Parameters, std::size_t... kIndex>
std::shared_ptr<const Call> call_with(void (*kernel)(Parameters...), void** arguments,
                                      std::index_sequence<kIndex...>) {
  return std::make_shared<const KernelCall<Parameters...>>(
      kernel, *static_cast<std::remove_const_t<Parameters>*>(arguments[kIndex])...);
}
using MakeCall = std::shared_ptr<const Call> (*)(const void* kernel, void** arguments);
void remember(const void* kernel, MakeCall make);
std::shared_ptr<const Call> remembered_call(const void* kernel, void** arguments);  // or null
cudaError_t run_remembered(const Configuration& at, const void* kernel, void** arguments);
template <class... Parameters>
auto remembered(void (*kernel)(Parameters...)) {
  remember(reinterpret_cast<const void*>(kernel), [](const void* address, void** arguments) {
    return call_with(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(address)),
                     arguments, std::index_sequence_for<Parameters...>());
  });
  return kernel;
}

}  // namespace weft::host_cuda::lab

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return weft::host_cuda::lab::run(
      {grid, block, shared_bytes, stream, file, line},
      weft::host_cuda::lab::call_with(kernel, arguments, std::index_sequence_for<Parameters...>()));
}
template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                        void** arguments, std::size_t shared_bytes = 0,
                                        cudaStream_t stream = nullptr,
                                        const char* file = __builtin_FILE(),
                                        int line = __builtin_LINE()) {
  return weft::host_cuda::lab::run(
      {grid, block, shared_bytes, stream, file, line, true},
      weft::host_cuda::lab::call_with(kernel, arguments, std::index_sequence_for<Parameters...>()));
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                                    const char* file = __builtin_FILE(),
                                    int line = __builtin_LINE()) {
  return weft::host_cuda::lab::run_remembered({grid, block, shared_bytes, stream, file, line},
                                              kernel, arguments);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block,
                                               void** arguments, std::size_t shared_bytes = 0,
                                               cudaStream_t stream = nullptr,
                                               const char* file = __builtin_FILE(),
                                               int line = __builtin_LINE()) {
  return weft::host_cuda::lab::run_remembered({grid, block, shared_bytes, stream, file, line, true},
                                              kernel, arguments);
}
