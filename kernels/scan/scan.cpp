// SPDX-License-Identifier: MIT
// The table of the rungs of scan, and the validation and dispatch of a call.
#include "kernels/scan/scan.h"

#include <string>

#include "engine/extent.h"
#include "kernels/checks.h"
#include "kernels/scan/cpu/table.h"
#include "kernels/scan/parts/workspace.h"

namespace weft::kernels {
namespace cuda {

struct ScanRow {
  using Problem = ScanProblem;

  Rung rung;
  void (*ScanCpu::*on_cpu)(const ScanCall&) = nullptr;
  Launcher<ScanLauncher> launcher = {};
  // Bytes for n elements; null for none.
  std::size_t (*workspace)(std::int64_t n, std::size_t element_bytes) = nullptr;
  ScanSteps steps = ScanSteps::none;

  constexpr bool complete() const {
    return rung.on_cpu == (on_cpu != nullptr) && rung.on_cuda == static_cast<bool>(launcher) &&
           launcher.belongs_to("scan_", rung.name);
  }
  std::string takes(const ScanProblem&, Device) const { return ""; }
};

// The totals of all levels above the array.
constexpr std::size_t level_bytes(std::int64_t n, std::int64_t section, std::size_t element_bytes) {
  std::int64_t totals = 0;
  while (n > section) {
    n = divide_up(n, section);
    totals += n;
  }
  return static_cast<std::size_t>(totals) * element_bytes;
}
constexpr std::size_t of_blocks(std::int64_t n, std::size_t element_bytes) {
  return level_bytes(n, kScanBlock, element_bytes);
}

#define WEFT_SCAN(name) WEFT_LAUNCHER(ScanLauncher, name)

constexpr ScanRow kScanRows[] = {
    {.rung = {.name = "sequential",
              .summary = "one loop: each result is the one before it and one more element",
              .prefer = "to read first",
              .on_cpu = true,
              .on_cuda = false},
     .on_cpu = &ScanCpu::sequential},
    {.rung = {.name = "threaded",
              .summary = "threads sum chunks, one scans the sums, threads scan the chunks",
              .prefer = "always, on a CPU",
              .on_cpu = true,
              .on_cuda = false},
     .on_cpu = &ScanCpu::threaded,
     .workspace =
         [](std::int64_t n, std::size_t element_bytes) {
           const std::int64_t pieces = divide_up(n, kScanChunk) * (kScanChunk / kScanPiece);
           return static_cast<std::size_t>(pieces) * element_bytes;
         }},
    {.rung = {.name = "kogge_stone",
              .summary = "in shared memory each element adds the one 1, 2, 4, ... places to its "
                         "left: n log n additions, two barriers a step",
              .prefer = "to read first on a GPU"},
     .launcher = WEFT_SCAN(scan_kogge_stone),
     .workspace = of_blocks,
     .steps = ScanSteps::doubling},
    {.rung = {.name = "kogge_stone_double_buffered",
              .summary =
                  "reads one buffer and writes another, so that one barrier a step is enough",
              .prefer = "to see what half of the barriers gains"},
     .launcher = WEFT_SCAN(scan_kogge_stone_double_buffered),
     .workspace = of_blocks,
     .steps = ScanSteps::doubling},
    {.rung = {.name = "warp_scan",
              .summary =
                  "warps scan in registers by shuffles, only their totals meet in shared memory",
              .prefer = "to see what shuffles gain"},
     .launcher = WEFT_SCAN(scan_warp_scan),
     .workspace = of_blocks},
    {.rung = {.name = "brent_kung",
              .summary =
                  "a tree up and a tree down: 2n additions and half the threads, twice the steps",
              .prefer = "to see what fewer additions gain"},
     .launcher = WEFT_SCAN(scan_brent_kung),
     .workspace =
         [](std::int64_t n, std::size_t element_bytes) {
           return level_bytes(n, 2 * kScanBlock, element_bytes);
         },
     .steps = ScanSteps::up_and_down},
    {.rung = {.name = "three_kernel",
              .summary = "scan of tiles held in registers, scan of their totals, add: full-width "
                         "loads, but four passes over memory",
              .prefer = "to see what loads of 16 bytes gain"},
     .launcher = WEFT_SCAN(scan_three_kernel),
     .workspace =
         [](std::int64_t n, std::size_t element_bytes) {
           return level_bytes(n, scan_tile(element_bytes), element_bytes);
         }},
    {.rung = {.name = "grid_sync",
              .summary = "one cooperative kernel sums, waits for the grid, and scans: three passes",
              .prefer = "for 2^21 to 2^23 elements, whose second reading comes from the L2 cache"},
     .launcher = WEFT_SCAN(scan_grid_sync),
     .workspace = [](std::int64_t,
                     std::size_t element_bytes) { return kScanGridBlocks * element_bytes; }},
    {.rung = {.name = "decoupled_lookback",
              .summary = "one pass: a tile learns what comes before it from the descriptors that "
                         "running tiles publish",
              .prefer = "on GPUs before sm_80"},
     .launcher = WEFT_SCAN(scan_decoupled_lookback),
     .workspace =
         [](std::int64_t n, std::size_t element_bytes) {
           return static_cast<std::size_t>(scan_lookback_words(n, element_bytes)) * 8;
         }},
    {.rung = {.name = "lookahead",
              .summary = "one pass: blocks sweep together, and publish the totals of tiles two "
                         "rounds before they store them",
              .prefer = "for all other lengths from sm_80 on",
              .compute_capability = 80,
              .needs = "96 KiB of shared memory in a block (sm_80 and later)"},
     .launcher = WEFT_SCAN(scan_lookahead)},
};

#undef WEFT_SCAN

}  // namespace cuda

namespace {

// Between these numbers of elements the blocks of lookahead have two or three tiles each, and wait
// longer for the first ones than two sweeps with a plain grid barrier take (measured on an H200).
constexpr std::int64_t kSweepsFrom = std::int64_t{1} << 21, kSweepsTo = std::int64_t{1} << 23;

Choice automatic(const ScanProblem& problem, Device device) {
  if (device.is_cpu()) return {"threaded", "all threads of the CPU"};
  if (device_properties(device).compute_capability < 80) {
    return {"decoupled_lookback", "one pass; asynchronous copies need sm_80"};
  }
  if (problem.n >= kSweepsFrom && problem.n < kSweepsTo) {
    return {"grid_sync", "from 2^21 to 2^23 elements its second sweep reads from L2"};
  }
  return {"lookahead", "one launch that reads and writes each element once"};
}

constexpr Ladder kLadder("scan", cuda::kScanRows, automatic);

}  // namespace

std::size_t scan_workspace_bytes(std::string_view variant, std::int64_t n,
                                 std::size_t element_bytes, Device device) {
  static_cast<void>(checked_elements("scan", {n, static_cast<std::int64_t>(element_bytes)}));
  const cuda::ScanRow& row = kLadder.select(variant, {n}, device);
  return row.workspace == nullptr ? 0 : row.workspace(n, element_bytes);
}

void scan(ElementType type, void* y, const void* x, std::int64_t n, const ScanOptions& options,
          Workspace workspace, const Stream& stream) {
  check_enumerator("scan", "type", type, ElementType::f64);
  check_enumerator("scan", "op", options.op, ScanOp::product);
  check_enumerator("scan", "kind", options.kind, ScanKind::exclusive);
  const Device device = stream.device();
  const cuda::ScanRow& row = kLadder.select(options.variant, {n}, device);
  const std::size_t needed = scan_workspace_bytes(row.rung.name, n, bytes_of(type), device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str("scan: ", n, " elements need ", needed,
                                      " bytes of workspace, found ", workspace.bytes));
  }
  if (n == 0) return;
  check_call("scan", stream,
             {writes("y", y, n, bytes_of(type)).may_be("x"), reads("x", x, n, bytes_of(type)),
              scratch(workspace, needed)});
  const ScanCall call{type,          y, x, n, options.op, options.kind == ScanKind::exclusive,
                      workspace.data};
  if (device.is_cpu()) return (select_scan_cpu().*row.on_cpu)(call);
  row.launcher.run(call, stream);
}

ScanSteps scan_steps(std::string_view rung) {
  return kLadder.of(rung, &cuda::ScanRow::steps);
}

Rungs scan_rungs() {
  return kLadder.rungs();
}

bool scan_takes(std::string_view variant, const ScanProblem& problem, Device device) {
  return kLadder.takes(variant, problem, device);
}

Choice scan_choice(const ScanProblem& problem, Device device) {
  return kLadder.choose(problem, device);
}

}  // namespace weft::kernels
