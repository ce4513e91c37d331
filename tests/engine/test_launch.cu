// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/device.h"
#include "engine/error.h"
#include "engine/launch.h"
#include "engine/tensor.h"

namespace weft {
namespace {

__global__ void store_sum(std::int64_t* out, std::int64_t a, const int* b) {
  *out = a + *b;
}

__global__ void count_up(int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = i;
}

__global__ void sum_through_shared(float* out, int n) {
  extern __shared__ float values[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
    values[i] = 1.0f;
  }
  __syncthreads();  // all values are written before one thread adds them
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += values[i];
    *out = sum;
  }
}

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  }
};

TEST_F(LaunchTest, ConvertsArgumentsToTheKernelsTypes) {
  const Stream stream(Device::cuda());
  Tensor out({1}, DType::i64, stream);
  Tensor b = tensor_from_host<std::int32_t>({1}, std::vector<std::int32_t>{5}, stream);
  const int a = 37;  // widens to the 64 bits that the kernel takes
  launch(store_sum, Launch{1, 1, 0, stream}, out.data<std::int64_t>(), a, b.data<std::int32_t>());
  EXPECT_EQ(to_host(out.view<std::int64_t>(), stream), (std::vector<std::int64_t>{42}));
}

TEST_F(LaunchTest, CoversAllBlocks) {
  const Stream stream(Device::cuda());
  const int n = 1000;
  Tensor out({n}, DType::i32, stream);
  launch(count_up, Launch{blocks_for(n, 64), 64, 0, stream}, out.data<std::int32_t>(), n);
  const std::vector<std::int32_t> found = to_host(out.view<std::int32_t>(), stream);
  for (int i = 0; i < n; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], i);
}

TEST_F(LaunchTest, SkipsAnEmptyGrid) {
  const Stream stream(Device::cuda());
  Tensor out = tensor_from_host<std::int32_t>({1}, std::vector<std::int32_t>{-1}, stream);
  launch(count_up, Launch{0, 64, 0, stream}, out.data<std::int32_t>(), 1);
  launch(count_up, Launch{dim3(1, 0, 1), 64, 0, stream}, out.data<std::int32_t>(), 1);
  EXPECT_EQ(to_host(out.view<std::int32_t>(), stream), (std::vector<std::int32_t>{-1}));
}

TEST_F(LaunchTest, RaisesTheSharedMemoryLimit) {
  const Stream stream(Device::cuda());
  const int n = 15 * 1024;  // 60 KiB, above the 48 KiB that need no permission
  Tensor out({1}, DType::f32, stream);
  launch(sum_through_shared, Launch{1, 128, n * sizeof(float), stream}, out.data<float>(), n);
  EXPECT_EQ(to_host(out.view<float>(), stream), (std::vector<float>{15 * 1024}));
}

TEST_F(LaunchTest, AFailureNamesKernelGridAndBlock) {
  const Stream stream(Device::cuda());
  Tensor out = tensor_from_host<std::int32_t>({1}, std::vector<std::int32_t>{-1}, stream);
  try {
    launch(count_up, Launch{7, 2048, 0, stream}, out.data<std::int32_t>(), 1);
    ADD_FAILURE() << "2048 threads in a block were accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(message.find("count_up"), std::string::npos) << message;
    EXPECT_NE(message.find("7x1x1"), std::string::npos) << message;
    EXPECT_NE(message.find("2048x1x1"), std::string::npos) << message;
  }
  // The failure is not sticky.
  launch(count_up, Launch{1, 1, 0, stream}, out.data<std::int32_t>(), 1);
  EXPECT_EQ(to_host(out.view<std::int32_t>(), stream), (std::vector<std::int32_t>{0}));
}

TEST_F(LaunchTest, BlocksForCoversAndCaps) {
  EXPECT_EQ(blocks_for(0, 256), 0u);
  EXPECT_EQ(blocks_for(1, 256), 1u);
  EXPECT_EQ(blocks_for(256, 256), 1u);
  EXPECT_EQ(blocks_for(257, 256), 2u);
  EXPECT_EQ(blocks_for(1 << 20, 256, 100), 100u);
}

}  // namespace
}  // namespace weft
