// SPDX-License-Identifier: MIT
#include "kernels/scan/scan.h"

#include <array>
#include <string>

#include "kernels/checks.h"
#include "kernels/choices.h"
#include "kernels/scan/cpu_table.h"

#ifdef WEFT_WITH_CUDA
#include "kernels/scan/cuda.h"
#endif

namespace weft::kernels {

namespace {

struct Row {
  ScanVariant variant;
  VariantInfo info;
};

constexpr std::array kRows{
    Row{ScanVariant::sequential,
        {.name = "sequential",
         .summary = "one loop: each result is the one before it and one more element",
         .on_cpu = true}},
    Row{ScanVariant::threaded,
        {.name = "threaded",
         .summary = "threads sum chunks, one scans the sums, threads scan the chunks",
         .on_cpu = true}},
    Row{ScanVariant::kogge_stone,
        {.name = "kogge_stone",
         .summary = "in shared memory each element adds the one 1, 2, 4, ... places to its left: "
                    "n log n additions, two barriers a step",
         .on_cuda = true}},
    Row{ScanVariant::kogge_stone_double_buffered,
        {.name = "kogge_stone_double_buffered",
         .summary = "reads one buffer and writes another, so that one barrier a step is enough",
         .on_cuda = true}},
    Row{ScanVariant::warp_scan,
        {.name = "warp_scan",
         .summary = "warps scan in registers by shuffles, only their totals meet in shared memory",
         .on_cuda = true}},
    Row{ScanVariant::brent_kung,
        {.name = "brent_kung",
         .summary = "a tree up and a tree down: 2n additions and half the threads, twice the steps",
         .on_cuda = true}},
    Row{ScanVariant::three_kernel,
        {.name = "three_kernel",
         .summary = "scan of tiles held in registers, scan of their totals, add: full-width loads, "
                    "but four passes over memory",
         .on_cuda = true}},
    Row{ScanVariant::grid_sync,
        {.name = "grid_sync",
         .summary = "one cooperative kernel sums, waits for the grid, and scans: three passes",
         .on_cuda = true}},
    Row{ScanVariant::decoupled_lookback,
        {.name = "decoupled_lookback",
         .summary = "one pass: a tile learns what comes before it from the descriptors that "
                    "running tiles publish",
         .on_cuda = true}},
    Row{ScanVariant::lookahead,
        {.name = "lookahead",
         .summary = "one pass: blocks sweep together, and publish the totals of tiles two rounds "
                    "before they store them",
         .on_cuda = true,
         .needs = "96 KiB of shared memory in a block (sm_80 and later)"}},
};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

// Between these numbers of elements the blocks of lookahead have two or three tiles each, and wait
// longer for the first ones than two sweeps with a plain grid barrier take (measured on an H200).
constexpr std::int64_t kSweepsFrom = std::int64_t{1} << 21, kSweepsTo = std::int64_t{1} << 23;

Chosen<ScanVariant> automatic(std::int64_t n, Device device) {
  if (device.is_cpu()) return {ScanVariant::threaded, "all threads of the CPU"};
  if (device_properties(device).compute_capability < 80) {
    return {ScanVariant::decoupled_lookback, "one pass; asynchronous copies need sm_80"};
  }
  if (n >= kSweepsFrom && n < kSweepsTo) {
    return {ScanVariant::grid_sync, "from 2^21 to 2^23 elements its second sweep reads from L2"};
  }
  return {ScanVariant::lookahead, "one launch that reads and writes each element once"};
}

// The variant that will run; throws usage when it does not run on `device`.
ScanVariant resolved(ScanVariant variant, std::int64_t n, Device device) {
  if (variant == ScanVariant::automatic) return automatic(n, device).variant;
  for (const Row& row : kRows) {
    if (row.variant != variant) continue;
    if (device.is_cpu() ? !row.info.on_cpu : !row.info.on_cuda) {
      throw Error(ErrorKind::usage,
                  str("scan variant ", row.info.name, " does not run on ", device));
    }
    if (device.is_cuda() &&
        device_properties(device).compute_capability < row.info.compute_capability) {
      throw Error(ErrorKind::usage, str("scan variant ", row.info.name,
                                        " needs compute capability ", row.info.compute_capability));
    }
    return variant;
  }
  throw Error(ErrorKind::usage, "unknown scan variant");
}

#ifdef WEFT_WITH_CUDA
template <class T>
void scan_cuda(ScanVariant variant, const cuda::ScanArguments<T>& arguments, const Stream& stream) {
  switch (variant) {
    case ScanVariant::kogge_stone:
      return cuda::scan_kogge_stone(arguments, stream);
    case ScanVariant::kogge_stone_double_buffered:
      return cuda::scan_kogge_stone_double_buffered(arguments, stream);
    case ScanVariant::warp_scan:
      return cuda::scan_warp_scan(arguments, stream);
    case ScanVariant::brent_kung:
      return cuda::scan_brent_kung(arguments, stream);
    case ScanVariant::three_kernel:
      return cuda::scan_three_kernel(arguments, stream);
    case ScanVariant::grid_sync:
      return cuda::scan_grid_sync(arguments, stream);
    case ScanVariant::lookahead:
      return cuda::scan_lookahead(arguments, stream);
    default:
      return cuda::scan_decoupled_lookback(arguments, stream);
  }
}
#endif

}  // namespace

template <class T>
std::size_t scan_workspace_bytes(std::int64_t n, const ScanOptions& options, Device device) {
  static_cast<void>(checked_elements("scan", {n, std::int64_t{sizeof(T)}}));
  const ScanVariant variant = resolved(options.variant, n, device);
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) return cuda::scan_workspace_bytes(variant, n, sizeof(T));
#endif
  if (variant == ScanVariant::sequential) return 0;
  const std::int64_t chunks = (n + kScanChunk - 1) / kScanChunk;
  return static_cast<std::size_t>(chunks * (kScanChunk / kScanPiece)) * sizeof(T);
}

