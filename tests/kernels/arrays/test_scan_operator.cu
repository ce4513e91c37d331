// SPDX-License-Identifier: MIT
// The CUDA scans with operators of one's own, which do not commute.
#pragma nv_diag_suppress 554  // TensorView's conversion to const views is constrained, not unused

#include "kernels/scan/rungs/brent_kung.cuh"
#include "kernels/scan/rungs/decoupled_lookback.cuh"
#include "kernels/scan/rungs/grid_sync.cuh"
#include "kernels/scan/rungs/kogge_stone.cuh"
#include "kernels/scan/rungs/kogge_stone_double_buffered.cuh"
#include "kernels/scan/rungs/lookahead.cuh"
#include "kernels/scan/rungs/three_kernel.cuh"
#include "kernels/scan/rungs/warp_scan.cuh"
#include "kernels/scan/scan.h"
#include "tests/cases/scan_operators.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/small.h"

namespace weft::test {
namespace {

class ScanOperator : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  }

  template <class Technique, class T, class Op>
  void keeps_the_order(std::string_view variant) const {
    const Stream stream(Device::cuda());
    for (const std::int64_t n :
         sizes_here({1, 2, 31, 33, 511, 513, 1025, 2049, 4097, 70001, 1500007}, {33, 4097})) {
      const std::vector<std::int32_t> words = random_words<T>(n, 16);
      Guarded<std::uint8_t> scratch(static_cast<std::int64_t>(kernels::scan_workspace_bytes(
                                        variant, n, sizeof(T), stream.device())),
                                    stream);
      for (const bool exclusive : {false, true}) {
        // 4 words: aligned for 16-byte loads; 2: not.
        for (const std::int64_t misalign : {4, 2}) {
          if (small_tests() && exclusive == (misalign == 4)) continue;
          Guarded<std::int32_t> x(words, stream, misalign);
          Guarded<std::int32_t> y(static_cast<std::int64_t>(words.size()), stream, misalign);
          Technique::run(reinterpret_cast<T*>(y.data()), reinterpret_cast<const T*>(x.data()), n,
                         exclusive, Op(), scratch.data(), stream);
          EXPECT_TRUE(same_bits(y.get(), scanned_words<T>(words, exclusive, Op())))
              << n << " elements of " << sizeof(T) << " bytes";
        }
      }
      static_cast<void>(scratch.get());  // checks its guard bands
    }
  }

  template <class Technique>
  void check(std::string_view variant) const {
    keeps_the_order<Technique, Affine, Compose>(variant);
    keeps_the_order<Technique, Matrix, Multiply>(variant);
  }
};

TEST_F(ScanOperator, KoggeStone) {
  check<kernels::cuda::KoggeStone>("kogge_stone");
}
TEST_F(ScanOperator, KoggeStoneDoubleBuffered) {
  check<kernels::cuda::KoggeStoneDoubleBuffered>("kogge_stone_double_buffered");
}
TEST_F(ScanOperator, WarpScan) {
  check<kernels::cuda::WarpScan>("warp_scan");
}
TEST_F(ScanOperator, BrentKung) {
  check<kernels::cuda::BrentKung>("brent_kung");
}
TEST_F(ScanOperator, ThreeKernel) {
  check<kernels::cuda::ThreeKernel>("three_kernel");
}
TEST_F(ScanOperator, GridSync) {
  check<kernels::cuda::GridSync>("grid_sync");
}
TEST_F(ScanOperator, DecoupledLookback) {
  check<kernels::cuda::DecoupledLookback>("decoupled_lookback");
}
TEST_F(ScanOperator, Lookahead) {
  if (device_properties(Device::cuda()).compute_capability < 80) GTEST_SKIP() << "needs sm_80";
  check<kernels::cuda::Lookahead>("lookahead");
}

}  // namespace
}  // namespace weft::test
