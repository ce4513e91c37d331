// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of signal convolution.
#include "kernels/signal/signal.h"

#include <array>
#include <string>

#include "kernels/checks.h"
#include "kernels/signal/cpu_table.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/signal/cuda.h"
#endif

namespace weft::kernels {
namespace {

struct Row {
  SignalVariant variant;
  int least_rank, largest_rank;
  VariantInfo info;
};

constexpr std::array<Row, 6> kRows{{
    {SignalVariant::naive,
     1,
     3,
     {.name = "naive",
      .summary = "one thread per output: signal and filter come from memory for every tap",
      .on_cpu = true,
      .on_cuda = true}},
    {SignalVariant::constant_memory,
     1,
     3,
     {.name = "constant_memory",
      .summary = "the filter in constant memory, whose cache hands one value to a whole warp",
      .on_cuda = true,
      .needs = "no overlap of calls on different streams"}},
    {SignalVariant::tiled_halo_internal,
     1,
     1,
     {.name = "tiled_halo_internal",
      .summary = "threads match the output tile: they load it, then its two halos",
      .on_cuda = true,
      .needs = "a signal (rank 1)"}},
    {SignalVariant::tiled_input,
     1,
     1,
     {.name = "tiled_input",
      .summary = "threads match the input tile: one load each, and some compute nothing",
      .on_cuda = true,
      .needs = "a signal (rank 1)"}},
    {SignalVariant::tiled_cached_halo,
     1,
     1,
     {.name = "tiled_cached_halo",
      .summary = "only the tile itself is staged: halos come from memory, by way of the cache",
      .on_cuda = true,
      .needs = "a signal (rank 1)"}},
    {SignalVariant::tiled,
     2,
     3,
     {.name = "tiled",
      .summary = "a tile and its halo in shared memory, four outputs in a thread",
      .on_cuda = true,
      .needs = "an image or a volume (rank 2 or 3)"}},
}};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

std::string describe(const SignalDims& d) {
  return str("signal_convolve (", d.depth, ", ", d.height, ", ", d.width, ") with filter (",
             d.filter_depth, ", ", d.filter_height, ", ", d.filter_width, ")");
}

void check(const SignalDims& d) {
  static_cast<void>(checked_elements(describe(d), {d.depth, d.height, d.width, 4}));
  const std::int64_t largest = kSignalFilter[d.rank()];
  for (const std::int64_t extent : {d.filter_depth, d.filter_height, d.filter_width}) {
    if (extent < 1 || extent > largest) {
      throw Error(ErrorKind::usage, str(describe(d), ": filter extents of rank ", d.rank(),
                                        " lie in [1, ", largest, "], found ", extent));
    }
  }
}

SignalVariant resolved(SignalVariant variant, const SignalDims& dims, Device device) {
  if (variant == SignalVariant::automatic) {
    if (device.is_cpu()) return SignalVariant::naive;
    return dims.rank() == 1 ? SignalVariant::tiled_halo_internal : SignalVariant::tiled;
  }
  for (const Row& row : kRows) {
    if (row.variant != variant) continue;
    if (device.is_cpu() ? !row.info.on_cpu : !row.info.on_cuda) {
      throw Error(ErrorKind::usage,
                  str("signal variant ", row.info.name, " does not run on ", device));
    }
    if (!signal_takes(variant, dims)) {
      throw Error(ErrorKind::usage, str(describe(dims), ": variant ", row.info.name, " needs ",
                                        row.info.needs, ", found rank ", dims.rank()));
    }
    return variant;
  }
  throw Error(ErrorKind::usage, "unknown signal variant");
}

}  // namespace

void signal_convolve(float* y, const float* x, const float* filter, const SignalDims& dims,
                     const SignalOptions& options, const Stream& stream) {
  check(dims);
  const SignalVariant variant = resolved(options.variant, dims, stream.device());
  if (dims.elements() == 0) return;
  if (stream.device().is_cpu()) return select_signal_cpu().convolve(y, x, filter, dims);
#ifdef WEFT_WITH_CUDA
  switch (variant) {
    case SignalVariant::naive:
      return cuda::signal_naive(y, x, filter, dims, stream);
    case SignalVariant::constant_memory:
      return cuda::signal_constant_memory(y, x, filter, dims, stream);
    case SignalVariant::tiled_input:
      return cuda::signal_tiled_input(y, x, filter, dims, stream);
    case SignalVariant::tiled_cached_halo:
      return cuda::signal_tiled_cached_halo(y, x, filter, dims, stream);
    case SignalVariant::tiled:
      return cuda::signal_tiled(y, x, filter, dims, stream);
    default:
      return cuda::signal_tiled_halo_internal(y, x, filter, dims, stream);
  }
#else
  static_cast<void>(variant);
#endif
}

std::span<const VariantInfo> signal_variants() {
  return kInfos;
}

bool signal_takes(SignalVariant variant, const SignalDims& dims) {
  for (const Row& row : kRows) {
    if (row.variant == variant) {
      return dims.rank() >= row.least_rank && dims.rank() <= row.largest_rank;
    }
  }
  return variant == SignalVariant::automatic;
}

SignalVariant parse_signal_variant(std::string_view name) {
  std::string choices = "automatic";
  if (name == choices) return SignalVariant::automatic;
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.variant;
    choices += str(", ", row.info.name);
  }
  throw Error(ErrorKind::usage, str("unknown signal variant '", name, "'; choose from ", choices));
}

}  // namespace weft::kernels
