// SPDX-License-Identifier: MIT
// GEMM on bfloat16 storage: exact products, fp32 sums, results rounded once.
#include "tests/kernels/products/gemm_problem.h"
#include "tests/support/device_test.h"

namespace weft::test {
namespace {

class GemmBfloat16 : public DeviceTest {};

TEST_P(GemmBfloat16, MatchesTheOracle) {
  for (const GemmCase& c : cases_here(265)) {
    Problem problem(c, false);
    problem.round_to_bfloat16();
    const std::vector<double> expected = problem.expected();
    Bound bound = problem.bound();
    bound.relative += std::ldexp(1.0, -8) * 1.001;  // the result is rounded to nearest, once
    for_each_bfloat16_variant(
        device(), [&](const std::string& variant, const GemmOptions& options) {
          check_bfloat16(problem, variant, options, expected, bound, stream());
        });
    if (HasFailure()) return;
  }
}

TEST_P(GemmBfloat16, IsRoundedIntegers) {
  for (const GemmCase& c : cases_here(265)) {
    if (c.dims.k > 1100) continue;
    const Problem problem(c, true);
    std::vector<double> expected = problem.expected();
    for (double& value : expected) {
      value = static_cast<double>(to_float(to_bfloat16(static_cast<float>(value))));
    }
    for_each_bfloat16_variant(
        device(), [&](const std::string& variant, const GemmOptions& options) {
          for (const std::int64_t misalign : {0, 1, 4}) {
            if (misalign != 0 && c.dims.m * c.dims.n > 5000) continue;
            check_bfloat16(problem, variant, options, expected, problem.none(), stream(), misalign);
          }
        });
    if (HasFailure()) return;
  }
}

// With 132 multiprocessors these are tiles of 128 x 256, whose sums the copy engine stores: one for
// each block, and three for each with B shared by two blocks. The last ones are partial.
TEST_P(GemmBfloat16, IsRoundedIntegersInLargeTiles) {
  GemmOptions options;
  options.variant = "wgmma_bf16";
  if (small_tests() || !takes(options, {1400, 3064, 72}, GemmStorage::bf16, device())) {
    GTEST_SKIP() << "no wgmma here, or small tests only";
  }
  for (const GemmCase& c : {GemmCase{{1400, 3064, 72}, 1, 0, true, Epilogue::relu},
                            GemmCase{{4600, 2808, 72, true, true}}}) {
    const Problem problem(c, true);
    std::vector<double> expected = problem.expected();
    for (double& value : expected) {
      value = static_cast<double>(to_float(to_bfloat16(static_cast<float>(value))));
    }
    check_bfloat16(problem, std::string(options.variant), options, expected, problem.none(),
                   stream());
  }
}

TEST_P(GemmBfloat16, KeepsTheEdgesOfTheContract) {
  const Problem no_k({{13, 35, 0, false, true, 8, 8, 40}, 1, 2, true, Epilogue::relu}, true);
  Problem nan({{3, 24, 8}, 1, 0, false, Epilogue::relu}, false);
  nan.round_to_bfloat16();
  nan.a[9] = std::numeric_limits<float>::quiet_NaN();  // in row 1
  std::vector<double> no_k_expected = no_k.expected();
  for_each_bfloat16_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
    check_bfloat16(no_k, variant, options, no_k_expected, exact(), stream());
    if (!takes(options, nan.c.dims, GemmStorage::bf16, device())) return;
    const std::vector<float> c = nan.run_bfloat16(options, stream());
    for (std::size_t i = 0; i < c.size(); ++i) {
      EXPECT_EQ(std::isnan(c[i]), i / 24 == 1) << variant << " at " << i;
    }
    Guarded<std::uint8_t> out(16, stream());
    const std::vector<std::uint8_t> before = out.get();
    auto* matrix = reinterpret_cast<Bfloat16*>(out.data());
    gemm(matrix, matrix, matrix, nullptr, {0, 8, 8}, options, stream());
    gemm(matrix, matrix, matrix, nullptr, {8, 0, 8, true, true}, options, stream());
    EXPECT_EQ(out.get(), before) << variant;
  });
}

WEFT_ON_EACH_DEVICE(GemmBfloat16);

}  // namespace
}  // namespace weft::test
