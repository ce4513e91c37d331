// SPDX-License-Identifier: MIT
// Convolution with ReLU and pooling, rung "wgmma": the weight and bias gradients.
// 3 x 3 kernels with stride 1 under windows of 2 x 2. sm_90a.
//
// The sum runs along the pixels. A block owns 64 filters and 32 channels and takes tile after tile;
// each of two warpgroups has the sums of all 9 taps, 144 registers, for every second row of
// windows:
//
//        dz (64 filters, 16 pixels)   times   x (16 pixels, 32 channels), shifted by each tap
//
// The 16 pixels are two rows of 8: four windows. In a fragment of dz a thread has the upper two
// pixels of a window in one word and the lower two in another. So it makes its fragments from one
// word per window, which says dy and which of the four pixels has it, and dz is stored nowhere. The
// cells of x are the operand of every tap as they lie; the tensor core transposes them.
//
// tf32 needs more bits than bf16 has, and wgmma cannot transpose it. In that mode each operand is a
// sum of two in bf16, and the three larger of their four products count.
//
// Producers add up dy for the bias, in fp32. Blocks' sums are rows of partial sums
// (weight_gradient_sums.cu adds those).
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv_relu_pool/parts/wgmma.h"
#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kConsumers = 2, kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kChannels = 32;                   // of a block: a cell in bf16
constexpr int kColumns = 12, kQuadWindows = 4;  // windows of a tile in a row; at a time
constexpr int kPitch = 2 * kColumns + kPoolKernel - 1;
constexpr int kRowFloats = kChannels * kPoolTaps;  // of a filter
constexpr int kRowPitch = kRowFloats + 1;          // in other banks
constexpr std::int64_t kProcessors = 132;  // of the GPU that rows of partial sums are cut for

// kParts: how many operands in bf16 add up to one operand.
template <int kParts_>
struct WeightsTile {
  static constexpr int kParts = kParts_;
  static constexpr int kRows = kParts == 1 ? 12 : 6;  // of windows
  static constexpr int kPixelRows = 2 * kRows + kPoolKernel - 1;
  static constexpr int kPlane = kPixelRows * kPitch;  // quads
  static constexpr int kCellsQuads = kParts * kCellQuads * kPlane;
  static constexpr int kFilterWords = kRows * kColumns + 4;  // 8 filters in other banks
  static constexpr int kWordQuads = kTensorRows * kFilterWords / 4;
  static constexpr int kSlotQuads = kCellsQuads + kWordQuads;
  static constexpr int kLoads = kTensorRows * kRows * kColumns / kQuadWindows / kProducers;
  static_assert(kFilterWords % 32 == 20 || kFilterWords % 32 == 12, "rows of words spread out");
  static_assert(kTensorRows * kRows * kColumns % (kQuadWindows * kProducers) == 0);
};

