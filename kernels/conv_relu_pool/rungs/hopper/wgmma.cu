// SPDX-License-Identifier: MIT
// Convolution with ReLU and pooling, rung "wgmma": forward. 3 x 3 kernels with stride 1 under
// windows of 2 x 2. sm_90a.
//
// A block stays on its SM with the weights of 64 filters in shared memory and takes tile after tile
// of 24 x 24 pixels. Each of three warpgroups multiplies a strip of 8 columns:
//
//        64 filters x 9 taps x channels   times   24 rows of 8 pixels
//
// Rows of a strip are one stride apart, so it is one operand with n = 192, and a thread's sums are
// pairs of neighbours in every row: its windows of 2 x 2 are whole in its registers. The map is
// never stored. Reading x and storing y bound it; the producers (image_ring.cuh) keep 24 KiB of x
// in flight and prefetch the next image into L2.
// For fp32 accuracy weights and cells are halves of 16 channels at a time, and three products
// replace one. The tensor core truncates where fp32 rounds, so it sums the products of a group of
// channels, and fp32 additions do the rest. Tiles have 12 rows, as their sums are there twice.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/conv_relu_pool/parts/stem.cuh"
#include "kernels/conv_relu_pool/parts/wgmma.h"
#include "kernels/conv_relu_pool/parts/wgmma_windows.cuh"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace pool_forward;

constexpr int kStrips = 3;
constexpr int kTileColumns = 8 * kStrips, kPitch = kTileColumns + kPoolKernel - 1;
constexpr int kGroupQuads = kPoolTaps * kCellQuads * kTensorRows;  // weights of a group of channels

constexpr int kThreads = (1 + kStrips) * kWarpgroup;

// A tile and its slot.
template <CellType kType>
struct Tile {
  static constexpr int kRows = kType == CellType::halves ? 12 : 24;  // of pixels
  static constexpr int kSlotRows = kRows + kPoolKernel - 1, kPixels = kSlotRows * kPitch;
  static constexpr int kSlotQuads = kCellQuads * kPixels;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <CellType kType>
constexpr int kN = 8 * Tile<kType>::kRows;  // pixels of a strip

// Registers of the threads, 128 on average, and what producers have in flight with them.
constexpr int kConsumerRegisters = 136, kProducerRegisters = 104, kFloatsInFlight = 64;

__device__ __forceinline__ TilePlace place_of(int item, const ForwardPlan& p) {
  return {item, p.by_tile_rows, p.by_tile_columns};
}

// The largest weight of each filter; a barrier must follow.
__device__ __forceinline__ void find_largest_weights(std::uint32_t* largest, const ForwardPlan& p,
                                                     int filter0) {
  const int weights = p.channels * kPoolTaps, filters = p.filters - filter0;
  find_largest_rows<kThreads, kTensorRows>(largest, weights, [&](int row, int i) {
    return row < filters ? __ldg(p.w + std::int64_t{filter0 + row} * weights + i) : 0.0f;
  });
}

// Weights (group, tap, quad, filter) of quads. `largest`: of filters, for halves. Consumers call
// it; neighbours load taps of one filter, which lie in the same sectors.
template <CellType kType>
__device__ __forceinline__ void load_weights(uint4* to, const ForwardPlan& p, int filter0,
                                             const std::uint32_t* largest) {
  constexpr int kChannels = kQuadChannels<kType>, kPlanes = kCellPlanes<kType>;
  const int filter_units = p.groups * kPlanes * kPoolTaps;
  for (int i = threadIdx.x - kWarpgroup; i < kTensorRows * filter_units;
       i += kStrips * kWarpgroup) {
    const int filter = i / filter_units, tap = i % kPoolTaps, quad = i % filter_units / kPoolTaps;
    const int channel = quad * kChannels;
    const float* from =
        p.w + (std::int64_t{filter0 + filter} * p.channels + channel) * kPoolTaps + tap;
    float value[kChannels];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const bool there = filter0 + filter < p.filters && channel + c < p.channels;
      value[c] = there ? __ldg(from + c * kPoolTaps) : 0.0f;
    }
    const int shift = kType == CellType::halves ? device::half_shift(largest[filter]) : 0;
    uint4* group = to + quad / kPlanes * kGroupQuads;
    store_quad<kType, false>(group + (tap * kCellQuads + quad % kPlanes) * kTensorRows + filter,
                             kPlanes * kTensorRows, value, shift);
  }
}

