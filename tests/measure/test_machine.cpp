// SPDX-License-Identifier: MIT
// The peaks that a share of the bound is of: nothing that the library computes is faster.
#include "measure/machine.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/timer.h"
#include "kernels/gemm/gemm.h"
#include "measure/cpu/peak.h"

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

}  // namespace
}  // namespace weft::measure
