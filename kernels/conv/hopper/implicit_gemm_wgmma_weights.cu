// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm_wgmma": backward weights on the tensor cores of Hopper. sm_90a.
//
// The sum runs over the pixels of all images, and for floats the tensor core needs that dimension
// to be contiguous in both operands. Pixels of a row are contiguous in NCHW, but a tap moves them
// by one float, and the copy engine moves by 16 bytes only. So 32 images are made contiguous (64 in
// bf16, images_last.cuh), and a tap is another pixel:
//
//   dw[o, c, r, s] = sum over u, v, n of dy[o, u - r + pad_h, v, n] x[c, u, v + s - pad_w, n]
//
// What lies outside of an image arrives as zeros. A chunk is a group of images at one (u, v): three
// pixels of dy and three of x, and each of the nine products of a 3 x 3 kernel has one of both:
//
//        dy at r = 0, 1, 2            x at s = 0, 1, 2, one behind the other
//        64 filters each        x     3 x 64 channels (32 in fp32, or where there are no more)
//        warpgroup r has one          all of them
//
// A chunk is 48 KiB of copies for 1152 clocks of products, 42 bytes a clock. For fp32 accuracy the
// operands are in two parts of fp16: dy in one copy, and x in two (images_last.cuh). A chunk makes
// three products of parts, summed from zero, in 864 clocks. fp32 additions add the chunks while
// other warpgroups use the tensor core.
//
//   mode          channels   sums a thread   stage    stages   shared memory
//   tf32, bf16    64         96              48 KiB   4        192 KiB
//   tf32, bf16    32         48              36 KiB   6        216 KiB
//   fp32          32         48, twice       48 KiB   4        192 KiB
//
// A block has one tile of (64 filters, channels) for one slice of the chunks. Chunks go by groups
// and rows, so that what is read again is in L2. There are as many slices as fill the SMs, and a
// second kernel adds their sums in order. Kernels other than 3 x 3, strides, and images so large
// that a group does not fit are left to implicit_gemm_tensor_core.
#include <algorithm>

#include "engine/cuda/tensor_map.h"
#include "engine/launch.h"
#include "kernels/conv/parts/channels_last.cuh"
#include "kernels/conv/parts/images_last.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/wgmma.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kTaps = 3;  // of the kernel, in a row and in a column
constexpr int kFilters = 64;
constexpr int kChunkBytes = 128;  // of a group of images at a pixel
constexpr int kWarpgroup = 128, kThreads = (1 + kTaps) * kWarpgroup;
constexpr std::int64_t kProcessors = 132;  // of the GPU that slices are cut for
constexpr std::int64_t kFewestChunks = 8;  // of a slice, to fill the pipeline

template <ComputeMode kMode_, int kChannels_>
struct TapTile {
  static constexpr ComputeMode kMode = kMode_;
  static constexpr int kCopiesB = kMode == ComputeMode::fp32 ? 2 : 1;
  static constexpr int kChannels = kChannels_, kColumns = kTaps * kChannels;
  static constexpr int kCopyA = kFilters * kChunkBytes;  // bytes
  static constexpr int kCopyB = kChannels * kChunkBytes;
  static constexpr int kPartA = kTaps * kCopyA, kPartB = kTaps * kCopyB;
  static constexpr int kStageBytes = kPartA + kCopiesB * kPartB;
  static constexpr int kStages = 220 * 1024 / kStageBytes;
  static constexpr std::size_t kBytes = std::size_t{kStages} * kStageBytes + 1024;  // aligned
  static_assert(kColumns % 8 == 0 && kColumns <= 256, "columns of one product");
};

struct TapProduct {
  float* partials;  // (slices, filters, taps, taps, padded channels)
  int filters, channels, padded_channels;
  int pad_h, pad_w;
  FastDivide by_filter_tiles, by_tiles;
  FastDivide by_columns, by_rows;               // of dy; of x
  const std::uint32_t *largest_dy, *largest_x;  // of halves
  std::int64_t chunks;
  int slices;
};

