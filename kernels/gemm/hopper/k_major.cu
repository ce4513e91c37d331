// SPDX-License-Identifier: MIT
// Copies of GEMM operands with rows along k: transposed where they lie the other way, and split
// into two parts of tf32 or fp16 for products of fp32 accuracy. They run at the speed of memory.
// The product may start while they end. They themselves wait for the kernel before them: if they
// started early, all their blocks would settle on the few SMs that a product leaves first.
#include "kernels/gemm/hopper/k_major.h"

#include <utility>

#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/device/halves.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tf32.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kSide = 64;  // of the tiles that are transposed
constexpr int kThreads = 256;
constexpr std::int64_t kChunk = 32;  // floats along k that a product takes at once
constexpr std::int64_t kHalfChunk = 64;
constexpr int kRowsOfTile = 256;  // of a cluster's tiles in A; a tile has 128 of B
constexpr int kStrip = 32;        // columns whose largest values a block finds

// Four neighbours along k of row x, to where they belong.
struct Copy {
  float* to;
  std::int64_t ld;
  __device__ __forceinline__ void operator()(std::int64_t x, std::int64_t k, float4 value) const {
    *reinterpret_cast<float4*>(to + x * ld + k) = value;
  }
};
struct Split {
  float* to;
  std::int64_t ld;
  __device__ __forceinline__ void operator()(std::int64_t x, std::int64_t k, float4 value) const {
    uint4 big, small;
    device::split_tf32(big.x, small.x, __float_as_uint(value.x));
    device::split_tf32(big.y, small.y, __float_as_uint(value.y));
    device::split_tf32(big.z, small.z, __float_as_uint(value.z));
    device::split_tf32(big.w, small.w, __float_as_uint(value.w));
    auto* at = reinterpret_cast<uint4*>(to + x * ld + k + k / kChunk * kChunk);
    at[0] = small;
    at[kChunk / 4] = big;
  }
};

struct SplitHalves {
  Half* to;
  std::int64_t ld;
  const std::uint32_t* largest;

  __device__ __forceinline__ void operator()(std::int64_t x, std::int64_t k, float4 value) const {
    const device::HalfScale scale(device::half_shift(largest[x]));
    uint2 big, small;
    device::split_halves(big.x, small.x, scale(value.x), scale(value.y), device::kSmallScale);
    device::split_halves(big.y, small.y, scale(value.z), scale(value.w), device::kSmallScale);
    auto* at = reinterpret_cast<uint2*>(to + x * ld + k + k / kHalfChunk * kHalfChunk);
    at[0] = small;
    at[kHalfChunk / 4] = big;
  }
};

// Values i to i + 3 of a row of `count`, zeros behind its end. `vector`: they are aligned.
__device__ __forceinline__ float4 load_quad(const float* row, std::int64_t i, std::int64_t count,
                                            bool vector) {
  if (vector && i + 3 < count) return *reinterpret_cast<const float4*>(row + i);
  float4 value{};
  if (i < count) value.x = row[i];
  if (i + 1 < count) value.y = row[i + 1];
  if (i + 2 < count) value.z = row[i + 2];
  if (i + 3 < count) value.w = row[i + 3];
  return value;
}

// For operands stored along k: a block has a row. padded_k, a multiple of 4, is at least k.
template <class Write>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(Write write, GemmOperand from, std::int64_t padded_k, bool vector) {
  const std::int64_t x = blockIdx.x;
  device::overlap_allow();
#pragma unroll 4
  for (std::int64_t k = 4 * threadIdx.x; k < padded_k; k += 4 * kThreads) {
    write(x, k, load_quad(from.data + x * from.ld, k, from.k, vector));
  }
}

