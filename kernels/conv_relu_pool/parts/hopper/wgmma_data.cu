// SPDX-License-Identifier: MIT
// Convolution with ReLU and pooling, rung "wgmma": the data gradient. 3 x 3 kernels with
// stride 1 under windows of 2 x 2. sm_90a.
//
// The correlation of dz with the kernels turned around. dz is never stored: the producers make its
// cells from dy and the bytes of argmax. A tile is some rows of an image, its pixels in one row as
// they lie in the slot, border included; each of three warpgroups multiplies
//
//        64 channels x 9 taps x filters   times   128 pixels
//
// and drops what fell on the border. With 32 channels or fewer, half of those 64 rows would be
// idle. Then they are 32 channels of two rows of pixels, 2 u and 2 u + 1, whose windows together
// have 4 x 3 taps. Three of four products count instead of every second one. The slot keeps even
// and odd rows of dz apart, so that the pixels of rows 2 u are neighbours:
//
//     rows 0, 2, 4 ...   tap rows 0 and 2    channel c of row 2 u       weights of taps 0 1 2 -
//     rows 1, 3, 5 ...   tap rows 1 and 3    channel c of row 2 u + 1   weights of taps - 0 1 2
//
// For fp32 accuracy the 64 rows are the big and the small parts of the weights of 32 channels. A
// thread has the sums of both parts of a channel. Both parts meet the big part of dz, and then the
// small one, so two products do the work of three. The sums of small parts are apart from the
// others, so small weights may be stored 2^11 times too large (device/halves.cuh).
//
// With a stem the sums are not stored, but give its gradient (stem_gradient.cuh).
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv_relu_pool/parts/stem_gradient.cuh"
#include "kernels/conv_relu_pool/parts/wgmma_data.cuh"
#include "kernels/conv_relu_pool/parts/wgmma_data_cells.cuh"
#include "kernels/conv_relu_pool/parts/wgmma_data_weights.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace pool_data;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// sum (64, kN) += weights of a group times the cells from a pixel on.
template <CellType kType, bool kPaired>
__device__ __forceinline__ void multiply_pixels(float (&sum)[kN / 2], const DataPlan& p,
                                                std::uint32_t weights, std::uint32_t cells,
                                                bool accumulate) {
  constexpr int kTaps = (kPoolKernel + kPaired) * kPoolKernel;
  const std::uint64_t a = device::wgmma_quads_descriptor(weights, 8 * 16, p.row_bytes);
  const std::uint64_t b = device::wgmma_quads_descriptor(cells, 8 * 16, 16 * p.plane);
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    const int r = tap / kPoolKernel, s = tap % kPoolKernel;
    const int line = kPaired ? r / 2 * p.pitch + r % 2 * p.parity : r * p.pitch;
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // of the cell: values, or the parts of halves
      const int quad = 2 * half;
      const int quad_a =
          kType == CellType::halves ? tap * kCellPlanes<kType> : tap * kCellQuads + quad;
      const std::uint64_t at_a = a + quad_a * (p.row_bytes / 16);
      const std::uint64_t at_b = b + (quad * p.plane + line + s);
      const bool add = accumulate || tap > 0 || half > 0;
      if constexpr (kType == CellType::halves) {
        device::wgmma_fp16<kN>(sum, at_a, at_b, add);
      } else if constexpr (kType == CellType::bf16) {
        device::wgmma_bf16<kN, false, false>(sum, at_a, at_b, add);
      } else {
        device::wgmma_tf32<kN>(sum, at_a, at_b, add);
      }
    }
  }
}

// In place of StemSums where there is no stem.
struct Nothing {
  __device__ Nothing(const StemSource&, int) {}
};

// What the threads of a block share: memory, and items first, first + step, ... with the channels
// from channel0 on.
struct DataBlock {
  char* weights;  // (groups, taps, 4, rows) quads
  uint4* slots;   // (slots, 4, plane)
  float* staged;  // of the consumers' sums
  const int* places;
  const std::uint32_t* largest;                  // of channels' weights
  int slot_quads, channel0, first, step, shift;  // shift: of dy
};

