// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm_wgmma": forward and backward data as products on the tensor
// cores of Hopper, whose operands the copy engine (TMA) gathers. sm_90a.
//
// Pixels lie in memory with their channels side by side (channels_last.cuh), so an image is a
// tensor of (height, width, channels), and what a tap (r, s) multiplies is a box of it: the box of
// results, moved by (r, s). One copy brings a box of up to 400 pixels by 128 bytes of channels, and
// zeros where it lies outside of the image. No thread computes an address, and there is no border.
//
//      filters (64 each)  x  pixels of a box        D: a row is a filter, neighbours in a row are
//      128 bytes of k        128 bytes of k, one    neighbours in a plane of NCHW, so that four
//                            copy at each tap       lanes store 64 bytes of it
//
// The pipeline is that of gemm/hopper/wgmma.cuh: warpgroup 0 copies into rings of stages,
// warpgroups 1 and 2 multiply, and blocks stay for tile after tile. A product has 200 columns: 14 x
// 14 = 196 results fill 98 % of them, and so do 7 rows of 28 or of two halves of 56.
//
// The taps of a column of the kernel lie one below the other, so a box with two more rows holds all
// three. Each tap is the operand that begins one row of pixels further on. (It may begin anywhere
// in the 1024 bytes in which the swizzle repeats, because the swizzle goes by the address.) Pixels
// are then read from L2 once for three taps. Each tap has filters of its own, so filters have a
// ring of their own.
//
//   filters x pixels         stages of pixels   of filters   shared    bytes a clock from L2
//   128 x 200 (7 x 28)       3, 3 taps, 32 KiB  8, 16 KiB    224 KiB   34
//   64 x 400 (14 x 28)       3, 3 taps, 57 KiB  6, 8 KiB     219 KiB   34
//   128 x 200 (4 x 7 x 7)    5, 1 tap,  25 KiB  5, 16 KiB    205 KiB   52
//   64 x 400 (2 x 14 x 14)   3, 1 tap,  50 KiB  3, 8 KiB     174 KiB   73
//
// The last column is at the peak of the tensor cores, 800 clocks for a tap in tf32 as in bf16; L2
// delivers about 45. Sums take 100 registers. In fp32 the operands are in two parts of fp16, and a
// copy has 32 channels. Each tap has two copies of filters (channels_last.cuh): pixels times the
// first, 400 clocks, and their big half times the second, 200 clocks. Totals take 100 registers
// more. tile_choice.cpp chooses the tile, and rungs/hopper/implicit_gemm_wgmma.cu puts a call in
// these terms.
#include <algorithm>

#include "engine/cuda/tensor_map.h"
#include "engine/launch.h"
#include "kernels/conv/hopper/store_nchw.cuh"
#include "kernels/conv/hopper/tile_choice.h"
#include "kernels/conv/hopper/window_product.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/wgmma.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kWarpgroup = 128;  // threads
constexpr int kThreads = (1 + kWgmmaConsumers) * kWarpgroup;

