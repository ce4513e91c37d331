// SPDX-License-Identifier: MIT
// The table of the rungs of reduction, and the validation and dispatch of a call.
#include "kernels/reduce/reduce.h"

#include <string>

#include "engine/extent.h"
#include "kernels/checks.h"
#include "kernels/reduce/cpu/table.h"

namespace weft::kernels {
namespace cuda {

struct ReduceRow {
  using Problem = ReduceProblem;

  Rung rung;
  Launcher<ReduceLauncher> launcher = {};
  // Elements that a thread combines in one level, for rungs whose workspace holds the results of
  // all levels; 0 for the others.
  int per_thread = 0;
  Launcher<ReduceWorkspace> workspace = {};
  bool squares = false;  // Is there a sum of squares?
  ReduceTree tree = ReduceTree::none;
  bool queued_alone = false;

  constexpr bool complete() const {
    return rung.on_cuda == static_cast<bool>(launcher) &&
           launcher.belongs_to("reduce_", rung.name) &&
           workspace.belongs_to("reduce_workspace_", rung.name) && (per_thread == 0 || !workspace);
  }
  std::string takes(const ReduceProblem& problem, Device device) const;
};

#define WEFT_REDUCE(name) WEFT_LAUNCHER(ReduceLauncher, name)

constexpr ReduceRow kReduceRows[] = {
    {.rung = {.name = "interleaved_divergent",
              .summary = "a tree in shared memory whose working threads are spread over all warps: "
                         "every warp diverges until a step spans one",
              .prefer = "to read first"},
     .launcher = WEFT_REDUCE(reduce_interleaved_divergent),
     .per_thread = 1,
     .tree = ReduceTree::spread},
    {.rung = {.name = "interleaved",
              .summary = "the first threads do the work, so idle warps retire, but their addresses "
                         "collide in the banks",
              .prefer = "to see what warps that retire gain"},
     .launcher = WEFT_REDUCE(reduce_interleaved),
     .per_thread = 1,
     .tree = ReduceTree::gathered},
    {.rung = {.name = "sequential",
              .summary = "the upper half is added to the lower: neighbours touch neighbours, no "
                         "bank conflicts",
              .prefer = "to see what bank conflicts cost"},
     .launcher = WEFT_REDUCE(reduce_sequential),
     .per_thread = 1,
     .tree = ReduceTree::halves},
    {.rung = {.name = "first_add",
              .summary = "each thread combines two elements as it loads them: half the blocks",
              .prefer = "to see what a second element for each thread gains"},
     .launcher = WEFT_REDUCE(reduce_first_add),
     .per_thread = 2,
     .tree = ReduceTree::halves},
    {.rung = {.name = "unrolled",
              .summary = "the last six levels are written out for one warp, without barriers of "
                         "the block",
              .prefer = "to see what barriers of the block cost"},
     .launcher = WEFT_REDUCE(reduce_unrolled),
     .per_thread = 2},
    {.rung = {.name = "warp_shuffle",
              .summary = "the last warp exchanges registers by shuffles instead of shared memory",
              .prefer = "to see what shuffles gain"},
     .launcher = WEFT_REDUCE(reduce_warp_shuffle),
     .per_thread = 2},
    {.rung = {.name = "cooperative_groups",
              .summary = "the same with the block and its warps as named groups",
              .prefer = "to see the groups API"},
     .launcher = WEFT_REDUCE(reduce_cooperative_groups),
     .per_thread = 2},
    {.rung = {.name = "two_stage_warp",
              .summary = "every warp reduces by shuffles, the first warp reduces their totals: one "
                         "barrier",
              .prefer = "to see a block reduction with one barrier"},
     .launcher = WEFT_REDUCE(reduce_two_stage_warp),
     .per_thread = 2},
    {.rung = {.name = "coarsened",
              .summary = "each thread combines 8 elements first: barrier and shuffles are paid "
                         "once per 8",
              .prefer = "to see what 8 elements for each thread gain"},
     .launcher = WEFT_REDUCE(reduce_coarsened),
     .per_thread = 8},
    {.rung = {.name = "vectorized",
              .summary = "two stages: blocks reduce 16-byte loads into one partial each, a last "
                         "block combines the partials in order",
              .prefer = "on a CPU, and for more than 16 MiB",
              .on_cpu = true},
     .launcher = WEFT_REDUCE(reduce_vectorized),
     .workspace = WEFT_LAUNCHER(ReduceWorkspace, reduce_workspace_vectorized),
     .squares = true,
     .queued_alone = true},
    {.rung = {.name = "single_pass",
              .summary = "one launch: blocks publish their partials in words that are zero between "
                         "calls, the last block waits for them and clears them",
              .prefer = "for up to 16 MiB, where a second launch is half of the time"},
     .launcher = WEFT_REDUCE(reduce_single_pass),
     .squares = true,
     .queued_alone = true},
};

#undef WEFT_REDUCE

std::string ReduceRow::takes(const ReduceProblem& problem, Device device) const {
  if (problem.kind == Reduction::sum_of_squares && !squares) return "it has no sum of squares";
  const std::int64_t blocks =
      per_thread == 0 ? 1 : divide_up(problem.n, std::int64_t{problem.threads} * per_thread);
  if (device.is_cpu() || blocks <= 0x7fffffff) return "";
  return str(problem.n, " elements need ", blocks, " blocks of ", problem.threads,
             " threads, and a grid has at most 2^31 - 1");
}

}  // namespace cuda

namespace {

Choice automatic(const ReduceProblem& problem, Device device) {
  if (device.is_cpu()) return {"vectorized", "the one for any size on a CPU"};
  if (cuda::reduce_is_short(problem.n, problem.element_bytes)) {
    return {"single_pass", "up to 16 MiB a second launch is half of the time"};
  }
  return {"vectorized", "the speed of memory in two launches"};
}

constexpr Ladder kLadder("reduce", cuda::kReduceRows, automatic);

const cuda::ReduceRow& selected(std::string_view variant, const ReduceProblem& problem,
                                Device device) {
  static_cast<void>(
      checked_elements("reduce", {problem.n, static_cast<std::int64_t>(problem.element_bytes)}));
  const int threads = problem.threads;
  if (threads < 32 || threads > 1024 || (threads & (threads - 1)) != 0) {
    throw Error(
        ErrorKind::usage,
        str("reduce: threads per block must be 32, 64, 128, 256, 512 or 1024, found ", threads));
  }
  return kLadder.select(variant, problem, device);
}

std::size_t workspace_bytes(const cuda::ReduceRow& row, const ReduceProblem& problem,
                            Device device) {
  std::int64_t n = problem.n;
  if (device.is_cpu()) {  // the largest partial result is a value of 8 bytes and its index
    return static_cast<std::size_t>(divide_up(n, kReduceChunk)) * cuda::kReducePartialBytes;
  }
  if (row.workspace.run != nullptr) return row.workspace.run(n, problem.threads);
  if (row.per_thread == 0) return 0;
  const std::int64_t per_block = std::int64_t{problem.threads} * row.per_thread;
  // One more for argmax, whose last level does not write to the caller's memory.
  std::int64_t partials = 1;
  do {
    n = n > per_block ? divide_up(n, per_block) : 1;
    partials += n;
  } while (n > 1);
  return static_cast<std::size_t>(partials) * cuda::kReducePartialBytes;
}

void run(const char* where, ReduceCall call, const Argument& result, const ReduceOptions& options,
         Workspace workspace, const Stream& stream) {
  check_enumerator(where, "type", call.type, ElementType::f64);
  check_enumerator(where, "kind", call.kind, Reduction::max);
  const Device device = stream.device();
  const ReduceProblem problem{call.n, bytes_of(call.type), call.kind, options.threads};
  const cuda::ReduceRow& row = selected(options.variant, problem, device);
  const std::size_t needed = workspace_bytes(row, problem, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str(where, ": ", call.n, " elements need ", needed,
                                      " bytes of workspace, found ", workspace.bytes));
  }
  check_call(where, stream,
             {result, reads("x", call.x, call.n, bytes_of(call.type)), scratch(workspace, needed)});
  call.threads = options.threads;
  call.workspace = workspace.data;
  call.per_thread = row.per_thread;
  if (device.is_cpu()) return select_reduce_cpu().run(call);
  row.launcher.run(call, stream);
}

}  // namespace

