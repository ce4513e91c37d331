// SPDX-License-Identifier: MIT
#include "engine/launch_cluster.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "engine/error.h"

namespace weft {

namespace {

__global__ void probe() {}

}  // namespace

void cuda_check(cudaError_t code, const char* what, std::source_location where) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // do not let the next check report this one again
  throw Error(ErrorKind::device,
              str("could not ", what, ": ", cudaGetErrorName(code), " (", cudaGetErrorString(code),
                  ") at ", where.file_name(), ":", where.line()),
              where);
}

namespace detail {

cudaError_t probe_kernel_image() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, probe);
}

void allow_shared_bytes(const void* kernel, std::size_t bytes) {
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

int resident_blocks(const void* kernel, int threads, std::size_t shared_bytes, Device device) {
  if (shared_bytes > 48 * 1024) allow_shared_bytes(kernel, shared_bytes);
  int per_multiprocessor = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads,
                                                           shared_bytes),
             "ask for the occupancy of a kernel");
  return per_multiprocessor * device_properties(device).multiprocessors;
}

int resident_clusters(const void* kernel, int threads, std::size_t shared_bytes, int blocks,
                      Device device) {
  static std::mutex mutex;
  static std::map<std::tuple<const void*, int, std::size_t, int>, int> known;  // a slow question
  if (shared_bytes > 48 * 1024) allow_shared_bytes(kernel, shared_bytes);
  const std::lock_guard lock(mutex);
  int& clusters = known[{kernel, threads, shared_bytes, blocks}];
  if (clusters > 0) return clusters;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(blocks);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  const int multiprocessors = device_properties(device).multiprocessors;
  cudaLaunchConfig_t native{};
  native.gridDim = dim3(static_cast<unsigned>(multiprocessors / blocks * blocks));
  native.blockDim = dim3(static_cast<unsigned>(threads));
  native.dynamicSmemBytes = shared_bytes;
  native.attrs = &attribute;
  native.numAttrs = 1;
  cuda_check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &native),
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
}  // namespace weft
