// SPDX-License-Identifier: MIT
// Scans and reductions of more than 2^32 bytes and of more than 2^31 elements, made and checked on
// the GPU: x[i] = i % 7, whose prefix sums have a closed form.
#include <gtest/gtest.h>

#include "engine/device.h"
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "tests/support/small.h"

namespace weft::test {
namespace {

using kernels::device::global_thread;
using kernels::device::grid_threads;

// Sum of i % 7 over i < n, modulo 2^32.
__host__ __device__ std::int32_t prefix_sum(std::int64_t n) {
  const std::int64_t rest = n % 7;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(n / 7 * 21 + rest * (rest - 1) / 2));
}

__global__ void fill_kernel(std::int32_t* x, std::int64_t n) {
  for (std::int64_t i = global_thread(); i < n; i += grid_threads()) {
    x[i] = static_cast<std::int32_t>(i % 7);
  }
}

__global__ void count_wrong_kernel(unsigned long long* wrong, const std::int32_t* y,
                                   std::int64_t n) {
  unsigned long long mine = 0;
  for (std::int64_t i = global_thread(); i < n; i += grid_threads()) {
    if (y[i] != prefix_sum(i + 1)) ++mine;
  }
  if (mine > 0) atomicAdd(wrong, mine);
}

template <class T>
T read(const Buffer& buffer, const Stream& stream) {
  T value{};
  cuda_check(
      cudaMemcpyAsync(&value, buffer.data(), sizeof(T), cudaMemcpyDeviceToHost, stream.native()),
      "copy a result");
  stream.synchronize();
  return value;
}

class LargeArrays : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
    if (small_tests()) GTEST_SKIP() << "WEFT_SMALL_TESTS is set";
    const std::size_t memory = device_properties(Device::cuda()).memory_bytes;
    // The array, and partial results of a reduction with 32 threads per block.
    if (memory < std::size_t{24} << 30) GTEST_SKIP() << "needs 24 GiB of GPU memory";
  }
};

TEST_P(LargeArrays, ScanInPlace) {
  const std::int64_t n = GetParam();
  const Stream stream(Device::cuda());
  const Buffer x(static_cast<std::size_t>(n) * 4, stream), wrong(8, stream);
  for (const kernels::Rung& rung : kernels::scan_rungs()) {
    if (!kernels::scan_takes(rung.name, {n}, stream.device())) continue;
    const kernels::ScanOptions options{.variant = rung.name};
    const std::size_t bytes =
        kernels::scan_workspace_bytes<std::int32_t>(n, options, stream.device());
    const Buffer scratch(bytes, stream);
    std::int32_t* data = static_cast<std::int32_t*>(x.data());
    unsigned long long* count = static_cast<unsigned long long*>(wrong.data());
    cuda_check(cudaMemsetAsync(count, 0, 8, stream.native()), "clear a counter");
    launch(fill_kernel, Launch{4096, 256, 0, stream}, data, n);
    kernels::scan(data, data, n, options, {scratch.data(), bytes}, stream);
    launch(count_wrong_kernel, Launch{4096, 256, 0, stream}, count, data, n);
    EXPECT_EQ(read<unsigned long long>(wrong, stream), 0u) << rung.name << " of " << n;
  }
}

TEST_P(LargeArrays, Reduce) {
  const std::int64_t n = GetParam();
  const Stream stream(Device::cuda());
  const Buffer x(static_cast<std::size_t>(n) * 4, stream), result(8, stream);
  std::int32_t* data = static_cast<std::int32_t*>(x.data());
  launch(fill_kernel, Launch{4096, 256, 0, stream}, data, n);
  const std::int32_t largest = 7;  // at the very end, where a 32-bit index would not reach
  cuda_check(cudaMemcpyAsync(data + n - 1, &largest, 4, cudaMemcpyHostToDevice, stream.native()),
             "store the last element");
  for (const kernels::Rung& rung : kernels::reduce_rungs()) {
    for (const int threads : {32, 256}) {
      const kernels::ReduceOptions options{rung.name, threads};
      const kernels::ReduceProblem problem{.n = n, .threads = threads};
      if (!kernels::reduce_takes(rung.name, problem, stream.device())) continue;
      const std::size_t bytes =
          kernels::reduce_workspace_bytes<std::int32_t>(n, options, stream.device());
      const Buffer scratch(bytes, stream);
      kernels::reduce(static_cast<std::int32_t*>(result.data()), data, n, kernels::Reduction::sum,
                      options, {scratch.data(), bytes}, stream);
      EXPECT_EQ(read<std::int32_t>(result, stream),
                static_cast<std::int32_t>(static_cast<std::uint32_t>(prefix_sum(n - 1)) + 7u))
          << rung.name << " of " << n;
      kernels::argmax(static_cast<std::int64_t*>(result.data()), data, n, options,
                      {scratch.data(), bytes}, stream);
      EXPECT_EQ(read<std::int64_t>(result, stream), n - 1) << rung.name << " of " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LargeArrays,
                         testing::Values((std::int64_t{1} << 24) + 1,   // beyond exact floats
                                         (std::int64_t{1} << 30) + 1,   // 2^32 + 4 bytes
                                         (std::int64_t{1} << 31) + 11)  // beyond 32-bit indices
);

}  // namespace
}  // namespace weft::test
