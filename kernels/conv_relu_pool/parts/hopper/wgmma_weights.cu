// SPDX-License-Identifier: MIT
// Convolution with ReLU and pooling, rung "wgmma": the weight and bias gradients.
// 3 x 3 kernels with stride 1 under windows of 2 x 2. sm_90a.
//
// The sum runs along the pixels. A block owns 64 filters and 32 channels and takes tile after tile;
// each of three warpgroups has the sums of the taps of one row of the kernel, 48 registers:
//
//        dz (64 filters, 16 pixels)   times   x (16 pixels, 32 channels), shifted by each tap
//
// The 16 pixels are two rows of 8: four windows. In a fragment of dz a thread has the upper two
// pixels of a window in one word and the lower two in another. So it makes its fragments from one
// word per window, which says dy and which of the four pixels has it, and dz is stored nowhere. The
// cells of x are the operand of every tap as they lie; the tensor core transposes them.
//
// tf32 needs more bits than bf16 has, and wgmma cannot transpose it. In that mode each operand is a
// sum of two in bf16, and the three larger of their four products count. In fp32 the two are halves
// (device/halves.cuh). The tensor core truncates where fp32 rounds, so it sums a tile at a time,
// and fp32 additions do the rest.
//
// Producers add up dy for the bias, in fp32. Blocks' sums are rows of partial sums
// (weight_gradient_sums.cu adds those).
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv_relu_pool/parts/stem.cuh"
#include "kernels/conv_relu_pool/parts/wgmma_weights.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace pool_weights;

constexpr std::int64_t kProcessors = 132;  // of the GPU that rows of partial sums are cut for

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// A consuming warpgroup: the sums of the taps of row r, over all tiles of the block, end in `sums`,
// (64, kRowPitch), which lie where the slots were.
template <class Tile>
__device__ __forceinline__ void consume(const WeightsPlan& p, SlotRing ring, const uint4* slots,
                                        int chunk, int step, int r, float* sums, int shift) {
  const int thread = threadIdx.x % kWarpgroup, lane = thread % 32;
  const int row = thread / 32 * 16 + lane / 4, member = lane % 4;
  float sum[kPoolKernel][kSums] = {};
  for (int item = chunk; item < p.items; item += step, ring.advance()) {
    const uint4* slot = slots + ring.slot * Tile::kSlotQuads;
    const auto* words = reinterpret_cast<const std::uint32_t*>(slot + Tile::kCellsQuads) +
                        row * Tile::kFilterWords + member;
    const auto* indices =
        reinterpret_cast<const unsigned char*>(slot + Tile::kCellsQuads + Tile::kWordQuads) +
        row * Tile::kIndexPitch + member;
    const std::uint32_t cells = device::shared_address(slot + r * kPitch);
    // The fragments are in use until products end. Meanwhile the other warpgroups make theirs.
    const auto multiply_tile = [&](float(&to)[kPoolKernel][kSums], bool accumulate) {
#pragma unroll 1
      for (int u = 0; u < Tile::kRows; ++u) {
#pragma unroll 1
        for (int v = 0; v < kColumns; v += Tile::kFragments * kQuadWindows, accumulate = true) {
          multiply_windows<Tile>(to, words + u * kColumns + v, indices + u * kColumns + v,
                                 cells + 16 * (2 * u * kPitch + 2 * v), accumulate);
        }
      }
      ring.release(ring.slot);  // every thread speaks for itself: it has read words of the slot
#pragma unroll
      for (float(&of_tap)[kSums] : to) device::wgmma_results(of_tap);
    };
    ring.wait_full();
    if constexpr (Tile::kHalves) {
      float part[kPoolKernel][kSums];
      multiply_tile(part, false);
#pragma unroll
      for (int s = 0; s < kPoolKernel; ++s) {
#pragma unroll
        for (int e = 0; e < kSums; ++e) sum[s][e] += part[s][e];
      }
    } else {
      multiply_tile(sum, true);
    }
  }
  ring.meet_consumers();  // all slots are drained
  const device::HalfScale scale = device::unscale(shift);
  // Sum e of a tap is of filter 16 warp + group + 8 (e / 2 % 2) and channel 8 (e / 4) + ...
  float* to = sums + row * kRowPitch + 2 * member * kPoolTaps + r * kPoolKernel;
#pragma unroll
  for (int s = 0; s < kPoolKernel; ++s) {
#pragma unroll
    for (int e = 0; e < kSums; ++e) {
      const int at = e / 2 % 2 * 8 * kRowPitch + (e / 4 * 8 + e % 2) * kPoolTaps + s;
      to[at] = Tile::kHalves ? scale(sum[s][e]) : sum[s][e];
    }
  }
}

