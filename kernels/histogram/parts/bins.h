// SPDX-License-Identifier: MIT
// Finds the bin that a value falls into, by the same arithmetic on the CPU and the GPU.
//
// The parameters are plain data, made on the host by histogram.cpp. bin_of() gives [0, bins), or
// kNotCounted.
#pragma once

#include <cstdint>

#include "engine/random.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct ByteBinning {
  using Value = std::uint8_t;
  std::int32_t bins;  // 256
};

struct IntegerBinning {
  using Value = std::int32_t;
  std::int32_t bins;
  std::int64_t lower;
  std::uint64_t range;   // upper - lower
  std::uint64_t factor;  // floor(bins * 2^32 / range)
};

// In the scalar type T: float in the product, double in the oracle.
template <class T>
struct EvenBinning {
  using Value = T;
  std::int32_t bins;
  T lower, upper;  // what is below upper is counted
  T scale;         // bins / (upper - lower), or of EvenBins
};

namespace binning {
inline namespace WEFT_ISA {

constexpr std::int32_t kNotCounted = -1;

WEFT_HOST_DEVICE inline std::int32_t bin_of(const ByteBinning&, std::uint8_t x) {
  return x;
}

// With d = x - lower: d * factor / 2^32 falls short of d * bins / range by less than 1, as
// d < 2^32, so its floor is the bin or the one before; the remainder tells which. No product
// exceeds 2^63, since factor <= bins * 2^32 / range and d < range.
WEFT_HOST_DEVICE inline std::int32_t bin_of(const IntegerBinning& b, std::int32_t x) {
  const std::uint64_t d = static_cast<std::uint64_t>(static_cast<std::int64_t>(x) - b.lower);
  if (d >= b.range) return kNotCounted;  // below lower, d is huge
  const std::uint64_t bins = static_cast<std::uint32_t>(b.bins);
  if (bins == b.range) return static_cast<std::int32_t>(d);
  const std::uint64_t low = d * b.factor >> 32;
  const std::uint64_t remainder = d * bins - low * b.range;
  return static_cast<std::int32_t>(low + (remainder >= b.range ? 1u : 0u));
}

template <class T>
WEFT_HOST_DEVICE inline std::int32_t bin_of(const EvenBinning<T>& b, T x) {
  if (!(x >= b.lower && x < b.upper)) return kNotCounted;  // NaN too
  const std::int32_t bin = static_cast<std::int32_t>((x - b.lower) * b.scale);
  return bin < b.bins ? bin : b.bins - 1;  // rounding may reach the end of the last bin
}

}  // namespace WEFT_ISA
}  // namespace binning
}  // namespace weft::kernels
