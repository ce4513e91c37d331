// SPDX-License-Identifier: MIT
#include "engine/cuda/kernel_usage.h"

#ifdef WEFT_WITH_CUDA
#include "engine/extent.h"
#include "engine/launch.h"
#include "engine/symbol_names.h"
#endif

namespace weft {

#ifdef WEFT_WITH_CUDA
namespace {

struct Recorded {
  const void* kernel;
  dim3 grid, block;
  std::size_t shared_bytes;
};
thread_local std::vector<Recorded>* recording = nullptr;

#ifndef WEFT_HOST_CUDA
int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, device), "read an attribute of the GPU");
  return value;
}

// The resource of an SM that runs out first when one more block is placed.
std::string limiting(const cudaFuncAttributes& kernel, int threads, std::size_t shared, int blocks,
                     int device) {
  const int warps = divide_up(threads, 32);
  const auto full = [blocks](double needed, double there) { return (blocks + 1) * needed > there; };
  if (full(warps * 32, attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device))) return "threads";
  // Registers are handed out to warps in units of 256.
  const double registers = warps * (round_up(kernel.numRegs * 32, 256));
  if (full(registers, attribute(cudaDevAttrMaxRegistersPerMultiprocessor, device))) {
    return "registers";
  }
  const int reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock, device);
  if (full(static_cast<double>(shared) + reserved,
           attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device))) {
    return "shared memory";
  }
  if (full(1, attribute(cudaDevAttrMaxBlocksPerMultiprocessor, device))) return "blocks";
  return "registers or shared memory, as they are handed out in units";
}

// What the compiler and the driver say of it on a GPU.
void describe_resources(KernelUsage& usage, const Recorded& launch, int device) {
  cudaFuncAttributes kernel{};
  cuda_check(cudaFuncGetAttributes(&kernel, launch.kernel), "read the attributes of a kernel");
  usage.registers = kernel.numRegs;
  usage.shared_bytes = kernel.sharedSizeBytes + launch.shared_bytes;
  usage.local_bytes = kernel.localSizeBytes;
  const int threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                 &usage.blocks_per_multiprocessor, launch.kernel, threads, launch.shared_bytes),
             "compute the occupancy of a kernel");
  const int capacity = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device);
  usage.occupancy =
      static_cast<double>(usage.blocks_per_multiprocessor * divide_up(threads, 32)) * 32 / capacity;
  usage.limit =
      limiting(kernel, threads, usage.shared_bytes, usage.blocks_per_multiprocessor, device);
}
#else
void describe_resources(KernelUsage&, const Recorded&, int) {}
#endif

}  // namespace

namespace detail {

void record_launch(const void* kernel, const Launch& launch) {
  if (recording == nullptr) return;
  recording->push_back({kernel, launch.grid, launch.block, launch.shared_bytes});
}

}  // namespace detail

std::vector<KernelUsage> kernels_launched_by(const std::function<void()>& work, Device device) {
  std::vector<Recorded> launches;
  recording = &launches;
  try {
    work();
  } catch (...) {
    recording = nullptr;
    throw;
  }
  recording = nullptr;
  std::vector<KernelUsage> kernels;
  for (const Recorded& launch : launches) {
    const dim3 grid = launch.grid, block = launch.block;
    const char* name = nullptr;
    cuda_check(cudaFuncGetName(&name, launch.kernel), "read the name of a kernel");
    KernelUsage& usage = kernels.emplace_back();
    usage.kernel = launch.kernel;
    usage.symbol = name;
    usage.name = short_name(demangled(name));
    usage.grid = {grid.x, grid.y, grid.z};
    usage.block = {block.x, block.y, block.z};
    describe_resources(usage, launch, device.index);
  }
  return kernels;
}
#else
std::vector<KernelUsage> kernels_launched_by(const std::function<void()>& work, Device) {
  work();
  return {};
}
#endif

}  // namespace weft
