// SPDX-License-Identifier: MIT
#include <cooperative_groups.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/device.h"
#include "engine/error.h"
#include "engine/launch.h"

namespace weft {
namespace {

// Every block adds up what all blocks have stored before the barrier.
__global__ void sum_after_barrier(int* sums, int* stored) {
  if (threadIdx.x == 0) stored[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) sum += stored[block];
    sums[blockIdx.x] = sum;
  }
}

class CooperativeLaunch : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  }
};

TEST_F(CooperativeLaunch, BlocksWaitForTheWholeGrid) {
  const Stream stream(Device::cuda());
  const int blocks = resident_blocks(sum_after_barrier, 64, 0, stream);
  ASSERT_GT(blocks, 0);
  const std::size_t bytes = static_cast<std::size_t>(blocks) * sizeof(int);
  const Buffer sums(bytes, stream), stored(bytes, stream);
  launch(sum_after_barrier, Launch{static_cast<unsigned>(blocks), 64, 0, stream}.cooperative(),
         static_cast<int*>(sums.data()), static_cast<int*>(stored.data()));
  std::vector<int> found(static_cast<std::size_t>(blocks));
  cuda_check(
      cudaMemcpyAsync(found.data(), sums.data(), bytes, cudaMemcpyDeviceToHost, stream.native()),
      "copy the sums");
  stream.synchronize();
  EXPECT_EQ(found, std::vector<int>(found.size(), blocks * (blocks + 1) / 2));
}

TEST_F(CooperativeLaunch, MoreBlocksThanFitAreRefused) {
  const Stream stream(Device::cuda());
  const unsigned blocks = static_cast<unsigned>(resident_blocks(sum_after_barrier, 64, 0, stream));
  int* nothing = nullptr;
  try {
    launch(sum_after_barrier, Launch{2 * blocks, 64, 0, stream}.cooperative(), nothing, nothing);
    ADD_FAILURE() << "a grid that cannot be resident was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what()).find("sum_after_barrier"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace weft
