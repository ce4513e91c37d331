// SPDX-License-Identifier: MIT
// Counter-based random numbers: the same values on the CPU and on a GPU, in any order.
//
// A value is a pure function of (seed, stream, index), so no generator state is stored or
// advanced. Philox4x32-10 is from Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC'11. Only integer arithmetic and exact float scaling are used, so results have the
// same bits everywhere.
#pragma once

#include <cstdint>

#include "engine/extent.h"

namespace weft {

struct Random4 {
  std::uint32_t value[4];
};

// Names what random numbers are drawn for, so that no two uses share a sequence.
enum class RandomStream : std::uint32_t {
  initial_weights = 1,
  shuffle,
  augmentation,
  dropout,
  data,
  split
};

WEFT_HOST_DEVICE inline std::uint32_t multiply_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}

// Four independent 32-bit values for the 128-bit counter (index, stream, substream).
WEFT_HOST_DEVICE inline Random4 philox(std::uint64_t seed, RandomStream stream,
                                       std::uint32_t substream, std::uint64_t index) {
  std::uint32_t c0 = static_cast<std::uint32_t>(index);
  std::uint32_t c1 = static_cast<std::uint32_t>(index >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream);
  std::uint32_t c3 = substream;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = multiply_high(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    const std::uint32_t high1 = multiply_high(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Uniform in [0, 1), a multiple of 2^-24, exactly representable.
WEFT_HOST_DEVICE inline float uniform01(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
}

// A pseudo-random permutation of [0, n): maps index to its place, without storing a table.
//
// Four Feistel rounds over the smallest even number of bits that covers n, walked until the value
// falls below n again (fewer than 4 rounds of walking on average). `key` picks the permutation.
// Requires 0 <= index < n.
WEFT_HOST_DEVICE inline std::int64_t permuted_index(std::int64_t index, std::int64_t n,
                                                    std::uint64_t key) {
  int half_bits = 1;
  while ((std::int64_t{1} << (2 * half_bits)) < n) ++half_bits;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t value = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = value >> half_bits, right = value & mask;
    for (std::uint32_t round = 0; round < 4; ++round) {
      // Finaliser of MurmurHash3 (Appleby) on the half, the round and the key.
      std::uint64_t hash = right * 0x9E3779B97F4A7C15ull + key + round * 0xBF58476D1CE4E5B9ull;
      hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCDull;
      hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53ull;
      hash ^= hash >> 33;
      const std::uint64_t next = (left ^ hash) & mask;
      left = right;
      right = next;
    }
    value = (left << half_bits) | right;
  } while (value >= static_cast<std::uint64_t>(n));
  return static_cast<std::int64_t>(value);
}

}  // namespace weft