std::size_t reduce_workspace_bytes(std::int64_t n, std::size_t element_bytes,
                                   const ReduceOptions& options, Device device) {
  const ReduceProblem problem{n, element_bytes, Reduction::sum, options.threads};
  return workspace_bytes(selected(options.variant, problem, device), problem, device);
}

void reduce(ElementType type, void* result, const void* x, std::int64_t n, Reduction kind,
            const ReduceOptions& options, Workspace workspace, const Stream& stream) {
  run("reduce", {.type = type, .result = result, .x = x, .n = n, .kind = kind},
      writes("result", result, 1, bytes_of(type)), options, workspace, stream);
}

void argmax(ElementType type, std::int64_t* index, const void* x, std::int64_t n,
            const ReduceOptions& options, Workspace workspace, const Stream& stream) {
  run("argmax", {.type = type, .index = index, .x = x, .n = n, .kind = Reduction::max},
      writes("index", index, 1), options, workspace, stream);
}

ReduceTree reduce_tree(std::string_view rung) {
  return kLadder.of(rung, &cuda::ReduceRow::tree);
}

bool reduce_is_queued_alone(std::string_view rung) {
  return kLadder.of(rung, &cuda::ReduceRow::queued_alone);
}

Rungs reduce_rungs() {
  return kLadder.rungs();
}

bool reduce_takes(std::string_view variant, const ReduceProblem& problem, Device device) {
  return kLadder.takes(variant, problem, device);
}

Choice reduce_choice(const ReduceProblem& problem, Device device) {
  return kLadder.choose(problem, device);
}

}  // namespace weft::kernels
