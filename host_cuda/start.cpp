// SPDX-License-Identifier: MIT
// From a launch to running grids: limits, schedules, and what a device says about a kernel.
#include <functional>
#include <mutex>

#include "engine/error.h"
#include "host_cuda/checks/failures.h"
#include "host_cuda/environment.h"
#include "host_cuda/grid.h"
#include "host_cuda/host_cuda.h"
#include "host_cuda/launched_grids.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {

void submit(cudaStream_t stream, std::function<void()> work);  // runtime.cpp

namespace {

constexpr unsigned kMaxThreads = 1024;
constexpr std::size_t kMaxSharedBytes = 227 * 1024;
constexpr int kMostMultiprocessors = 1024, kMostSchedules = 1000;

int& schedule_count() {
  static int count = from_environment("WEFT_HOST_CUDA_SCHEDULES", 1, kMostSchedules);
  return count;
}

bool repeats = false;

// Runs the grid under each schedule on the same memory, and compares what they leave there.
void run_schedules(const Grid& grid) {
  static std::mutex one_grid_at_a_time;
  const std::lock_guard lock(one_grid_at_a_time);
  const int count = schedule_count();
  if (count == 1 || recording()) {
    run_grid(grid, 0, 1);
    return;
  }
  refresh_device_memory();
  const Contents before = device_memory_contents();
  if (!run_grid(grid, 0, count)) return;
  const Contents expected = device_memory_contents();
  for (int schedule = 1; schedule < count; ++schedule) {
    restore_device_memory(before);
    repeats = true;
    const bool to_its_end = run_grid(grid, static_cast<std::uint64_t>(schedule), count);
    repeats = false;
    if (!to_its_end) return;
      // AddressSanitizer's stack frames leave other bytes in the padding of structs each time.
#ifdef __SANITIZE_ADDRESS__
    const std::string where;
#else
    const std::string where = first_difference(expected, device_memory_contents());
#endif
    if (where.empty()) continue;
    const std::string text =
        str("kernel ", kernel_name(*grid.call),
            " leaves other results when its threads run in another order (schedule ", schedule,
            "): ", where);
    if (!lists_findings()) throw Error(ErrorKind::check_failed, "host-cuda: " + text);
    return tell_at("other results", text, "");
  }
}

}  // namespace

void set_schedules(int count) {
  schedule_count() = count;
}

bool repeating() {
  return repeats;
}

int multiprocessors() {
  static const int count =
      from_environment("WEFT_HOST_CUDA_MULTIPROCESSORS", 4, kMostMultiprocessors);
  return count;
}

std::int64_t most_blocks() {
  static const int count = from_environment("WEFT_HOST_CUDA_MOST_BLOCKS", 0x7fffffff, 0x7fffffff);
  return count;
}

cudaError_t start(const cudaLaunchConfig_t& config, std::shared_ptr<const Call> call) {
  Grid grid{config.gridDim, config.blockDim, config.dynamicSmemBytes, false, std::move(call)};
  const std::uint64_t threads = std::uint64_t{grid.block.x} * grid.block.y * grid.block.z;
  const std::uint64_t blocks = std::uint64_t{grid.grid.x} * grid.grid.y * grid.grid.z;
  if (threads == 0 || blocks == 0 || threads > kMaxThreads || grid.block.z > 64 ||
      grid.grid.y > 65535 || grid.grid.z > 65535) {
    return cudaErrorInvalidConfiguration;
  }
  if (grid.shared_bytes > kMaxSharedBytes) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != cudaLaunchAttributeCooperative) return cudaErrorNotSupported;
    grid.cooperative = config.attrs[i].val.cooperative != 0;
  }
  const auto most_at_once =
      static_cast<std::uint64_t>(kBlocksPerMultiprocessor * multiprocessors());
  if (grid.cooperative && blocks > most_at_once) {
    return cudaErrorCooperativeLaunchTooLarge;
  }
  if (device_is_lost()) return cudaErrorLaunchFailure;
  submit(config.stream, [grid = std::move(grid)] {
    if (!next_kernel_runs()) return;
    run_schedules(grid);
    launch_ended();
    run_launched_grids();
  });
  return cudaSuccess;
}

}  // namespace weft::host_cuda

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  constexpr int kVersion = 80;
  *attributes = {};
  attributes->sharedSizeBytes = weft::host_cuda::shared_bytes_of(kernel);
  attributes->constSizeBytes = weft::host_cuda::constant_bytes();
  attributes->maxThreadsPerBlock = static_cast<int>(weft::host_cuda::kMaxThreads);
  attributes->ptxVersion = attributes->binaryVersion = kVersion;
  attributes->maxDynamicSharedSizeBytes = 48 * 1024;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int value) {
  const bool fits =
      value >= 0 && static_cast<std::size_t>(value) <= weft::host_cuda::kMaxSharedBytes;
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaFuncGetName(const char** name, const void* kernel) {
  static std::string text;
  text = weft::host_cuda::function_name(kernel);
  *name = text.c_str();
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t) {
  const bool runs = threads > 0 && static_cast<unsigned>(threads) <= weft::host_cuda::kMaxThreads;
  *blocks = runs ? weft::host_cuda::kBlocksPerMultiprocessor : 0;
  return cudaSuccess;
}
