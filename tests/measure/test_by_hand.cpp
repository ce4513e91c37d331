// SPDX-License-Identifier: MIT
// The numbers that students compute by hand, against those of the courses' worked examples.
#include "measure/by_hand.h"

#include <gtest/gtest.h>

#include "engine/error.h"

namespace weft::measure {
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
  EXPECT_EQ(value_of(gemm_facts(dims, "uncoalesced"), "global loads"), naive);
  EXPECT_EQ(naive / value_of(gemm_facts(dims, "tiled_16"), "global loads"), 16);
  EXPECT_EQ(naive / value_of(gemm_facts(dims, "tiled_32"), "global loads"), 32);
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

TEST(ByHand, ProductsOfExams) {
  // 40 x 33 from 31: 62 floats for each result, 327,360 bytes.
  const kernels::GemmDims small = {.m = 40, .n = 33, .k = 31};
  EXPECT_EQ(4 * value_of(gemm_facts(small, "naive"), "global loads"), 327360);
  // (80, 41) (41, 69) by tiles of 16: 122,180 bytes.
  const kernels::GemmDims tiles = {.m = 80, .n = 69, .k = 41};
  EXPECT_EQ(4 * value_of(gemm_facts(tiles, "tiled", {.side = 16}), "global loads"), 122180);
  // (100, 141) (141, 92) by tiles of 32: 2,594,400 FLOP are needed, all threads do 3,932,160.
  const kernels::GemmDims edges = {.m = 100, .n = 92, .k = 141};
  EXPECT_EQ(value_of(gemm_facts(edges, "tiled"), "FLOP of whole tiles"), 3932160);
  const kernels::GemmDims square = {.m = 1024, .n = 1024, .k = 1024};
  EXPECT_EQ(value_of(gemm_facts(square, "strip_k4", {.strip_width = 64, .strip_results = 2}),
                     "global loads"),
            1024.0 * 1024 * (1024 / 64 + 1024 / 2));
}

TEST(ByHand, AdditionsOfAScanOfAnySection) {
  // 2 (n - 1) - log2(n) for the trees, n log2(n) - (n - 1) for Kogge-Stone.
  EXPECT_EQ(value_of(scan_facts("brent_kung", 16), "additions"), 26);
  EXPECT_EQ(value_of(scan_facts("brent_kung", 2048), "additions"), 2 * 2047 - 11);
  EXPECT_EQ(value_of(scan_facts("kogge_stone", 512), "additions"), 512 * 9 - 511);
  EXPECT_NE(scan_facts("kogge_stone", 512)[0].text.find("in 9 steps"), std::string::npos);
  EXPECT_NE(scan_facts("brent_kung", 16)[0].text.find("in 7 steps"), std::string::npos);
  // Up: 5 + 2 + 1. Down from 4: (10 - 4) / 8 = 0, from 2: (10 - 2) / 4 = 2, from 1: (10 - 1) / 2.
  EXPECT_EQ(value_of(scan_facts("brent_kung", 10), "additions"), 8 + 2 + 4);
}

TEST(ByHand, UsesOfAnElementUnderAMaskOfAnySize) {
  const auto reuse = [](std::vector<std::int64_t> tile, std::vector<std::int64_t> mask) {
    return tile_reuse(tile, mask);
  };
  const TileReuse line = reuse({8}, {5});
  EXPECT_EQ(line.uses, 40);
  EXPECT_EQ(line.loads, 12);
  EXPECT_EQ(line.border_uses, 37);
  EXPECT_EQ(line.border_loads, 10);
  const TileReuse image = reuse({8, 8}, {5, 5});
  EXPECT_DOUBLE_EQ(image.border_uses / image.border_loads, 13.69);
  EXPECT_DOUBLE_EQ(reuse({16, 16}, {9, 9}).uses / reuse({16, 16}, {9, 9}).loads, 36);
  EXPECT_DOUBLE_EQ(reuse({40, 40}, {9, 9}).uses / reuse({40, 40}, {9, 9}).loads, 56.25);
  const TileReuse oblong = reuse({16, 16}, {9, 5});
  EXPECT_EQ(oblong.uses, 11520);
  EXPECT_EQ(oblong.uses_in_tile, 9176);
  EXPECT_EQ(reuse({4, 8, 32}, {3, 3, 3}).loads, 6 * 10 * 34);

  const kernels::SignalDims five = {
      .height = 64, .width = 64, .filter_height = 9, .filter_width = 9};
  EXPECT_DOUBLE_EQ(value_of(signal_facts(five, "tiled", 16), "uses of an element"), 36);
  EXPECT_EQ(value_of(signal_facts(five, "tiled", 16), "shared memory of a tile"), 2304);
  const kernels::SignalDims halo = {
      .height = 64, .width = 64, .filter_height = 9, .filter_width = 5};
  EXPECT_DOUBLE_EQ(value_of(signal_facts(halo, "tiled_cached_halo", 16), "uses of an element"),
                   11520.0 / 2600);
}

TEST(ByHand, SectorsAndBanksOfAWarp) {
  EXPECT_EQ(sectors_of_warp({0, 1}).sectors, 4);
  EXPECT_EQ(sectors_of_warp({1, 1}).sectors, 5);
  EXPECT_EQ(sectors_of_warp({8, 1}).sectors, 4);
  EXPECT_EQ(sectors_of_warp({8, 1}).lines, 2);
  EXPECT_EQ(sectors_of_warp({0, 2}).sectors, 8);
  EXPECT_EQ(sectors_of_warp({0, 2}).used, 0.5);
  EXPECT_EQ(sectors_of_warp({0, 8}).sectors, 32);
  EXPECT_EQ(sectors_of_warp({0, 33}).used, 0.125);
  EXPECT_EQ(bank_passes(1), 1);
  EXPECT_EQ(bank_passes(32), 32);
  EXPECT_EQ(bank_passes(33), 1);
  EXPECT_EQ(bank_passes(12), 4);
  EXPECT_EQ(value_of(memory_facts({3, 1}, "copy_by_offset"), "sectors of a warp"), 5);
  EXPECT_TRUE(memory_facts({0, 1}, "vector_add").empty());
}

TEST(ByHand, WarpsThatDiverge) {
  const auto warps = [](std::vector<std::int64_t> size, std::vector<std::int64_t> block,
                        Branch branch) { return divergent_warps(size, block, branch); };
  // An image of 176 rows and 174 columns by blocks of 16 x 16, with a branch on row > col.
  const DivergentWarps exam = warps({176, 174}, {16, 16}, Branch::row_col);
  EXPECT_EQ(exam.blocks, 121);
  EXPECT_EQ(exam.warps, 968);
  EXPECT_EQ(exam.at_bounds, 88);
  // One less than the blocks of the diagonal have: the last two rows are all below it.
  EXPECT_EQ(exam.at_branch, 87);
  EXPECT_EQ(exam.divergent, 168);
  EXPECT_EQ(exam.idle, 0);
  // A block of 32 x 32 whose threads at the edge only load: the inner 30 rows diverge.
  EXPECT_EQ(warps({32, 32}, {32, 32}, Branch::inner).divergent, 30);
  // Squares of even and cubes of odd elements: every warp diverges, 313 of them.
  const DivergentWarps odd = warps({10000}, {256}, Branch::odd);
  EXPECT_EQ(odd.warps, 320);
  EXPECT_EQ(odd.divergent, 313);
  EXPECT_EQ(odd.at_bounds, 1);
  EXPECT_EQ(odd.idle, 7);
  // 4 x 4 x 4: a warp is half a block, two layers of it.
  EXPECT_EQ(warps({5, 4, 4}, {4, 4, 4}, Branch::none).at_bounds, 1);
  EXPECT_THROW(warps({9}, {2048}, Branch::none), Error);
  EXPECT_THROW(warps({9, 9}, {9}, Branch::none), Error);
  EXPECT_THROW(warps({9}, {9}, Branch::row_col), Error);
  EXPECT_THROW(warps({1 << 28, 1 << 28}, {16, 16}, Branch::none), Error);
}

TEST(ByHand, AWarpThatDivergesDoesBothSides) {
  const std::vector<Fact> thread = divergence_facts(1000, 10, "branch_by_thread");
  EXPECT_EQ(value_of(thread, "multiplications of a warp"), 30);
  EXPECT_EQ(value_of(thread, "divergent warps"), 32);  // the last one has 8 threads
  // One thread alone cannot disagree.
  EXPECT_EQ(value_of(divergence_facts(33, 10, "branch_by_thread"), "divergent warps"), 1);
  const std::vector<Fact> warp = divergence_facts(1000, 10, "branch_by_warp");
  EXPECT_EQ(value_of(warp, "multiplications of a warp"), 15);
  EXPECT_EQ(value_of(warp, "divergent warps"), 0);
  EXPECT_EQ(value_of(divergence_facts(1000, 10, "predicated"), "multiplications of a warp"), 20);
}

}  // namespace
}  // namespace weft::measure