// For operands stored the other way: a block has 64 x 64 elements.
template <class Write>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(Write write, GemmOperand from, std::int64_t padded_k, std::int64_t tiles,
                   bool vector) {
  __shared__ float tile[kSide][kSide + 1];
  const std::int64_t k0 = blockIdx.x / tiles * kSide, x0 = blockIdx.x % tiles * kSide;
  const int quad = threadIdx.x % 16 * 4, line = threadIdx.x / 16;
  device::overlap_allow();
#pragma unroll
  for (int i = line; i < kSide; i += kThreads / 16) {
    const std::int64_t k = k0 + i;
    float4 value{};
    if (k < from.k) value = load_quad(from.data + k * from.ld, x0 + quad, from.extent, vector);
    tile[i][quad] = value.x, tile[i][quad + 1] = value.y;
    tile[i][quad + 2] = value.z, tile[i][quad + 3] = value.w;
  }
  __syncthreads();  // the tile is whole
#pragma unroll
  for (int i = line; i < kSide; i += kThreads / 16) {
    const std::int64_t x = x0 + i, k = k0 + quad;
    if (x < from.extent && k < padded_k) {
      write(x, k, {tile[quad][i], tile[quad + 1][i], tile[quad + 2][i], tile[quad + 3][i]});
    }
  }
}

// Finds the largest value of each row of an operand stored along k, and writes the row. A block has
// a row; those behind the last have zeros.
__global__ void __launch_bounds__(kThreads)
    scaled_rows_kernel(SplitHalves write, std::uint32_t* largest, GemmOperand from,
                       std::int64_t padded_k, bool vector) {
  __shared__ device::BlockReduceStorage<std::uint32_t, kThreads> storage;
  const std::int64_t x = blockIdx.x;
  const float* row = from.data + x * from.ld;
  device::overlap_allow();
  std::uint32_t found = 0;
  if (x < from.extent) {
#pragma unroll 4
    for (std::int64_t k = 4 * threadIdx.x; k < from.k; k += 4 * kThreads) {
      const float4 value = load_quad(row, k, from.k, vector);
      for (const float v : {value.x, value.y, value.z, value.w}) found = device::larger(found, v);
    }
  }
  found = device::block_reduce<kThreads>(found, device::Larger(), storage);
  if (threadIdx.x == 0) largest[x] = found;
  __syncthreads();  // the row's largest value is there
  if (x >= from.extent) return;
#pragma unroll 4
  for (std::int64_t k = 4 * threadIdx.x; k < padded_k; k += 4 * kThreads) {
    write(x, k, load_quad(row, k, from.k, vector));
  }
}

// The same values of an operand stored the other way. A block has 32 columns of the matrix.
__global__ void __launch_bounds__(1024)
    column_maxima_kernel(std::uint32_t* largest, GemmOperand from) {
  __shared__ std::uint32_t of_warps[32][kStrip];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t x = std::int64_t{blockIdx.x} * kStrip + lane;
  std::uint32_t found = 0;
  if (x < from.extent) {
#pragma unroll 8
    for (std::int64_t k = warp; k < from.k; k += 32)
      found = device::larger(found, from.data[k * from.ld + x]);
  }
  of_warps[warp][lane] = found;
  __syncthreads();  // each warp's largest
  if (warp != 0) return;
  for (int other = 1; other < 32; ++other) found = max(found, of_warps[other][lane]);
  largest[x] = found;
}

// How an operand is converted; padded_k is 0 where it is read as it is.
struct Layout {
  std::int64_t padded_k, ld;
};

template <class Write>
KMajor write_rows(const GemmOperand& operand, const Layout& layout, float* to,
                  const Stream& stream) {
  if (layout.padded_k == 0) return {operand.data, operand.ld};
  const Write write{to, layout.ld};
  if (operand.along_k) {
    launch(rows_kernel<Write>,
           {static_cast<unsigned>(operand.extent), static_cast<unsigned>(kThreads), 0, stream},
           write, operand, layout.padded_k, operand.aligned());
  } else {
    const std::int64_t tiles = divide_up(operand.extent, kSide);
    launch(columns_kernel<Write>,
           {blocks_for(divide_up(layout.padded_k, kSide) * tiles, 1), kThreads, 0, stream}, write,
           operand, layout.padded_k, tiles, operand.aligned());
  }
  return {to, layout.ld};
}