// The producers make cells of all groups of filters for each item.
template <CellType kType, bool kPaired, bool kStem>
__device__ __forceinline__ void produce(const DataBlock& block, SlotRing& ring, StemImages& images,
                                        const DataPlan& p, const StemPlan& stem) {
  for (int item = block.first; item < p.items; item += block.step) {
    int tile = 0, next_tile = 0;
    const int image = p.by_tiles.divide(item, tile);
    const int next = p.by_tiles.divide(item + block.step, next_tile);
    if (threadIdx.x == 0) {
      prefetch(p, image, tile, item + block.step < p.items ? next : -1, next_tile);
      if (kStem) stem.source.prefetch(image);
    }
    for (int group = 0; group < p.groups; ++group, ring.advance()) {
      uint4* slot = block.slots + ring.slot * block.slot_quads;
      const int filter0 = group * kGroupChannels<kType>;
      ring.wait_empty();
      if (p.whole) {
        load_whole_gradient<kType, kPaired>(slot, p, image, filter0, block.shift);
      } else {
        load_gradient<kType, kPaired>(slot, p, image, filter0, tile * p.tile_rows - p.top,
                                      block.shift);
      }
      ring.fill();
    }
    // Behind the cells, as it waits for the image before the last.
    if (kStem && threadIdx.x == 0) images.copy(image);
    __syncwarp();
  }
}

// Starts the products of an item, sum (64, kN) of all groups of filters. The last slot is still
// read when it returns: it is returned, to be released.
template <CellType kType, bool kPaired>
__device__ __forceinline__ int multiply_groups(float (&sum)[kN / 2], const DataBlock& block,
                                               SlotRing& ring, const DataPlan& p, int pixel0) {
  const std::uint32_t weights_at = device::shared_address(block.weights);
  const std::uint32_t cells_at = device::shared_address(block.slots) + 16 * pixel0;
  int before = 0;
  for (int group = 0; group < p.groups; ++group, ring.advance()) {
    ring.wait_full();
    device::wgmma_fence();
    multiply_pixels<kType, kPaired>(sum, p, weights_at + group * p.group_bytes,
                                    cells_at + 16 * ring.slot * block.slot_quads, group > 0);
    device::wgmma_commit();
    device::wgmma_wait<1>();  // the products of the slot before are done
    if (group > 0 && threadIdx.x % kWarpgroup == 0) ring.release(before);
    before = ring.slot;
  }
  return before;
}

// A consuming warpgroup multiplies the pixels of each item from pixel0 on, and stores dx or adds to
// the stem's gradient.
template <CellType kType, bool kPaired, bool kStem>
__device__ __forceinline__ void consume(const DataBlock& block, SlotRing& ring, StemImages& images,
                                        const DataPlan& p, const StemPlan& stem) {
  constexpr bool kHalves = kType == CellType::halves;
  const int thread = threadIdx.x % kWarpgroup;
  const int pixel0 = kN * (warpgroup() - kProducers / kWarpgroup);
  float* of_warp = block.staged + (kStem ? kStemWarpFloats : kStagedFloats) *
                                      (static_cast<int>(threadIdx.x - kProducers) / 32);
  std::conditional_t<kStem, StemSums<kPaired>, Nothing> of_stem(stem.source, block.channel0);
  for (int item = block.first; item < p.items; item += block.step) {
    int tile = 0;
    const int image = p.by_tiles.divide(item, tile);
    float sum[kN / 2];
    const int last = multiply_groups<kType, kPaired>(sum, block, ring, p, pixel0);
    const int row0 = tile * p.tile_rows;
    if constexpr (kStem) {
      device::wgmma_wait<0>();
      if (thread == 0) ring.release(last);
      device::wgmma_results(sum);
      of_stem.add(sum, p, stem.source, images.next(), block.places + pixel0, row0);
      images.done();
    } else {
      const Place<kPaired, kHalves> place(p, block.places, image, row0, pixel0, block.channel0);
      device::wgmma_wait<0>();
      if (thread == 0) ring.release(last);
      if constexpr (kHalves) {
        device::wgmma_results(sum);
        const int channel = thread / 32 * 8 + thread % 32 / 4;
        join_parts(sum, block.shift + device::half_shift(block.largest[channel]));
      }
      if (p.pairs) {
        place.template store<true>(sum, of_warp);
      } else {
        place.template store<false>(sum, of_warp);
      }
    }
  }
  if constexpr (kStem) of_stem.store(of_warp);
}

