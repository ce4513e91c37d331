// SPDX-License-Identifier: MIT
// What fits on an SM, against the driver of an H200, the occupancy calculator of the CUDA Toolkit
// and the worked answers of courses; and the roofline of GPUs that are not here.
#include "measure/machine/occupancy.h"

#include <gtest/gtest.h>

#include "engine/error.h"
#include "engine/names.h"
#include "measure/measured.h"

namespace weft::measure {
namespace {

using Limits = std::vector<std::string>;

const Gpu& gpu(std::string_view name) {
  return row_named(gpus(), "GPU", name);
}

struct Known {
  std::string_view gpu;
  BlockUse block;
  int blocks;
};

// cudaOccupancyMaxActiveBlocksPerMultiprocessor said so of Weft's kernels on an H200.
TEST(Occupancy, AgreesWithTheDriverOfAnH200) {
  const Known known[] = {
      {"h200", {384, 168, 225536}, 1}, {"h200", {160, 60, 214224}, 1}, {"h200", {512, 52, 128}, 2},
      {"h200", {448, 48, 23744}, 2},   {"h200", {1024, 32, 4096}, 2},  {"h200", {512, 40, 0}, 3},
      {"h200", {128, 128, 65536}, 3},  {"h200", {256, 58, 0}, 4},      {"h200", {256, 46, 64}, 5},
      {"h200", {256, 40, 0}, 6},       {"h200", {64, 77, 33536}, 6},   {"h200", {128, 72, 0}, 7},
      {"h200", {256, 32, 0}, 8},       {"h200", {128, 56, 16}, 9},     {"h200", {64, 80, 22400}, 9},
      {"h200", {32, 80, 20928}, 10},   {"h200", {64, 70, 4096}, 14},   {"h200", {64, 54, 2048}, 18},
      {"h200", {64, 40, 4096}, 24},    {"h200", {32, 70, 4096}, 28},   {"h200", {32, 32, 0}, 32}};
  for (const Known& one : known) {
    EXPECT_EQ(occupancy(one.block, gpu(one.gpu).sm).blocks, one.blocks)
        << one.block.threads << " threads, " << one.block.registers << " registers, "
        << one.block.shared_bytes << " bytes";
  }
}

// What cuda_occupancy.h of CUDA 13.0 computes for these compute capabilities.
TEST(Occupancy, AgreesWithTheCalculatorOfTheToolkit) {
  const Known known[] = {
      {"v100", {256, 37, 0}, 6},      {"v100", {128, 64, 20000}, 4},  {"t4", {96, 40, 0}, 10},
      {"t4", {1024, 64, 0}, 1},       {"t4", {256, 33, 30000}, 2},    {"a100", {160, 48, 0}, 8},
      {"a100", {256, 128, 40000}, 2}, {"a100", {512, 24, 100000}, 1}, {"a40", {300, 40, 8192}, 4},
      {"a40", {96, 21, 0}, 16},       {"a40", {192, 80, 17000}, 4},   {"rtx4090", {64, 255, 0}, 4},
      {"rtx4090", {64, 16, 0}, 24},   {"l4", {384, 56, 49152}, 2},    {"h100", {96, 100, 1000}, 5},
      {"h100", {1024, 65, 0}, 0},     {"rtx5090", {128, 72, 0}, 7},   {"h100", {32, 200, 0}, 8}};
  for (const Known& one : known) {
    EXPECT_EQ(occupancy(one.block, gpu(one.gpu).sm).blocks, one.blocks)
        << one.gpu << ", " << one.block.threads << " threads, " << one.block.registers
        << " registers, " << one.block.shared_bytes << " bytes";
  }
}

// Four kernels on an SM of 32 warps, 8 blocks, 16 K registers and 16 KiB of shared memory. The
// question gives the registers of a block.
TEST(Occupancy, FourKernelsOfAnExam) {
  const SmLimits sm = SmLimits{.threads = 1024,
                               .blocks = 8,
                               .registers = 16384,
                               .shared_bytes = 16384,
                               .shared_of_block = 16384}
                          .on_paper();
  const auto of = [&](int threads, int shared, int registers) {
    return occupancy({threads, 0, shared * 1024, registers * 1024}, sm);
  };
  const Occupancy k1 = of(160, 7, 1), k2 = of(224, 8, 6), k3 = of(288, 10, 9), k4 = of(96, 4, 2);
  EXPECT_EQ(k1.warps, 10);
  EXPECT_EQ(k2.warps, 14);
  EXPECT_EQ(k3.warps, 9);
  EXPECT_EQ(k4.warps, 12);
  EXPECT_DOUBLE_EQ(k2.of_warps, 0.4375);
  EXPECT_EQ(k1.by_registers, 16);
  EXPECT_EQ(k1.by_threads, 6);
  EXPECT_EQ(k1.limits, Limits{"shared memory"});
  EXPECT_EQ(k2.limits, (Limits{"registers", "shared memory"}));
  EXPECT_EQ(k4.by_registers, 8);
}

TEST(Occupancy, BlocksOfNinetySixThreadsFillAnSmOf1536ThreadsAnd16Blocks) {
  EXPECT_EQ(smallest_filling_block(gpu("a40").sm), 96);
  const Occupancy found = occupancy({96, 0, 0}, gpu("a40").sm);
  EXPECT_EQ(found.warps_of_block, 3);
  EXPECT_EQ(found.of_warps, 1);
  EXPECT_EQ(found.limits, (Limits{"threads", "blocks"}));
  EXPECT_LT(occupancy({64, 0, 0}, gpu("a40").sm).of_warps, 1);
}

TEST(Occupancy, WorkedAnswersOfCourses) {
  const SmLimits h100 = gpu("h100").sm;
  const Occupancy small = occupancy({32, 0, 0}, h100);
  EXPECT_EQ(small.of_warps, 0.5);
  EXPECT_EQ(small.limits, Limits{"blocks"});
  const Occupancy odd = occupancy({300, 0, 0}, h100);
  EXPECT_EQ(odd.blocks, 6);
  EXPECT_EQ(odd.threads, 1800);
  EXPECT_NEAR(odd.of_threads, 0.88, 0.005);
  EXPECT_EQ(odd.of_warps, 60.0 / 64);  // the last warp of each block is not full
  // A tile of 16 x 16 under a mask of 9 x 9: 24 x 24 threads.
  EXPECT_EQ(occupancy({24 * 24, 0, 0}, h100).blocks, 3);
  // 200 registers: 327 threads on paper, but 8 warps, because each partition holds two.
  EXPECT_EQ(h100.registers / 200, 327);
  EXPECT_EQ(occupancy({32, 200, 0}, h100.on_paper()).threads, 320);
  EXPECT_EQ(occupancy({32, 200, 0}, h100).threads, 256);
  // A warp works 20 cycles and waits 50: while one waits, three more work.
  EXPECT_EQ(warps_to_hide(50, 20), 4);
  EXPECT_EQ(warps_to_hide(40, 20), 3);
  // A Tesla T10: one warp in a block means 8 of 32 warps, two mean 16.
  const SmLimits t10 = {.threads = 1024,
                        .blocks = 8,
                        .registers = 16384,
                        .shared_bytes = 16384,
                        .shared_of_block = 16384};
  EXPECT_EQ(occupancy({32, 0, 0}, t10.on_paper()).warps, 8);
  EXPECT_EQ(occupancy({64, 0, 0}, t10.on_paper()).warps, 16);
}

TEST(Occupancy, RefusesWhatNoLaunchCouldHave) {
  const SmLimits sm = gpu("h200").sm;
  EXPECT_THROW(occupancy({0, 0, 0}, sm), Error);
  EXPECT_THROW(occupancy({1025, 0, 0}, sm), Error);
  EXPECT_THROW(occupancy({32, 256, 0}, sm), Error);
  EXPECT_THROW(occupancy({32, 0, -1}, sm), Error);
  EXPECT_EQ(occupancy({32, 0, 227 * 1024}, sm).blocks, 1);
  EXPECT_EQ(occupancy({32, 0, 227 * 1024 + 1}, sm).blocks, 0);
}

TEST(Roofline, OfAGpuThatIsNotHere) {
  // The loop of the naive product: 2 FLOP for 8 bytes, 0.5 TFLOP/s of an H100 with 2 TB/s.
  const Gpu& h100 = gpu("h100-pcie");
  const RooflinePlace place = place_on_roofline(2, 8, h100.bandwidth, h100.fp32);
  EXPECT_EQ(place.intensity, 0.25);
  EXPECT_TRUE(place.by_memory);
  EXPECT_EQ(place.flops_per_second, 0.5e12);
  EXPECT_NEAR(place.share_of_peak, 0.010, 0.0005);
  // 48 TFLOP/s and 2 TB/s are in balance at 24 FLOP per byte.
  EXPECT_EQ(place_on_roofline(1, 1, 2e12, 48e12).balance, 24);
  const RooflinePlace dense = place_on_roofline(100, 1, 2e12, 48e12);
  EXPECT_FALSE(dense.by_memory);
  EXPECT_EQ(dense.share_of_peak, 1);
  EXPECT_DOUBLE_EQ(dense.bound, 100 / 48e12);
}

TEST(Gpus, AreNamedOnceAndComplete) {
  for (const Gpu& one : gpus()) {
    EXPECT_EQ(&gpu(one.name), &one) << one.name;
    EXPECT_GT(one.bandwidth, 1e11) << one.name;
    EXPECT_GT(one.fp32, 1e12) << one.name;
    EXPECT_EQ(one.bf16 > 0, one.compute_capability >= 80) << one.name;
    EXPECT_LE(one.sm.shared_of_block + one.sm.shared_reserved, one.sm.shared_bytes) << one.name;
    EXPECT_LT(one.peak(kernels::Arithmetic::tf32x3), one.tf32 + 1) << one.name;
  }
  EXPECT_THROW(gpu("h300"), Error);
}

TEST(MeasuredRungs, EveryLineIsOfARungWithItsResources) {
  EXPECT_GT(measured_rungs().size(), 180u);
  for (const MeasuredRung& one : measured_rungs()) {
    EXPECT_EQ(measured_rung(one.family, one.rung, one.gpu), &one) << one.family << "/" << one.rung;
    EXPECT_GT(one.seconds, 0) << one.rung;
    EXPECT_GE(one.commit.size(), 7u) << one.rung;
    if (one.kernel.empty()) continue;
    const Occupancy found =
        occupancy({one.threads, one.registers, one.shared_bytes}, gpu("h200").sm);
    EXPECT_GE(found.blocks, 1) << one.rung << " ran on an H200";
  }
  EXPECT_EQ(measured_rung("gemm", "packed"), nullptr);
}

}  // namespace
}  // namespace weft::measure
