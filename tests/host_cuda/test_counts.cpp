// SPDX-License-Identifier: MIT
// What a warp's requests cost, against counts made by hand.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/tensor.h"
#include "host_cuda/access/access_counts.h"
#include "tests/host_cuda/counted_kernels.h"

namespace weft::test {
namespace {

class Counts : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "accesses are counted in the ordinary build";
#elif defined(__clang__)
    GTEST_SKIP() << "clang splits vectors and joins branches: the counts are those of g++'s code";
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
  Tensor wide_{{4096}, DType::f32, stream_};
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

TEST_F(Counts, NeighbouringWordsMayBeLoadedAtOnce) {
  const LineCounts all =
      of(AccessKind::shared_load, [&] { run_add_up(false, out_.data<float>(), stream_); });
  EXPECT_EQ(all.requests, 32u);
  EXPECT_EQ(all.transactions, 32u);
  EXPECT_EQ(all.wide_requests, 8u);       // of 16 bytes
  EXPECT_EQ(all.wide_transactions, 16u);  // a broadcast of 16 bytes takes two passes
  const LineCounts some =
      of(AccessKind::shared_load, [&] { run_add_up(true, out_.data<float>(), stream_); });
  EXPECT_EQ(some.requests, 7u);
  EXPECT_EQ(some.wide_requests, 3u);  // 4 bytes, 8 bytes, 16 bytes: as they are aligned
  EXPECT_EQ(some.wide_transactions, 4u);
  const LineCounts column =
      of(AccessKind::shared_load, [&] { run_read_column(false, out_.data<float>(), stream_); });
  EXPECT_EQ(column.wide_requests, 1u);
  EXPECT_EQ(column.wide_transactions, 32u);
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

TEST_F(Counts, AVectorIsOneAccess) {
  const auto copy = [&] { run_add_one_to_vectors(wide_.data<float>(), x_.data<float>(), stream_); };
  for (const AccessKind kind : {AccessKind::global_load, AccessKind::global_store}) {
    const LineCounts access = of(kind, copy);
    EXPECT_EQ(access.requests, 1u) << name_of(kind);
    EXPECT_EQ(access.transactions, 16u) << name_of(kind);
    EXPECT_EQ(access.least, 16u) << name_of(kind);
  }
}

// 32 lanes want 256 or 512 bytes, and the banks deliver 128 at a time.
TEST_F(Counts, PassesOfWideSharedLoads) {
  struct Case {
    int bytes, sharing, stride;
    std::uint64_t passes, least;
  };
  for (const Case& c : {Case{8, 1, 1, 2, 2},
                        {16, 1, 1, 4, 4},  // side by side
                        {8, 1, 2, 4, 2},
                        {16, 1, 2, 8, 4},  // every second one
                        {8, 2, 1, 1, 1},
                        {16, 2, 1, 2, 2},  // two lanes want the same
                        {8, 32, 1, 1, 1},
                        {16, 32, 1, 2, 2}}) {  // all lanes do
    const LineCounts load = of(AccessKind::shared_load, [&] {
      run_read_shared_vectors(c.bytes, c.sharing, c.stride, out_.data<float>(), stream_);
    });
    EXPECT_EQ(load.requests, 1u);
    EXPECT_EQ(load.transactions, c.passes) << c.bytes << " " << c.sharing << " " << c.stride;
    EXPECT_EQ(load.least, c.least) << c.bytes << " " << c.sharing << " " << c.stride;
  }
}

// In the step where p lanes work, their places are 64 / p words apart: two lanes to a bank, but for
// the one lane of the first step. That makes 1 + 5 * 2 passes in 6 steps for each access.
TEST_F(Counts, LanesThatJoinALoopLate) {
  const std::vector<KernelCounts> kernels =
      count_accesses([&] { run_sweep_down(out_.data<float>(), stream_); });
  ASSERT_EQ(kernels.size(), 1u);
  std::uint64_t loads = 0, stores = 0, load_passes = 0, store_passes = 0;
  for (const LineCounts& line : kernels[0].lines) {
    if (line.requests == 12 && line.kind == AccessKind::shared_load) {
      loads += line.lanes;
      load_passes += line.transactions;
    }
    if (line.requests == 6 && line.kind == AccessKind::shared_store) {
      stores += line.lanes;
      store_passes += line.transactions;
    }
  }
  EXPECT_EQ(loads, 2u * 63u);
  EXPECT_EQ(load_passes, 2u * 11u);
  EXPECT_EQ(stores, 63u);
  EXPECT_EQ(store_passes, 11u);
}

TEST_F(Counts, LanesMeetInTheSameTripOfALoop) {
  const auto loads = [&](Loop loop) {
    return of(AccessKind::global_load,
              [&, loop] { run_loop(loop, out_.data<float>(), x_.data<float>(), stream_); });
  };
  const LineCounts skipped = loads(Loop::skip_a_trip_each);
  EXPECT_EQ(skipped.requests, 32u);
  EXPECT_EQ(skipped.lanes, 32u * 31u);
  EXPECT_EQ(skipped.transactions, 32u * 4u);
  const LineCounts triangle = loads(Loop::as_many_trips_as_lanes);  // trip i: lanes i + 1 to 31
  EXPECT_EQ(triangle.requests, 31u);
  EXPECT_EQ(triangle.lanes, 31u * 32u / 2u);
  EXPECT_EQ(triangle.transactions, 7u * 4u + 8u * (3u + 2u + 1u));
}

TEST_F(Counts, LanesMeetBehindALoop) {
  const LineCounts load = of(AccessKind::global_load, [&] {
    run_loop(Loop::leave_in_different_ways, out_.data<float>(), x_.data<float>(), stream_);
  });
  EXPECT_EQ(load.requests, 1u);
  EXPECT_EQ(load.lanes, 28u);
}

TEST_F(Counts, CallsOfAFunctionAreKeptApart) {
  const std::vector<KernelCounts> kernels = count_accesses(
      [&] { run_loop(Loop::call_a_function, out_.data<float>(), x_.data<float>(), stream_); });
  ASSERT_EQ(kernels.size(), 1u);
  std::uint64_t loads = 0, lanes = 0, stores = 0;
  for (const LineCounts& line : kernels[0].lines) {
    if (line.kind == AccessKind::global_load) {
      loads += line.requests;
      lanes += line.lanes;
    } else {
      stores += line.requests;
    }
  }
  EXPECT_EQ(loads, 3u);  // by 16 lanes each
  EXPECT_EQ(lanes, 48u);
  EXPECT_EQ(stores, 1u);
}

TEST_F(Counts, BranchesWhereLanesPart) {
  const std::vector<KernelCounts> kernels = count_accesses(
      [&] { run_square_or_cube(wide_.data<float>(), x_.data<float>(), 1000, stream_); });
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].warps, 32u);
  EXPECT_EQ(kernels[0].divergent_warps, 32u);
  ASSERT_EQ(kernels[0].branches.size(), 2u);
  const BranchCounts& bounds = kernels[0].branches[0];  // 8 lanes of the last warp have an element
  EXPECT_EQ(bounds.executed, 32u);
  EXPECT_EQ(bounds.divergent, 1u);
  const BranchCounts& parity = kernels[0].branches[1];
  EXPECT_EQ(parity.executed, 32u);
  EXPECT_EQ(parity.divergent, 32u);
  EXPECT_NE(parity.line.find("counted_kernels.cu:"), std::string::npos) << parity.line;
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
  EXPECT_EQ(kernels[0].global_atomics.operations, 64u);
  EXPECT_EQ(kernels[0].global_atomics.addresses, 4u);
  EXPECT_EQ(kernels[0].global_atomics.most_on_an_address, 16u);
  EXPECT_EQ(kernels[0].shared_atomics.operations, 0u);
}

// Two blocks of 64 threads count into 4 bins of their own, and add these to the bins of all.
TEST_F(Counts, AtomicsOfSharedAndOfGlobalMemory) {
  Tensor bins({64}, DType::i32, stream_);
  zero_bytes(bins.raw(), bins.bytes(), stream_);
  const std::vector<KernelCounts> kernels =
      count_accesses([&] { run_add_to_copies_of_bins(bins.data<std::int32_t>(), 4, stream_); });
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].shared_atomics.operations, 128u);
  EXPECT_EQ(kernels[0].shared_atomics.addresses, 8u);
  EXPECT_EQ(kernels[0].shared_atomics.most_on_an_address, 16u);
  EXPECT_EQ(kernels[0].global_atomics.operations, 8u);
  EXPECT_EQ(kernels[0].global_atomics.addresses, 4u);
  EXPECT_EQ(kernels[0].global_atomics.most_on_an_address, 2u);
}

TEST_F(Counts, NothingIsCountedOutside) {
  const std::vector<KernelCounts> none = count_accesses([] {});
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace weft::test
