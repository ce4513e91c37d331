// SPDX-License-Identifier: MIT
#include "kernels/reduce/reduce.h"

#include <array>
#include <string>

#include "kernels/checks.h"
#include "kernels/operators.h"
#include "kernels/reduce/cpu_table.h"
#include "kernels/reduce/workspace.h"

#ifdef WEFT_WITH_CUDA
#include "kernels/reduce/cuda.h"
#endif

namespace weft::kernels {

namespace {

struct Row {
  ReduceVariant variant;
  VariantInfo info;
};

constexpr std::array kRows{
    Row{ReduceVariant::interleaved_divergent,
        {.name = "interleaved_divergent",
         .summary = "a tree in shared memory whose working threads are spread over all warps: "
                    "every warp diverges",
         .on_cuda = true}},
    Row{ReduceVariant::interleaved,
        {.name = "interleaved",
         .summary = "the first threads do the work, so idle warps retire, but their addresses "
                    "collide in the banks",
         .on_cuda = true}},
    Row{ReduceVariant::sequential,
        {.name = "sequential",
         .summary = "the upper half is added to the lower: neighbours touch neighbours, no bank "
                    "conflicts",
         .on_cuda = true}},
    Row{ReduceVariant::first_add,
        {.name = "first_add",
         .summary = "each thread combines two elements as it loads them: half the blocks",
         .on_cuda = true}},
    Row{ReduceVariant::unrolled,
        {.name = "unrolled",
         .summary = "the last six levels are written out for one warp, without barriers of the "
                    "block",
         .on_cuda = true}},
    Row{ReduceVariant::warp_shuffle,
        {.name = "warp_shuffle",
         .summary = "the last warp exchanges registers by shuffles instead of shared memory",
         .on_cuda = true}},
    Row{ReduceVariant::cooperative_groups,
        {.name = "cooperative_groups",
         .summary = "the same with the block and its warps as named groups",
         .on_cuda = true}},
    Row{ReduceVariant::two_stage_warp,
        {.name = "two_stage_warp",
         .summary = "every warp reduces by shuffles, the first warp reduces their totals: one "
                    "barrier",
         .on_cuda = true}},
    Row{ReduceVariant::coarsened,
        {.name = "coarsened",
         .summary = "each thread combines 8 elements first: barrier and shuffles are paid once per "
                    "8",
         .on_cuda = true}},
    Row{ReduceVariant::vectorized,
        {.name = "vectorized",
         .summary = "two stages: blocks reduce 16-byte loads into one partial each, a last block "
                    "combines the partials in order",
         .on_cpu = true,
         .on_cuda = true}},
    Row{ReduceVariant::single_pass,
        {.name = "single_pass",
         .summary = "one launch: blocks publish their partials in words that are zero between "
                    "calls, the last block waits for them and clears them",
         .on_cuda = true}},
};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

// For a short array the second launch of `vectorized` is half of the cost, when the host queues it.
ReduceVariant automatic(std::int64_t n, std::size_t element_bytes, Device device) {
  return device.is_cuda() && cuda::reduce_is_short(n, element_bytes) ? ReduceVariant::single_pass
                                                                     : ReduceVariant::vectorized;
}

// The variant that will run; throws usage when it does not run on `device`.
ReduceVariant resolved(const ReduceOptions& options, std::int64_t n, std::size_t element_bytes,
                       Device device) {
  const int threads = options.threads;
  if (threads < 32 || threads > 1024 || (threads & (threads - 1)) != 0) {
    throw Error(
        ErrorKind::usage,
        str("reduce: threads per block must be 32, 64, 128, 256, 512 or 1024, found ", threads));
  }
  if (options.variant == ReduceVariant::automatic) return automatic(n, element_bytes, device);
  for (const Row& row : kRows) {
    if (row.variant != options.variant) continue;
    if (device.is_cpu() ? row.info.on_cpu : row.info.on_cuda) return options.variant;
    throw Error(ErrorKind::usage,
                str("reduce variant ", row.info.name, " does not run on ", device));
  }
  throw Error(ErrorKind::usage, "unknown reduce variant");
}

#ifdef WEFT_WITH_CUDA
template <class T>
void reduce_cuda(ReduceVariant variant, const cuda::ReduceArguments<T>& arguments,
                 const Stream& stream) {
  switch (variant) {
    case ReduceVariant::interleaved_divergent:
      return cuda::reduce_interleaved_divergent(arguments, stream);
    case ReduceVariant::interleaved:
      return cuda::reduce_interleaved(arguments, stream);
    case ReduceVariant::sequential:
      return cuda::reduce_sequential(arguments, stream);
    case ReduceVariant::first_add:
      return cuda::reduce_first_add(arguments, stream);
    case ReduceVariant::unrolled:
      return cuda::reduce_unrolled(arguments, stream);
    case ReduceVariant::warp_shuffle:
      return cuda::reduce_warp_shuffle(arguments, stream);
    case ReduceVariant::cooperative_groups:
      return cuda::reduce_cooperative_groups(arguments, stream);
    case ReduceVariant::two_stage_warp:
      return cuda::reduce_two_stage_warp(arguments, stream);
    case ReduceVariant::coarsened:
      return cuda::reduce_coarsened(arguments, stream);
    case ReduceVariant::single_pass:
      return cuda::reduce_single_pass(arguments, stream);
    default:
      return cuda::reduce_vectorized(arguments, stream);
  }
}
#endif

// The checks that reduce() and argmax() share; returns the variant to run.
template <class T>
ReduceVariant checked(const char* where, std::int64_t n, const ReduceOptions& options,
                      Workspace workspace, Device device) {
  const std::size_t needed = reduce_workspace_bytes<T>(n, options, device);
  if (workspace.bytes < needed) {
    throw Error(ErrorKind::usage, str(where, ": ", n, " elements need ", needed,
                                      " bytes of workspace, found ", workspace.bytes));
  }
  return resolved(options, n, sizeof(T), device);
}

}  // namespace

template <class T>
std::size_t reduce_workspace_bytes(std::int64_t n, const ReduceOptions& options, Device device) {
  static_cast<void>(checked_elements("reduce", {n, std::int64_t{sizeof(T)}}));
  [[maybe_unused]] const ReduceVariant variant = resolved(options, n, sizeof(T), device);
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) return cuda::reduce_workspace_bytes(variant, n, options.threads);
#endif
  return static_cast<std::size_t>((n + kReduceChunk - 1) / kReduceChunk) * sizeof(Indexed<T>);
}

