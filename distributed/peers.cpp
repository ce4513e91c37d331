// SPDX-License-Identifier: MIT
#include "distributed/peers.h"

#include "distributed/communicator.h"
#include "engine/error.h"

#ifdef WEFT_PEER_GPUS
#include "engine/cuda/cuda_check.h"
#endif

namespace weft::distributed {

#ifdef WEFT_PEER_GPUS

std::string peers_reason(Communicator& ranks, const Stream& stream) {
  if (ranks.size() > kernels::kMaxPeers) {
    return str("there are more than ", kernels::kMaxPeers, " ranks");
  }
  if (ranks.places().machines > 1) return "the ranks are on several machines";
  if (ranks.places().share_devices) return "ranks share a GPU";
  struct Gpu {
    char id[32] = {};
  } mine;
  const int device = stream.device().index;
  cuda_check(cudaDeviceGetPCIBusId(mine.id, sizeof mine.id, device), "name the GPU");
  bool reaches_all = true;
  for (const Gpu& gpu : ranks.gather(mine)) {
    int other = 0, reaches = 0;
    if (std::string_view(gpu.id) == mine.id) continue;
    const bool is_visible = cudaDeviceGetByPCIBusId(&other, gpu.id) == cudaSuccess;
    if (!is_visible || cudaDeviceCanAccessPeer(&reaches, device, other) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
    }
    reaches_all &= reaches != 0;
  }
  return ranks.any(!reaches_all) ? "the GPUs do not reach each other's memory" : "";
}

Peers::Peers(Communicator& ranks, const Stream& stream, std::int64_t capacity) {
  group_.rank = ranks.rank();
  group_.size = ranks.size();
  group_.capacity = capacity;
  // Memory of the stream's pool cannot be shared with other processes.
  const std::size_t bytes = kernels::peer_memory_bytes(capacity);
  void*& own = group_.memory[group_.rank];
  cudaIpcMemHandle_t handle{};
  cudaError_t code = cudaSetDevice(stream.device().index);
  if (code == cudaSuccess) code = cudaMalloc(&own, bytes);
  if (code == cudaSuccess) code = cudaMemset(own, 0, bytes);
  if (code == cudaSuccess) code = cudaDeviceSynchronize();
  if (code == cudaSuccess) code = cudaIpcGetMemHandle(&handle, own);
  const std::vector<cudaIpcMemHandle_t> handles = ranks.gather(handle);
  if (!ranks.any(code != cudaSuccess)) {
    for (int rank = 0; rank < group_.size && code == cudaSuccess; ++rank) {
      if (rank == group_.rank) continue;
      code = cudaIpcOpenMemHandle(&group_.memory[rank], handles[static_cast<std::size_t>(rank)],
                                  cudaIpcMemLazyEnablePeerAccess);
    }
  }
  static_cast<void>(cudaGetLastError());
  if (ranks.any(code != cudaSuccess)) {
    throw Error(ErrorKind::device,
                str("could not share memory between the GPUs: ",
                    code == cudaSuccess ? "another rank failed" : cudaGetErrorString(code)));
  }
}

Peers::~Peers() {
  static_cast<void>(cudaDeviceSynchronize());
  for (int rank = 0; rank < group_.size; ++rank) {
    if (rank != group_.rank && group_.memory[rank] != nullptr) {
      static_cast<void>(cudaIpcCloseMemHandle(group_.memory[rank]));
    }
  }
  static_cast<void>(cudaFree(group_.memory[group_.rank]));
}

#else

std::string peers_reason(Communicator&, const Stream&) {
  return "built without CUDA";
}
Peers::Peers(Communicator&, const Stream&, std::int64_t) {
  throw Error(ErrorKind::device, "no memory of peers: built without CUDA");
}
Peers::~Peers() = default;

#endif

}  // namespace weft::distributed
