// SPDX-License-Identifier: MIT
// What the first rungs of a ladder are about, in the requests that host-cuda counts: the figures of
// the READMEs of transpose and gemm.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "engine/tensor.h"
#include "host_cuda/access/access_counts.h"
#include "kernels/gemm/gemm.h"
#include "kernels/transpose/transpose.h"

namespace weft::test {
namespace {

class LadderCounts : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "accesses are counted in the ordinary build";
#endif
    zero_bytes(a_.raw(), a_.bytes(), stream_);
    zero_bytes(b_.raw(), b_.bytes(), stream_);
  }

  // Transactions for each request of a kind, on the line that makes the most of them.
  static double worst(AccessKind kind, const std::function<void()>& work) {
    double most = 0;
    for (const KernelCounts& kernel : count_accesses(work)) {
      for (const LineCounts& line : kernel.lines) {
        if (line.kind != kind) continue;
        most = std::max(
            most, static_cast<double>(line.transactions) / static_cast<double>(line.requests));
      }
    }
    return most;
  }

  double transpose(AccessKind kind, std::string_view rung) {
    return worst(kind, [&] {
      kernels::transpose(c_.data<float>(), a_.data<float>(), {64, 64}, rung, stream_);
    });
  }
  double gemm(AccessKind kind, std::string_view rung) {
    return worst(kind, [&] {
      kernels::gemm(c_.data<float>(), a_.data<float>(), b_.data<float>(), nullptr,
                    {.m = 64, .n = 64, .k = 64}, {.variant = rung}, stream_);
    });
  }

  Stream stream_{Device::cuda()};
  Tensor a_{{64, 64}, DType::f32, stream_}, b_{{64, 64}, DType::f32, stream_};
  Tensor c_{{64, 64}, DType::f32, stream_};
};

TEST_F(LadderCounts, ATransposeGoesAcrossRowsOrBanksOrNeither) {
  EXPECT_EQ(transpose(AccessKind::global_load, "naive"), 4);
  EXPECT_EQ(transpose(AccessKind::global_store, "naive"), 32);
  for (const char* rung : {"tiled", "padded", "swizzled"}) {
    EXPECT_EQ(transpose(AccessKind::global_load, rung), 4) << rung;
    EXPECT_EQ(transpose(AccessKind::global_store, rung), 4) << rung;
    EXPECT_EQ(transpose(AccessKind::shared_store, rung), 1) << rung;
  }
  EXPECT_EQ(transpose(AccessKind::shared_load, "tiled"), 32);
  EXPECT_EQ(transpose(AccessKind::shared_load, "padded"), 1);
  EXPECT_EQ(transpose(AccessKind::shared_load, "swizzled"), 1);
  EXPECT_EQ(transpose(AccessKind::shared_load, "vectorized"), 4);  // 512 bytes: no fewer will do
  EXPECT_EQ(transpose(AccessKind::global_store, "vectorized"), 16);
}

TEST_F(LadderCounts, ThreadsAlongARowOfCReadFewerSectors) {
  EXPECT_EQ(gemm(AccessKind::global_load, "uncoalesced"), 32);
  EXPECT_EQ(gemm(AccessKind::global_store, "uncoalesced"), 32);
  EXPECT_EQ(gemm(AccessKind::global_load, "naive"), 4);
  EXPECT_EQ(gemm(AccessKind::global_store, "naive"), 4);
  EXPECT_EQ(gemm(AccessKind::global_load, "tiled_32"), 4);
  EXPECT_EQ(gemm(AccessKind::shared_load, "tiled_32"), 1);
}

}  // namespace
}  // namespace weft::test
