// SPDX-License-Identifier: MIT
#include "host_cuda/stuck.h"

#include "engine/error.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {
namespace {

std::string doing(const Thread& thread) {
  if (thread.finished) return "has returned";
  switch (thread.wait) {
    case Wait::block:
      return str("waits at the barrier of ", source_line(thread.site));
    case Wait::grid:
      return str("waits at the grid's barrier of ", source_line(thread.site));
    case Wait::warp:
      return str("waits at ", thread.call.name, " of ", source_line(thread.call.site));
    case Wait::nothing:
    case Wait::answer:
      break;
  }
  return str("runs on without end, waiting for memory to change",
             thread.site == nullptr ? "" : " at " + source_line(thread.site));
}

}  // namespace

void explain_stuck(const Block& block) {
  const Thread* first = nullptr;
  for (int id = 0; id < block.threads; ++id) {
    const Thread& thread = block.thread[static_cast<std::size_t>(id)];
    if (!thread.finished && thread.wait == Wait::warp) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        if ((thread.call.mask >> lane & 1u) == 0) continue;
        const std::size_t other = static_cast<std::size_t>(id) / 32 * 32 + lane;
        const bool is_matrix = thread.call.op >= WarpOp::mma_tf32_k8;
        if (!is_matrix &&
            (other >= static_cast<std::size_t>(block.threads) || block.thread[other].finished)) {
          continue;  // it is left out
        }
        if (other >= static_cast<std::size_t>(block.threads)) {
          return set_failure("missing lane",
                             str("missing lane: ", where(thread), ": ", thread.call.name, " of ",
                                 source_line(thread.call.site), " names lane ", lane,
                                 ", which the block does not have"),
                             thread.call.site);
        }
        const Thread& lane_thread = block.thread[other];
        if (lane_thread.wait == Wait::warp && lane_thread.call.mask == thread.call.mask &&
            lane_thread.call.op == thread.call.op) {
          continue;
        }
        return set_failure("missing lane",
                           str("missing lane: ", where(thread), ": ", thread.call.name, " of ",
                               source_line(thread.call.site), " waits for lane ", lane, ", but ",
                               thread_name(lane_thread), " ", doing(lane_thread)),
                           thread.call.site);
      }
    }
    if (!thread.finished && first == nullptr) first = &thread;
  }
  if (first == nullptr) return set_failure("deadlock", "deadlock", nullptr);
  for (int id = 0; id < block.threads; ++id) {
    const Thread& thread = block.thread[static_cast<std::size_t>(id)];
    if (first->wait == Wait::block && thread.wait != Wait::block) {
      return set_failure("divergent barrier",
                         str("divergent barrier: ", where(*first), " ", doing(*first), ", but ",
                             thread_name(thread), " ", doing(thread)),
                         first->site);
    }
  }
  set_failure("deadlock", str("deadlock: ", where(*first), " ", doing(*first)), first->site);
}

}  // namespace weft::host_cuda