struct ProductPlan {
  int chunks, chunk_elements;
  int taps_h, taps_w, pad_h, pad_w, rows;
  int box_taps;  // of a stage of pixels
  int pixel_stages, pixel_bytes, copied_pixel_bytes, filter_stages;
  int box_images, box_height, box_width;
  FastDivide by_row_tiles, by_tile_columns, by_tile_rows;
  int tiles;
  PixelStore store;
  HalfLargest largest;  // of halves
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ TilePlace place_of(int tile, int filters, const ProductPlan& p) {
  int filter = 0, column = 0, row = 0;
  const int box = p.by_row_tiles.divide(tile, filter);
  const int image = p.by_tile_rows.divide(p.by_tile_columns.divide(box, column), row);
  return {filter * filters, image * p.box_images, row * p.box_height, column * p.box_width};
}

// Stages of pixels or of filters, in shared memory, and where in them a thread is.
struct StageRing {
  char* stages;
  int stage_bytes, count;
  std::uint64_t *full, *empty;
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ char* at() const { return stages + stage * stage_bytes; }
  __device__ void advance() {
    if (++stage == count) stage = 0, parity ^= 1;
  }
  __device__ void wait_until_empty() const { device::barrier_wait(empty + stage, parity ^ 1); }
  __device__ void wait_until_full() const { device::barrier_wait(full + stage, parity); }
};

// Copies of filters for a chunk of pixels at a tap.
template <ComputeMode kMode>
constexpr int kFilterCopies = kMode == ComputeMode::fp32 ? 2 : 1;

// Starts all copies of a tile. One thread calls it.
template <ComputeMode kMode, int kFilters>
__device__ __forceinline__ void copy_tile(const CUtensorMap& pixel_map,
                                          const CUtensorMap& filter_map, const ProductPlan& p,
                                          const TilePlace& place, StageRing& pixels,
                                          StageRing& filters) {
  constexpr int kCopies = kFilterCopies<kMode>;
  const auto copy_box = [&](int chunk, int r, int s) {
    pixels.wait_until_empty();
    device::barrier_expect(pixels.full + pixels.stage, p.copied_pixel_bytes);
    device::tma_load(pixels.at(), pixel_map, chunk * p.chunk_elements, place.column + s - p.pad_w,
                     place.row + r - p.pad_h, place.image, pixels.full + pixels.stage);
    for (int i = 0; i < p.box_taps * kCopies; ++i, filters.advance()) {
      const int row = ((r + i / kCopies) * p.taps_w + s) * p.rows + place.filter;
      const int channel = (chunk * kCopies + i % kCopies) * p.chunk_elements;
      filters.wait_until_empty();
      device::barrier_expect(filters.full + filters.stage, kFilters * kWgmmaChunkBytes);
      device::tma_load(filters.at(), filter_map, channel, row, filters.full + filters.stage);
    }
    pixels.advance();
  };
  for (int chunk = 0; chunk < p.chunks; ++chunk) {
    for (int r = 0; r < p.taps_h; r += p.box_taps) {
      for (int s = 0; s < p.taps_w; ++s) copy_box(chunk, r, s);
    }
  }
}

// Where a consumer is in both rings, and what it has not released yet.
struct Consumer {
  StageRing pixels, filters;
  int own_pixels, own_filters;  // bytes into a stage
  bool speaks;                  // for its warpgroup
  int last_pixels = 0, last_filters = 0;
  bool pending = false;  // products of these stages may be in flight

  __device__ __forceinline__ void release(bool box) {
    if (!pending || !speaks) return;
    device::barrier_arrive(filters.empty + last_filters);
    if (box) device::barrier_arrive(pixels.empty + last_pixels);
  }
  // Waits for all products, and releases what they read.
  __device__ __forceinline__ void finish() {
    device::wgmma_wait<0>();
    release(true);
    pending = false;
  }

  // Starts the products of the next box and its filters; those before the last tap's are done.
  template <ComputeMode kMode>
  __device__ __forceinline__ void multiply_box(float (&sum)[kWgmmaPixels / 2], const ProductPlan& p,
                                               bool accumulate) {
    constexpr int kCopies = kFilterCopies<kMode>;
    pixels.wait_until_full();
    for (int tap = 0; tap < p.box_taps; ++tap) {
      const char* box = pixels.at() + own_pixels + tap * p.box_width * kWgmmaChunkBytes;
#pragma unroll
      for (int copy = 0; copy < kCopies; ++copy, filters.advance()) {
        filters.wait_until_full();
        device::wgmma_fence();
        const char* own = filters.at() + own_filters;
        const bool add = accumulate || tap > 0 || copy > 0;
        if constexpr (kCopies == 1) {
          device::wgmma_rows<kMode == ComputeMode::bf16, kWgmmaPixels>(sum, own, box, add);
        } else if (copy == 0) {
          device::wgmma_fp16_rows<kWgmmaPixels, 4>(sum, own, box, add);
        } else {
          device::wgmma_fp16_rows<kWgmmaPixels, 2>(sum, own, box, add);
        }
        device::wgmma_commit();
        device::wgmma_wait<1>();
        release(tap == 0 && copy == 0);
        pending = true;
        last_filters = filters.stage;
        last_pixels = pixels.stage;
      }
    }
    pixels.advance();
  }

