// SPDX-License-Identifier: MIT
#include "engine/launch.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "engine/error.h"

namespace weft {

namespace {

__global__ void probe() {}

// Raises the dynamic shared-memory limit of `kernel` on the current device, once per kernel.
void allow_shared_bytes(const void* kernel, std::size_t bytes) {
  if (bytes <= 48 * 1024) return;  // what every kernel may use
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t> allowed;
  int device = 0;
  cuda_check(cudaGetDevice(&device), "read the current device");
  const std::lock_guard lock(mutex);
  std::size_t& limit = allowed[{kernel, device}];
  if (bytes <= limit) return;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "raise the shared-memory limit of a kernel");
  limit = bytes;
}

}  // namespace

void cuda_check(cudaError_t code, const char* what, SourceLocation where) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // do not let the next check report this one again
  throw Error(ErrorKind::device,
              str("could not ", what, ": ", cudaGetErrorName(code), " (", cudaGetErrorString(code),
                  ") at ", where.file, ":", where.line),
              where);
}

namespace detail {

NativeLaunch::NativeLaunch(const void* kernel, const Launch& launch) {
  allow_shared_bytes(kernel, launch.shared_bytes);
  config.gridDim = launch.grid;
  config.blockDim = launch.block;
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = launch.stream.native();
  config.attrs = attributes;
  const auto add = [this](cudaLaunchAttributeID id) -> cudaLaunchAttributeValue& {
    attributes[config.numAttrs].id = id;
    return attributes[config.numAttrs++].val;
  };
  if (launch.cluster > 1) {
    auto& size = add(cudaLaunchAttributeClusterDimension).clusterDim;
    size.x = launch.cluster;
    size.y = size.z = 1;
  }
  if (launch.overlaps && device_properties(launch.stream.device()).compute_capability >= 90) {
    add(cudaLaunchAttributeProgrammaticStreamSerialization).programmaticStreamSerializationAllowed =
        1;
  }
  if (launch.waits_for_grid) add(cudaLaunchAttributeCooperative).cooperative = 1;
}

cudaError_t probe_kernel_image() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, probe);
}

int resident_blocks(const void* kernel, int threads, std::size_t shared_bytes, Device device) {
  allow_shared_bytes(kernel, shared_bytes);
  int per_multiprocessor = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads,
                                                           shared_bytes),
             "ask for the occupancy of a kernel");
  return per_multiprocessor * device_properties(device).multiprocessors;
}

int resident_clusters(const void* kernel, int blocks, int threads, std::size_t shared_bytes,
                      const Stream& stream) {
  // Without an attribute for its size, a cluster of one block counts as none at all.
  if (blocks == 1) return resident_blocks(kernel, threads, shared_bytes, stream.device());
  static std::mutex mutex;
  // A slow question, whose answer differs between the GPUs of a machine.
  static std::map<std::tuple<int, const void*, int, std::size_t, int>, int> known;
  const std::lock_guard lock(mutex);
  int& clusters = known[{stream.device().index, kernel, threads, shared_bytes, blocks}];
  if (clusters > 0) return clusters;
  const auto cluster = static_cast<unsigned>(blocks);
  const auto processors = static_cast<unsigned>(device_properties(stream.device()).multiprocessors);
  const Launch launch{processors / cluster * cluster, static_cast<unsigned>(threads), shared_bytes,
                      stream, cluster};
  const NativeLaunch native(kernel, launch);
  cuda_check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &native.config),
             "ask for the occupancy of a kernel");
  return clusters;
}

void throw_launch_error(cudaError_t code, const void* kernel, const Launch& launch) {
  const char* name = nullptr;
  if (cudaFuncGetName(&name, kernel) != cudaSuccess || name == nullptr) name = "a kernel";
  static_cast<void>(cudaGetLastError());
  const dim3 grid = launch.grid, block = launch.block;
  throw Error(ErrorKind::device,
              str("could not launch ", name, " with grid ", grid.x, "x", grid.y, "x", grid.z,
                  ", block ", block.x, "x", block.y, "x", block.z, ", ", launch.shared_bytes,
                  " bytes of shared memory on ", launch.stream.device(), ": ",
                  cudaGetErrorName(code), " (", cudaGetErrorString(code), ")"));
}

}  // namespace detail

int narrow(std::int64_t extent) {
  const int narrowed = static_cast<int>(extent);
  if (narrowed != extent) {
    throw Error(ErrorKind::usage, str("expected an extent that fits in 32 bits, found ", extent));
  }
  return narrowed;
}

}  // namespace weft
