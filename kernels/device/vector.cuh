// SPDX-License-Identifier: MIT
// 16-byte loads and stores of floats that own alignment and the tail, and the element-wise loop
// built on them. Kernels never repeat bounds code.
#pragma once

#include <cstdint>
#include <utility>

namespace weft::kernels::device {

struct alignas(16) Float4 {
  float lane[4];
};

__device__ __forceinline__ bool is_aligned(const void* pointer, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

// Elements [offset, offset + 4) of x, which has n; 0 past the end. One load when x is aligned to
// 16 bytes. `offset` is a multiple of 4.
__device__ __forceinline__ Float4 load4(const float* x, std::int64_t offset, std::int64_t n) {
  if (offset + 4 <= n && is_aligned(x, 16)) return *reinterpret_cast<const Float4*>(x + offset);
  Float4 values;
#pragma unroll
  for (int i = 0; i < 4; ++i) values.lane[i] = offset + i < n ? x[offset + i] : 0.0f;
  return values;
}

// The same for bytes, as floats; one load when x is aligned to 4 bytes.
__device__ __forceinline__ Float4 load4(const std::uint8_t* x, std::int64_t offset,
                                        std::int64_t n) {
  Float4 values;
  if (offset + 4 <= n && is_aligned(x, 4)) {
    const std::uint32_t packed = *reinterpret_cast<const std::uint32_t*>(x + offset);
#pragma unroll
    for (int i = 0; i < 4; ++i) values.lane[i] = static_cast<float>((packed >> (8 * i)) & 255u);
    return values;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values.lane[i] = offset + i < n ? static_cast<float>(x[offset + i]) : 0.0f;
  }
  return values;
}

__device__ __forceinline__ void store4(float* y, std::int64_t offset, std::int64_t n,
                                       const Float4& values) {
  if (offset + 4 <= n && is_aligned(y, 16)) {
    *reinterpret_cast<Float4*>(y + offset) = values;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (offset + i < n) y[offset + i] = values.lane[i];
  }
}

// Plane, row and column of element `at` of planes of rows x columns. Index is 32 bits wide where it
// suffices; the extents of a plane fit in 31 bits.
template <class Index>
struct PlanePosition {
  Index plane;
  int row, column;

  __device__ __forceinline__ PlanePosition(Index at, int rows, int columns) {
    const Index size = static_cast<Index>(rows) * static_cast<Index>(columns);
    plane = at / size;
    const unsigned rest = static_cast<unsigned>(at - plane * size);
    row = static_cast<int>(rest / static_cast<unsigned>(columns));
    column = static_cast<int>(rest - static_cast<unsigned>(row) * static_cast<unsigned>(columns));
  }
};

// Index of this thread among all threads of a one-dimensional grid, and how many there are.
__device__ __forceinline__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t grid_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// Grid of a kernel that calls map_elements(): blocks_for(n, kMapElements, kMapBlocks) blocks of
// kMapThreads. A small array spreads over as many SMs as it can, a large one loops.
constexpr int kMapThreads = 256;
constexpr std::int64_t kMapElements = 4 * kMapThreads;
constexpr std::int64_t kMapBlocks = 4096;

namespace detail {

template <class Op, int kSources, std::size_t... kSource>
__device__ __forceinline__ Float4 apply(Op op, const Float4 (&values)[kSources],
                                        std::index_sequence<kSource...>) {
  Float4 result;
#pragma unroll
  for (int i = 0; i < 4; ++i) result.lane[i] = op(values[kSource].lane[i]...);
  return result;
}

}  // namespace detail

// y[i] = op(sources[i]...) for i in [0, n); a source may be y. Each thread has two 16-byte loads
// of every source in flight before it stores, since a store may alias the next load.
template <class Op, class... Sources>
__device__ __forceinline__ void map_elements(float* y, std::int64_t n, Op op, Sources... sources) {
  constexpr int kInFlight = 2;
  constexpr int kSources = sizeof...(Sources);
  const std::int64_t stride = 4 * grid_threads();
  for (std::int64_t first = 4 * global_thread(); first < n; first += kInFlight * stride) {
    const Float4 values[kInFlight][kSources] = {{load4(sources, first, n)...},
                                                {load4(sources, first + stride, n)...}};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      store4(y, first + k * stride, n,
             detail::apply(op, values[k], std::make_index_sequence<kSources>()));
    }
  }
}

}  // namespace weft::kernels::device
