// SPDX-License-Identifier: MIT
// Transfers from memory that is locked in place: the copy engine reads it directly, and copies
// overlap with work.
#include "engine/cuda/cuda_check.h"
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

HostAllocation memory_pinned_transfer(std::size_t bytes, Device device) {
  void* data = nullptr;
  cuda_check(cudaSetDevice(device.index), "select the GPU");
  cuda_check(cudaMallocHost(&data, bytes), "allocate pinned memory");
  // Freeing may fail while the process unloads.
  return {data, [](void* memory) { static_cast<void>(cudaFreeHost(memory)); }};
}

}  // namespace weft::kernels::cuda
