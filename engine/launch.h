// SPDX-License-Identifier: MIT
// The one way to start a CUDA kernel: no other file names a launch of the CUDA runtime or `<<<>>>`.
//
// launch() deduces the kernel's parameter types and brace-initialises them from the arguments:
// a wrong count, a lost const or a narrowing conversion is a compile error. An empty grid is
// skipped, so n = 0 needs no special case. The shared-memory limit is raised when the kernel asks
// for more than the default, and a failed launch throws with the kernel's name, grid and block.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/cuda/cuda_check.h"
#include "engine/extent.h"
#include "engine/stream.h"

namespace weft {

struct Launch {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  const Stream& stream;
  unsigned cluster = 1;  // blocks of a thread block cluster
  bool overlaps = false;
  bool waits_for_grid = false;

  // Blocks form thread block clusters (sm_90): `blocks` neighbours in x, at most 8, run at the same
  // time and read and write each other's shared memory. The grid is a multiple of `blocks`.
  Launch clusters_of(unsigned blocks) const {
    Launch other = *this;
    other.cluster = blocks;
    return other;
  }
  // The kernel may start while the kernel before it on the stream is ending, so that its blocks are
  // in place when they can go on (programmatic dependent launch; before sm_90 it makes no
  // difference). It calls device::overlap_wait() (kernels/device/overlap.cuh) before it touches
  // memory that other kernels write or read.
  Launch overlapped(bool may = true) const {
    Launch other = *this;
    other.overlaps = may;
    return other;
  }
  // Blocks wait for each other (cooperative_groups::this_grid().sync()): all of them run at the
  // same time, or the launch fails.
  Launch cooperative() const {
    Launch other = *this;
    other.waits_for_grid = true;
    return other;
  }
};

namespace detail {

// Notes a launch for the kernels_launched_by() of engine/cuda/kernel_usage.h that runs on this
// thread.
void record_launch(const void* kernel, const Launch& launch);

// A Launch as the CUDA runtime takes it. The shared-memory limit of `kernel` on the current device
// is raised where it has to be.
struct NativeLaunch {
  NativeLaunch(const void* kernel, const Launch& launch);
  NativeLaunch(const NativeLaunch&) = delete;

  cudaLaunchAttribute attributes[3]{};
  cudaLaunchConfig_t config{};
};

int resident_blocks(const void* kernel, int threads, std::size_t shared_bytes, Device device);
int resident_clusters(const void* kernel, int blocks, int threads, std::size_t shared_bytes,
                      const Stream& stream);
[[noreturn]] void throw_launch_error(cudaError_t code, const void* kernel, const Launch& launch);

template <class Parameter, class Argument>
Parameter braced(Argument&& argument) {
  Parameter parameter{std::forward<Argument>(argument)};
  return parameter;
}

}  // namespace detail

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Launch& config, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "launch: the kernel takes another number of arguments");
  if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) return;
  const void* function = reinterpret_cast<const void*>(kernel);
  detail::record_launch(function, config);
  const Stream::Hold held = config.stream.hold();
  const detail::NativeLaunch native(function, config);
  const cudaError_t code = cudaLaunchKernelEx(
      &native.config, kernel, detail::braced<Parameters>(std::forward<Arguments>(arguments))...);
  if (code != cudaSuccess) detail::throw_launch_error(code, function, config);
}

// Blocks of `kernel` that the stream's device can hold at once: the most that a cooperative launch
// may ask for.
template <class... Parameters>
int resident_blocks(void (*kernel)(Parameters...), int threads, std::size_t shared_bytes,
                    const Stream& stream) {
  return detail::resident_blocks(reinterpret_cast<const void*>(kernel), threads, shared_bytes,
                                 stream.device());
}

// Clusters of `blocks` blocks that the stream's device can hold at once.
template <class... Parameters>
int resident_clusters(void (*kernel)(Parameters...), int blocks, int threads,
                      std::size_t shared_bytes, const Stream& stream) {
  return detail::resident_clusters(reinterpret_cast<const void*>(kernel), blocks, threads,
                                   shared_bytes, stream);
}

#ifdef WEFT_HOST_CUDA
namespace host_cuda {
std::int64_t most_blocks();  // host_cuda/host_cuda.h
}
#endif

// Blocks that cover `n` items at `per_block` each, at most `limit` of them: a kernel launched with
// fewer than it needs loops over the rest (grid stride).
inline unsigned blocks_for(std::int64_t n, std::int64_t per_block,
                           std::int64_t limit = 0x7fffffff) {
#ifdef WEFT_HOST_CUDA  // a test makes grids short, so that those loops go around
  if (host_cuda::most_blocks() < limit) limit = host_cuda::most_blocks();
#endif
  const std::int64_t blocks = divide_up(n, per_block);
  return static_cast<unsigned>(blocks < limit ? blocks : limit);
}

// An extent as device code counts it. Throws Error{usage} when an int cannot hold it.
int narrow(std::int64_t extent);

}  // namespace weft
