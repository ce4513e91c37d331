// SPDX-License-Identifier: MIT
// Packing images and filters into cells for the tensor cores.
//
// Four lanes share a cell, each with one 16-byte quad of it. Lanes of one quad lie along 8 pixels,
// so a warp reads whole 32-byte sectors of the channel planes and writes 512 bytes in a row. A
// thread packs kCells pixels at a time, all of their loads in flight together.
#include <algorithm>

#include "engine/error.h"
#include "engine/launch.h"
#include "kernels/conv/parts/channel_quads.cuh"
#include "kernels/device/mma.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kThreads = 256;
constexpr int kCells = 4;  // of one thread

struct ImagePack {
  uint4* to;
  const float* x;
  int channels, height, width, top, left;
  FastDivide by_cell_width, by_cell_height, by_groups;
  std::int64_t cells = 0;  // of all images
  unsigned blocks = 0;
};

struct FilterPack {
  uint4* to;
  const float* w;
  CellFilters layout;
  std::int64_t quads = 0;
  unsigned blocks = 0;
};

template <CellType kType>
__device__ __forceinline__ void pack_images(const ImagePack& p, unsigned block) {
  constexpr int kChannels = kCellChannels<kType> / 4;  // of a quad
  constexpr int kBlockCells = kThreads / kCellQuads;
  const int quad = threadIdx.x % kCellQuads;
  const std::int64_t cell0 =
      static_cast<std::int64_t>(block) * kBlockCells * kCells + threadIdx.x / kCellQuads;
  const std::int64_t plane = std::int64_t{p.height} * p.width;
  float values[kCells][kChannels];
#pragma unroll
  for (int k = 0; k < kCells; ++k) {
    const std::int64_t cell = min(cell0 + k * kBlockCells, p.cells - 1);
    int u = 0, v = 0, group = 0;
    const std::int64_t image = p.by_groups.divide(
        p.by_cell_height.divide(p.by_cell_width.divide(static_cast<int>(cell), v), u), group);
    const int i = u - p.top, j = v - p.left;
    const int channel = group * kCellChannels<kType> + quad * kChannels;
    const bool inside = static_cast<unsigned>(i) < static_cast<unsigned>(p.height) &&
                        static_cast<unsigned>(j) < static_cast<unsigned>(p.width);
    const float* from =
        p.x + (image * p.channels + channel) * plane + std::int64_t{i} * p.width + j;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      values[k][c] = inside && channel + c < p.channels ? __ldg(from + c * plane) : 0.0f;
    }
  }
#pragma unroll
  for (int k = 0; k < kCells; ++k) {
    const std::int64_t cell = cell0 + k * kBlockCells;
    if (cell < p.cells) p.to[cell * kCellQuads + quad] = make_quad<kType>(values[k]);
  }
}

// One thread packs one quad.
template <CellType kType>
__device__ __forceinline__ void pack_filters(const FilterPack& pack, unsigned block) {
  const CellFilters& p = pack.layout;
  constexpr int kChannels = kCellChannels<kType> / 4;
  const std::int64_t at = static_cast<std::int64_t>(block) * kThreads + threadIdx.x;
  if (at >= pack.quads) return;
  const std::int64_t cell = at / kCellQuads, taps = p.taps_h * p.taps_w;
  const std::int64_t row = cell % p.padded_rows, tap = cell / p.padded_rows % taps;
  const std::int64_t group = cell / p.padded_rows / taps;
  const std::int64_t channel = group * kCellChannels<kType> + at % kCellQuads * kChannels;
  const std::int64_t r = p.r0 + tap / p.taps_w * p.r_step, s = p.s0 + tap % p.taps_w * p.s_step;
  const float* from = pack.w + row * p.row_stride + channel * p.channel_stride + r * p.kw + s;
  float values[kChannels];
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    const bool inside = row < p.rows && channel + c < p.channels;
    values[c] = inside ? __ldg(from + c * p.channel_stride) : 0.0f;
  }
  pack.to[at] = make_quad<kType>(values);
}

// Blocks for the filters come first: they are few, and their loads far apart.
template <CellType kType>
__global__ void __launch_bounds__(kThreads)
    pack_cells_kernel(ImagePack first, ImagePack second, FilterPack filters) {
  if (blockIdx.x < filters.blocks) return pack_filters<kType>(filters, blockIdx.x);
  const unsigned block = blockIdx.x - filters.blocks;
  if (block < first.blocks) return pack_images<kType>(first, block);
  pack_images<kType>(second, block - first.blocks);
}

ImagePack image_pack(const ImagePacking& packing) {
  if (packing.cells == nullptr) return {};
  const CellImages& layout = packing.layout;
  constexpr std::int64_t kBlockCells = std::int64_t{kThreads} / kCellQuads * kCells;
  const std::int64_t cells = packing.images * layout.cells();
  return {static_cast<uint4*>(packing.cells),
          packing.x,
          narrow(layout.channels),
          narrow(layout.height),
          narrow(layout.width),
          narrow(layout.top),
          narrow(layout.left),
          FastDivide(layout.cell_width),
          FastDivide(layout.cell_height),
          FastDivide(layout.groups()),
          cells,
          blocks_for(cells, kBlockCells)};
}

FilterPack filter_pack(const FilterPacking& packing) {
  if (packing.cells == nullptr) return {};
  const std::int64_t quads = packing.layout.cells() * kCellQuads;
  return {static_cast<uint4*>(packing.cells), packing.w, packing.layout, quads,
          blocks_for(quads, kThreads)};
}

}  // namespace

std::int64_t images_at_a_time(std::int64_t n, std::int64_t bytes_per_image) {
  constexpr std::int64_t kMostCells = std::int64_t{1} << 29;
  if (bytes_per_image / kCellBytes >= kMostCells) {
    throw Error(ErrorKind::usage,
                str("conv2d on tensor cores: expected fewer than 2^29 cells of ", kCellBytes,
                    " bytes an image, found ", bytes_per_image / kCellBytes));
  }
  return std::clamp(kMostPackedBytes / std::max<std::int64_t>(bytes_per_image, 1), std::int64_t{1},
                    std::max<std::int64_t>(n, 1));
}

void pack_cells(const ImagePacking& first, const ImagePacking& second, const FilterPacking& filters,
                CellType type, const Stream& stream) {
  const ImagePack one = image_pack(first), two = image_pack(second);
  const FilterPack weights = filter_pack(filters);
  const Launch config{dim3(weights.blocks + one.blocks + two.blocks), dim3(kThreads), 0, stream};
  const auto kernel = type == CellType::fp32   ? pack_cells_kernel<CellType::fp32>
                      : type == CellType::tf32 ? pack_cells_kernel<CellType::tf32>
                      : type == CellType::bf16 ? pack_cells_kernel<CellType::bf16>
                                               : pack_cells_kernel<CellType::bf16_as_fp32>;
  launch(kernel, config, one, two, weights);
}

}  // namespace weft::kernels::cuda