template <class Write, class LayoutOf>
KMajorOperands write_operands(const GemmOperand& a, const GemmOperand& b, const LayoutOf& layout_of,
                              const Stream& stream) {
  const Layout left = layout_of(a), right = layout_of(b);
  const std::int64_t floats_a = left.padded_k == 0 ? 0 : round_up(a.extent * left.ld, 64);
  const std::int64_t floats_b = right.padded_k == 0 ? 0 : b.extent * right.ld;
  Buffer memory(static_cast<std::size_t>(floats_a + floats_b) * sizeof(float), stream);
  auto* to = static_cast<float*>(memory.data());
  return {write_rows<Write>(a, left, to, stream),
          write_rows<Write>(b, right, to + floats_a, stream), std::move(memory)};
}

// Splits an operand into halves at `to`, and finds the largest value of each row.
void write_halves(const GemmOperand& operand, Half* to, std::int64_t ld, std::uint32_t* largest,
                  const Stream& stream) {
  const std::int64_t rows = round_up(operand.extent, kRowsOfTile), padded_k = ld / 2;
  const SplitHalves write{to, ld, largest};
  if (operand.along_k) {
    launch(scaled_rows_kernel,
           {static_cast<unsigned>(rows), static_cast<unsigned>(kThreads), 0, stream}, write,
           largest, operand, padded_k, operand.aligned());
    return;
  }
  launch(column_maxima_kernel, {static_cast<unsigned>(rows / kStrip), 1024, 0, stream}, largest,
         operand);
  const std::int64_t tiles = divide_up(operand.extent, kSide);
  launch(columns_kernel<SplitHalves>,
         {blocks_for(divide_up(padded_k, kSide) * tiles, 1), kThreads, 0, stream}, write, operand,
         padded_k, tiles, operand.aligned());
}

}  // namespace

bool GemmOperand::aligned() const {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && ld % 4 == 0;
}

KMajorOperands k_major(const GemmOperand& a, const GemmOperand& b, const Stream& stream) {
  const auto layout_of = [](const GemmOperand& operand) {
    if ((operand.along_k || operand.stays) && operand.aligned()) return Layout{0, operand.ld};
    const std::int64_t row = round_up(operand.k, 4);
    return Layout{row, row};
  };
  return write_operands<Copy>(a, b, layout_of, stream);
}

KMajorOperands k_major_parts(const GemmOperand& a, const GemmOperand& b, const Stream& stream) {
  const auto layout_of = [](const GemmOperand& operand) {
    const std::int64_t row = round_up(operand.k, kChunk);
    return Layout{row, 2 * row};
  };
  return write_operands<Split>(a, b, layout_of, stream);
}

KMajorHalves k_major_halves(const GemmOperand& a, const GemmOperand& b, const Stream& stream) {
  const std::int64_t ld = 2 * round_up(a.k, kHalfChunk);  // rows of 256 bytes or more
  const std::int64_t halves_a = a.extent * ld, halves_b = b.extent * ld;
  const std::int64_t rows_a = round_up(a.extent, kRowsOfTile);
  const std::int64_t rows_b = round_up(b.extent, kRowsOfTile);
  Buffer memory(static_cast<std::size_t>(2 * (halves_a + halves_b) + 4 * (rows_a + rows_b)),
                stream);
  auto* to = static_cast<Half*>(memory.data());
  auto* largest = reinterpret_cast<std::uint32_t*>(to + halves_a + halves_b);
  write_halves(a, to, ld, largest, stream);
  write_halves(b, to + halves_a, ld, largest + rows_a, stream);
  return {to, to + halves_a, ld, {largest, largest + rows_a}, std::move(memory)};
}

}  // namespace weft::kernels::cuda