// sum (64, kN) += weights of a group times the strip's cells.
template <CellType kType>
__device__ __forceinline__ void multiply_strip(float (&sum)[kN<kType> / 2], std::uint32_t weights,
                                               std::uint32_t cells, bool accumulate) {
  constexpr int kPlane = 16 * Tile<kType>::kPixels, kRow = 16 * kPitch;
  const std::uint64_t a = device::wgmma_quads_descriptor(weights, 8 * 16, 16 * kTensorRows);
  const std::uint64_t b = device::wgmma_quads_descriptor(cells, kRow, kPlane);
  // Halves: small and big, big and small, big and big. The products with a small part come first,
  // while the sums that the tensor core truncates are small.
  constexpr bool kHalves = kType == CellType::halves;
#pragma unroll
  for (int product = 0; product < (kHalves ? 3 : 2); ++product) {
    const int quad_a = kHalves ? (product == 0 ? 2 : 0) : 2 * product;
    const int quad_b = kHalves ? (product == 1 ? 2 : 0) : 2 * product;
#pragma unroll
    for (int tap = 0; tap < kPoolTaps; ++tap) {
      const std::uint64_t at_a = a + (tap * kCellQuads + quad_a) * kTensorRows;
      const std::uint64_t at_b =
          b + (quad_b * kPlane + tap / kPoolKernel * kRow) / 16 + tap % kPoolKernel;
      const bool add = accumulate || product > 0 || tap > 0;
      if constexpr (kHalves) {
        device::wgmma_fp16<kN<kType>>(sum, at_a, at_b, add);
      } else if constexpr (kType == CellType::bf16) {
        device::wgmma_bf16<kN<kType>, false, false>(sum, at_a, at_b, add);
      } else {
        device::wgmma_tf32<kN<kType>>(sum, at_a, at_b, add);
      }
    }
  }
}

// Takes back the scales of halves: this lane's sums are of two filters.
template <int kSums>
__device__ __forceinline__ void unscale_sums(float (&sum)[kSums], const std::uint32_t* largest,
                                             int shift) {
  const device::HalfScale scale[2] = {device::unscale(shift + device::half_shift(largest[0])),
                                      device::unscale(shift + device::half_shift(largest[8]))};
#pragma unroll
  for (int i = 0; i < kSums; ++i) sum[i] = scale[i / 2 % 2](sum[i]);
}

#endif

