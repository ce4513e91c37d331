// SPDX-License-Identifier: MIT
#include "engine/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace weft {
namespace {

// The three known-answer vectors that Random123 publishes for Philox4x32-10. Our counter words are
// index (low, high), stream, substream.
TEST(Philox, KnownAnswers) {
  const auto check = [](std::uint64_t seed, std::uint32_t c2, std::uint32_t c3, std::uint64_t index,
                        std::vector<std::uint32_t> expected) {
    const Random4 found = philox(seed, static_cast<RandomStream>(c2), c3, index);
    EXPECT_EQ(std::vector<std::uint32_t>(found.value, found.value + 4), expected);
  };
  check(0, 0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check(~0ull, ~0u, ~0u, ~0ull, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check(0x299f31d0a4093822, 0x13198a2e, 0x03707344, 0x85a308d3243f6a88,
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(Philox, EveryPartOfTheCounterMatters) {
  const Random4 base = philox(1, RandomStream::shuffle, 2, 3);
  const Random4 others[] = {
      philox(2, RandomStream::shuffle, 2, 3), philox(1ull << 32, RandomStream::shuffle, 2, 3),
      philox(1, RandomStream::dropout, 2, 3), philox(1, RandomStream::shuffle, 3, 3),
      philox(1, RandomStream::shuffle, 2, 4), philox(1, RandomStream::shuffle, 2, 3ull << 32)};
  for (const Random4& other : others) {
    int equal = 0;
    for (int i = 0; i < 4; ++i) equal += base.value[i] == other.value[i];
    EXPECT_EQ(equal, 0);
  }
}

TEST(Uniform01, StaysBelowOneAndIsExact) {
  EXPECT_EQ(uniform01(0), 0.0f);
  EXPECT_EQ(uniform01(0xff), 0.0f);
  EXPECT_EQ(uniform01(0x100), 1.0f / 16777216);
  EXPECT_EQ(uniform01(0x80000000u), 0.5f);
  EXPECT_EQ(uniform01(0xffffffffu), 16777215.0f / 16777216);
  EXPECT_LT(uniform01(0xffffffffu), 1.0f);
}

// Chi-square over 256 bins for each of the four lanes: 255 degrees of freedom, deviation 22.6.
TEST(Uniform01, IsUniform) {
  const int draws = 256 * 400;
  for (int lane = 0; lane < 4; ++lane) {
    std::vector<int> bins(256);
    for (int i = 0; i < draws; ++i) {
      const Random4 random = philox(2024, RandomStream::data, 0, static_cast<std::uint64_t>(i));
      ++bins[static_cast<std::size_t>(uniform01(random.value[lane]) * 256)];
    }
    double chi_square = 0;
    for (const int count : bins) chi_square += (count - 400.0) * (count - 400.0) / 400;
    EXPECT_TRUE(chi_square > 255 - 5 * 22.6 && chi_square < 255 + 5 * 22.6)
        << "lane " << lane << ": " << chi_square;
  }
}

bool is_permutation_of(std::int64_t n, std::uint64_t key) {
  std::vector<bool> hit(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t image = permuted_index(i, n, key);
    if (image < 0 || image >= n || hit[static_cast<std::size_t>(image)]) return false;
    hit[static_cast<std::size_t>(image)] = true;
  }
  return true;
}

TEST(PermutedIndex, IsABijection) {
  for (std::int64_t n = 1; n <= 200; ++n) {
    for (const std::uint64_t key : {0ull, 1ull, 0x9e3779b97f4a7c15ull}) {
      EXPECT_TRUE(is_permutation_of(n, key)) << "n " << n << ", key " << key;
    }
  }
  EXPECT_TRUE(is_permutation_of(60000, 7));
  EXPECT_TRUE(is_permutation_of(65536, 7));
  EXPECT_TRUE(is_permutation_of(65537, 7));
}

TEST(PermutedIndex, KeysGiveUnrelatedOrders) {
  const std::int64_t n = 60000;
  int fixed = 0, common = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    fixed += permuted_index(i, n, 1) == i;
    common += permuted_index(i, n, 1) == permuted_index(i, n, 2);
  }
  // The number of fixed points of a random permutation is Poisson with mean 1.
  EXPECT_LE(fixed, 10);
  EXPECT_LE(common, 10);
}

// Images of the first tenth spread over all tenths: 9 degrees of freedom, deviation 4.2.
TEST(PermutedIndex, SpreadsNeighbours) {
  const std::int64_t n = 60000;
  for (const std::uint64_t key : {3ull, 4ull, 5ull}) {
    std::vector<int> tenths(10);
    for (std::int64_t i = 0; i < n / 10; ++i) {
      ++tenths[static_cast<std::size_t>(permuted_index(i, n, key) / (n / 10))];
    }
    double chi_square = 0;
    for (const int count : tenths) chi_square += (count - 600.0) * (count - 600.0) / 600;
    EXPECT_LT(chi_square, 9 + 6 * 4.2) << "key " << key;
  }
}

}  // namespace
}  // namespace weft