#endif

template <CellType kType, bool kPaired, bool kStem = false>
__global__ void __launch_bounds__(kThreads, 1) pool_data_kernel(DataPlan p, StemPlan stem) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  auto* weights = device::dynamic_shared<char>();
  auto* slots = reinterpret_cast<uint4*>(weights + p.groups * p.group_bytes);
  __shared__ SlotBarriers barriers, stem_barriers;
  constexpr bool kHalves = kType == CellType::halves;
  const int channel0 =
      static_cast<int>(blockIdx.x % p.row_blocks) * (kHalves ? kHalvesChannels : kTensorRows);
  const int first = static_cast<int>(blockIdx.x / p.row_blocks);
  const int step = static_cast<int>(gridDim.x / p.row_blocks);
  if (threadIdx.x == 0) {
    SlotRing::prepare(&barriers, p.slots, kProducers, kConsumers, kConsumers * kWarpgroup);
    if (kStem) StemImages::prepare(&stem_barriers, kConsumers * kWarpgroup);
  }
  __shared__ std::uint32_t largest[kHalvesChannels];
  int shift = 0;
  alignas(8) __shared__ int places[kTilePixels];
  find_places<kPaired>(places, p, kStem ? stem.source.image_width() : p.width);
  if constexpr (kHalves) {
    shift = device::half_shift(largest_of(p.largest));
    find_largest_weights(largest, p, channel0);
  }
  const int slot_quads = kCellQuads * p.plane;
  if (p.whole) {
    for (int i = threadIdx.x; i < p.slots * slot_quads; i += kThreads) slots[i] = uint4{};
    device::wgmma_fence_shared();
  }
  __syncthreads();  // barriers, places, largest weights and zeros are ready

  SlotRing ring{&barriers, p.slots};
  float* staged = reinterpret_cast<float*>(slots + p.slots * slot_quads);
  StemImages images(stem.source, staged + kStemStagedFloats, &stem_barriers);
  const DataBlock block{weights,    slots,    staged, places, largest,
                        slot_quads, channel0, first,  step,   shift};
  if (threadIdx.x < kProducers) {
    if constexpr (kStem) device::registers_release<kStemProducer>();
    produce<kType, kPaired, kStem>(block, ring, images, p, stem);
  } else {
    if constexpr (kStem) device::registers_take<kStemConsumer>();
    if constexpr (kHalves) {
      load_half_weights(weights, p, channel0, largest);
    } else {
      load_weights<kType, kPaired>(weights, p, channel0);
    }
    device::wgmma_fence_shared();
    ring.meet_consumers();
    consume<kType, kPaired, kStem>(block, ring, images, p, stem);
  }
  if constexpr (kStem) {
    __syncthreads();  // the sums of all warps are there
    StemSums<kPaired>::store_partials(staged, stem, first, channel0);
  }
#else
  static_cast<void>(p), static_cast<void>(stem);
  __trap();
#endif
}

// Does a window begin at every even number from `first` on?
bool starts_windows(std::int64_t first, std::int64_t step) {
  return first % 2 == 0 && step % 2 == 0;
}

bool is_paired(const ReluPoolDims& dims, ComputeMode mode) {
  return mode == ComputeMode::bf16 && dims.conv.c <= kTensorRows / 2;
}