template <CellType kType, class Cells>
__global__ void __launch_bounds__(kThreads, 1)
    pool_forward_kernel(ForwardPlan p, typename Cells::Source source) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Tile = Tile<kType>;
  auto* weights = device::dynamic_shared<uint4>();  // (groups, taps, 4, 64)
  uint4* slots = weights + p.groups * kGroupQuads;  // (slots, 4, kPixels)
  __shared__ SlotBarriers barriers, stem_barriers;
  const int filter0 = static_cast<int>(blockIdx.x % p.filter_blocks) * kTensorRows;
  const int first = static_cast<int>(blockIdx.x / p.filter_blocks);
  const int step = static_cast<int>(gridDim.x / p.filter_blocks);
  if (threadIdx.x == 0) {
    SlotRing::prepare(&barriers, p.slots, kWarpgroup, kStrips, kStrips * kWarpgroup);
  }
  constexpr int kGroup = kGroupChannels<kType>;
  Cells cells(source, reinterpret_cast<float*>(slots + p.slots * Tile::kSlotQuads), &stem_barriers,
              0, p.groups * kGroup);
  cells.template prepare<kType, kWarpgroup>();
  __shared__ std::uint32_t largest[kTensorRows];  // of filters
  int shift = 0;                                  // of x
  if constexpr (kType == CellType::halves) {
    shift = device::half_shift(largest_of(p.largest));
    find_largest_weights(largest, p, filter0);
  }
  __syncthreads();  // barriers, cells and largest weights are ready

  SlotRing ring{&barriers, p.slots};
  if (threadIdx.x < kWarpgroup) {
    device::registers_release<kProducerRegisters>();
    cells.start(place_of(first, p).image);
    for (int item = first; item < p.items; item += step) {
      const TilePlace tile = place_of(item, p);
      cells.begin(tile, place_of(item + step, p), item + step < p.items);
      for (int group = 0; group < p.groups; ++group, ring.advance()) {
        ring.wait_empty();
        cells.template load<kType, Tile::kSlotRows, kPitch, kWarpgroup, kFloatsInFlight, 1,
                            kCellPlanes<kType>>(slots + ring.slot * Tile::kSlotQuads,
                                                group * kGroup, tile.row * Tile::kRows - p.pad_h,
                                                tile.column * kTileColumns - p.pad_w, shift);
        ring.fill();
      }
      cells.end();
    }
  } else {
    device::registers_take<kConsumerRegisters>();
    load_weights<kType>(weights, p, filter0, largest);
    device::wgmma_fence_shared();
    ring.meet_consumers();
    const int thread = threadIdx.x % kWarpgroup, strip = warpgroup() - 1;
    const int warp = thread / 32;
    const std::uint32_t weights_at = device::shared_address(weights);
    const std::uint32_t strip_at = device::shared_address(slots) + 16 * 8 * strip;
    for (int item = first; item < p.items; item += step) {
      const TilePlace tile = place_of(item, p);
      float sum[kN<kType> / 2];
      int before = 0;
      for (int group = 0; group < p.groups; ++group, ring.advance()) {
        const std::uint32_t group_at = weights_at + 16 * group * kGroupQuads;
        const std::uint32_t slot_at = strip_at + 16 * ring.slot * Tile::kSlotQuads;
        ring.wait_full();
        device::wgmma_fence();
        if constexpr (kType == CellType::halves) {
          float part[kN<kType> / 2];
          multiply_strip<kType>(part, group_at, slot_at, false);
          device::wgmma_commit();
          device::wgmma_wait<0>();
          if (thread == 0) ring.release(ring.slot);
          device::wgmma_results(part);
#pragma unroll
          for (int i = 0; i < kN<kType> / 2; ++i) sum[i] = group == 0 ? part[i] : sum[i] + part[i];
        } else {
          multiply_strip<kType>(sum, group_at, slot_at, group > 0);
          device::wgmma_commit();
          device::wgmma_wait<1>();  // the products of the slot before are done
          if (group > 0 && thread == 0) ring.release(before);
          before = ring.slot;
        }
      }
      if constexpr (kType == CellType::halves) {
        unscale_sums(sum, largest + 16 * warp + thread % 32 / 4, shift);
      } else {
        device::wgmma_wait<0>();
        if (thread == 0) ring.release(before);
      }
      const int row0 = tile.row * (Tile::kRows / 2), column0 = (tile.column * kStrips + strip) * 4;
      if (p.quads) {
        store_quads(p, sum, tile.image, row0, column0, filter0 + 16 * warp);
      } else {
        store_singly(p, sum, tile.image, row0, column0, filter0 + 16 * warp);
      }
    }
  }
#else
  static_cast<void>(p), static_cast<void>(source);
  __trap();
#endif
}

// How a call is cut; no device needed.
struct ForwardCut {
  std::int64_t rows, columns, items;  // tiles of an image, and of all images
  std::int64_t groups, slots;
  std::int64_t bytes;  // of shared memory: weights of 64 filters, slots, weights of a stem

  template <CellType kType>
  ForwardCut(const ReluPoolDims& dims, bool stem, Tile<kType>)
      : rows(divide_up(2 * dims.rows(), Tile<kType>::kRows)),
        columns(divide_up(2 * dims.columns(), kTileColumns)),
        items(dims.conv.n * rows * columns),
        groups(divide_up(dims.conv.c, kGroupChannels<kType>)) {
    constexpr std::int64_t kSlotBytes = 16 * Tile<kType>::kSlotQuads;
    bytes = 16 * groups * kGroupQuads;
    if (stem) bytes += stem_bytes(dims, groups * kGroupChannels<kType>);
    slots = std::min<std::int64_t>((kBlockSharedBytes - bytes) / kSlotBytes, kMostSlots);
    bytes += slots * kSlotBytes;
  }
  bool fits() const { return slots >= 2 && items < kMostItems; }
};

