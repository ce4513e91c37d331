// SPDX-License-Identifier: MIT
// Box blur, rung "tiled": a block loads patches of the image into shared memory, all its threads
// add up from there.
//
//   outputs of a block:  32 columns x 16 rows of one channel, two rows per thread
//   what they need:      (32 + 2 radius) x (16 + 2 radius) pixels, walked in patches of 64 x 64
//
// Walking in patches is what makes any radius fit: for radius <= 16 one patch covers the columns of
// a window, for larger ones a thread meets parts of its window in several. Shared memory: 4.25 KiB,
// rows of 68 bytes.
#include "engine/launch.h"
#include "kernels/image/launchers.h"
#include "kernels/image/parts/grey.h"

namespace weft::kernels::cuda {

namespace {

struct Tile {
  static constexpr int kColumns = 32, kThreadRows = 8, kRowsPerThread = 2;
  static constexpr int kRows = kThreadRows * kRowsPerThread;
  static constexpr int kThreads = kColumns * kThreadRows;
  static constexpr int kPatch = 64;
};

__global__ void __launch_bounds__(Tile::kThreads)
    blur_tiled_kernel(std::uint8_t* __restrict__ y, const std::uint8_t* __restrict__ x,
                      std::int64_t height, std::int64_t width, std::int64_t channels,
                      std::int64_t radius, std::int64_t tiles_across, std::int64_t tiles) {
  __shared__ std::uint8_t patch[Tile::kPatch][Tile::kPatch + 4];
  const int tx = static_cast<int>(threadIdx.x) % Tile::kColumns;
  const int ty = static_cast<int>(threadIdx.x) / Tile::kColumns;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t channel = tile % channels;
    const std::int64_t row0 = tile / channels / tiles_across * Tile::kRows;
    const std::int64_t column0 = tile / channels % tiles_across * Tile::kColumns;
    // What the block's windows cover of the image.
    const std::int64_t top = max(row0 - radius, std::int64_t{0});
    const std::int64_t bottom = min(row0 + Tile::kRows - 1 + radius, height - 1);
    const std::int64_t left = max(column0 - radius, std::int64_t{0});
    const std::int64_t right = min(column0 + Tile::kColumns - 1 + radius, width - 1);
    const std::int64_t column = column0 + tx;
    std::uint64_t sums[Tile::kRowsPerThread] = {};

    for (std::int64_t i0 = top; i0 <= bottom; i0 += Tile::kPatch) {
      for (std::int64_t j0 = left; j0 <= right; j0 += Tile::kPatch) {
        const int patch_rows = static_cast<int>(min(bottom - i0 + 1, std::int64_t{Tile::kPatch}));
        const int patch_columns = static_cast<int>(min(right - j0 + 1, std::int64_t{Tile::kPatch}));
        __syncthreads();  // reads of the last patch are done
        for (int e = static_cast<int>(threadIdx.x); e < patch_rows * Tile::kPatch;
             e += Tile::kThreads) {
          const int i = e / Tile::kPatch, j = e % Tile::kPatch;
          if (j < patch_columns) {
            patch[i][j] = x[((i0 + i) * width + j0 + j) * channels + channel];
          }
        }
        __syncthreads();  // the patch is complete
        const int first_j = static_cast<int>(max(column - radius - j0, std::int64_t{0}));
        const int last_j = static_cast<int>(min(column + radius - j0, patch_columns - 1l));
#pragma unroll
        for (int k = 0; k < Tile::kRowsPerThread; ++k) {
          const std::int64_t row = row0 + ty + k * Tile::kThreadRows;
          const int first_i = static_cast<int>(max(row - radius - i0, std::int64_t{0}));
          const int last_i = static_cast<int>(min(row + radius - i0, patch_rows - 1l));
          std::uint32_t sum = 0;  // at most 64 * 64 * 255
          for (int i = first_i; i <= last_i; ++i) {
            for (int j = first_j; j <= last_j; ++j) sum += patch[i][j];
          }
          sums[k] += sum;
        }
      }
    }

#pragma unroll
    for (int k = 0; k < Tile::kRowsPerThread; ++k) {
      const std::int64_t row = row0 + ty + k * Tile::kThreadRows;
      if (row >= height || column >= width) continue;
      const std::int64_t rows =
          min(row + radius, height - 1) - max(row - radius, std::int64_t{0}) + 1;
      const std::int64_t columns =
          min(column + radius, width - 1) - max(column - radius, std::int64_t{0}) + 1;
      y[(row * width + column) * channels + channel] =
          image::mean_of(sums[k], static_cast<std::uint64_t>(rows * columns));
    }
  }
}

}  // namespace

void box_blur_tiled(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                    std::int64_t radius, const Stream& stream) {
  const std::int64_t across = divide_up(dims.width, Tile::kColumns);
  const std::int64_t down = divide_up(dims.height, Tile::kRows);
  const std::int64_t tiles = across * down * dims.channels;
  launch(blur_tiled_kernel, Launch{blocks_for(tiles, 1), Tile::kThreads, 0, stream}, y, x,
         dims.height, dims.width, dims.channels, radius, across, tiles);
}

}  // namespace weft::kernels::cuda