// What a block multiplies: chunks [begin, end) for the tile at (filter0, channel0).
struct TapSlice {
  int slice, filter0, channel0, begin, end;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// One thread copies the chunks of the slice to the stages, each when it is empty.
template <class Tile>
__device__ __forceinline__ void copy_chunks(char* stages, std::uint64_t* full, std::uint64_t* empty,
                                            const CUtensorMap& map_dy, const CUtensorMap& map_x,
                                            const TapProduct& p, const TapSlice& at) {
  device::BarrierRing<Tile::kStages> ring;
  for (int chunk = at.begin; chunk < at.end; ++chunk, ring.advance()) {
    int column = 0, row = 0;
    const int group = p.by_rows.divide(p.by_columns.divide(chunk, column), row);
    char* to = stages + ring.stage * Tile::kStageBytes;
    std::uint64_t* there = full + ring.stage;
    device::barrier_wait(empty + ring.stage, ring.parity ^ 1);
    device::barrier_expect(there, Tile::kStageBytes);
    for (int r = 0; r < kTaps; ++r, to += Tile::kCopyA) {
      device::tma_load(to, map_dy, 0, column, row - r + p.pad_h, group * p.filters + at.filter0,
                       there);
    }
    for (int copy = 0; copy < Tile::kCopiesB; ++copy) {
      for (int s = 0; s < kTaps; ++s, to += Tile::kCopyB) {
        device::tma_load(to, map_x, 0, column + s - p.pad_w, row,
                         (group * Tile::kCopiesB + copy) * p.channels + at.channel0, there);
      }
    }
  }
}

// A warpgroup adds the products of the slice's chunks for the kernel's row r, and takes back the
// scales of halves.
template <class Tile>
__device__ __forceinline__ void add_chunks(float (&sum)[Tile::kColumns / 2], const char* stages,
                                           std::uint64_t* full, std::uint64_t* empty,
                                           const TapProduct& p, const TapSlice& at, int r,
                                           int thread) {
  constexpr bool kBf16 = Tile::kMode == ComputeMode::bf16;
  device::BarrierRing<Tile::kStages> ring;
  int before = -1;
  for (int chunk = at.begin; chunk < at.end; ++chunk, ring.advance()) {
    device::barrier_wait(full + ring.stage, ring.parity);
    const char* dy = stages + ring.stage * Tile::kStageBytes + r * Tile::kCopyA;
    const char* x = stages + ring.stage * Tile::kStageBytes + Tile::kPartA;
    device::wgmma_fence();
    if constexpr (Tile::kCopiesB == 1) {
      device::wgmma_rows<kBf16, Tile::kColumns>(sum, dy, x, chunk > at.begin);
      device::wgmma_commit();
      device::wgmma_wait<1>();  // the products of the chunk before are done
      if (before >= 0 && thread == 0) device::barrier_arrive(empty + before);
      before = ring.stage;
    } else {
      float part[Tile::kColumns / 2];
      device::wgmma_fp16_rows<Tile::kColumns, 4>(part, dy, x, false);
      device::wgmma_fp16_rows<Tile::kColumns, 2>(part, dy, x + Tile::kPartB, true);
      device::wgmma_commit();
      device::wgmma_wait<0>();
      if (thread == 0) device::barrier_arrive(empty + ring.stage);
      device::wgmma_results(part);
#pragma unroll
      for (int i = 0; i < Tile::kColumns / 2; ++i) sum[i] += part[i];
    }
  }
  device::wgmma_wait<0>();
  device::wgmma_results(sum);
  if constexpr (Tile::kCopiesB == 2) {
    const int shift =
        device::half_shift(largest_of(p.largest_dy)) + device::half_shift(largest_of(p.largest_x));
#pragma unroll
    for (float& value : sum) value = ldexpf(value, -shift);
  }
}

// Stores a thread's sums of the kernel's row r as partial sums of the slice.
template <class Tile>
__device__ __forceinline__ void store_sums(const float (&sum)[Tile::kColumns / 2],
                                           const TapProduct& p, const TapSlice& at, int r,
                                           int thread) {
  const int row0 = at.filter0 + thread / 32 * 16 + thread % 32 / 4, member = thread % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = row0 + 8 * half;
    if (row >= p.filters) break;
    float* to =
        p.partials +
        ((std::int64_t{at.slice} * p.filters + row) * kTaps + r) * kTaps * p.padded_channels +
        at.channel0 + 2 * member;
#pragma unroll
    for (int j = 0; j < Tile::kColumns / 8; ++j) {
      const int s = 8 * j / Tile::kChannels, channel = 8 * j % Tile::kChannels;
      *reinterpret_cast<float2*>(to + s * p.padded_channels + channel) = {
          sum[4 * j + 2 * half], sum[4 * j + 2 * half + 1]};
    }
  }
}

#endif

