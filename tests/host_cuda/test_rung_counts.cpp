// SPDX-License-Identifier: MIT
// What the requests of the catalogue's rungs cost, against counts made by hand.
#include <algorithm>

#include <gtest/gtest.h>

#include "engine/tensor.h"
#include "host_cuda/access/access_counts.h"
#include "kernels/histogram/histogram.h"
#include "kernels/memory/memory.h"
#include "kernels/nbody/nbody.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"

namespace weft::test {
namespace {

class RungCounts : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "accesses are counted in the ordinary build";
#elif defined(__clang__)
    GTEST_SKIP() << "clang splits vectors and joins branches: the counts are those of g++'s code";
#endif
    for (Tensor* tensor : {&x_, &y_, &bins_}) zero_bytes(tensor->raw(), tensor->bytes(), stream_);
  }

  // The one kernel that `work` launches.
  static KernelCounts of(const std::function<void()>& work) {
    const std::vector<KernelCounts> kernels = count_accesses(work);
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? KernelCounts{} : kernels[0];
  }

  // The lines of one kind whose name has `file` in it, in the order of the code.
  static std::vector<LineCounts> lines(const KernelCounts& kernel, AccessKind kind,
                                       std::string_view file) {
    std::vector<LineCounts> found;
    for (const LineCounts& line : kernel.lines) {
      if (line.kind == kind && line.line.find(file) != std::string::npos) found.push_back(line);
    }
    return found;
  }

  KernelCounts scan(std::string_view variant, std::int64_t n) {
    return of([&] {
      kernels::scan<float>(y_.data<float>(), x_.data<float>(), n, {.variant = variant},
                           {scratch_.raw(), scratch_.bytes()}, stream_);
    });
  }

  Stream stream_{Device::cuda()};
  Tensor x_{{8192}, DType::f32, stream_}, y_{{8192}, DType::f32, stream_};
  Tensor bins_{{512}, DType::i32, stream_};
  Tensor scratch_{{1 << 16}, DType::u8, stream_};
};

// A section of 1024 values and 512 threads. On the way up, level d = 1, 2, ..., 512 has 512 / d
// lanes at work whose places are 2 d words apart, so that min(2 d, lanes of the warp) of them want
// one bank. On the way down, d = 256, ..., 1, there is one lane less.
TEST_F(RungCounts, BrentKungCollidesInTheBanks) {
  struct Cost {
    std::uint64_t requests = 0, passes = 0, lanes = 0;
  };
  const auto level = [](Cost& cost, int d, int working) {
    for (int first = 0; first < working; first += 32) {
      const int lanes = std::min(32, working - first), banks = std::max(1, 32 / (2 * d));
      ++cost.requests;
      cost.lanes += static_cast<std::uint64_t>(lanes);
      cost.passes += static_cast<std::uint64_t>((lanes + banks - 1) / banks);
    }
  };
  Cost up, down;
  for (int d = 1; d <= 512; d *= 2) level(up, d, 512 / d);
  for (int d = 256; d >= 1; d /= 2) level(down, d, 512 / d - 1);
  EXPECT_EQ(up.passes, 191u);  // 5.31 for each of 36 requests
  EXPECT_EQ(up.requests, 36u);
  EXPECT_EQ(down.passes, 185u);  // 5.29 for each of 35
  EXPECT_EQ(down.requests, 35u);

  const KernelCounts kernel = scan("brent_kung", 1024);
  const std::vector<LineCounts> loads =
      lines(kernel, AccessKind::shared_load, "kernels/scan/rungs/brent_kung.cuh:");
  const auto matches = [&](const Cost& cost) {
    return std::count_if(loads.begin(), loads.end(), [&](const LineCounts& line) {
      return line.requests == 2 * cost.requests && line.transactions == 2 * cost.passes &&
             line.lanes == 2 * cost.lanes;
    });
  };
  EXPECT_EQ(matches(up), 1);
  EXPECT_EQ(matches(down), 1);
}