template <class T>
void reduce(T* result, const T* x, std::int64_t n, Reduction kind, const ReduceOptions& options,
            Workspace workspace, const Stream& stream) {
  const ReduceVariant variant = checked<T>("reduce", n, options, workspace, stream.device());
  if (kind == Reduction::sum_of_squares && variant != ReduceVariant::vectorized &&
      variant != ReduceVariant::single_pass) {
    throw Error(ErrorKind::usage, "reduce: sum_of_squares needs variant vectorized or single_pass");
  }
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return reduce_cuda<T>(variant, {result, nullptr, x, n, kind, options.threads, workspace.data},
                          stream);
  }
#endif
  select_reduce_cpu().of<T>().reduce(result, x, n, kind, workspace.data);
}

template <class T>
void argmax(std::int64_t* index, const T* x, std::int64_t n, const ReduceOptions& options,
            Workspace workspace, const Stream& stream) {
  [[maybe_unused]] const ReduceVariant variant =
      checked<T>("argmax", n, options, workspace, stream.device());
#ifdef WEFT_WITH_CUDA
  if (stream.device().is_cuda()) {
    return reduce_cuda<T>(
        variant, {nullptr, index, x, n, Reduction::max, options.threads, workspace.data}, stream);
  }
#endif
  select_reduce_cpu().of<T>().argmax(index, x, n, workspace.data);
}

std::size_t reduce_workspace_bytes(std::int64_t n, Device device) {
  return reduce_workspace_bytes<float>(n, {}, device);
}

void reduce(float* result, const float* x, std::int64_t n, Reduction kind, Workspace workspace,
            const Stream& stream) {
  reduce(result, x, n, kind, ReduceOptions{}, workspace, stream);
}

#define WEFT_INSTANTIATE(T)                                                                    \
  template std::size_t reduce_workspace_bytes<T>(std::int64_t, const ReduceOptions&, Device);  \
  template void reduce(T*, const T*, std::int64_t, Reduction, const ReduceOptions&, Workspace, \
                       const Stream&);                                                         \
  template void argmax(std::int64_t*, const T*, std::int64_t, const ReduceOptions&, Workspace, \
                       const Stream&);
WEFT_INSTANTIATE(std::int32_t)
WEFT_INSTANTIATE(std::int64_t)
WEFT_INSTANTIATE(float)
WEFT_INSTANTIATE(double)
#undef WEFT_INSTANTIATE

std::span<const VariantInfo> reduce_variants() {
  return kInfos;
}

ReduceVariant parse_reduce_variant(std::string_view name) {
  std::string choices = "automatic";
  if (name == choices) return ReduceVariant::automatic;
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown reduce variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
