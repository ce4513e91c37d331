// SPDX-License-Identifier: MIT
// The second stage of the weight gradient: adding the rows of partial sums, and the bias's rows.
//
// A block of 32 x 32 threads sums 32 columns: thread (lane, slice) adds rows slice, slice + 32, ...
// of its column, and the 32 slices are added in order. Reads of a warp are 128 bytes in a row.
#include "kernels/conv/parts/weight_gradient_sums.cuh"

#include <algorithm>

#include "engine/error.h"
#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/device/overlap.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kLanes = 32, kSlices = 32;
constexpr int kBiasThreads = 128, kSumLines = 8;
constexpr std::int64_t kMaxPartialFloats = 16 << 20;  // 64 MiB of partial sums

// The columns of a filter in the slices of products on tensor cores: (kernel_height, groups,
// kernel_width, cell).
struct SliceColumns {
  device::FastDivide by_blocks;  // of a filter
  device::FastDivide by_cell, by_kernel_width, by_groups;
  int row, channels, kernel_height;
};

__global__ void __launch_bounds__(kLanes* kSlices)
    sum_partials_kernel(float* first, std::int64_t first_count, float* second,
                        std::int64_t second_count, const float* partials, std::int64_t rows,
                        std::int64_t stride, bool accumulate) {
  device::overlap_allow();
  __shared__ float slices[kSlices][kLanes];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kLanes + threadIdx.x;
  float sum = 0;
  device::overlap_wait();
  if (column < first_count + second_count) {
#pragma unroll 8
    for (std::int64_t row = threadIdx.y; row < rows; row += kSlices) {
      sum += partials[row * stride + column];
    }
  }
  slices[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < first_count + second_count) {
    float total = 0;
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice) total += slices[slice][threadIdx.x];
    float* to = column < first_count ? first : second;
    const std::int64_t i = column < first_count ? column : column - first_count;
    if (to != nullptr) to[i] = accumulate ? to[i] + total : total;
  }
}

// One block sums one filter's plane over the images of one chunk.
__global__ void __launch_bounds__(kBiasThreads)
    bias_partials_kernel(float* __restrict__ partials, const float* __restrict__ dy, std::int64_t n,
                         std::int64_t filters, std::int64_t plane, std::int64_t images,
                         std::int64_t row) {
  __shared__ device::BlockReduceStorage<float, kBiasThreads> storage;
  const std::int64_t chunk = blockIdx.x / filters, filter = blockIdx.x % filters;
  const std::int64_t end = min((chunk + 1) * images, n);
  float sum = 0;
  for (std::int64_t image = chunk * images; image < end; ++image) {
    const float* from = dy + (image * filters + filter) * plane;
#pragma unroll 4
    for (std::int64_t i = threadIdx.x; i < plane; i += kBiasThreads) sum += from[i];
  }
  const float total = device::block_reduce<kBiasThreads>(sum, device::Add{}, storage);
  if (threadIdx.x == 0) partials[chunk * row + filter] = total;
}

// A block sums 32 columns of a filter: thread (lane, line) adds slices line, line + 8, ... of its
// column, and the lines are added in order.
__global__ void __launch_bounds__(kLanes* kSumLines)
    sum_slices_kernel(float* __restrict__ dw, const float* __restrict__ partials,
                      std::int64_t slices, std::int64_t count, SliceColumns columns,
                      bool accumulate) {
  __shared__ float lines[kSumLines][kLanes];
  int block = 0;
  const std::int64_t filter = columns.by_blocks.divide(static_cast<int>(blockIdx.x), block);
  const int column = block * kLanes + static_cast<int>(threadIdx.x);
  float part = 0;
  if (column < columns.row) {
#pragma unroll 8
    for (std::int64_t slice = threadIdx.y; slice < slices; slice += kSumLines) {
      part += partials[slice * count + filter * columns.row + column];
    }
  }
  lines[threadIdx.y][threadIdx.x] = part;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns.row) return;
  int c = 0, s = 0, group = 0;
  const int cell = columns.by_cell.divide(column, c);
  const int r = columns.by_groups.divide(columns.by_kernel_width.divide(cell, s), group);
  c += group * columns.by_cell.divisor();
  if (c >= columns.channels) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kSumLines; ++i) sum += lines[i][threadIdx.x];
  const std::int64_t row = (filter * columns.channels + c) * columns.kernel_height + r;
  float& to = dw[row * columns.by_kernel_width.divisor() + s];
  to = accumulate ? to + sum : sum;
}

