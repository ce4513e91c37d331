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
  uint4* to;  // (images, plane, parts, quads)
  const float* x;
  int channels, quads, plane;  // quads: of a part
  bool vector;                 // four pixels of a plane are 16 aligned bytes
  FastDivide by_runs;          // runs of four pixels of an image
  FastDivide by_quad_tiles;    // eights of quads
  std::int64_t units;          // runs, for all eights of quads of all images
};

struct PixelFilterPack {
  uint4* to;  // (taps, rows, parts, quads)
  const float* w;
  CellFilters layout;
  std::int64_t taps, quads;  // quads: of a part of a row
  unsigned blocks;
};

template <CellType kType, int kParts>
__device__ __forceinline__ void pack_run(const PixelPack& p, unsigned block) {
  constexpr int kChannels = kQuadChannels<kType>;
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
  const std::int64_t stride = std::int64_t{kParts} * p.quads;
  uint4* to = p.to + (image * p.plane + pixel) * stride + quad;
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    if (pixel + i < p.plane) store_quad<kType, kParts>(to + i * stride, p.quads, value[i]);
  }
}

// One thread packs one quad of a filter at one tap; taps are neighbours in w.
template <CellType kType, int kParts>
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
  uint4* to = pack.to + (tap * p.rows + row) * kParts * pack.quads + quad;
  store_quad<kType, kParts>(to, pack.quads, value);
}

// Blocks for the filters come first: they are few, and their loads far apart.
template <CellType kType, int kParts>
__global__ void __launch_bounds__(kThreads)
    pack_pixels_kernel(PixelPack images, PixelFilterPack filters) {
  device::overlap_allow();  // the product waits for all of this kernel before it reads
  if (blockIdx.x < filters.blocks) return pack_filter<kType, kParts>(filters, blockIdx.x);
  pack_run<kType, kParts>(images, blockIdx.x - filters.blocks);
}

}  // namespace

void pack_pixels(void* pixels, const float* x, std::int64_t images, const PixelImages& layout,
                 void* filters, const float* w, const CellFilters& filter_layout,
                 const Stream& stream) {
  const std::int64_t runs = divide_up(layout.plane(), kPixels);
  const std::int64_t quads = layout.part_quads();
  const std::int64_t tiles = divide_up(quads, kLaneQuads);
  const bool vector =
      reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && layout.plane() % kPixels == 0;
  const PixelPack image_pack{static_cast<uint4*>(pixels),
                             x,
                             static_cast<int>(layout.channels),
                             static_cast<int>(quads),
                             static_cast<int>(layout.plane()),
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
                   blocks_for(taps * quads * filter_layout.rows, kThreads)};
  }
  const unsigned blocks = filter_pack.blocks + blocks_for(image_pack.units, kThreads / kLaneQuads);
  const auto kernel = layout.type == CellType::bf16 ? pack_pixels_kernel<CellType::bf16, 1>
                      : layout.parts == 1           ? pack_pixels_kernel<CellType::tf32, 1>
                                                    : pack_pixels_kernel<CellType::tf32, 2>;
  launch(kernel, {dim3(blocks), dim3(kThreads), 0, stream}, image_pack, filter_pack);
}

}  // namespace weft::kernels::cuda