// slots == 0 where the shape does not fit.
DataPlan make_plan(const ReluPoolDims& dims, ComputeMode mode) {
  const ConvDims& d = dims.conv;
  const bool paired = is_paired(dims, mode), halves = mode == ComputeMode::fp32;
  const std::int64_t lines = paired ? divide_up(d.h, 2) : d.h;  // of pixels or of pairs
  const std::int64_t pitch = round_up(d.w + kSpan, 2);
  DataPlan p{};
  const std::int64_t most = kTilePixels / pitch;
  if (most == 0) return p;
  const std::int64_t tile_lines = divide_up(lines, divide_up(lines, most));
  p.filters = narrow(d.oc);
  p.rows = narrow(dims.rows());
  p.columns = narrow(dims.columns());
  p.channels = narrow(d.c);
  p.height = narrow(d.h);
  p.width = narrow(d.w);
  p.top = narrow(kSpan - d.pad_h);
  p.left = narrow(kSpan - d.pad_w);
  p.groups = narrow(divide_up(d.oc, group_channels(pool_cell_type(mode))));
  p.row_blocks = narrow(divide_up(d.c, halves ? kHalvesChannels : kTensorRows));
  const std::int64_t weight_rows =
      paired || halves ? kTensorRows : std::min<std::int64_t>(round_up(d.c, 8), kTensorRows);
  const int quads = halves ? kCellPlanes<CellType::halves> : kCellQuads;  // of weights
  p.row_bytes = narrow(16 * weight_rows);
  p.group_bytes = (kPoolKernel + paired) * kPoolKernel * quads * p.row_bytes;
  p.tile_rows = narrow(paired ? 2 * tile_lines : tile_lines);
  p.slot_rows = p.tile_rows + kSpan;
  p.pitch = narrow(pitch);
  p.parity = paired ? p.slot_rows / 2 * p.pitch : 0;
  // The last warpgroup reads beyond the last pixel, for sums that are dropped.
  p.plane = p.parity + (paired ? 1 : kSpan) * p.pitch + kSpan + kTilePixels;
  const std::int64_t tiles = divide_up(d.h, p.tile_rows);
  const int window_rows =
      starts_windows(p.top, p.tile_rows) ? (p.slot_rows + 1) / 2 : p.slot_rows / 2 + 1;
  const int window_columns = starts_windows(p.left, 2) ? p.pitch / 2 : p.pitch / 2 + 1;
  p.by_windows = FastDivide(window_rows * window_columns);
  p.by_window_columns = FastDivide(window_columns);
  p.by_tiles = FastDivide(tiles);
  p.by_pitch = FastDivide(pitch);
  p.by_pairs = FastDivide(std::max(p.columns / 2, 1));
  p.whole = tiles == 1;
  if (d.n * tiles >= kMostItems) return p;
  p.items = narrow(d.n * tiles);
  const std::int64_t room =
      kBlockSharedBytes - kStagedBytes - std::int64_t{p.groups} * p.group_bytes;
  const std::int64_t slots = room / (16 * kCellQuads * p.plane);
  if (slots >= 2) p.slots = narrow(std::min<std::int64_t>(slots, kMostSlots));
  return p;
}

// Are the windows of an image one tile, whose pairs lie in aligned 8 bytes of dy and 2 of argmax?
bool is_whole(const DataPlan& p, ComputeMode mode) {
  const auto aligned = [](const void* pointer, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
  };
  return p.whole && p.columns % 2 == 0 && aligned(p.dy, 8) && aligned(p.argmax, 2) &&
         p.filters % group_channels(pool_cell_type(mode)) == 0;
}

bool pair_rows(const void* planes, const DataPlan& p) {
  return reinterpret_cast<std::uintptr_t>(planes) % 8 == 0 && p.width % 2 == 0;
}

}  // namespace

bool wgmma_data_fits(const ReluPoolDims& dims, ComputeMode mode) {
  return make_plan(dims, mode).slots > 0;
}