// The rows of partial sums of the bias alone.
WeightChunks bias_chunks(const ConvDims& dims) {
  WeightChunks chunks = weight_chunks(dims);
  chunks.row = dims.oc;
  return chunks;
}

}  // namespace

WeightChunks weight_chunks(const ConvDims& dims, std::int64_t most) {
  WeightChunks chunks;
  chunks.weights = dims.oc * dims.c * dims.kh * dims.kw;
  chunks.row = chunks.weights + dims.oc;
  if (dims.n == 0 || chunks.row == 0) return chunks;
  most = std::clamp(kMaxPartialFloats / chunks.row, std::int64_t{1}, most);
  chunks.images = divide_up(dims.n, most);
  chunks.count = divide_up(dims.n, chunks.images);
  return chunks;
}

void sum_partials(float* first, std::int64_t first_count, float* second, std::int64_t second_count,
                  const float* partials, std::int64_t rows, std::int64_t stride, GradientMode mode,
                  const Stream& stream) {
  const Launch config{dim3(blocks_for(first_count + second_count, kLanes)), dim3(kLanes, kSlices),
                      0, stream};
  launch(sum_partials_kernel, config.overlapped(), first, first_count, second, second_count,
         partials, rows, stride, mode == GradientMode::accumulate);
}

void bias_partials(float* partials, const float* dy, const ConvDims& dims,
                   const WeightChunks& chunks, const Stream& stream) {
  const Launch config{dim3(blocks_for(chunks.count * dims.oc, 1)), dim3(kBiasThreads), 0, stream};
  launch(bias_partials_kernel, config, partials, dy, dims.n, dims.oc, dims.oh() * dims.ow(),
         chunks.images, chunks.row);
}

std::size_t bias_gradient_bytes(const ConvDims& dims) {
  return bias_chunks(dims).bytes();
}

void bias_gradient(float* db, const float* dy, const ConvDims& dims, GradientMode mode,
                   void* scratch, const Stream& stream) {
  const WeightChunks chunks = bias_chunks(dims);
  auto* partials = static_cast<float*>(scratch);
  bias_partials(partials, dy, dims, chunks, stream);
  sum_partials(db, dims.oc, nullptr, 0, partials, chunks.count, chunks.row, mode, stream);
}

void sum_slices(const SliceSums& sums, const Stream& stream) {
  const ConvDims& d = *sums.dims;
  const std::int64_t row = d.kh * sums.groups * d.kw * sums.cell;
  const std::int64_t blocks = divide_up(row, kLanes);
  const Launch config{dim3(blocks_for(d.oc * blocks, 1)), dim3(kLanes, kSumLines), 0, stream};
  const SliceColumns columns{device::FastDivide(blocks), device::FastDivide(sums.cell),
                             device::FastDivide(d.kw),   device::FastDivide(sums.groups),
                             static_cast<int>(row),      static_cast<int>(d.c),
                             static_cast<int>(d.kh)};
  launch(sum_slices_kernel, config, sums.dw, sums.partials, sums.slices, d.oc * row, columns,
         sums.mode == GradientMode::accumulate);
}

std::size_t weight_gradient_bytes(const ConvDims& dims) {
  return weight_chunks(dims).bytes();
}

}  // namespace weft::kernels::cuda
