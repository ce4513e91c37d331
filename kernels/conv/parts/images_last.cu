// SPDX-License-Identifier: MIT
// Packing images side by side (images_last.cuh): a transposition, bound by memory. A block turns a
// group of images by 64 pixels in shared memory. It reads 256 contiguous bytes of each image, and
// writes 8 contiguous KiB of each part. Rows of shared memory are a float longer than the
// tile, so that pixels below each other lie in different banks.
#include "engine/launch.h"
#include "kernels/conv/parts/channel_quads.cuh"
#include "kernels/conv/parts/images_last.cuh"
#include "kernels/device/overlap.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPixels = 64;  // of a block
constexpr int kLines = kThreads / kPixels, kQuads = 128 / 16;

struct BatchPack {
  uint4* to;
  const float* x;
  int images;
  std::int64_t pixels;  // of an image
  std::int64_t tiles;   // of an image
  unsigned blocks;
  const std::uint32_t* largest;  // of halves
};

template <CellType kType, bool kSecond>
__device__ __forceinline__ void pack_tile(const BatchPack& p, unsigned block) {
  constexpr bool kHalves = kType == CellType::halves;
  // With halves four quads have all images, and the others belong to them.
  constexpr int kNumbers = kQuadChannels<kType>, kOwnQuads = kHalves ? kQuads / 2 : kQuads;
  constexpr int kImages = kOwnQuads * kNumbers, kCopies = kHalves && kSecond ? 2 : 1;
  __shared__ float tile[kImages][kPixels + 1];
  const int shift = kHalves ? device::half_shift(largest_of(p.largest)) : 0;
  const std::int64_t group = block / p.tiles, pixel0 = block % p.tiles * kPixels;
  const int lane = static_cast<int>(threadIdx.x) % kPixels;
  const int line = static_cast<int>(threadIdx.x) / kPixels;
  float read[kImages / kLines];
#pragma unroll
  for (int i = 0; i < kImages / kLines; ++i) {  // all of them in flight together
    const std::int64_t image = group * kImages + line + i * kLines;
    const bool inside = image < p.images && pixel0 + lane < p.pixels;
    read[i] = inside ? __ldg(p.x + image * p.pixels + pixel0 + lane) : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < kImages / kLines; ++i) tile[line + i * kLines][lane] = read[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kPixels * kOwnQuads; i += kThreads) {
    const int at = i + static_cast<int>(threadIdx.x), pixel = at / kOwnQuads, quad = at % kOwnQuads;
    if (pixel0 + pixel >= p.pixels) break;
    float value[kNumbers];
#pragma unroll
    for (int k = 0; k < kNumbers; ++k) value[k] = tile[quad * kNumbers + k][pixel];
    uint4* to = p.to + (group * kCopies * p.pixels + pixel0 + pixel) * kQuads + quad;
    if constexpr (kHalves && kSecond) {
      store_scaled_halves(to, to + p.pixels * kQuads, value, shift);
    } else if constexpr (kHalves) {
      store_halves(to, value, shift);
    } else {
      *to = make_quad<kType>(value);
    }
  }
}

template <CellType kType>
__global__ void __launch_bounds__(kThreads) pack_batch_kernel(BatchPack dy, BatchPack x) {
  device::overlap_allow();  // the product waits for all of this kernel before it reads
  if (blockIdx.x < dy.blocks) return pack_tile<kType, false>(dy, blockIdx.x);
  pack_tile<kType, kType == CellType::halves>(x, blockIdx.x - dy.blocks);
}

BatchPack batch_pack(const BatchPacking& packing) {
  const BatchImages& layout = packing.layout;
  const std::int64_t tiles = divide_up(layout.pixels(), kPixels);
  return {static_cast<uint4*>(packing.to),
          packing.x,
          static_cast<int>(packing.images),
          layout.pixels(),
          tiles,
          blocks_for(packing.images, layout.group()) * blocks_for(tiles, 1),
          packing.largest};
}

}  // namespace

void pack_batch(const BatchPacking& dy, const BatchPacking& x, const Stream& stream) {
  const BatchPack one = batch_pack(dy), two = batch_pack(x);
  const Launch config{dim3(one.blocks + two.blocks), dim3(kThreads), 0, stream};
  const ComputeMode mode = dy.layout.mode;
  const auto kernel = mode == ComputeMode::bf16   ? pack_batch_kernel<CellType::bf16>
                      : mode == ComputeMode::tf32 ? pack_batch_kernel<CellType::fp32>
                                                  : pack_batch_kernel<CellType::halves>;
  launch(kernel, config, one, two);
}

}  // namespace weft::kernels::cuda
