// SPDX-License-Identifier: MIT
#include "lab/api/device.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "engine/error.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/findings/device_error.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda::lab {
namespace {

std::mutex remembered_mutex;
std::map<const void*, MakeCall> remembered_kernels;

}  // namespace

void remember(const void* kernel, MakeCall make) {
  const std::lock_guard lock(remembered_mutex);
  remembered_kernels[kernel] = make;
}
std::shared_ptr<const Call> remembered_call(const void* kernel, void** arguments) {
  MakeCall make = nullptr;
  {
    const std::lock_guard lock(remembered_mutex);
    const auto found = remembered_kernels.find(kernel);
    if (found != remembered_kernels.end()) make = found->second;
  }
  return make == nullptr ? nullptr : make(kernel, arguments);
}
cudaError_t run_remembered(const Configuration& at, const void* kernel, void** arguments) {
  const std::shared_ptr<const Call> call = remembered_call(kernel, arguments);
  return call == nullptr ? noted(cudaErrorInvalidDeviceFunction) : run(at, call);
}

static void waits_in_kernel(const void* site) {
  const Unchecked here;
  fail("launch in a kernel", source_line(site), [&] {
    return str("launch in a kernel: ", where(*running), " waits at ", source_line(site),
               " for kernels that it has launched: dynamic parallelism has no such wait since CUDA "
               "12");
  });
}

}  // namespace weft::host_cuda::lab

cudaError_t cudaDeviceSynchronize() {
  if (weft::host_cuda::running != nullptr) {
    weft::host_cuda::lab::waits_in_kernel(__builtin_return_address(0));
  }
  weft::host_cuda::host_waits();
  weft::host_cuda::host_follows_all();
  return weft::host_cuda::device_error();
}
cudaError_t cudaDeviceReset() {
  weft::host_cuda::host_waits();
  weft::host_cuda::host_follows_all();
  weft::host_cuda::forget_device_error();
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}
static std::size_t heap_limit = std::size_t{8} << 20;  // as host-cuda has it without a call
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  if (limit == cudaLimitMallocHeapSize) weft::host_cuda::set_heap_bytes(heap_limit = value);
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  switch (limit) {
    case cudaLimitStackSize:
      *value = 1024;
      return cudaSuccess;
    case cudaLimitPrintfFifoSize:
      *value = 1 << 20;
      return cudaSuccess;
    case cudaLimitMallocHeapSize:
      *value = heap_limit;
      return cudaSuccess;
    default:
      return weft::host_cuda::noted(cudaErrorUnsupportedLimit);
  }
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* cache) {
  *cache = cudaFuncCachePreferNone;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = cudaDeviceScheduleAuto;
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetValidDevices(int* devices, int count) {
  for (int i = 0; i < count; ++i) {
    if (devices[i] != 0) return weft::host_cuda::noted(cudaErrorInvalidDevice);
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:00:00.0");
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return weft::host_cuda::noted(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int) {
  return weft::host_cuda::noted(cudaErrorPeerAccessNotEnabled);
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  *value = 0;
  return weft::host_cuda::noted(cudaErrorInvalidDevice);
}