template <class T>
void scan(T* y, const T* x, std::int64_t n, const ScanOptions& options, Workspace workspace,
          const Stream& stream) {
  const ScanVariant variant = resolved(options.variant, n, stream.device());
  const std::size_t needed = scan_workspace_bytes<T>(n, options, stream.device());
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str("scan: ", n, " elements need ", needed,
                                      " bytes of workspace, found ", workspace.bytes));
  }
  if (n == 0) return;
  const bool exclusive = options.kind == ScanKind::exclusive;
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return scan_cuda<T>(variant, {y, x, n, options.op, exclusive, workspace.data}, stream);
  }
#endif
  const ScanCpuOf<T>& cpu = select_scan_cpu().of<T>();
  if (variant == ScanVariant::sequential) return cpu.sequential(y, x, n, options.op, exclusive);
  cpu.threaded(y, x, n, options.op, exclusive, static_cast<T*>(workspace.data));
}

template std::size_t scan_workspace_bytes<std::int32_t>(std::int64_t, const ScanOptions&, Device);
template std::size_t scan_workspace_bytes<std::int64_t>(std::int64_t, const ScanOptions&, Device);
template std::size_t scan_workspace_bytes<float>(std::int64_t, const ScanOptions&, Device);
template std::size_t scan_workspace_bytes<double>(std::int64_t, const ScanOptions&, Device);
template void scan(std::int32_t*, const std::int32_t*, std::int64_t, const ScanOptions&, Workspace,
                   const Stream&);
template void scan(std::int64_t*, const std::int64_t*, std::int64_t, const ScanOptions&, Workspace,
                   const Stream&);
template void scan(float*, const float*, std::int64_t, const ScanOptions&, Workspace,
                   const Stream&);
template void scan(double*, const double*, std::int64_t, const ScanOptions&, Workspace,
                   const Stream&);

Choice scan_choice(std::int64_t n, Device device) {
  return named(kRows, automatic(n, device));
}

std::span<const VariantInfo> scan_variants() {
  return kInfos;
}

ScanVariant parse_scan_variant(std::string_view name) {
  std::string choices = "automatic";
  if (name == choices) return ScanVariant::automatic;
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown scan variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