#endif

template <class Tile, class Cells>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    pool_weights_kernel(WeightsPlan p, typename Cells::Source source) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  auto* bias = device::dynamic_shared<float>();  // (64, windows of a tile / 4)
  // (slots, cells then words), which the sums replace at the end
  auto* slots = reinterpret_cast<uint4*>(bias + Tile::kLoads);
  auto* sums = reinterpret_cast<float*>(slots);  // (64, kRowPitch)
  __shared__ SlotBarriers barriers, stem_barriers;
  const int filter0 = static_cast<int>(blockIdx.x % p.filter_blocks) * kTensorRows;
  const int channel_block = static_cast<int>(blockIdx.x / p.filter_blocks % p.channel_blocks);
  const int blocks = p.filter_blocks * p.channel_blocks;
  const int chunk = static_cast<int>(blockIdx.x) / blocks;
  const int step = static_cast<int>(gridDim.x) / blocks;
  const int channel0 = channel_block * kChannels;
  if (threadIdx.x == 0) {
    constexpr int kConsuming = kConsumers * kWarpgroup;
    SlotRing::prepare(&barriers, p.slots, Tile::kProducers, kConsuming, kConsuming);
  }
  Cells cells(source, reinterpret_cast<float*>(slots + p.slots * Tile::kSlotQuads), &stem_barriers,
              channel0, kChannels);
  cells.template prepare<Tile::kType, Tile::kProducers>();
  __syncthreads();  // barriers and cells are ready
  int shift_dy = 0, shift_x = 0;
  if constexpr (Tile::kHalves) {
    shift_dy = device::half_shift(largest_of(p.largest_dy));
    shift_x = device::half_shift(largest_of(p.largest_x));
  }

  SlotRing ring{&barriers, p.slots};
  if (threadIdx.x < Tile::kProducers) {
    device::registers_release<Registers<Tile>::kProducer>();
    const device::HalfScale scale(shift_dy);
    for (int i = threadIdx.x; i < Tile::kLoads; i += Tile::kProducers) bias[i] = 0;
    cells.start(place_of(chunk, p).image);
    for (int item = chunk; item < p.items; item += step, ring.advance()) {
      const TilePlace tile = place_of(item, p), next = place_of(item + step, p);
      const bool more = item + step < p.items;
      if (threadIdx.x == 0 && more && next.is_first()) {
        const std::int64_t windows = std::int64_t{p.filters} * p.rows * p.columns;
        device::prefetch(p.dy + next.image * windows, windows);
        device::prefetch(p.argmax + next.image * windows, windows);
      }
      const int u0 = tile.row * Tile::kRows, v0 = tile.column * kColumns;
      uint4* slot = slots + ring.slot * Tile::kSlotQuads;
      cells.begin(tile, next, more);
      ring.wait_empty();
      load_windows<Tile>(slot + Tile::kCellsQuads, bias, p, tile.image, filter0, u0, v0, scale);
      cells.template load<Tile::kType, Tile::kPixelRows, kPitch, Tile::kProducers,
                          Registers<Tile>::kFloatsInFlight, Tile::kParts, kCellQuads>(
          slot, channel0, 2 * u0 - p.pad_h, 2 * v0 - p.pad_w, shift_x);
      ring.fill();
      cells.end();
    }
  } else {
    device::registers_take<Registers<Tile>::kConsumer>();
    const int r = warpgroup() - Tile::kProducers / kWarpgroup;
    consume<Tile>(p, ring, slots, chunk, step, r, sums, shift_dy + shift_x);
  }
  __syncthreads();  // all sums are there
  float* partial = p.partials + chunk * p.partial_row;
  const int filters = min(p.filters - filter0, kTensorRows);
  const int floats = min(p.channels - channel0, kChannels) * kPoolTaps;
  for (int i = threadIdx.x; i < filters * kRowFloats; i += Tile::kThreads) {
    const int filter = i / kRowFloats, at = i % kRowFloats;
    if (at >= floats) continue;
    partial[(std::int64_t{filter0 + filter} * p.channels + channel0) * kPoolTaps + at] =
        sums[filter * kRowPitch + at];
  }
  if (channel_block == 0 && static_cast<int>(threadIdx.x) < filters) {
    constexpr int kParts = Tile::kRows * kColumns / kQuadWindows;  // of a filter's sum
    float total = 0;
    for (int i = 0; i < kParts; ++i) total += bias[threadIdx.x * kParts + i];
    partial[std::int64_t{p.filters} * p.channels * kPoolTaps + filter0 + threadIdx.x] = total;
  }
