// SPDX-License-Identifier: MIT
#include "engine/kernel_usage.h"

#if defined(WEFT_WITH_CUDA) && !defined(WEFT_HOST_CUDA)
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "engine/cuda_check.h"
#endif

namespace weft {

#if defined(WEFT_WITH_CUDA) && !defined(WEFT_HOST_CUDA)
namespace {

// "void weft::(anonymous namespace)::naive<float>(float*)" becomes "naive<float>".
std::string readable(const char* mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = text != nullptr ? text : mangled;
  std::free(text);
  for (const std::string& part : {std::string("(anonymous namespace)::"), std::string("void ")}) {
    for (std::size_t at; (at = name.find(part)) != std::string::npos;) name.erase(at, part.size());
  }
  int depth = 0;  // of template arguments
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0) {
      name.resize(i);
      break;
    }
  }
  const std::size_t scope = name.substr(0, name.find('<')).rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, device), "read an attribute of the GPU");
  return value;
}

// The resource of an SM that runs out first when one more block is placed.
std::string limiting(const cudaFuncAttributes& kernel, int threads, std::size_t shared, int blocks,
                     int device) {
  const int warps = (threads + 31) / 32;
  const auto full = [blocks](double needed, double there) { return (blocks + 1) * needed > there; };
  if (full(warps * 32, attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device))) return "threads";
  // Registers are handed out to warps in units of 256.
  const double registers = warps * ((kernel.numRegs * 32 + 255) / 256 * 256);
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

KernelUsage describe(const cudaKernelNodeParams& node, int device) {
  cudaFuncAttributes kernel{};
  cuda_check(cudaFuncGetAttributes(&kernel, node.func), "read the attributes of a kernel");
  KernelUsage usage;
  const char* name = nullptr;
  cuda_check(cudaFuncGetName(&name, node.func), "read the name of a kernel");
  usage.name = readable(name);
  usage.grid = {node.gridDim.x, node.gridDim.y, node.gridDim.z};
  usage.block = {node.blockDim.x, node.blockDim.y, node.blockDim.z};
  usage.registers = kernel.numRegs;
  usage.shared_bytes = kernel.sharedSizeBytes + node.sharedMemBytes;
  usage.local_bytes = kernel.localSizeBytes;
  const int threads = static_cast<int>(node.blockDim.x * node.blockDim.y * node.blockDim.z);
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&usage.blocks_per_multiprocessor,
                                                           node.func, threads, node.sharedMemBytes),
             "compute the occupancy of a kernel");
  const int capacity = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device);
  usage.occupancy =
      static_cast<double>(usage.blocks_per_multiprocessor * ((threads + 31) / 32)) * 32 / capacity;
  usage.limit =
      limiting(kernel, threads, usage.shared_bytes, usage.blocks_per_multiprocessor, device);
  return usage;
}

std::vector<KernelUsage> describe_all(cudaGraph_t graph, int device) {
  std::size_t count = 0;
  cuda_check(cudaGraphGetNodes(graph, nullptr, &count), "count the nodes of a graph");
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) cuda_check(cudaGraphGetNodes(graph, nodes.data(), &count), "list a graph");
  std::vector<KernelUsage> kernels;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    cuda_check(cudaGraphNodeGetType(node, &type), "read a node of a graph");
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams parameters{};
    cuda_check(cudaGraphKernelNodeGetParams(node, &parameters), "read a kernel of a graph");
    kernels.push_back(describe(parameters, device));
  }
  return kernels;
}

}  // namespace

std::vector<KernelUsage> kernels_launched_by(const std::function<void()>& work,
                                             const Stream& stream) {
  if (stream.device().is_cpu()) return {};
  cuda_check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal),
             "begin to capture kernels");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream.native(), &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  cuda_check(cudaStreamEndCapture(stream.native(), &graph), "capture kernels");
  try {
    std::vector<KernelUsage> kernels = describe_all(graph, stream.device().index);
    static_cast<void>(cudaGraphDestroy(graph));
    return kernels;
  } catch (...) {
    static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
}
#else
std::vector<KernelUsage> kernels_launched_by(const std::function<void()>&, const Stream&) {
  return {};
}
#endif

}  // namespace weft