struct WeightsPlan {
  ImageSource source;
  int pad_h, pad_w;
  const float* dy;             // (n, filters, rows, columns)
  const std::uint8_t* argmax;  // of dy
  float* partials;             // (chunks, partial_row)
  int filters, rows, columns;
  int filter_blocks, channel_blocks, slots;
  FastDivide by_tile_columns, by_tile_rows;
  int items;  // tiles of all images
  std::int64_t partial_row;
  bool vector;  // four windows of dy lie in 16 aligned bytes, and their argmax in 4
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kSums = kTensorRows * kChannels / kWarpgroup;  // of a tap, in a thread

// Registers of the threads, 168 on average, and what producers have in flight with them.
template <class Tile>
struct Registers {
  static constexpr int kConsumer = Tile::kParts == 1 ? 184 : 208;
  static constexpr int kProducer = Tile::kParts == 1 ? 136 : 88;
  static constexpr int kFloatsInFlight = Tile::kParts == 1 ? 88 : 48;
};

__device__ __forceinline__ TilePlace place_of(int item, const WeightsPlan& p) {
  return {item, p.by_tile_rows, p.by_tile_columns};
}

// A window: dy in bf16 in the upper half; what bf16 leaves of it, without its last two bits, in the
// lower; and in those which of the four pixels has it.
template <int kParts>
__device__ __forceinline__ std::uint32_t window_word(float dy, int index) {
  const std::uint32_t high = device::to_bf16(dy);
  std::uint32_t word = high | static_cast<std::uint32_t>(index & 3);
  if constexpr (kParts == 2) {
    word |= device::to_bf16(dy - __uint_as_float(high)) >> 16 & 0xfffcu;
  }
  return word;
}

// Fills the words of a slot, (64, kFilterWords), from the windows of a tile, and adds four dy at a
// time to `bias`; a thread always has the same places of it. Zeros where there are no windows.
template <class Tile>
__device__ __forceinline__ void load_windows(uint4* to, float* bias, const WeightsPlan& p,
                                             std::int64_t image, int filter0, int u0, int v0) {
  constexpr int kRowQuads = kColumns / kQuadWindows, kBatch = Tile::kLoads / 3;
  static_assert(Tile::kLoads % kBatch == 0);
  const unsigned plane = static_cast<unsigned>(p.rows * p.columns);
  const std::int64_t offset = (image * p.filters + filter0) * plane;
  const float* dy = device::opaque(p.dy + offset);
  const std::uint8_t* argmax = device::opaque(p.argmax + offset);
#pragma unroll 1
  for (int first = threadIdx.x; first < Tile::kLoads * kProducers; first += kBatch * kProducers) {
    float4 value[kBatch];
    uchar4 index[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int at = first + k * kProducers;
      const int filter = at / (Tile::kRows * kRowQuads);
      const int u = u0 + at / kRowQuads % Tile::kRows, v = v0 + at % kRowQuads * kQuadWindows;
      const bool there = filter0 + filter < p.filters && u < p.rows;
      const unsigned from = filter * plane + static_cast<unsigned>(u * p.columns + v);
      if (p.vector) {
        const bool inside = there && v < p.columns;
        value[k] = inside ? __ldg(reinterpret_cast<const float4*>(dy + from)) : float4{};
        index[k] = inside ? __ldg(reinterpret_cast<const uchar4*>(argmax + from)) : uchar4{};
      } else {
        const auto one = [&](int i) {
          return there && v + i < p.columns ? __ldg(dy + (from + i)) : 0.0f;
        };
        const auto which = [&](int i) -> unsigned char {
          return there && v + i < p.columns ? __ldg(argmax + (from + i)) : kReluPoolCut;
        };
        value[k] = {one(0), one(1), one(2), one(3)};
        index[k] = {which(0), which(1), which(2), which(3)};
      }
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int at = first + k * kProducers;
      const int filter = at / (Tile::kRows * kRowQuads), quad = at % (Tile::kRows * kRowQuads);
      if (index[k].x == kReluPoolCut) value[k].x = 0;
      if (index[k].y == kReluPoolCut) value[k].y = 0;
      if (index[k].z == kReluPoolCut) value[k].z = 0;
      if (index[k].w == kReluPoolCut) value[k].w = 0;
      bias[at] += value[k].x + value[k].y + (value[k].z + value[k].w);
      to[filter * (Tile::kFilterWords / 4) + quad] = {
          window_word<Tile::kParts>(value[k].x, index[k].x),
          window_word<Tile::kParts>(value[k].y, index[k].y),
          window_word<Tile::kParts>(value[k].z, index[k].z),
          window_word<Tile::kParts>(value[k].w, index[k].w)};
    }
  }
}

// Of a window, the words of a fragment with its upper and its lower two pixels. `value`: bf16 in
// the upper half.
__device__ __forceinline__ void expand_window(std::uint32_t value, int index, std::uint32_t& upper,
                                              std::uint32_t& lower) {
  const std::uint32_t pair = index % 2 == 0 ? value >> 16 : value & 0xffff0000u;
  upper = index < 2 ? pair : 0;
  lower = index < 2 ? 0 : pair;
}

// sum += the products of four windows in a row, whose upper left pixel is at `cells`.
template <class Tile>
__device__ __forceinline__ void multiply_windows(float (&sum)[kPoolTaps][kSums],
                                                 const std::uint32_t* words, std::uint32_t cells,
                                                 bool accumulate) {
  const std::uint32_t word[2] = {words[0], words[8 * Tile::kFilterWords]};
  std::uint32_t high[4], low[4];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int index = word[i] & 3;
    expand_window(word[i], index, high[i], high[i + 2]);
    if constexpr (Tile::kParts == 2) {
      expand_window(word[i] << 16 & 0xfffc0000u, index, low[i], low[i + 2]);
    }
  }
  const std::uint64_t b = device::wgmma_quads_descriptor(cells, 16 * Tile::kPlane, 16 * kPitch);
  device::wgmma_fence();
#pragma unroll
  for (int tap = 0; tap < kPoolTaps; ++tap) {
    const std::uint64_t at = b + tap / kPoolKernel * kPitch + tap % kPoolKernel;
    device::wgmma_bf16_registers(sum[tap], high, at, accumulate);
    if constexpr (Tile::kParts == 2) {
      device::wgmma_bf16_registers(sum[tap], low, at, true);
      device::wgmma_bf16_registers(sum[tap], high, at + kCellQuads * Tile::kPlane, true);
    }
  }
  device::wgmma_commit();
}