namespace {

// A block stays on each of these processors.
Launch launch_of(const DataPlan& p, std::int64_t processors, const Stream& stream) {
  const std::int64_t blocks =
      std::clamp(processors / p.row_blocks, std::int64_t{1}, std::int64_t{p.items});
  const std::size_t weights =
      static_cast<std::size_t>(p.groups) * static_cast<std::size_t>(p.group_bytes);
  const std::size_t slots = 16 * static_cast<std::size_t>(p.slots * kCellQuads * p.plane);
  return {dim3(static_cast<unsigned>(blocks * p.row_blocks)), dim3(kThreads),
          weights + slots + kStagedBytes, stream};
}

// The number of blocks is that of the rows of partial sums, so it depends on the shape alone.
constexpr std::int64_t kStemProcessors = 132;

std::int64_t stem_rows(const DataPlan& p) {
  return std::clamp(kStemProcessors / p.row_blocks, std::int64_t{1}, std::int64_t{p.items});
}

}  // namespace

std::size_t wgmma_stem_bytes(const ReluPoolDims& dims, ComputeMode mode) {
  return sizeof(float) *
         static_cast<std::size_t>(stem_rows(make_plan(dims, mode)) * dims.conv.c * kStemFloats);
}

void conv2d_relu_pool_backward_data_wgmma(float* dx, const float* dy, const std::uint8_t* argmax,
                                          const float* w, const ReluPoolDims& dims,
                                          GradientMode gradient, const ReluPoolOptions& options,
                                          Workspace workspace, const Stream& stream) {
  DataPlan p = make_plan(dims, options.mode);
  p.dy = dy;
  p.argmax = argmax;
  p.w = w;
  p.dx = dx;
  p.whole = is_whole(p, options.mode);
  p.relu_mask = options.relu_mask;
  p.accumulate = gradient == GradientMode::accumulate;
  p.pairs = !p.accumulate && pair_rows(dx, p) && pair_rows(options.relu_mask, p);
  if (options.mode == ComputeMode::fp32) {
    p.largest = find_largest_of(dy, dims.conv.n * dims.conv.oc * dims.rows() * dims.columns(),
                                workspace, stream);
  }
  const ComputeMode mode = options.mode;
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  launch(is_paired(dims, mode)       ? pool_data_kernel<CellType::bf16, true>
         : mode == ComputeMode::bf16 ? pool_data_kernel<CellType::bf16, false>
         : mode == ComputeMode::fp32 ? pool_data_kernel<CellType::halves, false>
                                     : pool_data_kernel<CellType::tf32, false>,
         launch_of(p, processors, stream), p, StemPlan{});
}

void conv2d_relu_pool_backward_stem_wgmma(float* dw, float* db, const float* dy,
                                          const std::uint8_t* argmax, const float* w,
                                          const ReluPoolDims& dims, GradientMode gradient,
                                          const ReluPoolOptions& options, Workspace workspace,
                                          const Stream& stream) {
  DataPlan p = make_plan(dims, options.mode);
  p.dy = dy;
  p.argmax = argmax;
  p.w = w;
  p.whole = is_whole(p, options.mode);
  const StemPlan stem{{*options.stem, p.channels, p.height, p.width},
                      static_cast<float*>(workspace.data)};
  launch(is_paired(dims, options.mode)       ? pool_data_kernel<CellType::bf16, true, true>
         : options.mode == ComputeMode::bf16 ? pool_data_kernel<CellType::bf16, false, true>
                                             : pool_data_kernel<CellType::tf32, false, true>,
         launch_of(p, kStemProcessors, stream), p, stem);
  sum_partials(dw, dims.conv.c * kPoolTaps, db, db != nullptr ? dims.conv.c : 0, stem.partials,
               stem_rows(p), dims.conv.c * kStemFloats, gradient, stream);
}

}  // namespace weft::kernels::cuda