// 1000 elements are more than one section of kogge_stone: scan_add_kernel runs, too.
TEST_F(RungCounts, LinesBelongToTheirFile) {
  for (const std::string rung : {"kogge_stone", "kogge_stone_double_buffered"}) {
    const std::vector<KernelCounts> kernels = count_accesses([&] {
      kernels::scan<float>(y_.data<float>(), x_.data<float>(), 1000, {.variant = rung},
                           {scratch_.raw(), scratch_.bytes()}, stream_);
    });
    ASSERT_EQ(kernels.size(), 2u);
    const std::string files[] = {"kernels/scan/rungs/" + rung + ".cuh:",
                                 "kernels/scan/parts/levels.cuh:"};
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_FALSE(kernels[i].lines.empty());
      for (const LineCounts& line : kernels[i].lines) {
        EXPECT_NE(line.line.find(files[i]), std::string::npos)
            << kernels[i].kernel << " has " << line.line;
      }
    }
  }
}

// Warps that diverge in the ten steps of a tree of 1024 threads: 32 32 32 32 32 16 8 4 2 1.
TEST_F(RungCounts, InterleavedDivergentDiverges) {
  const KernelCounts kernel = of([&] {
    const kernels::ReduceOptions options{.variant = "interleaved_divergent", .threads = 1024};
    kernels::reduce<float>(y_.data<float>(), x_.data<float>(), 1024, kernels::Reduction::sum,
                           options, {scratch_.raw(), scratch_.bytes()}, stream_);
  });
  const auto tree = std::find_if(
      kernel.branches.begin(), kernel.branches.end(),
      [](const BranchCounts& branch) { return branch.divergent > 1; });  // not that of thread 0
  ASSERT_NE(tree, kernel.branches.end());
  EXPECT_EQ(tree->executed, 320u);
  EXPECT_EQ(tree->divergent, 191u);
}

TEST_F(RungCounts, NaiveNbodyLoadsABodyForEachPair) {
  constexpr std::uint64_t kBodies = 256;
  const KernelCounts kernel = of([&] {
    kernels::nbody_accelerations(y_.data<float>(), x_.data<float>(), kBodies, {.variant = "naive"},
                                 {scratch_.raw(), scratch_.bytes()}, stream_);
  });
  std::uint64_t requests = 0, sectors = 0;
  for (const LineCounts& line : lines(kernel, AccessKind::global_load, "naive.cu")) {
    requests += line.requests;
    sectors += line.transactions;
  }
  constexpr std::uint64_t kWarps = kBodies / 32;
  EXPECT_EQ(requests, kWarps * (kBodies + 1));  // and its own body
  EXPECT_EQ(sectors, kWarps * (kBodies + 16));  // one for all lanes; 32 bodies of 16 bytes
}

TEST_F(RungCounts, VectorAddReadsSixteenBytesALane) {
  const KernelCounts kernel = of([&] {
    kernels::vector_add(y_.data<float>(), x_.data<float>(), x_.data<float>() + 4096, 2048,
                        "vector_add_vectorized", stream_);
  });
  for (const auto& [kind, requests] :
       {std::pair{AccessKind::global_load, 32u}, {AccessKind::global_store, 16u}}) {
    std::uint64_t found = 0, sectors = 0;
    for (const LineCounts& line : lines(kernel, kind, "vector_add")) {
      found += line.requests;
      sectors += line.transactions;
    }
    EXPECT_EQ(found, requests) << name_of(kind);
    EXPECT_EQ(sectors, 16u * requests) << name_of(kind);
  }
}

// 2048 bytes, all 0, in two blocks: each adds to its own copy of bin 0, then once to the result.
TEST_F(RungCounts, PrivatizedHistogramAddsToSharedMemory) {
  const KernelCounts kernel = of([&] {
    kernels::histogram(reinterpret_cast<std::int64_t*>(bins_.data<std::int32_t>()),
                       reinterpret_cast<const std::uint8_t*>(x_.data<float>()), 2048,
                       {.variant = "privatized"}, stream_);
  });
  EXPECT_EQ(kernel.shared_atomics.operations, 2048u);
  EXPECT_EQ(kernel.shared_atomics.addresses, 2u);
  EXPECT_EQ(kernel.shared_atomics.most_on_an_address, 1024u);
  EXPECT_EQ(kernel.global_atomics.operations, 2u);
  EXPECT_EQ(kernel.global_atomics.addresses, 1u);
  EXPECT_EQ(kernel.global_atomics.most_on_an_address, 2u);
}

}  // namespace
}  // namespace weft::test