#endif

template <class Tile>
__global__ void __launch_bounds__(kThreads, 1) pool_weights_kernel(WeightsPlan p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  auto* bias = device::dynamic_shared<float>();  // (64, windows of a tile / 4)
  // (slots, cells then words), which the sums replace at the end
  auto* slots = reinterpret_cast<uint4*>(bias + Tile::kLoads * kProducers);
  auto* sums = reinterpret_cast<float*>(slots);  // (64, kRowPitch)
  __shared__ SlotBarriers barriers;
  const int filter0 = static_cast<int>(blockIdx.x % p.filter_blocks) * kTensorRows;
  const int channel_block = static_cast<int>(blockIdx.x / p.filter_blocks % p.channel_blocks);
  const int blocks = p.filter_blocks * p.channel_blocks;
  const int chunk = static_cast<int>(blockIdx.x) / blocks;
  const int step = static_cast<int>(gridDim.x) / blocks;
  const int channel0 = channel_block * kChannels;
  __shared__ std::uint64_t drained, handed;  // all slots are; the second consumer's sums are
  if (threadIdx.x == 0) {
    device::barrier_init(&drained, kConsumers * kWarpgroup);
    device::barrier_init(&handed, kWarpgroup);
    SlotRing::prepare(&barriers, p.slots, kConsumers * kWarpgroup);
  }
  __syncthreads();  // barriers are ready

  SlotRing ring{&barriers, p.slots};
  const bool producer = threadIdx.x < kProducers;
  const int thread = threadIdx.x % kWarpgroup, lane = thread % 32, warp = thread / 32;
  const int group = lane / 4, member = lane % 4;
  if (producer) {
    device::registers_release<Registers<Tile>::kProducer>();
    for (int i = 0; i < Tile::kLoads; ++i) bias[thread + i * kProducers] = 0;
    for (int item = chunk; item < p.items; item += step, ring.advance()) {
      const TilePlace tile = place_of(item, p), next = place_of(item + step, p);
      if (threadIdx.x == 0 && item + step < p.items && next.is_first()) {
        const std::int64_t windows = std::int64_t{p.filters} * p.rows * p.columns;
        p.source.prefetch(next.image);
        device::prefetch(p.dy + next.image * windows, windows);
        device::prefetch(p.argmax + next.image * windows, windows);
      }
      const int u0 = tile.row * Tile::kRows, v0 = tile.column * kColumns;
      uint4* slot = slots + ring.slot * Tile::kSlotQuads;
      ring.wait_empty();
      load_windows<Tile>(slot + Tile::kCellsQuads, bias, p, tile.image, filter0, u0, v0);
      load_cells<CellType::bf16, Tile::kPixelRows, kPitch, Registers<Tile>::kFloatsInFlight,
                 Tile::kParts>(slot, p.source, tile.image, channel0, 2 * u0 - p.pad_h,
                               2 * v0 - p.pad_w);
      ring.fill();
    }
  } else {
    device::registers_take<Registers<Tile>::kConsumer>();
    const int consumer = static_cast<int>(threadIdx.x) / kWarpgroup - 1;
    float sum[kPoolTaps][kSums];
    int before = -1;
    for (int item = chunk; item < p.items; item += step, ring.advance()) {
      const uint4* slot = slots + ring.slot * Tile::kSlotQuads;
      const auto* words = reinterpret_cast<const std::uint32_t*>(slot + Tile::kCellsQuads) +
                          (16 * warp + group) * Tile::kFilterWords + member;
      const std::uint32_t cells = device::shared_address(slot);
      ring.wait_full();
      for (int u = consumer; u < Tile::kRows; u += kConsumers) {
#pragma unroll
        for (int v = 0; v < kColumns; v += kQuadWindows) {
          multiply_windows<Tile>(sum, words + u * kColumns + v,
                                 cells + 16 * (2 * u * kPitch + 2 * v),
                                 before >= 0 || u > consumer || v > 0);
          device::wgmma_wait<1>();  // the products before are done
          // Every thread speaks for itself: it has read words of the slot, besides the cells.
          if (u == consumer && v == 0 && before >= 0) ring.release(before);
        }
      }
      before = ring.slot;
    }
    device::wgmma_wait<0>();
    // Sum e of a tap is of filter 16 warp + group + 8 (e / 2 % 2) and channel 8 (e / 4) + ...
    float* to = sums + (16 * warp + group) * kRowPitch + 2 * member * kPoolTaps;
    const auto place = [](int tap, int e) {
      return e / 2 % 2 * 8 * kRowPitch + (e / 4 * 8 + e % 2) * kPoolTaps + tap;
    };
    static_assert(kConsumers == 2);
    device::barrier_arrive(&drained);
    if (consumer == 1) {
      device::barrier_wait(&drained, 0);
#pragma unroll
      for (int tap = 0; tap < kPoolTaps; ++tap) {
#pragma unroll
        for (int e = 0; e < kSums; ++e) to[place(tap, e)] = sum[tap][e];
      }
      device::barrier_arrive(&handed);
    } else {
      device::barrier_wait(&handed, 0);
#pragma unroll
      for (int tap = 0; tap < kPoolTaps; ++tap) {
#pragma unroll
        for (int e = 0; e < kSums; ++e) to[place(tap, e)] += sum[tap][e];
      }
    }
  }
  __syncthreads();  // all sums are there
  float* partial = p.partials + chunk * p.partial_row;
  const int filters = min(p.filters - filter0, kTensorRows);
  const int floats = min(p.source.channels - channel0, kChannels) * kPoolTaps;
  for (int i = threadIdx.x; i < filters * kRowFloats; i += kThreads) {
    const int filter = i / kRowFloats, at = i % kRowFloats;
    if (at >= floats) continue;
    partial[(std::int64_t{filter0 + filter} * p.source.channels + channel0) * kPoolTaps + at] =
        sums[filter * kRowPitch + at];
  }
  if (channel_block == 0 && static_cast<int>(threadIdx.x) < filters) {
    constexpr int kParts = Tile::kRows * kColumns / kQuadWindows;  // of a filter's sum
    float total = 0;
    for (int i = 0; i < kParts; ++i) total += bias[threadIdx.x * kParts + i];
    partial[std::int64_t{p.filters} * p.source.channels * kPoolTaps + filter0 + threadIdx.x] =
        total;
  }
#else
  static_cast<void>(p);
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

template <class Tile>
std::int64_t launch_weights(WeightsPlan p, const ReluPoolDims& dims, const Stream& stream) {
  const WeightsCut<Tile> cut(dims);
  constexpr std::int64_t kSlotBytes = 16 * Tile::kSlotQuads;
  constexpr std::int64_t kBiasBytes = 4 * Tile::kLoads * kProducers;
  constexpr std::int64_t kSlots = (kBlockSharedBytes - kBiasBytes) / kSlotBytes;
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
      dim3(kThreads), static_cast<std::size_t>(kBiasBytes + kSlots * kSlotBytes), stream};
  launch(pool_weights_kernel<Tile>, config, p);
  return cut.chunks;
}

