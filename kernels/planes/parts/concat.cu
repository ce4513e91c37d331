// SPDX-License-Identifier: MIT
// Rows of two arrays to rows of one, and back: a thread for 16 bytes, or for one value where a part
// of a row or an address is no multiple of 16 bytes. One division finds the row of a value.
#include "kernels/planes/parts/launchers.h"

#include "engine/launch.h"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 20;

template <class Value, class Index>
__global__ void __launch_bounds__(kThreads)
    concat_kernel(Value* __restrict__ y, const Value* __restrict__ a, const Value* __restrict__ b,
                  Index a_values, Index b_values, Index count) {
  const Index step = static_cast<Index>(device::grid_threads());
  for (Index at = static_cast<Index>(device::global_thread()); at < count; at += step) {
    const Index row = at / (a_values + b_values), place = at - row * (a_values + b_values);
    y[at] = place < a_values ? a[row * a_values + place] : b[row * b_values + (place - a_values)];
  }
}

template <class Value, class Index>
__global__ void __launch_bounds__(kThreads)
    split_kernel(Value* __restrict__ a, Value* __restrict__ b, const Value* __restrict__ y,
                 Index a_values, Index b_values, Index count) {
  const Index step = static_cast<Index>(device::grid_threads());
  for (Index at = static_cast<Index>(device::global_thread()); at < count; at += step) {
    const Index row = at / (a_values + b_values), place = at - row * (a_values + b_values);
    if (place < a_values) {
      if (a != nullptr) a[row * a_values + place] = y[at];
    } else if (b != nullptr) {
      b[row * b_values + (place - a_values)] = y[at];
    }
  }
}

bool is_aligned16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(device::Float4) == 0;
}

// Calls run(value, index, scale) with a value and an index of the types that suit: rows are counted
// in values of `scale` floats.
template <class Run>
void with_types(std::initializer_list<const void*> pointers, const ConcatDims& dims, Run run) {
  bool wide = dims.a % 4 == 0 && dims.b % 4 == 0;
  for (const void* pointer : pointers) wide = wide && is_aligned16(pointer);
  const std::int64_t scale = wide ? 4 : 1;
  // The last step of a grid must not leave the range of an index.
  const bool narrow = dims.rows * dims.row() / scale < UINT32_MAX - kThreads * kMostBlocks;
  if (wide && narrow) return run(device::Float4{}, std::uint32_t{0}, scale);
  if (wide) return run(device::Float4{}, std::int64_t{0}, scale);
  if (narrow) return run(0.0f, std::uint32_t{0}, scale);
  run(0.0f, std::int64_t{0}, scale);
}

Launch per_value(std::int64_t count, const Stream& stream) {
  return {blocks_for(count, kThreads, kMostBlocks), kThreads, 0, stream};
}

}  // namespace

void concat(float* y, const float* a, const float* b, const ConcatDims& dims,
            const Stream& stream) {
  with_types({y, a, b}, dims, [&](auto value, auto index, std::int64_t scale) {
    using Value = decltype(value);
    using Index = decltype(index);
    const std::int64_t count = dims.rows * dims.row() / scale;
    launch(concat_kernel<Value, Index>, per_value(count, stream), reinterpret_cast<Value*>(y),
           reinterpret_cast<const Value*>(a), reinterpret_cast<const Value*>(b),
           static_cast<Index>(dims.a / scale), static_cast<Index>(dims.b / scale),
           static_cast<Index>(count));
  });
}

void split(float* a, float* b, const float* y, const ConcatDims& dims, const Stream& stream) {
  with_types({y, a, b}, dims, [&](auto value, auto index, std::int64_t scale) {
    using Value = decltype(value);
    using Index = decltype(index);
    const std::int64_t count = dims.rows * dims.row() / scale;
    launch(split_kernel<Value, Index>, per_value(count, stream), reinterpret_cast<Value*>(a),
           reinterpret_cast<Value*>(b), reinterpret_cast<const Value*>(y),
           static_cast<Index>(dims.a / scale), static_cast<Index>(dims.b / scale),
           static_cast<Index>(count));
  });
}

}  // namespace weft::kernels::cuda
