// SPDX-License-Identifier: MIT
#include "host_cuda/graphs.h"

#include <algorithm>
#include <set>

#include "host_cuda/checks/failures.h"
#include "host_cuda/checks/stream_order.h"

namespace weft::host_cuda {

std::vector<std::pair<const CUgraphNode_st*, std::function<void()>>> in_order(
    const CUgraph_st& graph) {
  std::vector<std::pair<const CUgraphNode_st*, std::function<void()>>> work;
  std::set<const CUgraphNode_st*> done;
  for (std::size_t before = 1; work.size() < graph.nodes.size() && before != 0;) {
    before = 0;  // nodes that this pass has added
    for (const std::unique_ptr<CUgraphNode_st>& node : graph.nodes) {
      const bool may_run =
          std::all_of(node->behind.begin(), node->behind.end(),
                      [&](const CUgraphNode_st* other) { return done.count(other) != 0; });
      if (!may_run || !done.insert(node.get()).second) continue;
      work.emplace_back(node.get(), node->work);
      ++before;
    }
  }
  if (work.size() < graph.nodes.size()) work.clear();
  return work;
}

}  // namespace weft::host_cuda

using namespace weft::host_cuda;

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  auto work = in_order(*graph);
  if (work.size() < graph->nodes.size()) return cudaErrorInvalidValue;
  *exec = new CUgraphExec_st{std::move(work)};
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
  if (device_is_lost()) return cudaErrorLaunchFailure;
  everything_is_ordered();
  for (const auto& [node, work] : exec->work) {
    if (work != nullptr) work();
  }
  return cudaSuccess;
}
