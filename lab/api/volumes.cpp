// SPDX-License-Identifier: MIT
#include "lab/api/volumes.h"

#include "host_cuda/checks/host.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/memory/device_memory.h"

using namespace weft::host_cuda;

namespace {
// Row 0 of slice z of a copy that begins at `from`. x counts bytes.
char* slice(const cudaPitchedPtr& data, const cudaPos& from, std::size_t z) {
  return static_cast<char*>(data.ptr) + from.x + data.pitch * (from.y + data.ysize * (from.z + z));
}
}  // namespace

cudaError_t cudaMalloc3D(cudaPitchedPtr* data, cudaExtent extent) {
  *data = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&data->ptr, &data->pitch, extent.width, extent.height * extent.depth);
}
cudaError_t cudaMemset3D(cudaPitchedPtr data, int value, cudaExtent extent) {
  const Calling calling({"cudaMemset3D", __builtin_return_address(0)});
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const cudaError_t code =
        cudaMemset2D(slice(data, {}, z), data.pitch, value, extent.width, extent.height);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* params, cudaStream_t stream) {
  const Calling calling({"cudaMemcpy3D", __builtin_return_address(0)});
  if (params->srcArray != nullptr || params->dstArray != nullptr) {
    return noted(cudaErrorNotSupported);
  }
  for (std::size_t z = 0; z < params->extent.depth; ++z) {
    const cudaError_t code =
        cudaMemcpy2DAsync(slice(params->dstPtr, params->dstPos, z), params->dstPtr.pitch,
                          slice(params->srcPtr, params->srcPos, z), params->srcPtr.pitch,
                          params->extent.width, params->extent.height, params->kind, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* params) {
  const Calling calling({"cudaMemcpy3D", __builtin_return_address(0)});
  const cudaError_t code = cudaMemcpy3DAsync(params, nullptr);
  host_waits();
  host_follows_stream(nullptr);
  return code;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  void* const pointer = const_cast<void*>(data);
  const Allocation found = allocation_at(reinterpret_cast<std::uintptr_t>(data));
  if (found.bytes == 0) {
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, pointer};
  } else if (found.memory == Memory::managed) {
    *attributes = {cudaMemoryTypeManaged, 0, pointer, pointer};
  } else if (found.memory == Memory::pinned || found.memory == Memory::registered) {
    *attributes = {cudaMemoryTypeHost, 0, pointer, pointer};
  } else {
    *attributes = {cudaMemoryTypeDevice, 0, pointer, nullptr};
  }
  return cudaSuccess;
}
