// SPDX-License-Identifier: MIT
// launch() for a kernel whose blocks form thread block clusters (sm_90): neighbours in x, which run
// at the same time and read and write each other's shared memory.
#pragma once

#include "engine/launch.h"

namespace weft {

namespace detail {
int resident_clusters(const void* kernel, int threads, std::size_t shared_bytes, int blocks,
                      Device device);
}

// A cluster is `blocks` blocks, at most 8; the grid is a multiple of it.
template <class... Parameters, class... Arguments>
void launch_cluster(void (*kernel)(Parameters...), unsigned blocks, const Launch& config,
                    Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  detail::launch_with(attribute, kernel, config, std::forward<Arguments>(arguments)...);
}

// Clusters of `blocks` blocks that the stream's device can hold at once.
template <class... Parameters>
int resident_clusters(void (*kernel)(Parameters...), int blocks, int threads,
                      std::size_t shared_bytes, const Stream& stream) {
  return detail::resident_clusters(reinterpret_cast<const void*>(kernel), threads, shared_bytes,
                                   blocks, stream.device());
}

}  // namespace weft