  // The sums of a tile. The tensor core truncates where fp32 rounds. So in fp32 it only sums the
  // products of a box; fp32 additions do the rest while the other warpgroup uses the tensor core.
  template <ComputeMode kMode>
  __device__ __forceinline__ void sum_tile(float (&sum)[kWgmmaPixels / 2], const ProductPlan& p) {
    const int boxes = p.chunks * p.taps_w * (p.taps_h / p.box_taps);
    if constexpr (kMode != ComputeMode::fp32) {
      for (int box = 0; box < boxes; ++box) multiply_box<kMode>(sum, p, box > 0);
      finish();
    } else {
#pragma unroll
      for (float& total : sum) total = 0;
      for (int box = 0; box < boxes; ++box) {
        float part[kWgmmaPixels / 2];
        multiply_box<kMode>(part, p, false);
        finish();
        device::wgmma_results(part);
#pragma unroll
        for (int i = 0; i < kWgmmaPixels / 2; ++i) sum[i] += part[i];
      }
    }
  }
};

// Takes back the scales of halves: this lane's sums are of two filters.
__device__ __forceinline__ void unscale(float (&sum)[kWgmmaPixels / 2], const ProductPlan& p,
                                        int filter0) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int row = filter0 + thread / 32 * 16 + thread % 32 / 4;
  const int images = device::half_shift(largest_of(p.largest.images));
  int shift[2] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int filter = row + 8 * half;
    if (filter < p.rows)
      shift[half] = images + device::half_shift(__ldg(p.largest.filters + filter));
  }
#pragma unroll
  for (int i = 0; i < kWgmmaPixels / 2; ++i) sum[i] = ldexpf(sum[i], -shift[i / 2 % 2]);
}

#endif

