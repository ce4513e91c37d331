// SPDX-License-Identifier: MIT
// Seeded test data.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/random.h"

namespace weft::test {

// Uniform floats in [low, high), the same for the same seed.
inline std::vector<float> random_floats(std::int64_t n, std::uint64_t seed, float low = -1,
                                        float high = 1) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Random4 bits = philox(seed, RandomStream::data, 0, i);
    values[i] = low + (high - low) * uniform01(bits.value[0]);
  }
  return values;
}

// Integers in [low, high] stored as floats: sums and products of few of them are exact.
inline std::vector<float> random_integers(std::int64_t n, std::uint64_t seed, int low = -4,
                                          int high = 4) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Random4 bits = philox(seed, RandomStream::data, 1, i);
    values[i] = static_cast<float>(
        low + static_cast<int>(bits.value[0] % static_cast<std::uint32_t>(high - low + 1)));
  }
  return values;
}

inline std::vector<std::uint8_t> random_bytes(std::int64_t n, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(philox(seed, RandomStream::data, 5, i).value[0]);
  }
  return bytes;
}

// A label below `classes` from each byte.
inline std::vector<std::int32_t> as_labels(const std::vector<std::uint8_t>& bytes,
                                           std::int64_t classes) {
  std::vector<std::int32_t> labels(bytes.begin(), bytes.end());
  for (std::int32_t& label : labels) label %= static_cast<std::int32_t>(classes);
  return labels;
}

// Values with |x| in [gap, 1): clear of the kink of ReLU at 0.
inline std::vector<float> random_off_zero(std::int64_t n, std::uint64_t seed, float gap = 0.05f) {
  std::vector<float> values = random_floats(n, seed);
  for (float& value : values) value = value < 0 ? value * (1 - gap) - gap : value * (1 - gap) + gap;
  return values;
}

inline std::vector<double> to_double(const std::vector<float>& values) {
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace weft::test