template <class Tile>
__global__ void __launch_bounds__(kThreads, 1)
    tap_product_kernel(const __grid_constant__ CUtensorMap map_dy,
                       const __grid_constant__ CUtensorMap map_x,
                       const __grid_constant__ TapProduct p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ std::uint64_t full[Tile::kStages], empty[Tile::kStages];
  // kStages x (3 of dy, copies x 3 of x), rows of 128 bytes
  char* stages = device::aligned_shared();
  if (threadIdx.x == 0) {
    device::tma_prefetch(map_dy);
    device::tma_prefetch(map_x);
    for (int stage = 0; stage < Tile::kStages; ++stage) {
      device::barrier_init(full + stage, 1);
      device::barrier_init(empty + stage, kTaps);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  int tile = 0, filter_tile = 0;
  const int slice = p.by_tiles.divide(static_cast<int>(blockIdx.x), tile);
  const int channel0 = p.by_filter_tiles.divide(tile, filter_tile) * Tile::kChannels;
  const int filter0 = filter_tile * kFilters;
  const auto begin = static_cast<int>(p.chunks * slice / p.slices);
  const auto end = static_cast<int>(p.chunks * (slice + 1) / p.slices);
  const TapSlice at{slice, filter0, channel0, begin, end};
  device::overlap_wait();  // operands are packed, and the partial sums are free

  if (threadIdx.x < kWarpgroup) {
    device::registers_release<32>();
    if (threadIdx.x == 0) copy_chunks<Tile>(stages, full, empty, map_dy, map_x, p, at);
    return;
  }

  device::registers_take<160>();
  const int r = static_cast<int>(threadIdx.x) / kWarpgroup - 1;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  float sum[Tile::kColumns / 2] = {};
  add_chunks<Tile>(sum, stages, full, empty, p, at, r, thread);
  store_sums<Tile>(sum, p, at, r, thread);
#else
  static_cast<void>(map_dy), static_cast<void>(map_x), static_cast<void>(p);
  __trap();
#endif
}

// How a call is cut; no device needed.
struct TapPlan {
  BatchImages dy, x;
  std::int64_t images;  // at a time
  std::int64_t tile_channels, padded_channels, tiles, slices;

  TapPlan(const ConvDims& d, ComputeMode mode)
      : dy{d.oc, d.oh(), d.ow(), mode}, x{d.c, d.h, d.w, mode, true} {
    const std::int64_t of_group = std::max(dy.group_bytes(), x.group_bytes());
    images = images_at_a_time(divide_up(d.n, x.group()), of_group) * x.group();
    tile_channels = mode == ComputeMode::fp32 || d.c <= 32 ? 32 : 64;
    padded_channels = round_up(d.c, tile_channels);
    tiles = divide_up(d.oc, kFilters) * (padded_channels / tile_channels);
    const std::int64_t most = std::max(chunks(images) / kFewestChunks, std::int64_t{1});
    // Two rounds of blocks where one would leave a tenth of the SMs idle.
    const std::int64_t once = kProcessors / tiles, twice = 2 * kProcessors / tiles;
    slices = std::clamp(22 * once >= 10 * twice ? once : twice, std::int64_t{1}, most);
  }
  std::int64_t groups(std::int64_t of_images) const { return divide_up(of_images, x.group()); }
  std::int64_t chunks(std::int64_t of_images) const {
    return groups(of_images) * x.height * dy.width;
  }
  std::int64_t dy_bytes() const { return round_up(groups(images) * dy.group_bytes(), 256); }
  std::int64_t x_bytes() const { return round_up(groups(images) * x.group_bytes(), 256); }
  std::int64_t bytes(const ConvDims& d) const {
    return dy_bytes() + x_bytes() + partial_bytes(d) + 2 * 4 * kLargestParts;
  }
  std::int64_t partial_bytes(const ConvDims& d) const {
    return round_up(slices * d.oc * kTaps * kTaps * padded_channels * 4, 256);
  }
};

// A box has one pixel of some channels, and the images of a group.
CUtensorMap map_of(const void* data, const BatchImages& layout, std::int64_t groups,
                   std::int64_t box_channels) {
  const TensorMapType type = layout.mode == ComputeMode::bf16   ? TensorMapType::bf16
                             : layout.mode == ComputeMode::tf32 ? TensorMapType::tf32
                                                                : TensorMapType::fp16;
  const std::int64_t numbers = layout.mode == ComputeMode::tf32 ? 32 : 64;  // of 128 bytes
  return images_map(
      data, type,
      {groups * layout.copies() * layout.channels, layout.height, layout.width, numbers},
      {static_cast<int>(box_channels), 1, 1});
}

template <class Tile>
void launch_product(const CUtensorMap& dy, const CUtensorMap& x, const TapProduct& p,
                    unsigned blocks, const Stream& stream) {
  const Launch config{dim3(blocks), dim3(kThreads), Tile::kBytes, stream};
  launch(tap_product_kernel<Tile>, config.overlapped(), dy, x, p);
}

}  // namespace

bool wgmma_weights_fit(const ConvDims& d, ComputeMode mode) {
  const BatchImages dy{d.oc, d.oh(), d.ow(), mode}, x{d.c, d.h, d.w, mode, true};
  return d.kh == kTaps && d.kw == kTaps && d.stride_h == 1 && d.stride_w == 1 &&
         std::max(dy.group_bytes(), x.group_bytes()) <= kMostPackedBytes;
}

std::size_t wgmma_weights_bytes(const ConvDims& d, ComputeMode mode) {
  return std::max(static_cast<std::size_t>(TapPlan(d, mode).bytes(d)), bias_gradient_bytes(d));
}

void conv2d_backward_weights_implicit_gemm_wgmma(float* dw, float* db, const float* dy,
                                                 const float* x, const ConvDims& d,
                                                 GradientMode mode, const ConvOptions& options,
                                                 Workspace workspace, const Stream& stream) {
  const TapPlan plan(d, options.mode);
  auto* packed_dy = static_cast<std::byte*>(workspace.data);
  std::byte* packed_x = packed_dy + plan.dy_bytes();
  auto* partials = reinterpret_cast<float*>(packed_x + plan.x_bytes());
  auto* largest =
      reinterpret_cast<std::uint32_t*>(packed_x + plan.x_bytes() + plan.partial_bytes(d));
  std::uint32_t* largest_x = largest + kLargestParts;
  // Before the packed images, whose memory it borrows.
  if (db != nullptr) bias_gradient(db, dy, d, mode, workspace.data, stream);

  SliceSums sums{dw, partials, 0, &d, plan.padded_channels, 1, mode};
  if (d.n == 0) sum_slices(sums, stream);
  for (std::int64_t first = 0; first < d.n; first += plan.images) {
    const std::int64_t images = std::min(plan.images, d.n - first);
    const float *group_dy = dy + first * plan.dy.pixels(), *group_x = x + first * plan.x.pixels();
    if (options.mode == ComputeMode::fp32) {
      find_largest({largest, group_dy, images * plan.dy.pixels()},
                   {largest_x, group_x, images * plan.x.pixels()}, {}, stream);
    }
    pack_batch({packed_dy, group_dy, images, plan.dy, largest},
               {packed_x, group_x, images, plan.x, largest_x}, stream);
    TapProduct p{};
    p.largest_dy = largest;
    p.largest_x = largest_x;
    p.partials = partials;
    p.filters = narrow(d.oc);
    p.channels = narrow(d.c);
    p.padded_channels = narrow(plan.padded_channels);
    p.pad_h = narrow(d.pad_h);
    p.pad_w = narrow(d.pad_w);
    p.by_filter_tiles = FastDivide(divide_up(d.oc, kFilters));
    p.by_tiles = FastDivide(plan.tiles);
    p.by_columns = FastDivide(d.ow());
    p.by_rows = FastDivide(d.h);
    p.chunks = plan.chunks(images);
    p.slices = narrow(plan.slices);
    const std::int64_t groups = plan.groups(images);
    const bool wide = plan.tile_channels == 64;
    const auto run = options.mode == ComputeMode::fp32
                         ? launch_product<TapTile<ComputeMode::fp32, 32>>
                     : options.mode == ComputeMode::bf16
                         ? (wide ? launch_product<TapTile<ComputeMode::bf16, 64>>
                                 : launch_product<TapTile<ComputeMode::bf16, 32>>)
                         : (wide ? launch_product<TapTile<ComputeMode::tf32, 64>>
                                 : launch_product<TapTile<ComputeMode::tf32, 32>>);
    run(map_of(packed_dy, plan.dy, groups, kFilters),
        map_of(packed_x, plan.x, groups, plan.tile_channels), p,
        static_cast<unsigned>(plan.tiles * plan.slices), stream);
    sums.slices = plan.slices;
    sum_slices(sums, stream);
    sums.mode = GradientMode::accumulate;
  }
}

}  // namespace weft::kernels::cuda
