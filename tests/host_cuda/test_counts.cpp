// SPDX-License-Identifier: MIT
// What a warp's requests cost, against counts made by hand.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/access_counts.h"
#include "engine/tensor.h"
#include "tests/host_cuda/counted_kernels.h"

namespace weft::test {
namespace {

class Counts : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "accesses are counted in the ordinary build";
#endif
    zero_bytes(x_.raw(), x_.bytes(), stream_);
  }

  // The requests of one kind of the one kernel that `work` launches.
  static LineCounts of(AccessKind kind, const std::function<void()>& work) {
    const std::vector<KernelCounts> kernels = count_accesses(work);
    LineCounts found;
    EXPECT_EQ(kernels.size(), 1u);
    if (kernels.size() != 1) return found;
    for (const LineCounts& line : kernels[0].lines) {
      if (line.kind != kind) continue;
      EXPECT_EQ(found.requests, 0u) << "more than one line";
      found = line;
    }
    EXPECT_NE(found.line.find("tests/host_cuda/counted_kernels.cu:"), std::string::npos)
        << found.line;
    return found;
  }

  Stream stream_{Device::cuda()};
  Tensor x_{{4096}, DType::f32, stream_}, out_{{64}, DType::f32, stream_};
};

TEST_F(Counts, AColumnOfATileCollidesInOneBank) {
  const LineCounts plain =
      of(AccessKind::shared_load, [&] { run_read_column(false, out_.data<float>(), stream_); });
  EXPECT_EQ(plain.requests, 1u);
  EXPECT_EQ(plain.lanes, 32u);
  EXPECT_EQ(plain.transactions, 32u);
  EXPECT_EQ(plain.least, 1u);
  const LineCounts padded =
      of(AccessKind::shared_load, [&] { run_read_column(true, out_.data<float>(), stream_); });
  EXPECT_EQ(padded.transactions, 1u);
}

TEST_F(Counts, SectorsGrowWithTheStride) {
  for (const auto& [stride, sectors] : {std::pair{1, 4u}, {2, 8u}, {3, 12u}, {8, 32u}, {0, 1u}}) {
    const LineCounts load = of(AccessKind::global_load, [&, stride = stride] {
      run_read_strided(out_.data<float>(), x_.data<float>(), stride, stream_);
    });
    EXPECT_EQ(load.requests, 1u);
    EXPECT_EQ(load.transactions, sectors) << "stride " << stride;
    EXPECT_EQ(load.least, stride == 0 ? 1u : 4u);
  }
}

TEST_F(Counts, LanesInABranch) {
  const LineCounts load = of(AccessKind::global_load, [&] {
    run_read_in_a_branch(out_.data<float>(), x_.data<float>(), stream_);
  });
  EXPECT_EQ(load.requests, 1u);
  EXPECT_EQ(load.lanes, 8u);
  EXPECT_EQ(load.transactions, 1u);
}

TEST_F(Counts, AtomicsPileUp) {
  Tensor bins({64}, DType::i32, stream_);
  zero_bytes(bins.raw(), bins.bytes(), stream_);
  const std::vector<KernelCounts> kernels =
      count_accesses([&] { run_add_to_bins(bins.data<std::int32_t>(), 4, stream_); });
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].kernel, "add_to_bins");
  EXPECT_EQ(kernels[0].launches, 1u);
  EXPECT_EQ(kernels[0].threads, 64u);
  EXPECT_EQ(kernels[0].atomics, 64u);
  EXPECT_EQ(kernels[0].atomic_addresses, 4u);
  EXPECT_EQ(kernels[0].most_on_an_address, 16u);
}

TEST_F(Counts, NothingIsCountedOutside) {
  const std::vector<KernelCounts> none = count_accesses([] {});
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace weft::test
