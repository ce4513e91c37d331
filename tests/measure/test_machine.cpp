// SPDX-License-Identifier: MIT
// The peaks that a share of the bound is of: nothing that the library computes is faster.
#include "measure/machine/machine.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/timer.h"
#include "kernels/gemm/gemm.h"
#include "measure/cpu/peak.h"
#include "measure/run.h"

namespace weft::measure {
namespace {

template <class Work>
void keep_least(double& least, Work work) {
  const Timer timer;
  work();
  least = std::min(least, timer.seconds());
}

// The shortest of many short runs, taken in turn: other programs only make them longer.
TEST(CpuPeak, IsAboveWhatAProductReaches) {
  const Stream stream(Device::cpu());
  const kernels::GemmDims dims{.m = 192, .n = 192, .k = 192};
  const std::vector<float> a = random_values(dims.m * dims.k, 1), b = random_values(a.size(), 2);
  std::vector<float> c(a.size());
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  double peak = HUGE_VAL, product = HUGE_VAL;
  volatile float sink = 0;
  for (int i = 0; i < 100; ++i) {
    keep_least(peak, [&] { sink = cpu_peak().fma(static_cast<float>(i)); });
    keep_least(product,
               [&] { kernels::gemm(c.data(), a.data(), b.data(), nullptr, dims, {}, stream); });
  }
  omp_set_num_threads(threads);
  const double flops = 2.0 * static_cast<double>(dims.m * dims.n * dims.k);
  EXPECT_GT(flops / product, 0);
  EXPECT_LE(flops / product, 1.05 * cpu_peak().flops / peak);
  EXPECT_TRUE(std::isfinite(sink));
}

TEST(CpuPeak, SumsEveryElementOnce) {
  for (const std::int64_t n : {0, 1, 63, 64, 127, 128, 129, 1000}) {
    const std::vector<float> ones(static_cast<std::size_t>(n), 1.0f);
    EXPECT_EQ(cpu_peak().sum(ones.data(), n), static_cast<float>(n));
  }
}

TEST(Bound, IsThatOfTheSmallestCacheThatHoldsTheProblem) {
  Machine machine;
  machine.bandwidth = 10e9;
  machine.caches = {{32e3, 200e9}, {1e6, 50e9}, {100e6, 10e9}};
  EXPECT_EQ(machine.bandwidth_of(1e3), 200e9);
  EXPECT_EQ(machine.bandwidth_of(500e3), 200e9);
  EXPECT_EQ(machine.bandwidth_of(1e6), 50e9);
  EXPECT_EQ(machine.bandwidth_of(1e12), 10e9);
  Row row;
  row.bytes = 100e3;
  row.touched = 400e3;
  row.timing.median =
      1e-6;  // 100 GB/s: ten times what memory gives, and half of what the cache does
  EXPECT_DOUBLE_EQ(row.share(machine), 0.5);
  // What is faster than its bound shows that it is none.
  row.touched = 1e9;
  EXPECT_EQ(row.share(machine), 0);
  EXPECT_EQ(share_text(row, machine), "");
  EXPECT_NE(row_json(row, machine).find("\"share_of_bound\":null"), std::string::npos);
  machine.caches.clear();  // as of a GPU
  EXPECT_EQ(machine.bandwidth_of(1e3), 10e9);
}

TEST(Bound, CachesOfTheCpuAreMeasured) {
  const Machine machine = measure_machine(Stream(Device::cpu()));
  ASSERT_GE(machine.caches.size(), 3u);
  for (std::size_t i = 1; i < machine.caches.size(); ++i) {
    EXPECT_GT(machine.caches[i].bytes, machine.caches[i - 1].bytes);
    EXPECT_LE(machine.caches[i].bandwidth, machine.caches[i - 1].bandwidth);
  }
  EXPECT_GT(machine.bandwidth, 1e8);
  EXPECT_EQ(machine.bandwidth, machine.caches.back().bandwidth);
  EXPECT_GT(machine.fp32, 1e9);
}

}  // namespace
}  // namespace weft::measure
