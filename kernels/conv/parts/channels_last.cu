// SPDX-License-Identifier: MIT
// Packing images and filters with their channels side by side (channels_last.cuh).
//
// It is bound by memory. A thread reads four neighbouring pixels of each channel of a quad, 16
// bytes at a time, turns this square in registers and writes four quads. Eight lanes have eight
// quads of the same pixels, so a warp reads whole sectors (64 bytes of a plane) and writes whole
// lines (128 bytes of a pixel), and no shared memory is needed. A thread has 64 bytes in flight,
// and an SM 128 KiB.
#include "engine/launch.h"
#include "kernels/conv/parts/channel_quads.cuh"
#include "kernels/conv/parts/channels_last.cuh"
#include "kernels/device/overlap.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kThreads = 256;
constexpr int kLaneQuads = 8, kPixels = 4;  // of a thread: one quad of four pixels

struct PixelPack {
  uint4* to;  // (images, plane, quads)
  const float* x;
  int channels, quads, plane;    // quads: of different channels, of a pixel
  const std::uint32_t* largest;  // of halves
  bool vector;                   // four pixels of a plane are 16 aligned bytes
  FastDivide by_runs;            // runs of four pixels of an image
  FastDivide by_quad_tiles;      // eights of quads
  std::int64_t units;            // runs, for all eights of quads of all images
};

struct PixelFilterPack {
  uint4* to;  // (taps, rows, quads)
  const float* w;
  CellFilters layout;
  std::int64_t taps, quads;      // quads: of different channels, of a row
  const std::uint32_t* largest;  // of halves
  unsigned blocks;
};

// Where the big half of a quad of channels is; the small one is four quads on.
__device__ __forceinline__ std::int64_t place_of_half(std::int64_t quad) {
  return quad / 4 * 8 + quad % 4;
}

template <CellType kType>
__device__ __forceinline__ void pack_run(const PixelPack& p, unsigned block) {
  constexpr int kChannels = kQuadChannels<kType>;
  constexpr bool kHalves = kType == CellType::halves;
  const int shift = kHalves ? device::half_shift(largest_of(p.largest)) : 0;
  constexpr int kUnits = kThreads / kLaneQuads;
  const std::int64_t unit = std::int64_t{block} * kUnits + threadIdx.x / kLaneQuads;
  if (unit >= p.units) return;
  int run = 0, tile = 0;
  const std::int64_t image =
      p.by_quad_tiles.divide(p.by_runs.divide(static_cast<int>(unit), run), tile);
  const int quad = tile * kLaneQuads + static_cast<int>(threadIdx.x) % kLaneQuads;
  if (quad >= p.quads) return;
  const int channel = quad * kChannels, pixel = run * kPixels;
  const float* from = p.x + (image * p.channels + channel) * p.plane + pixel;
  float value[kPixels][kChannels];
  if (p.vector) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const auto* at = reinterpret_cast<const float4*>(from + std::int64_t{c} * p.plane);
      const float4 four = channel + c < p.channels ? __ldg(at) : float4{0, 0, 0, 0};
      value[0][c] = four.x, value[1][c] = four.y, value[2][c] = four.z, value[3][c] = four.w;
    }
  } else {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const float* at = from + std::int64_t{c} * p.plane;
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        const bool inside = channel + c < p.channels && pixel + i < p.plane;
        value[i][c] = inside ? __ldg(at + i) : 0.0f;
      }
    }
  }
  const std::int64_t stride = kHalves ? 2 * p.quads : p.quads;
  uint4* to = p.to + (image * p.plane + pixel) * stride + (kHalves ? place_of_half(quad) : quad);
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    if (pixel + i >= p.plane) break;
    if constexpr (kHalves) {
      store_halves(to + i * stride, value[i], shift);
    } else {
      to[i * stride] = make_quad<kType>(value[i]);
    }
  }
}

// One thread packs one quad of a filter at one tap; taps are neighbours in w.
template <CellType kType>
__device__ __forceinline__ void pack_filter(const PixelFilterPack& pack, unsigned block) {
  constexpr int kChannels = kQuadChannels<kType>;
  const CellFilters& p = pack.layout;
  const std::int64_t at = std::int64_t{block} * kThreads + threadIdx.x;
  if (at >= pack.taps * pack.quads * p.rows) return;
  const std::int64_t tap = at % pack.taps, quad = at / pack.taps % pack.quads;
  const std::int64_t row = at / pack.taps / pack.quads, channel = quad * kChannels;
  const std::int64_t r = p.r0 + tap / p.taps_w * p.r_step, s = p.s0 + tap % p.taps_w * p.s_step;
  const float* from = pack.w + row * p.row_stride + channel * p.channel_stride + r * p.kw + s;
  float value[kChannels];
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    value[c] = channel + c < p.channels ? __ldg(from + c * p.channel_stride) : 0.0f;
  }
  if constexpr (kType == CellType::halves) {
    uint4* to = pack.to + (tap * p.rows + row) * 4 * pack.quads + quad / 4 * 16 + quad % 4;
    store_scaled_halves(to, to + 8, value, device::half_shift(pack.largest[row]));
  } else {
    pack.to[(tap * p.rows + row) * pack.quads + quad] = make_quad<kType>(value);
  }
}

// Blocks for the filters come first: they are few, and their loads far apart.
template <CellType kType>
__global__ void __launch_bounds__(kThreads)
    pack_pixels_kernel(PixelPack images, PixelFilterPack filters) {
  device::overlap_allow();  // the product waits for all of this kernel before it reads
  if (blockIdx.x < filters.blocks) return pack_filter<kType>(filters, blockIdx.x);
  pack_run<kType>(images, blockIdx.x - filters.blocks);
}

}  // namespace

void pack_pixels(void* pixels, const float* x, std::int64_t images, const PixelImages& layout,
                 void* filters, const float* w, const CellFilters& filter_layout,
                 const HalfLargest& largest, const Stream& stream) {
  const std::int64_t runs = divide_up(layout.plane(), kPixels);
  const bool halves = layout.type == CellType::halves;
  const std::int64_t quads = halves ? layout.quads() / 2 : layout.quads();
  const std::int64_t tiles = divide_up(quads, kLaneQuads);
  const bool vector =
      reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && layout.plane() % kPixels == 0;
  const PixelPack image_pack{static_cast<uint4*>(pixels),
                             x,
                             static_cast<int>(layout.channels),
                             static_cast<int>(quads),
                             static_cast<int>(layout.plane()),
                             largest.images,
                             vector,
                             FastDivide(runs),
                             FastDivide(tiles),
                             images * tiles * runs};
  PixelFilterPack filter_pack{};
  if (filters != nullptr) {
    const std::int64_t taps = filter_layout.taps_h * filter_layout.taps_w;
    filter_pack = {static_cast<uint4*>(filters),
                   w,
                   filter_layout,
                   taps,
                   quads,
                   largest.filters,
                   blocks_for(taps * quads * filter_layout.rows, kThreads)};
  }
  const unsigned blocks = filter_pack.blocks + blocks_for(image_pack.units, kThreads / kLaneQuads);
  const auto kernel = layout.type == CellType::bf16   ? pack_pixels_kernel<CellType::bf16>
                      : layout.type == CellType::tf32 ? pack_pixels_kernel<CellType::tf32>
                                                      : pack_pixels_kernel<CellType::halves>;
  launch(kernel, {dim3(blocks), dim3(kThreads), 0, stream}, image_pack, filter_pack);
}

}  // namespace weft::kernels::cuda
