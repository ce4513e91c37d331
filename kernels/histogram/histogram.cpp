// SPDX-License-Identifier: MIT
// The table of the rungs of histogram, and the validation and dispatch of a call.
#include "kernels/histogram/histogram.h"

#include <omp.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/error.h"
#include "engine/extent.h"
#include "engine/stream.h"
#include "kernels/checks.h"
#include "kernels/histogram/cpu/table.h"
#include "kernels/histogram/launchers.h"

namespace weft::kernels {
namespace cuda {

struct HistogramRow {
  using Problem = HistogramProblem;

  Rung rung;
  Launcher<HistogramLauncher> launcher = {};
  bool private_counts = false;  // of a block, in shared memory; on a CPU, of a thread
  bool bytes_only = false;      // with blocks of a size of its own
  HistogramAdds adds = HistogramAdds::none;

  constexpr bool complete() const {
    return rung.on_cuda == static_cast<bool>(launcher) &&
           launcher.belongs_to("histogram_", rung.name);
  }
  std::string takes(const HistogramProblem& problem, Device device) const;
};

#define WEFT_HISTOGRAM(name) WEFT_LAUNCHER(HistogramLauncher, name)

constexpr std::string_view kSharedCounts = "bins * 4 bytes in shared memory";

// With more values every thread of the GPU waits for one counter: minutes, and one fact to learn.
constexpr WorkLimit kSlow{.gpu = 3e8}, kSlowest{.gpu = 1e8};

constexpr HistogramRow kHistogramRows[] = {
    {.rung = {.name = "compare_and_swap",
              .summary = "an atomic addition made of atomicCAS: a thread tries until no other came "
                         "between its look and its store",
              .prefer = "to see what an atomic is made of; global_atomics is faster",
              .bench_up_to = kSlowest},
     .launcher = WEFT_HISTOGRAM(histogram_compare_and_swap),
     .adds = HistogramAdds::values_again},
    {.rung = {.name = "global_atomics",
              .summary =
                  "one thread and one atomic in memory per value: the fullest bin sets the time",
              .prefer = "for so many bins that values seldom meet",
              .on_cpu = true,
              .bench_up_to = kSlow},
     .launcher = WEFT_HISTOGRAM(histogram_global_atomics),
     .adds = HistogramAdds::values},
    {.rung = {.name = "privatized",
              .summary = "each block counts in shared memory, one value per thread, then adds to "
                         "memory; on the CPU each thread has its own counts",
              .prefer = "on a CPU, as long as the tables fit in memory",
              .on_cpu = true,
              .needs = kSharedCounts},
     .launcher = WEFT_HISTOGRAM(histogram_privatized),
     .private_counts = true,
     .adds = HistogramAdds::blocks},
    {.rung = {.name = "privatized_coarsened",
              .summary = "blocks that fit the machine loop over many values: private counts are "
                         "cleared and added once per block",
              .prefer = "to see what fewer blocks gain",
              .needs = kSharedCounts},
     .launcher = WEFT_HISTOGRAM(histogram_privatized_coarsened),
     .private_counts = true,
     .adds = HistogramAdds::resident},
    {.rung = {.name = "vectorized",
              .summary =
                  "loads of 16 bytes, several in flight: the atomics, not the loads, are the limit",
              .prefer = "on a GPU, as long as the bins fit in shared memory",
              .needs = kSharedCounts},
     .launcher = WEFT_HISTOGRAM(histogram_vectorized),
     .private_counts = true},
    {.rung = {.name = "lane_private",
              .summary =
                  "byte counters that one lane owns in its own bank: no atomics and no conflicts",
              .prefer = "to see counting without atomics",
              .needs = "bytes"},
     .launcher = WEFT_HISTOGRAM(histogram_lane_private),
     .bytes_only = true},
    {.rung = {.name = "lane_private_atomics",
              .summary = "a counter per bin and bank, shared by the warps: atomics that never "
                         "conflict and that nothing waits for",
              .prefer = "for 2^20 bytes and more",
              .needs = "bytes"},
     .launcher = WEFT_HISTOGRAM(histogram_lane_private_atomics),
     .bytes_only = true},
    {.rung = {.name = "multi_pass",
              .summary = "more bins than fit shared memory: rows of blocks count a range of bins "
                         "each",
              .prefer = "for bins that fit shared memory in two to four passes"},
     .launcher = WEFT_HISTOGRAM(histogram_multi_pass)},
};

#undef WEFT_HISTOGRAM

std::int64_t shared_bytes(Device device) {
  return static_cast<std::int64_t>(device_properties(device).shared_bytes_per_block);
}

std::string HistogramRow::takes(const HistogramProblem& problem, Device device) const {
  if (device.is_cpu()) return "";
  if (bytes_only && !problem.bytes) return "it counts bytes only";
  if (bytes_only && problem.block != 0) {
    return str("it takes no block size, found ", problem.block);
  }
  const std::int64_t needed = 4 * problem.bins, there = shared_bytes(device);
  if (!private_counts || needed <= there) return "";
  return str(problem.bins, " bins need ", needed, " bytes of shared memory, ", device, " has ",
             there);
}

}  // namespace cuda

namespace {

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

// From here on counters of a lane are ahead: 5.0 us and 5.4 of `vectorized` on an H100. With 2^16
// bytes both take 4.5.
constexpr std::int64_t kLanePrivateBytes = std::int64_t{1} << 20;

// Up to four passes over the values cost less than atomics in memory.
Choice automatic(const HistogramProblem& problem, Device device) {
  if (device.is_cpu()) {
    if (cpu_table_bytes(problem.n, problem.bins) <= kMaxCpuTableBytes) {
      return {"privatized", "tables for each thread fit in memory"};
    }
    return {"global_atomics", "so many bins that tables for each thread are too large"};
  }
  // A block size is for the rungs that take one.
  if (problem.bytes && problem.block == 0 && problem.n >= kLanePrivateBytes) {
    return {"lane_private_atomics", "from 2^20 bytes on counters of a lane pay"};
  }
  const std::int64_t passes = divide_up(4 * problem.bins, cuda::shared_bytes(device));
  if (passes == 1) return {"vectorized", "the bins fit in shared memory"};
  if (passes <= 4) return {"multi_pass", "the bins fit in shared memory in four passes at most"};
  return {"global_atomics", "so many bins seldom meet in memory"};
}

constexpr Ladder kLadder("histogram", cuda::kHistogramRows, automatic);

void check_block(int block, Device device) {
  if (block == 0) return;
  if (device.is_cpu()) {
    throw Error(ErrorKind::usage,
                str("histogram on ", device, " takes no block size, found ", block));
  }
  if (block < 32 || block > 1024 || block % 32 != 0) {
    throw Error(ErrorKind::usage,
                str("histogram: block must be a multiple of 32 from 32 to 1024, found ", block));
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

// The last bin is clamped, so a closed one only needs another limit.
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
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float end = b.closed ? std::nextafter(b.upper, kInfinity) : b.upper;
  return {static_cast<std::int32_t>(b.bins), b.lower, end, scale};
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

void run_on_cpu(const HistogramCall& call, bool private_counts, const Stream& stream) {
  with_bins(call, [&](const auto& bins, const auto* x) {
    const auto& kernels = cpu_kernels(bins);
    if (!private_counts) return kernels.global_atomics(call.counts, x, call.n, bins);
    const Buffer tables(static_cast<std::size_t>(cpu_table_bytes(call.n, bins.bins)), stream);
    kernels.privatized(
        call.counts, x, call.n, bins,
        {static_cast<std::int64_t*>(tables.data()), cpu_parts(call.n), cpu_tables(bins.bins)});
  });
}

void run(HistogramCall call, std::int64_t bins, const HistogramOptions& options,
         const Stream& stream) {
  static_cast<void>(checked_elements("histogram", {call.n}));
  const Device device = stream.device();
  check_block(options.block, device);
  const bool bytes = std::holds_alternative<ByteBinning>(call.bins);
  const cuda::HistogramRow& row =
      kLadder.select(options.variant, {call.n, bins, bytes, options.block}, device);
  with_bins(call, [&](const auto&, const auto* x) {
    check_call("histogram", stream, {writes("counts", call.counts, bins), reads("x", x, call.n)});
  });
  if (device.is_cpu()) return run_on_cpu(call, row.private_counts, stream);
  zero_bytes(call.counts, sizeof(std::int64_t) * static_cast<std::size_t>(bins), stream);
  if (call.n == 0) return;
  call.block = options.block;
  call.multiprocessors = device_properties(device).multiprocessors;
  call.shared_bytes = cuda::shared_bytes(device);
  row.launcher.run(call, stream);
}

}  // namespace

void histogram(std::int64_t* counts, const std::uint8_t* x, std::int64_t n,
               const HistogramOptions& options, const Stream& stream) {
  const ByteBinning bins{static_cast<std::int32_t>(kHistogramByteBins)};
  run({counts, x, n, bins}, kHistogramByteBins, options, stream);
}

void histogram(std::int64_t* counts, const std::int32_t* x, std::int64_t n, const IntegerBins& bins,
               const HistogramOptions& options, const Stream& stream) {
  run({counts, x, n, resolved(bins)}, bins.bins, options, stream);
}

void histogram(std::int64_t* counts, const float* x, std::int64_t n, const EvenBins& bins,
               const HistogramOptions& options, const Stream& stream) {
  run({counts, x, n, resolved(bins)}, bins.bins, options, stream);
}

HistogramAdds histogram_adds(std::string_view rung) {
  return kLadder.of(rung, &cuda::HistogramRow::adds);
}

Rungs histogram_rungs() {
  return kLadder.rungs();
}

bool histogram_takes(std::string_view variant, const HistogramProblem& problem, Device device) {
  return kLadder.takes(variant, problem, device);
}

Choice histogram_choice(const HistogramProblem& problem, Device device) {
  return kLadder.choose(problem, device);
}

}  // namespace weft::kernels