template <ComputeMode kMode, int kFilters>
__global__ void __launch_bounds__(kThreads, 1)
    window_product_kernel(const __grid_constant__ CUtensorMap pixel_map,
                          const __grid_constant__ CUtensorMap filter_map,
                          const __grid_constant__ ProductPlan p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ std::uint64_t barriers[4][kWgmmaMostStages];
  char* aligned = device::aligned_shared();
  StageRing pixels{aligned, p.pixel_bytes, p.pixel_stages, barriers[0], barriers[1]};
  StageRing filters{aligned + p.pixel_stages * p.pixel_bytes, kFilters * kWgmmaChunkBytes,
                    p.filter_stages, barriers[2], barriers[3]};
  const int first = blockIdx.x, step = gridDim.x;
  if (threadIdx.x == 0) {
    device::tma_prefetch(pixel_map);
    device::tma_prefetch(filter_map);
    for (int stage = 0; stage < kWgmmaMostStages; ++stage) {
      for (const StageRing* ring : {&pixels, &filters}) {
        device::barrier_init(ring->full + stage, 1);
        device::barrier_init(ring->empty + stage, kWgmmaConsumers);
      }
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  device::overlap_wait();  // operands are packed, and nothing reads the old results

  if (threadIdx.x < kWarpgroup) {
    device::registers_release<40>();
    if (threadIdx.x == 0) {
      for (int tile = first; tile < p.tiles; tile += step) {
        copy_tile<kMode, kFilters>(pixel_map, filter_map, p, place_of(tile, kFilters, p), pixels,
                                   filters);
      }
    }
  } else {
    device::registers_take<232>();
    // Two warpgroups share the pixels of 128 filters, or the 64 filters of 400 pixels.
    const int warpgroup = threadIdx.x / kWarpgroup - 1;
    const int filter0 = kFilters == 128 ? warpgroup * 64 : 0;
    const int pixel0 = kFilters == 64 ? warpgroup * kWgmmaPixels : 0;
    Consumer consumer{pixels, filters, pixel0 * kWgmmaChunkBytes, filter0 * kWgmmaChunkBytes,
                      threadIdx.x % kWarpgroup == 0};
    for (int tile = first; tile < p.tiles; tile += step) {
      float sum[kWgmmaPixels / 2];
      consumer.template sum_tile<kMode>(sum, p);
      const TilePlace place = place_of(tile, kFilters, p);
      if constexpr (kMode == ComputeMode::fp32) unscale(sum, p, place.filter + filter0);
      store_sums(p.store, sum, place.filter + filter0, pixel0, place);
    }
  }
#else
  static_cast<void>(pixel_map), static_cast<void>(filter_map), static_cast<void>(p);
  __trap();
#endif
}
ProductPlan make_plan(const WindowProduct& w, const WgmmaWork& work, const WgmmaTile& tile) {
  ProductPlan p{};
  const std::int64_t plane = w.height * w.width;
  const std::int64_t columns = divide_up(w.width, tile.width);
  const std::int64_t rows = divide_up(w.height, tile.height);
  const std::int64_t row_tiles = divide_up(w.rows, tile.filters);
  p.chunks = narrow(divide_up(w.quads * 16, kWgmmaChunkBytes));
  p.chunk_elements = kWgmmaChunkBytes / (w.mode == ComputeMode::tf32 ? 4 : 2);
  p.largest = w.largest;
  p.taps_h = narrow(w.taps_h);
  p.taps_w = narrow(w.taps_w);
  p.pad_h = narrow(w.pad_h);
  p.pad_w = narrow(w.pad_w);
  p.rows = narrow(w.rows);
  p.box_taps = tile.taps;
  p.pixel_stages = tile.pixel_stages();
  p.pixel_bytes = tile.pixel_bytes();
  p.copied_pixel_bytes = tile.copied_pixel_bytes();
  p.filter_stages = tile.filter_stages();
  p.box_images = tile.images;
  p.box_height = tile.height;
  p.box_width = tile.width;
  p.by_row_tiles = FastDivide(row_tiles);
  p.by_tile_columns = FastDivide(columns);
  p.by_tile_rows = FastDivide(rows);
  p.tiles = narrow(row_tiles * columns * rows * divide_up(w.images, tile.images));
  const bool flat = tile.width == w.width;
  const std::int64_t run = flat ? tile.height * tile.width : tile.width;
  const std::int64_t line = flat ? plane : w.width;
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(w.to) | reinterpret_cast<std::uintptr_t>(w.mask);
  const bool quads = addresses % 16 == 0 && tile.stores_quads(work);
  p.store = {w.to,
             w.bias,
             w.mask,
             w.relu,
             w.accumulate,
             quads,
             flat,
             tile.images,
             tile.width,
             narrow(w.images),
             narrow(w.rows),
             narrow(flat ? 1 : w.height),
             narrow(line),
             plane,
             FastDivide(run),
             FastDivide(flat ? 1 : tile.height)};
  return p;
}

}  // namespace

void run_window_product(const WindowProduct& w, const Stream& stream) {
  const std::int64_t processors = std::max(1, device_properties(stream.device()).multiprocessors);
  const bool bf16 = w.mode == ComputeMode::bf16, halves = w.mode == ComputeMode::fp32;
  const std::int64_t chunks = divide_up(w.quads * 16, kWgmmaChunkBytes);
  const WgmmaWork work{w.images, w.height,         w.width,          w.rows,
                       chunks,   narrow(w.taps_h), narrow(w.taps_w), halves ? 2 : 1};
  const WgmmaTile tile = choose_wgmma_tile(work, processors);
  const ProductPlan plan = make_plan(w, work, tile);
  // The operands are rounded already: floats are copied as they are.
  const TensorMapType type = bf16     ? TensorMapType::bf16
                             : halves ? TensorMapType::fp16
                                      : TensorMapType::fp32;
  const std::int64_t of_quad = w.mode == ComputeMode::tf32 ? 4 : 8;
  const std::int64_t channels = w.quads * of_quad, filter_channels = w.filter_quads * of_quad;
  const CUtensorMap pixel_map =
      images_map(w.pixels, type, {w.images, w.source_height, w.source_width, channels},
                 {tile.images, tile.box_height(), tile.width});
  const CUtensorMap filter_map =
      matrix_map(w.filters, type, {w.taps_h * w.taps_w * w.rows, filter_channels, filter_channels},
                 tile.filters);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(plan.tiles, processors));
  const Launch config{dim3(blocks), dim3(kThreads),
                      static_cast<std::size_t>(tile.shared_bytes()) + 1024, stream};
  const bool wide = tile.filters == 128;
  const auto kernel = halves ? (wide ? window_product_kernel<ComputeMode::fp32, 128>
                                     : window_product_kernel<ComputeMode::fp32, 64>)
                      : bf16 ? (wide ? window_product_kernel<ComputeMode::bf16, 128>
                                     : window_product_kernel<ComputeMode::bf16, 64>)
                             : (wide ? window_product_kernel<ComputeMode::tf32, 128>
                                     : window_product_kernel<ComputeMode::tf32, 64>);
  launch(kernel, config.overlapped(), pixel_map, filter_map, plan);
}

}  // namespace weft::kernels::cuda
