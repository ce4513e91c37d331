// SPDX-License-Identifier: MIT
// What the device of host-cuda says about itself.
#include <cstdio>

#include "host_cuda/checks/failures.h"
#include "host_cuda/host_cuda.h"
#include "host_cuda/language/runtime_api.h"

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
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrGpuOverlap:
      *value = p.deviceOverlap;
      break;
    case cudaDevAttrIntegrated:
      *value = p.integrated;
      break;
    case cudaDevAttrComputeMode:
      *value = cudaComputeModeDefault;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrCooperativeLaunch:
      *value = 1;
      break;
    case cudaDevAttrClockRate:
      *value = 0;
      break;
  }
  return cudaSuccess;
}