using Bf16Tile = WeightsTile<1>;
using Tf32Tile = WeightsTile<2>;

}  // namespace

bool wgmma_weights_fit(const ReluPoolDims& dims) {
  return WeightsCut<Tf32Tile>(dims).items < kMostItems;
}

std::size_t conv2d_relu_pool_workspace_wgmma(const ReluPoolProblem& problem) {
  const auto bytes = [](const auto& cut) {
    return static_cast<std::size_t>(cut.chunks * cut.row) * sizeof(float);
  };
  return problem.mode == ComputeMode::bf16 ? bytes(WeightsCut<Bf16Tile>(problem.dims))
                                           : bytes(WeightsCut<Tf32Tile>(problem.dims));
}

void conv2d_relu_pool_backward_weights_wgmma(float* dw, float* db, const float* dy,
                                             const std::uint8_t* argmax, const float* x,
                                             const ReluPoolDims& dims, GradientMode gradient,
                                             const ReluPoolOptions& options,
                                             Workspace workspace, const Stream& stream) {
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  const ConvDims& d = dims.conv;
  WeightsPlan p{};
  p.source = {x, narrow(d.c), narrow(d.h), narrow(d.w)};
  p.pad_h = narrow(d.pad_h);
  p.pad_w = narrow(d.pad_w);
  p.dy = dy;
  p.argmax = argmax;
  p.partials = static_cast<float*>(workspace.data);
  p.filters = narrow(d.oc);
  p.rows = narrow(dims.rows());
  p.columns = narrow(dims.columns());
  p.vector = reinterpret_cast<std::uintptr_t>(dy) % 16 == 0 &&
             reinterpret_cast<std::uintptr_t>(argmax) % 4 == 0 && p.columns % kQuadWindows == 0;
  const std::int64_t chunks = options.mode == ComputeMode::bf16
                                  ? launch_weights<Bf16Tile>(p, dims, stream)
                                  : launch_weights<Tf32Tile>(p, dims, stream);
  const std::int64_t weights = d.oc * d.c * kPoolTaps;
  sum_partials(dw, weights, db, db != nullptr ? d.oc : 0, p.partials, chunks, weights + d.oc,
               gradient, stream);
}

}  // namespace weft::kernels::cuda
