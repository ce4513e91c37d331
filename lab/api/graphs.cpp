// SPDX-License-Identifier: MIT
#include "lab/api/graphs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/error.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/graphs.h"
#include "lab/api/device.h"
#include "lab/api/memory.h"
#include "lab/runtime/failures.h"

#undef cudaGraphLaunch

using namespace weft::host_cuda;

namespace {

cudaError_t add(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* behind,
                std::size_t count, cudaGraphNodeType type, std::function<void()> work) {
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_there = std::any_of(graph->nodes.begin(), graph->nodes.end(),
                                      [&](const auto& node) { return node.get() == behind[i]; });
    if (!is_there) return noted(cudaErrorInvalidValue);
  }
  auto node = std::make_unique<CUgraphNode_st>(CUgraphNode_st{type, std::move(work), {}});
  node->behind.assign(behind, behind + count);
  *made = node.get();
  graph->nodes.push_back(std::move(node));
  return cudaSuccess;
}

// Null where a program has never named the kernel.
std::function<void()> kernel_work(const cudaKernelNodeParams& params, const char* file, int line) {
  const auto call = lab::remembered_call(params.func, params.kernelParams);
  if (call == nullptr) return nullptr;
  return [at = lab::Configuration{params.gridDim, params.blockDim, params.sharedMemBytes, nullptr,
                                  file, line},
          call] { lab::run(at, call); };
}

void fill(const HostCall& call, const cudaMemsetParams& params) {
  for (std::size_t row = 0; row < std::max<std::size_t>(params.height, 1); ++row) {
    char* const to = static_cast<char*>(params.dst) + row * params.pitch;
    const std::size_t bytes = params.width * params.elementSize;
    if (!check_fill(call, to, bytes)) return;
    for (std::size_t i = 0; i < bytes; i += params.elementSize) {
      std::memcpy(to + i, &params.value, params.elementSize);  // of its lower bytes
    }
    host_writes(to, bytes);
  }
}

cudaError_t list(const std::vector<cudaGraphNode_t>& all, cudaGraphNode_t* nodes,
                 std::size_t* count) {
  if (nodes != nullptr) {
    std::fill_n(nodes, *count, nullptr);
    std::copy_n(all.begin(), std::min(*count, all.size()), nodes);
  }
  *count = nodes != nullptr ? std::min(*count, all.size()) : all.size();
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* behind, std::size_t count,
                                   const cudaKernelNodeParams* params, const char* file, int line) {
  std::function<void()> work = kernel_work(*params, file, line);
  if (work == nullptr) return noted(cudaErrorInvalidDeviceFunction);
  return add(node, graph, behind, count, cudaGraphNodeTypeKernel, std::move(work));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* behind, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const HostCall call{"cudaGraphAddMemcpyNode1D", __builtin_return_address(0)};
  return add(node, graph, behind, count, cudaGraphNodeTypeMemcpy, [=] {
    const Calling calling(call);
    cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* behind, std::size_t count,
                                   const cudaMemsetParams* params) {
  const unsigned size = params->elementSize;
  if (size != 1 && size != 2 && size != 4) return noted(cudaErrorInvalidValue);
  const HostCall call{"cudaGraphAddMemsetNode", __builtin_return_address(0)};
  return add(node, graph, behind, count, cudaGraphNodeTypeMemset,
             [call, what = *params] { fill(call, what); });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* behind, std::size_t count,
                                 const cudaHostNodeParams* params) {
  return add(node, graph, behind, count, cudaGraphNodeTypeHost,
             [what = *params] { what.fn(what.userData); });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* behind, std::size_t count) {
  return add(node, graph, behind, count, cudaGraphNodeTypeEmpty, nullptr);
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* behind, std::size_t count,
                                       cudaGraph_t child) {
  const auto all = in_order(*child);
  if (all.size() < child->nodes.size()) return noted(cudaErrorInvalidValue);
  return add(node, graph, behind, count, cudaGraphNodeTypeGraph, [all] {
    for (const auto& [part, work] : all) {
      if (work != nullptr) work();
    }
  });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i]->behind.push_back(from[i]);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  std::vector<cudaGraphNode_t> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return list(all, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  std::vector<cudaGraphNode_t> roots;
  for (const auto& node : graph->nodes) {
    if (node->behind.empty()) roots.push_back(node.get());
  }
  return list(roots, nodes, count);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  *type = node->type;
  return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  const auto all = in_order(*graph);
  if (all.size() < graph->nodes.size()) return noted(cudaErrorInvalidValue);
  *clone = new CUgraph_st;
  for (const auto& [node, work] : all) {
    const CUgraphNode_st* const last =
        (*clone)->nodes.empty() ? nullptr : (*clone)->nodes.back().get();
    auto copy = std::make_unique<CUgraphNode_st>(CUgraphNode_st{node->type, work, {}});
    if (last != nullptr) copy->behind.push_back(last);
    (*clone)->nodes.push_back(std::move(copy));
  }
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* node,
                                cudaGraphExecUpdateResult* result) {
  auto work = in_order(*graph);
  *node = nullptr;
  *result = work.size() == exec->work.size() ? cudaGraphExecUpdateSuccess
                                             : cudaGraphExecUpdateErrorTopologyChanged;
  if (*result != cudaGraphExecUpdateSuccess) return noted(cudaErrorGraphExecUpdateFailure);
  exec->work = std::move(work);
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  info->errorFromNode = nullptr;
  return cudaGraphExecUpdate(exec, graph, &info->errorNode, &info->result);
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params, const char* file,
                                             int line) {
  const auto found = std::find_if(exec->work.begin(), exec->work.end(),
                                  [&](const auto& one) { return one.first == node; });
  if (found == exec->work.end()) return noted(cudaErrorInvalidValue);
  std::function<void()> work = kernel_work(*params, file, line);
  if (work == nullptr) return noted(cudaErrorInvalidDeviceFunction);
  found->second = std::move(work);
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params,
                                         const char* file, int line) {
  std::function<void()> work = kernel_work(*params, file, line);
  if (work == nullptr) return noted(cudaErrorInvalidDeviceFunction);
  node->work = std::move(work);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = is_captured(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t lab::launch_graph(cudaGraphExec_t exec, cudaStream_t stream) {
  try {
    return noted(cudaGraphLaunch(exec, stream));
  } catch (const weft::Error& error) {
    print_error(error.what());
    std::_Exit(error.exit_code());
  }
}
