// SPDX-License-Identifier: MIT
// What the device of host-cuda says about itself.
#include <cstdio>

#include "host_cuda/checks/failures.h"
#include "host_cuda/host_cuda.h"
#include "host_cuda/language/runtime_api.h"

namespace weft::host_cuda {
namespace {
int core_clock = 0, memory_clock = 0, memory_width = 0;
}
void show_clocks(int cores, int memory, int bus_width) {
  core_clock = cores;
  memory_clock = memory;
  memory_width = bus_width;
}
}  // namespace weft::host_cuda

// sm_80 is what the layer knows the instructions of; so variants that need newer ones are refused.
// (Shared memory is that of sm_90: kernels choose the tiles that they have for it.)
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  cudaDeviceProp& p = *properties;
  p = {};
  std::snprintf(p.name, sizeof p.name, "host-cuda, kernels up to sm_80 on the CPU");
  p.major = 8;
  p.minor = 0;
  p.multiProcessorCount = weft::host_cuda::multiprocessors();
  p.totalGlobalMem = weft::host_cuda::device_memory_bytes();
  p.totalConstMem = 64 * 1024;
  p.memPitch = 0x7fffffff;
  p.textureAlignment = 512;
  p.sharedMemPerBlock = 48 * 1024;
  p.sharedMemPerBlockOptin = 227 * 1024;
  p.sharedMemPerMultiprocessor = 228 * 1024;
  p.warpSize = 32;
  p.regsPerBlock = p.regsPerMultiprocessor = 64 * 1024;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 2;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.l2CacheSize = 1 << 20;
  p.deviceOverlap = p.asyncEngineCount = p.concurrentKernels = 1;
  p.integrated = p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = 1;
  p.concurrentManagedAccess = p.cooperativeLaunch = 1;
  p.clockRate = weft::host_cuda::core_clock;
  p.memoryClockRate = weft::host_cuda::memory_clock;
  p.memoryBusWidth = weft::host_cuda::memory_width;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  switch (attribute) {
#define WEFT_ATTRIBUTE(name, member)     \
  case cudaDevAttr##name:                \
    *value = static_cast<int>(p.member); \
    break;
    WEFT_ATTRIBUTE(MaxThreadsPerBlock, maxThreadsPerBlock)
    WEFT_ATTRIBUTE(MaxBlockDimX, maxThreadsDim[0])
    WEFT_ATTRIBUTE(MaxBlockDimY, maxThreadsDim[1])
    WEFT_ATTRIBUTE(MaxBlockDimZ, maxThreadsDim[2])
    WEFT_ATTRIBUTE(MaxGridDimX, maxGridSize[0])
    WEFT_ATTRIBUTE(MaxGridDimY, maxGridSize[1])
    WEFT_ATTRIBUTE(MaxGridDimZ, maxGridSize[2])
    WEFT_ATTRIBUTE(MaxSharedMemoryPerBlock, sharedMemPerBlock)
    WEFT_ATTRIBUTE(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin)
    WEFT_ATTRIBUTE(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor)
    WEFT_ATTRIBUTE(TotalConstantMemory, totalConstMem)
    WEFT_ATTRIBUTE(WarpSize, warpSize)
    WEFT_ATTRIBUTE(MaxPitch, memPitch)
    WEFT_ATTRIBUTE(MaxRegistersPerBlock, regsPerBlock)
    WEFT_ATTRIBUTE(MaxRegistersPerMultiprocessor, regsPerMultiprocessor)
    WEFT_ATTRIBUTE(ClockRate, clockRate)
    WEFT_ATTRIBUTE(MemoryClockRate, memoryClockRate)
    WEFT_ATTRIBUTE(GlobalMemoryBusWidth, memoryBusWidth)
    WEFT_ATTRIBUTE(TextureAlignment, textureAlignment)
    WEFT_ATTRIBUTE(TexturePitchAlignment, texturePitchAlignment)
    WEFT_ATTRIBUTE(SurfaceAlignment, surfaceAlignment)
    WEFT_ATTRIBUTE(GpuOverlap, deviceOverlap)
    WEFT_ATTRIBUTE(AsyncEngineCount, asyncEngineCount)
    WEFT_ATTRIBUTE(MultiProcessorCount, multiProcessorCount)
    WEFT_ATTRIBUTE(Integrated, integrated)
    WEFT_ATTRIBUTE(CanMapHostMemory, canMapHostMemory)
    WEFT_ATTRIBUTE(ConcurrentKernels, concurrentKernels)
    WEFT_ATTRIBUTE(EccEnabled, ECCEnabled)
    WEFT_ATTRIBUTE(L2CacheSize, l2CacheSize)
    WEFT_ATTRIBUTE(MaxPersistingL2CacheSize, persistingL2CacheMaxSize)
    WEFT_ATTRIBUTE(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor)
    WEFT_ATTRIBUTE(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor)
    WEFT_ATTRIBUTE(UnifiedAddressing, unifiedAddressing)
    WEFT_ATTRIBUTE(ComputeCapabilityMajor, major)
    WEFT_ATTRIBUTE(ComputeCapabilityMinor, minor)
    WEFT_ATTRIBUTE(StreamPrioritiesSupported, streamPrioritiesSupported)
    WEFT_ATTRIBUTE(ManagedMemory, managedMemory)
    WEFT_ATTRIBUTE(ConcurrentManagedAccess, concurrentManagedAccess)
    WEFT_ATTRIBUTE(CooperativeLaunch, cooperativeLaunch)
#undef WEFT_ATTRIBUTE
    default:  // of no meaning here, or not there
      *value = 0;
  }
  return cudaSuccess;
}
