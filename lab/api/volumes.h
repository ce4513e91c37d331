// SPDX-License-Identifier: MIT
// Copies of blocks of three dimensions, what a pointer points to, memory pools, and the places of
// managed memory. There is one device and one memory, so a pool or a place changes nothing.
#pragma once

#include "host_cuda/language/runtime_api.h"
#include "lab/api/memory.h"

// Elements of an array, or bytes.
struct cudaExtent {
  std::size_t width, height, depth;
};
struct cudaPos {
  std::size_t x, y, z;
};
struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;  // bytes of a row with and without padding; rows of a slice
};
inline cudaExtent make_cudaExtent(std::size_t width, std::size_t height, std::size_t depth) {
  return {width, height, depth};
}
inline cudaPos make_cudaPos(std::size_t x, std::size_t y, std::size_t z) {
  return {x, y, z};
}
inline cudaPitchedPtr make_cudaPitchedPtr(void* data, std::size_t pitch, std::size_t width,
                                          std::size_t height) {
  return {data, pitch, width, height};
}
struct cudaMemcpy3DParms {
  void* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  void* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
cudaError_t cudaMalloc3D(cudaPitchedPtr* data, cudaExtent extent);
cudaError_t cudaMemset3D(cudaPitchedPtr data, int value, cudaExtent extent);
inline cudaError_t cudaMemset3DAsync(cudaPitchedPtr data, int value, cudaExtent extent,
                                     cudaStream_t = nullptr) {
  return cudaMemset3D(data, value, extent);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* params, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* params);

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;  // null where it is not accessible
};
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data);

struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned,
                                        cudaStream_t = nullptr) {
  return cudaSuccess;
}
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) {
  return cudaSuccess;
}

struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemAllocationHandleType handleTypes;
  cudaMemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
inline cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = new char;  // an address of its own
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete static_cast<char*>(pool);
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}
inline cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) {
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T** data, std::size_t bytes, cudaMemPool_t,
                                    cudaStream_t stream) {
  return weft::host_cuda::noted(cudaMallocAsync(reinterpret_cast<void**>(data), bytes, stream));
}