// Calls `run` with the tile of a mode.
template <class Run>
auto with_tile(ComputeMode mode, const Run& run) {
  return mode == ComputeMode::fp32   ? run(Tile<CellType::halves>())
         : mode == ComputeMode::bf16 ? run(Tile<CellType::bf16>())
                                     : run(Tile<CellType::tf32>());
}

}  // namespace

std::string conv2d_relu_pool_takes_wgmma(const ReluPoolProblem& problem) {
  const auto& [pass, dims, mode, stem] = problem;
  if (!has_wgmma_shape(dims)) {
    return "it takes kernels of 3 x 3 with stride 1 and padding up to 2, under windows of 2 x 2";
  }
  if (stem && mode == ComputeMode::fp32) {
    return "in fp32 it reads x from memory, as it needs the largest of all x first";
  }
  if (stem && !stem_fits(dims)) {
    return "images of a stem have even sides and a multiple of 16 bytes, up to 8 KiB";
  }
  const auto forward_fits = [&](auto tile) { return ForwardCut(dims, stem, tile).fits(); };
  const bool fits = pass == ConvPass::forward         ? with_tile(mode, forward_fits)
                    : pass == ConvPass::backward_data ? wgmma_data_fits(dims, mode)
                                                      : wgmma_weights_fit(dims);
  return fits ? "" : "the weights of all channels and two tiles do not fit in shared memory";
}

void conv2d_relu_pool_forward_wgmma(float* y, std::uint8_t* argmax, const float* x, const float* w,
                                    const float* bias, const ReluPoolDims& dims,
                                    const ReluPoolOptions& options, Workspace workspace,
                                    const Stream& stream) {
  const ConvDims& d = dims.conv;
  ForwardPlan p{};
  p.channels = narrow(d.c);
  p.pad_h = narrow(d.pad_h);
  p.pad_w = narrow(d.pad_w);
  p.w = w;
  p.bias = bias;
  p.y = y;
  p.argmax = argmax;
  p.filters = narrow(d.oc);
  p.filter_blocks = narrow(divide_up(d.oc, kTensorRows));
  p.rows = narrow(dims.rows());
  p.columns = narrow(dims.columns());
  p.quads = reinterpret_cast<std::uintptr_t>(y) % 16 == 0 &&
            reinterpret_cast<std::uintptr_t>(argmax) % 4 == 0 && p.columns % 4 == 0;
  if (options.mode == ComputeMode::fp32) {
    p.largest = find_largest_of(x, d.n * d.c * d.h * d.w, workspace, stream);
  }
  with_tile(options.mode, [&]<CellType kType>(Tile<kType> tile) {
    const bool stem = options.stem.has_value();
    const ForwardCut cut(dims, stem, tile);
    p.groups = narrow(cut.groups);
    p.slots = narrow(cut.slots);
    p.by_tile_columns = FastDivide(cut.columns);
    p.by_tile_rows = FastDivide(cut.rows);
    p.items = narrow(cut.items);
    const std::int64_t processors = device_properties(stream.device()).multiprocessors;
    const auto blocks = std::clamp(processors / p.filter_blocks, std::int64_t{1}, cut.items);
    const Launch config{dim3(static_cast<unsigned>(blocks * p.filter_blocks)), dim3(kThreads),
                        static_cast<std::size_t>(cut.bytes), stream};
    if constexpr (kType != CellType::halves) {
      if (stem) {
        const StemSource source{*options.stem, p.channels, narrow(d.h), narrow(d.w)};
        return launch(pool_forward_kernel<kType, StemCells>, config, p, source);
      }
    }
    const ImageSource source{x, p.channels, narrow(d.h), narrow(d.w)};
    launch(pool_forward_kernel<kType, ImageCells>, config, p, source);
  });
}

}  // namespace weft::kernels::cuda
