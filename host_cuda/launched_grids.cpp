// SPDX-License-Identifier: MIT
#include "host_cuda/launched_grids.h"

#include <deque>
#include <utility>

#include "host_cuda/host_cuda.h"
#include "host_cuda/sample/repeats.h"
#include "host_cuda/workers/unchecked.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {
namespace {

constexpr int kMostWithinEachOther = 24;  // as on a GPU

struct LaunchedGrid {
  int depth;
  std::function<void()> launch;
};
std::deque<LaunchedGrid> launched;
int depth = 0;  // of the running grid: 0 where the host has launched it
bool has_launched = false, is_running_them = false;

}  // namespace

cudaError_t launch_behind_grid(std::function<void()> launch) {
  if (depth >= kMostWithinEachOther) return cudaErrorLaunchMaxDepthExceeded;
  order_matters();
  kernel_has_effects();
  if (runs_unchecked_blocks()) refuse_in_worker("launches a kernel");
  has_launched = true;
  if (!repeating()) launched.push_back({depth + 1, std::move(launch)});
  return cudaSuccess;
}

void run_launched_grids() {
  if (is_running_them) return;
  is_running_them = true;
  while (!launched.empty()) {
    const LaunchedGrid next = std::move(launched.front());
    launched.pop_front();
    depth = next.depth;
    next.launch();
  }
  depth = 0;
  is_running_them = false;
}

bool kernels_launch() {
  return has_launched;
}

}  // namespace weft::host_cuda
