// SPDX-License-Identifier: MIT
// Channels of (n, c, inner) that several blocks share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/device/fast_divide.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

// The array in units of kWidth floats that do not cross a row of (n, c): block (part, channel).
struct Split {
  std::int64_t elements, inner, channels;
  device::FastDivide by_row;  // units of a row
  int units, part_units;      // of a channel, of a part

  Split(const BatchNormDims& dims, int width, std::int64_t parts)
      : elements(dims.n * dims.c * dims.inner),
        inner(dims.inner),
        channels(dims.c),
        by_row(dims.inner / width),
        units(static_cast<int>(dims.n * dims.inner / width)),
        part_units(static_cast<int>(std::max<std::int64_t>(divide_up(units, parts), 1))) {}

  __device__ __forceinline__ int first() const { return static_cast<int>(blockIdx.x) * part_units; }
  __device__ __forceinline__ int end() const { return min(first() + part_units, units); }
};

// The offset of a unit of this block's channel.
template <int kWidth>
__device__ __forceinline__ std::int64_t offset_of(const Split& split, int unit) {
  int column;
  const std::int64_t row = split.by_row.divide(unit, column);
  return (row * split.channels + blockIdx.y) * split.inner + kWidth * column;
}

template <int kWidth>
struct Unit {
  float lane[kWidth];
};

template <int kWidth>
__device__ __forceinline__ Unit<kWidth> load(const float* x, std::int64_t offset,
                                             const Split& split) {
  Unit<kWidth> unit;
  if constexpr (kWidth == 4) {
    const device::Float4 values = device::load4(x, offset, split.elements);
#pragma unroll
    for (int i = 0; i < 4; ++i) unit.lane[i] = values.lane[i];
  } else {
    unit.lane[0] = x[offset];
  }
  return unit;
}

template <int kWidth>
__device__ __forceinline__ void store(float* y, std::int64_t offset, const Split& split,
                                      const Unit<kWidth>& unit) {
  if constexpr (kWidth == 4) {
    device::store4(y, offset, split.elements,
                   {unit.lane[0], unit.lane[1], unit.lane[2], unit.lane[3]});
  } else {
    y[offset] = unit.lane[0];
  }
}

// visit(offset, place) for the units of this block's part that are this thread's; place counts from
// the first unit of the part.
template <int kWidth, int kThreads, class Visit>
__device__ __forceinline__ void walk(const Split& split, const Visit& visit) {
  const int first = split.first(), count = split.end() - first;
#pragma unroll 4
  for (int place = static_cast<int>(threadIdx.x); place < count; place += kThreads) {
    visit(offset_of<kWidth>(split, first + place), place);
  }
}

// What the gradient of a channel's values is made of.
struct ChannelGradient {
  float average, scale, factor;  // mean, inv_std, gamma inv_std
  float mean_dy, mean_hat;       // of dy, of dy xhat
};

// dx (+)= factor (dy - mean_dy - xhat mean_hat), or 0 under the mask where x is not above 0.
template <int kWidth>
__device__ __forceinline__ void write_gradient(float* dx, std::int64_t offset, const Split& split,
                                               Unit<kWidth> gradient, const Unit<kWidth>& x,
                                               const ChannelGradient& of, bool add, bool mask) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const float hat = (x.lane[i] - of.average) * of.scale;
    const float value = of.factor * (gradient.lane[i] - of.mean_dy - hat * of.mean_hat);
    gradient.lane[i] = mask && !(x.lane[i] > 0.0f) ? 0.0f : value;
  }
  if (add) {
    const Unit<kWidth> before = load<kWidth>(dx, offset, split);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) gradient.lane[i] += before.lane[i];
  }
  store(dx, offset, split, gradient);
}

// Calls run(integral_constant<int, kWidth>) with the widest units that no row cuts.
template <class Run>
void with_width(const BatchNormDims& dims, const Run& run) {
  if (dims.inner % 4 == 0) return run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 1>());
}

}  // namespace weft::kernels::cuda
