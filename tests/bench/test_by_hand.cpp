// SPDX-License-Identifier: MIT
// The numbers that students compute by hand, against those of the courses' worked examples.
#include "bench/by_hand.h"

#include <gtest/gtest.h>

namespace weft::bench {
namespace {

double value_of(const std::vector<Fact>& facts, std::string_view name) {
  for (const Fact& fact : facts) {
    if (fact.name == name) return fact.value;
  }
  ADD_FAILURE() << "no fact " << name;
  return 0;
}

TEST(ByHand, ATileOfSixteenSavesSixteenfoldAndOneOfThirtyTwoThirtyTwofold) {
  const kernels::GemmDims dims = {.m = 1024, .n = 1024, .k = 1024};
  const double naive = value_of(gemm_facts(dims, "naive"), "global loads");
  EXPECT_EQ(naive, 2.0 * 1024 * 1024 * 1024);
  const std::vector<Fact> tiled = gemm_facts(dims, "tiled");
  EXPECT_EQ(naive / value_of(tiled, "global loads"), 32);
  EXPECT_EQ(naive / value_of(tiled, "global loads, tile 16"), 16);
}

TEST(ByHand, EdgeTilesLoadWholeRowsOnce) {
  // 33 columns are two tiles, so A is read twice; 10 rows are one, so B is read once.
  const kernels::GemmDims dims = {.m = 10, .n = 33, .k = 7};
  EXPECT_EQ(value_of(gemm_facts(dims, "tiled"), "global loads"), 2 * 70 + 231);
}

TEST(ByHand, DivergentWarpsOfABlockOf1024) {
  const TreeSteps worst = reduction_tree(1024, "interleaved_divergent");
  EXPECT_EQ(worst.divergent_warps, (std::vector<int>{32, 32, 32, 32, 32, 16, 8, 4, 2, 1}));
  const std::vector<int> late = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  EXPECT_EQ(reduction_tree(1024, "interleaved").divergent_warps, late);
  EXPECT_EQ(reduction_tree(1024, "sequential").divergent_warps, late);
  EXPECT_TRUE(reduction_tree(1024, "warp_shuffle").divergent_warps.empty());
}

TEST(ByHand, BankConflictsOfATree) {
  EXPECT_EQ(reduction_tree(256, "interleaved").bank_ways,
            (std::vector<int>{2, 4, 8, 8, 8, 4, 2, 1}));
  EXPECT_EQ(reduction_tree(256, "sequential").bank_ways, std::vector<int>(8, 1));
  EXPECT_EQ(reduction_tree(256, "interleaved_divergent").bank_ways, std::vector<int>(8, 1));
}

TEST(ByHand, AdditionsOfAScan) {
  EXPECT_EQ(value_of(scan_facts("kogge_stone"), "additions"), 1024 * 10 - 1023);
  EXPECT_EQ(value_of(scan_facts("brent_kung"), "additions"), 2 * 1024 - 2 - 10);
  EXPECT_TRUE(scan_facts("decoupled_lookback").empty());
}

TEST(ByHand, AtomicsOnOneAddress) {
  EXPECT_EQ(value_of(histogram_facts(1 << 20, 256, 5000, 132, "global_atomics"),
                     "atomics on one address"),
            5000);
  EXPECT_EQ(
      value_of(histogram_facts(1 << 20, 256, 5000, 132, "privatized"), "atomics on one address"),
      1024);
  EXPECT_EQ(value_of(histogram_facts(1 << 20, 256, 5000, 132, "privatized_coarsened"),
                     "atomics on one address"),
            264);
}

TEST(ByHand, HaloOfATile) {
  const kernels::SignalDims image = {
      .height = 64, .width = 64, .filter_height = 5, .filter_width = 5};
  EXPECT_DOUBLE_EQ(value_of(signal_facts(image, "tiled"), "share of the halo"),
                   (36.0 * 36 - 32 * 32) / (36 * 36));
  const kernels::SignalDims signal = {.width = 4096, .filter_width = 5};
  EXPECT_DOUBLE_EQ(value_of(signal_facts(signal, "tiled_halo_internal"), "share of the halo"),
                   4.0 / 1028);
  EXPECT_DOUBLE_EQ(value_of(signal_facts(signal, "tiled_input"), "share of the halo"), 4.0 / 1024);
  EXPECT_EQ(value_of(signal_facts(signal, "naive"), "global loads"), 2 * 5 * 4096);
}

TEST(ByHand, ABodyInSharedMemoryServesTheWholeBlock) {
  const double naive = value_of(nbody_facts(4096, "naive"), "global loads");
  EXPECT_EQ(naive, 4.0 * 4096 * 4096);
  EXPECT_EQ(naive / value_of(nbody_facts(4096, "shared_tiles"), "global loads"), 256);
}

}  // namespace
}  // namespace weft::bench