#else
  static_cast<void>(p), static_cast<void>(source);
  __trap();
#endif
}

// How a call is cut; no device needed.
template <class Tile>
struct WeightsCut {
  std::int64_t tile_rows, tile_columns, items, filter_blocks, channel_blocks, chunks, row;

  explicit WeightsCut(const ReluPoolDims& dims)
      : tile_rows(divide_up(dims.rows(), Tile::kRows)),
        tile_columns(divide_up(dims.columns(), kColumns)),
        items(dims.conv.n * tile_rows * tile_columns),
        filter_blocks(divide_up(dims.conv.oc, kTensorRows)),
        channel_blocks(divide_up(dims.conv.c, kChannels)),
        chunks(std::clamp(kProcessors / (filter_blocks * channel_blocks), std::int64_t{1}, items)),
        row(dims.conv.oc * (dims.conv.c * kPoolTaps + 1)) {}
};

template <class Tile, class Cells>
std::int64_t launch_weights(WeightsPlan p, const typename Cells::Source& source,
                            const ReluPoolDims& dims, const Stream& stream) {
  const WeightsCut<Tile> cut(dims);
  constexpr std::int64_t kSlotBytes = 16 * Tile::kSlotQuads;
  constexpr std::int64_t kBiasBytes = 4 * Tile::kLoads;
  constexpr bool kStem = std::is_same_v<Cells, StemCells>;
  constexpr std::int64_t kMostOfStem =
      kStem ? kStemImages * kMostStemBytes + 4 * kChannels * kStemFloats + kStemSlack : 0;
  constexpr std::int64_t kSlots = (kBlockSharedBytes - kBiasBytes - kMostOfStem) / kSlotBytes;
  const std::int64_t of_stem = kStem ? stem_bytes(dims, kChannels) : 0;
  static_assert(kSlots >= 2 && kSlots <= kMostSlots);
  static_assert(4 * kTensorRows * kRowPitch <= kSlots * kSlotBytes, "the sums fit");
  p.slots = static_cast<int>(kSlots);
  p.filter_blocks = static_cast<int>(cut.filter_blocks);
  p.channel_blocks = static_cast<int>(cut.channel_blocks);
  p.by_tile_columns = FastDivide(cut.tile_columns);
  p.by_tile_rows = FastDivide(cut.tile_rows);
  p.items = static_cast<int>(cut.items);
  p.partial_row = cut.row;
  const Launch config{
      dim3(static_cast<unsigned>(cut.chunks * cut.filter_blocks * cut.channel_blocks)),
      dim3(Tile::kThreads), static_cast<std::size_t>(kBiasBytes + kSlots * kSlotBytes + of_stem),
      stream};
  launch(pool_weights_kernel<Tile, Cells>, config, p, source);
  return cut.chunks;
}

