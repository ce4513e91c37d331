// SPDX-License-Identifier: MIT
// launch() for a kernel that may start while the kernel before it on the stream is ending, so that
// its blocks are in place when they can go on (programmatic dependent launch, sm_90; elsewhere it
// is launch()). The kernel calls device::overlap_wait() (kernels/device/overlap.cuh) before it
// touches memory that other kernels write or read.
#pragma once

#include "engine/launch.h"

namespace weft {

#ifndef WEFT_HOST_CUDA
namespace detail {

// launch() with `first`, unless it is empty, and the attribute that lets the kernel start early.
template <class... Parameters, class... Arguments>
void launch_early(const cudaLaunchAttribute& first, bool overlap, void (*kernel)(Parameters...),
                  const Launch& config, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "launch: the kernel takes another number of arguments");
  if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) return;
  const void* function = reinterpret_cast<const void*>(kernel);
  if (config.shared_bytes > 48 * 1024) detail::allow_shared_bytes(function, config.shared_bytes);
  cudaLaunchAttribute attributes[2]{first};
  cudaLaunchConfig_t native{};
  native.gridDim = config.grid;
  native.blockDim = config.block;
  native.dynamicSmemBytes = config.shared_bytes;
  native.stream = config.stream.native();
  native.attrs = attributes;
  native.numAttrs = first.id == cudaLaunchAttributeIgnore ? 0 : 1;
  if (overlap && device_properties(config.stream.device()).compute_capability >= 90) {
    cudaLaunchAttribute& attribute = attributes[native.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  const cudaError_t code = cudaLaunchKernelEx(
      &native, kernel, detail::braced<Parameters>(std::forward<Arguments>(arguments))...);
  if (code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // reported here, not by the next launch
    detail::throw_launch_error(code, function, config);
  }
}

}  // namespace detail
#endif

// With `overlap` false it waits as launch() does. cluster > 1: blocks form thread block clusters of
// that size, see launch_cluster.h.
template <class... Parameters, class... Arguments>
void launch_overlapped(void (*kernel)(Parameters...), bool overlap, unsigned cluster,
                       const Launch& config, Arguments&&... arguments) {
#ifdef WEFT_HOST_CUDA
  static_cast<void>(overlap), static_cast<void>(cluster);
  launch(kernel, config, std::forward<Arguments>(arguments)...);
#else
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeIgnore;
  if (cluster > 1) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
  }
  detail::launch_early(attribute, overlap, kernel, config, std::forward<Arguments>(arguments)...);
#endif
}

// For a kernel whose blocks wait for each other, see launch_cooperative().
template <class... Parameters, class... Arguments>
void launch_overlapped_cooperative(void (*kernel)(Parameters...), const Launch& config,
                                   Arguments&&... arguments) {
#ifdef WEFT_HOST_CUDA
  launch_cooperative(kernel, config, std::forward<Arguments>(arguments)...);
#else
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  detail::launch_early(attribute, true, kernel, config, std::forward<Arguments>(arguments)...);
#endif
}

}  // namespace weft
