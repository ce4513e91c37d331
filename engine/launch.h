// SPDX-License-Identifier: MIT
// The one way to start a CUDA kernel. `<<<>>>` appears nowhere else in Weft.
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

#include "engine/cuda_check.h"
#include "engine/stream.h"

namespace weft {

struct Launch {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  const Stream& stream;
};

namespace detail {

// Raises the dynamic shared-memory limit of `kernel` on the current device, once per kernel.
void allow_shared_bytes(const void* kernel, std::size_t bytes);
int resident_blocks(const void* kernel, int threads, std::size_t shared_bytes, Device device);
[[noreturn]] void throw_launch_error(cudaError_t code, const void* kernel, const Launch& launch);

template <class Parameter, class Argument>
Parameter braced(Argument&& argument) {
  Parameter parameter{std::forward<Argument>(argument)};
  return parameter;
}

// launch() with one attribute.
template <class... Parameters, class... Arguments>
void launch_with(cudaLaunchAttribute attribute, void (*kernel)(Parameters...), const Launch& config,
                 Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "launch: the kernel takes another number of arguments");
  if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) return;
  const void* function = reinterpret_cast<const void*>(kernel);
  if (config.shared_bytes > 48 * 1024) allow_shared_bytes(function, config.shared_bytes);
  cudaLaunchConfig_t native{};
  native.gridDim = config.grid;
  native.blockDim = config.block;
  native.dynamicSmemBytes = config.shared_bytes;
  native.stream = config.stream.native();
  native.attrs = &attribute;
  native.numAttrs = 1;
  const cudaError_t code = cudaLaunchKernelEx(
      &native, kernel, braced<Parameters>(std::forward<Arguments>(arguments))...);
  if (code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // reported here, not by the next launch
    throw_launch_error(code, function, config);
  }
}

}  // namespace detail

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Launch& config, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "launch: the kernel takes another number of arguments");
  if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) return;
  const void* function = reinterpret_cast<const void*>(kernel);
  if (config.shared_bytes > 48 * 1024) detail::allow_shared_bytes(function, config.shared_bytes);
#ifndef WEFT_HOST_CUDA
  kernel<<<config.grid, config.block, config.shared_bytes, config.stream.native()>>>(
      detail::braced<Parameters>(std::forward<Arguments>(arguments))...);
  const cudaError_t code = cudaGetLastError();
#else  // the host compiler does not know the brackets above
  const cudaLaunchConfig_t native{config.grid, config.block, config.shared_bytes,
                                  config.stream.native()};
  const cudaError_t code = cudaLaunchKernelEx(
      &native, kernel, detail::braced<Parameters>(std::forward<Arguments>(arguments))...);
#endif
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

// launch() for a kernel whose blocks wait for each other (cooperative_groups::this_grid().sync()):
// all blocks run at the same time, or the launch fails.
template <class... Parameters, class... Arguments>
void launch_cooperative(void (*kernel)(Parameters...), const Launch& config,
                        Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  detail::launch_with(attribute, kernel, config, std::forward<Arguments>(arguments)...);
}

// Blocks that cover `n` items at `per_block` each, at most `limit` of them: a kernel launched with
// fewer than it needs loops over the rest (grid stride).
inline unsigned blocks_for(std::int64_t n, std::int64_t per_block,
                           std::int64_t limit = 0x7fffffff) {
  const std::int64_t blocks = (n + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < limit ? blocks : limit);
}

}  // namespace weft
