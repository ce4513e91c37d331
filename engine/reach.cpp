// SPDX-License-Identifier: MIT
#include "engine/reach.h"

#if defined(WEFT_WITH_CUDA) && !defined(WEFT_HOST_CUDA)
#include <cuda_runtime.h>
#endif

namespace weft {

bool ReachCache::reaches(const void* pointer) {
  const std::uintptr_t piece = reinterpret_cast<std::uintptr_t>(pointer) >> kPieceBits;
  std::atomic<std::uintptr_t>& known = known_[(piece ^ (piece >> 10)) % kPieces];
  if (piece != 0 && known.load(std::memory_order_relaxed) == piece) return true;
  const Residence residence = query_(pointer);
  if (residence == Residence::device) known.store(piece, std::memory_order_relaxed);
  return residence != Residence::pageable;
}

#if defined(WEFT_WITH_CUDA) && !defined(WEFT_HOST_CUDA)

namespace {

Residence ask_driver(const void* pointer) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return Residence::mapped;  // nothing is known: the launch will tell
  }
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return Residence::device;
    case cudaMemoryTypeUnregistered:
      return Residence::pageable;
    default:
      return Residence::mapped;
  }
}

}  // namespace

bool reaches(Device device, const void* pointer) {
  static ReachCache cache(ask_driver);
  if (device.is_cpu() || cache.reaches(pointer)) return true;
  int pages = 0;
  return cudaDeviceGetAttribute(&pages, cudaDevAttrPageableMemoryAccess, device.index) ==
             cudaSuccess &&
         pages != 0;
}

#else

bool reaches(Device, const void*) {
  return true;
}

#endif

}  // namespace weft