// Calls `run` with the tile of a mode.
template <class Run>
auto with_tile(ComputeMode mode, const Run& run) {
  return mode == ComputeMode::fp32   ? run(WeightsTile<ComputeMode::fp32>())
         : mode == ComputeMode::tf32 ? run(WeightsTile<ComputeMode::tf32>())
                                     : run(WeightsTile<ComputeMode::bf16>());
}

constexpr std::int64_t kLargestBytes = sizeof(std::uint32_t) * kLargestParts;  // of dy, or of x

}  // namespace

bool wgmma_weights_fit(const ReluPoolDims& dims) {
  return WeightsCut<WeightsTile<ComputeMode::fp32>>(dims).items < kMostItems;
}

std::size_t conv2d_relu_pool_workspace_wgmma(const ReluPoolProblem& problem) {
  const bool halves = problem.mode == ComputeMode::fp32;
  if (problem.stem && problem.pass == ConvPass::backward_data) {
    return wgmma_stem_bytes(problem.dims, problem.mode);
  }
  if (problem.pass != ConvPass::backward_weights) return halves ? kLargestBytes : 0;
  return with_tile(problem.mode, [&]<class Tile>(Tile) {
    const WeightsCut<Tile> cut(problem.dims);
    return static_cast<std::size_t>(cut.chunks * cut.row) * sizeof(float) +
           (halves ? 2 * kLargestBytes : 0);
  });
}

void conv2d_relu_pool_backward_weights_wgmma(float* dw, float* db, const float* dy,
                                             const std::uint8_t* argmax, const float* x,
                                             const ReluPoolDims& dims, GradientMode gradient,
                                             const ReluPoolOptions& options, Workspace workspace,
                                             const Stream& stream) {
  const ConvDims& d = dims.conv;
  WeightsPlan p{};
  p.channels = narrow(d.c);
  p.pad_h = narrow(d.pad_h);
  p.pad_w = narrow(d.pad_w);
  p.dy = dy;
  p.argmax = argmax;
  p.partials = static_cast<float*>(workspace.data);
  if (options.mode == ComputeMode::fp32) {
    auto* largest = static_cast<std::uint32_t*>(workspace.data);
    p.largest_dy = largest;
    p.largest_x = largest + kLargestParts;
    p.partials += 2 * kLargestParts;
    find_largest({largest, dy, d.n * d.oc * dims.rows() * dims.columns()},
                 {largest + kLargestParts, x, d.n * d.c * d.h * d.w}, {}, stream);
  }
  p.filters = narrow(d.oc);
  p.rows = narrow(dims.rows());
  p.columns = narrow(dims.columns());
  p.vector = reinterpret_cast<std::uintptr_t>(dy) % 16 == 0 &&
             reinterpret_cast<std::uintptr_t>(argmax) % 4 == 0 && p.columns % kQuadWindows == 0;
  const std::int64_t chunks = with_tile(options.mode, [&]<class Tile>(Tile) {
    if constexpr (!Tile::kHalves) {
      if (options.stem) {
        const StemSource source{*options.stem, p.channels, narrow(d.h), narrow(d.w)};
        return launch_weights<Tile, StemCells>(p, source, dims, stream);
      }
    }
    const ImageSource source{x, p.channels, narrow(d.h), narrow(d.w)};
    return launch_weights<Tile, ImageCells>(p, source, dims, stream);
  });
  const std::int64_t weights = d.oc * d.c * kPoolTaps;
  sum_partials(dw, weights, db, db != nullptr ? d.oc : 0, p.partials, chunks, weights + d.oc,
               gradient, stream);
}

}  // namespace weft::kernels::cuda
