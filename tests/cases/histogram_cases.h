// SPDX-License-Identifier: MIT
// Lengths, inputs and bins of the histogram.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "engine/random.h"
#include "kernels/histogram/histogram.h"

namespace weft::kernels {

inline std::ostream& operator<<(std::ostream& out, const IntegerBins& b) {
  return out << b.bins << " bins of [" << b.lower << ", " << b.upper << ")";
}

inline std::ostream& operator<<(std::ostream& out, const EvenBins& b) {
  return out << b.bins << " bins of [" << b.lower << ", " << b.upper << (b.closed ? "]" : ")");
}

}  // namespace weft::kernels

namespace weft::cases {

// Around vectors, warps and blocks, around what a warp of lane_private counts between two flushes
// (7680 bytes, 61440 a block), a prime, and enough for every counter to overflow a byte.
inline constexpr std::int64_t kHistogramLengths[] = {
    1,     2,     15,    16,    17,    31,     32,      33,      255,   256,
    257,   1023,  1024,  1025,  7679,  7680,   7681,    16383,   16384, 16385,
    61439, 61440, 61441, 65537, 99991, 300007, 1000003, 16777217};
inline constexpr std::int64_t kFewHistogramLengths[] = {33, 7681};

enum class Distribution { uniform, one_value, skewed, one_bank, alternating };

inline constexpr Distribution kDistributions[] = {Distribution::uniform, Distribution::one_value,
                                                  Distribution::skewed, Distribution::one_bank,
                                                  Distribution::alternating};

inline constexpr Distribution kFewDistributions[] = {Distribution::uniform,
                                                     Distribution::one_value};

inline std::ostream& operator<<(std::ostream& out, Distribution d) {
  constexpr const char* kNames[] = {"uniform", "one value", "skewed", "one bank", "alternating"};
  return out << kNames[static_cast<int>(d)];
}

// n values below 2^bits. skewed: three uniform values and-ed, so that a few values make up
// most; one_bank: multiples of 32, which share a bank of shared memory.
inline std::vector<std::uint32_t> histogram_values(std::int64_t n, Distribution kind, int bits,
                                                   std::uint64_t seed) {
  std::vector<std::uint32_t> values(static_cast<std::size_t>(n));
  const std::uint32_t mask = bits == 32 ? 0xffffffffu : (1u << bits) - 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Random4 r = philox(seed, RandomStream::data, 7, i);
    switch (kind) {
      case Distribution::uniform:
        values[i] = r.value[0] & mask;
        break;
      case Distribution::one_value:
        values[i] = 173u & mask;
        break;
      case Distribution::skewed: {
        const std::uint32_t a = r.value[0] & mask, b = r.value[1] & mask, c = r.value[2] & mask;
        values[i] = a & b & c;
        break;
      }
      case Distribution::one_bank:
        values[i] = r.value[0] & mask & ~31u;
        break;
      case Distribution::alternating:
        values[i] = (i % 2 == 0 ? 255u : 64u) & mask;
        break;
    }
  }
  return values;
}

inline constexpr std::int64_t kIntLow = -(std::int64_t{1} << 31), kIntHigh = std::int64_t{1} << 31;

inline constexpr kernels::IntegerBins kIntegerBins[] = {
    {0, 256, 256},                 // a bin for each byte
    {-100, 157, 257},              // a prime number of bins, values on both sides left out
    {-1000, 1000, 7},              // widths that do not divide
    {0, 10, 64},                   // empty bins in between
    {7, 8, 1},                     // one value
    {kIntLow, kIntHigh, 1000},     // everything
    {kIntLow, kIntHigh, 1 << 20},  // more than fit shared memory
    {-3, 70000, 70003},            // a bin for each value, more than fit
    {0, 65536, 4096},
};

inline constexpr kernels::IntegerBins kFewIntegerBins[] = {{-100, 157, 257}, {-3, 70000, 70003}};

inline constexpr kernels::EvenBins kEvenBins[] = {
    {0, 1, 256}, {-1, 1, 100, true}, {-0.3f, 0.7f, 17, true},
    {0, 1, 1},   {0, 1, 4096},       {-2, 3, 100003},
};
inline constexpr kernels::EvenBins kFewEvenBins[] = {{-1, 1, 100, true}, {0, 1, 1}};

}  // namespace weft::cases
