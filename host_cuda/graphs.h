// SPDX-License-Identifier: MIT
// Graphs: pieces of work, and which of them come behind which others. A stream that is being
// captured makes them, or a program node by node.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "host_cuda/language/runtime_api.h"

struct CUgraphNode_st {
  cudaGraphNodeType type;
  std::function<void()> work;
  std::vector<const CUgraphNode_st*> behind;  // these
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  std::vector<std::pair<const CUgraphNode_st*, std::function<void()>>> work;
};

namespace weft::host_cuda {

// What streams are captured into; null when the capture has ended.
using Capture = std::shared_ptr<std::unique_ptr<CUgraph_st>>;
inline bool goes_on(const Capture& capture) {
  return capture != nullptr && *capture != nullptr;
}

// Does the work now, or records it where the stream is being captured.
void submit(cudaStream_t stream, std::function<void()> work, cudaGraphNodeType type);
bool is_captured(cudaStream_t stream);
// A stream that waits for an event of a captured one is captured, too.
void stream_joins_capture(cudaStream_t stream, cudaEvent_t event);

// The work of a graph, each node behind those that it waits for; empty where they form a circle.
std::vector<std::pair<const CUgraphNode_st*, std::function<void()>>> in_order(
    const CUgraph_st& graph);

}  // namespace weft::host_cuda
