// SPDX-License-Identifier: MIT
// Validation, the table of variants and dispatch of the histogram.
#include "kernels/histogram/histogram.h"

#include <omp.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "engine/error.h"
#include "engine/stream.h"
#include "kernels/checks.h"
#include "kernels/choices.h"
#include "kernels/histogram/cpu_table.h"
#ifdef WEFT_WITH_CUDA
#include "kernels/histogram/cuda.h"
#endif

namespace weft::kernels {
namespace {

struct Row {
  HistogramVariant variant;
  VariantInfo info;
};

constexpr std::array<Row, 7> kRows{{
    {HistogramVariant::global_atomics,
     {.name = "global_atomics",
      .summary = "one thread and one atomic in memory per value: the fullest bin sets the time",
      .on_cpu = true,
      .on_cuda = true}},
    {HistogramVariant::privatized,
     {.name = "privatized",
      .summary = "each block counts in shared memory, one value per thread, then adds to memory; "
                 "on the CPU each thread has its own counts",
      .on_cpu = true,
      .on_cuda = true,
      .needs = "bins * 4 bytes in shared memory"}},
    {HistogramVariant::privatized_coarsened,
     {.name = "privatized_coarsened",
      .summary = "blocks that fit the machine loop over many values: private counts are cleared "
                 "and added once per block",
      .on_cuda = true,
      .needs = "bins * 4 bytes in shared memory"}},
    {HistogramVariant::vectorized,
     {.name = "vectorized",
      .summary = "loads of 16 bytes, several in flight: the atomics, not the loads, are the limit",
      .on_cuda = true,
      .needs = "bins * 4 bytes in shared memory"}},
    {HistogramVariant::lane_private,
     {.name = "lane_private",
      .summary = "byte counters that one lane owns in its own bank: no atomics and no conflicts",
      .on_cuda = true,
      .needs = "bytes"}},
    {HistogramVariant::lane_private_atomics,
     {.name = "lane_private_atomics",
      .summary = "a counter per bin and bank, shared by the warps: atomics that never conflict "
                 "and that nothing waits for",
      .on_cuda = true,
      .needs = "bytes"}},
    {HistogramVariant::multi_pass,
     {.name = "multi_pass",
      .summary = "more bins than fit shared memory: rows of blocks count a range of bins each",
      .on_cuda = true}},
}};

constexpr auto kInfos = [] {
  std::array<VariantInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

const VariantInfo& info_of(HistogramVariant variant) {
  for (const auto& [row, info] : kRows) {
    if (row == variant) return info;
  }
  throw Error(ErrorKind::usage, "unknown histogram variant");
}

bool is_lane_private(HistogramVariant variant) {
  return variant == HistogramVariant::lane_private ||
         variant == HistogramVariant::lane_private_atomics;
}

void check_options(const HistogramOptions& options, HistogramVariant variant, bool bytes,
                   Device device) {
  const VariantInfo& info = info_of(variant);
  if (device.is_cpu() ? !info.on_cpu : !info.on_cuda) {
    throw Error(ErrorKind::usage,
                str("histogram variant ", info.name, " does not run on ", device));
  }
  if (is_lane_private(variant) && !bytes) {
    throw Error(ErrorKind::usage, str("histogram variant ", info.name, " counts bytes only"));
  }
  if (options.block == 0) return;
  if (device.is_cpu() || is_lane_private(variant)) {
    throw Error(ErrorKind::usage, str("histogram variant ", info.name, " on ", device,
                                      " takes no block size, found ", options.block));
  }
  if (options.block < 32 || options.block > 1024 || options.block % 32 != 0) {
    throw Error(
        ErrorKind::usage,
        str("histogram: block must be a multiple of 32 from 32 to 1024, found ", options.block));
  }
}

void check_bins(std::int64_t bins) {
  if (bins < 1 || bins > kHistogramMaxBins) {
    throw Error(ErrorKind::usage,
                str("histogram: expected 1 to ", kHistogramMaxBins, " bins, found ", bins));
  }
}

IntegerBinning resolved(const IntegerBins& b) {
  check_bins(b.bins);
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (b.lower < -kLimit || b.upper > kLimit || b.lower >= b.upper) {
    throw Error(ErrorKind::usage, str("histogram: expected -2^31 <= lower < upper <= 2^31, found [",
                                      b.lower, ", ", b.upper, ")"));
  }
  const std::uint64_t range = static_cast<std::uint64_t>(b.upper - b.lower);
  return {static_cast<std::int32_t>(b.bins), b.lower, range,
          (static_cast<std::uint64_t>(b.bins) << 32) / range};
}

EvenBinning<float> resolved(const EvenBins& b) {
  check_bins(b.bins);
  const double width = static_cast<double>(b.upper) - static_cast<double>(b.lower);
  const float scale = static_cast<float>(static_cast<double>(b.bins) / width);
  if (!(b.lower < b.upper) || !std::isfinite(b.upper - b.lower) || !std::isfinite(scale) ||
      scale < std::numeric_limits<float>::min()) {
    throw Error(ErrorKind::usage,
                str("histogram: expected finite lower < upper for ", b.bins,
                    " bins whose width is a float, found [", b.lower, ", ", b.upper, ")"));
  }
  return {static_cast<std::int32_t>(b.bins), b.lower, b.upper, scale};
}

const HistogramCpuOf<ByteBinning>& cpu_kernels(const ByteBinning&) {
  return select_histogram_cpu().bytes;
}
const HistogramCpuOf<IntegerBinning>& cpu_kernels(const IntegerBinning&) {
  return select_histogram_cpu().integers;
}
const HistogramCpuOf<EvenBinning<float>>& cpu_kernels(const EvenBinning<float>&) {
  return select_histogram_cpu().floats;
}

// Threads that count on the CPU: each looks at 64 Ki values or more, and has tables to itself.
int cpu_parts(std::int64_t n) {
  const std::int64_t useful = n / (1 << 16) + 1;
  const int threads = omp_get_max_threads();
  return useful < threads ? static_cast<int>(useful) : threads;
}

// Four tables per thread as long as they fit the L1 cache.
int cpu_tables(std::int64_t bins) {
  return bins <= 1024 ? 4 : 1;
}

std::int64_t cpu_table_bytes(std::int64_t n, std::int64_t bins) {
  return std::int64_t{8} * cpu_parts(n) * cpu_tables(bins) * (bins + 1);
}

constexpr std::int64_t kMaxCpuTableBytes = std::int64_t{1} << 28;

Chosen<HistogramVariant> cpu_variant(std::int64_t n, std::int64_t bins) {
  if (cpu_table_bytes(n, bins) <= kMaxCpuTableBytes) {
    return {HistogramVariant::privatized, "tables for each thread fit in memory"};
  }
  return {HistogramVariant::global_atomics,
          "so many bins that tables for each thread are too large"};
}

template <class Binning>
void run_cpu(HistogramVariant variant, std::int64_t* counts, const typename Binning::Value* x,
             std::int64_t n, const Binning& bins, const Stream& stream) {
  const HistogramCpuOf<Binning>& kernels = cpu_kernels(bins);
  if (variant == HistogramVariant::global_atomics) {
    return kernels.global_atomics(counts, x, n, bins);
  }
  const Buffer tables(static_cast<std::size_t>(cpu_table_bytes(n, bins.bins)), stream);
  kernels.privatized(
      counts, x, n, bins,
      {static_cast<std::int64_t*>(tables.data()), cpu_parts(n), cpu_tables(bins.bins)});
}

#ifdef WEFT_WITH_CUDA

// Below this many bytes, clearing and adding up counters for each lane costs more than collisions
// (measured on an H200, README.md).
constexpr std::int64_t kLanePrivateBytes = std::int64_t{1} << 26;

// Up to four passes over the values cost less than atomics in memory.
Chosen<HistogramVariant> cuda_variant(bool bytes, std::int64_t n, std::int64_t bins,
                                      std::int64_t shared_bytes) {
  if (bytes && n >= kLanePrivateBytes) {
    return {HistogramVariant::lane_private_atomics, "from 2^26 bytes on counters of a lane pay"};
  }
  if (cuda::histogram_fits(bins, shared_bytes)) {
    return {HistogramVariant::vectorized, "the bins fit in shared memory"};
  }
  if (cuda::histogram_fits(bins, 4 * shared_bytes)) {
    return {HistogramVariant::multi_pass, "the bins fit in shared memory in four passes at most"};
  }
  return {HistogramVariant::global_atomics, "so many bins seldom meet in memory"};
}

template <class Binning>
void run_cuda(HistogramVariant variant, std::int64_t* counts, const typename Binning::Value* x,
              std::int64_t n, const Binning& bins, const cuda::HistogramPlan& plan,
              const Stream& stream) {
  if (!cuda::histogram_fits(bins.bins, plan.shared_bytes) &&
      (variant == HistogramVariant::privatized ||
       variant == HistogramVariant::privatized_coarsened ||
       variant == HistogramVariant::vectorized)) {
    throw Error(ErrorKind::usage,
                str("histogram variant ", info_of(variant).name, ": ", bins.bins, " bins need ",
                    std::int64_t{4} * bins.bins, " bytes of shared memory, ", stream.device(),
                    " has ", plan.shared_bytes, "; multi_pass takes any number"));
  }
  zero_bytes(counts, sizeof(std::int64_t) * static_cast<std::size_t>(bins.bins), stream);
  if (n == 0) return;
  switch (variant) {
    case HistogramVariant::global_atomics:
      return cuda::histogram_global_atomics(counts, x, n, bins, plan, stream);
    case HistogramVariant::privatized:
      return cuda::histogram_privatized(counts, x, n, bins, plan, stream);
    case HistogramVariant::privatized_coarsened:
      return cuda::histogram_privatized_coarsened(counts, x, n, bins, plan, stream);
    case HistogramVariant::vectorized:
      return cuda::histogram_vectorized(counts, x, n, bins, plan, stream);
    case HistogramVariant::multi_pass:
      return cuda::histogram_multi_pass(counts, x, n, bins, plan, stream);
    case HistogramVariant::lane_private:
    case HistogramVariant::lane_private_atomics:
    case HistogramVariant::automatic:
      break;
  }
  if constexpr (std::is_same_v<Binning, ByteBinning>) {
    const auto run = variant == HistogramVariant::lane_private
                         ? cuda::histogram_lane_private
                         : cuda::histogram_lane_private_atomics;
    run(counts, x, n, plan, stream);
  }
}

#endif

template <class Binning>
void run(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
         const Binning& bins, const HistogramOptions& options, const Stream& stream) {
  static_cast<void>(checked_elements("histogram", {n}));
  constexpr bool kBytes = std::is_same_v<Binning, ByteBinning>;
  const Device device = stream.device();
  HistogramVariant variant = options.variant;
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    const DeviceProperties& properties = device_properties(device);
    const cuda::HistogramPlan plan{properties.multiprocessors,
                                   static_cast<std::int64_t>(properties.shared_bytes_per_block),
                                   options.block};
    if (variant == HistogramVariant::automatic) {
      // A block size is for the rungs that take one.
      variant = cuda_variant(kBytes && options.block == 0, n, bins.bins, plan.shared_bytes).variant;
    }
    check_options(options, variant, kBytes, device);
    return run_cuda(variant, counts, x, n, bins, plan, stream);
  }
#endif
  if (variant == HistogramVariant::automatic) variant = cpu_variant(n, bins.bins).variant;
  check_options(options, variant, kBytes, device);
  run_cpu(variant, counts, x, n, bins, stream);
}

}  // namespace

void histogram(std::int64_t* counts, const std::uint8_t* x, std::int64_t n,
               const HistogramOptions& options, const Stream& stream) {
  run(counts, x, n, ByteBinning{static_cast<std::int32_t>(kHistogramByteBins)}, options, stream);
}

void histogram(std::int64_t* counts, const std::int32_t* x, std::int64_t n, const IntegerBins& bins,
               const HistogramOptions& options, const Stream& stream) {
  run(counts, x, n, resolved(bins), options, stream);
}

void histogram(std::int64_t* counts, const float* x, std::int64_t n, const EvenBins& bins,
               const HistogramOptions& options, const Stream& stream) {
  run(counts, x, n, resolved(bins), options, stream);
}

Choice histogram_choice(std::int64_t n, Device device) {
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) {
    const auto shared = static_cast<std::int64_t>(device_properties(device).shared_bytes_per_block);
    return named(kRows, cuda_variant(true, n, kHistogramByteBins, shared));
  }
#endif
  static_cast<void>(device);
  return named(kRows, cpu_variant(n, kHistogramByteBins));
}

std::span<const VariantInfo> histogram_variants() {
  return kInfos;
}

HistogramVariant parse_histogram_variant(std::string_view name) {
  if (name == "automatic") return HistogramVariant::automatic;
  std::string choices = "automatic";
  for (const auto& [variant, info] : kRows) {
    if (info.name == name) return variant;
    choices += str(", ", info.name);
  }
  throw Error(ErrorKind::usage, str("unknown histogram variant ", name, "; choose from ", choices));
}

}  // namespace weft::kernels
