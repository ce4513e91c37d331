// SPDX-License-Identifier: MIT
#include "kernels/divergence/problem.h"

#include "kernels/divergence/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/histogram_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"

WEFT_CPU_TABLES(DivergenceCpu, divergence_cpu)

namespace weft::test {
namespace {

using Words = std::vector<std::int32_t>;

Words random_words(std::int64_t n, std::uint64_t seed) {
  Words words;
  for (const auto value : cases::histogram_values(n, cases::Distribution::uniform, 32, seed)) {
    words.push_back(static_cast<std::int32_t>(value));
  }
  return words;
}

Words oracle(const Words& x, int rounds) {
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  Words y;
  for (std::int64_t i = 0; i < n; ++i) {
    y.push_back(problems::Divergence{n, rounds}.expected(i, x[static_cast<std::size_t>(i)]));
  }
  return y;
}

class DivergenceTest : public DeviceTest {
 protected:
  std::vector<std::string_view> variants() const {
    std::vector<std::string_view> result = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::divergence_rungs()) {
      if (taken(rung, device(), kernels::divergence_takes(rung.name, 1, device()))) {
        result.push_back(rung.name);
      }
    }
    return result;
  }
};

// Around warps, pairs of warps and blocks.
TEST_P(DivergenceTest, SquaresAndCubesAreExact) {
  must_compare();
  for (const std::int64_t n :
       sizes_here({1, 2, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 2049, 40000}, {1, 33, 300})) {
    const Words x = random_words(n, 1);
    for (const int rounds : {0, 1, 2, 7}) {
      for (const std::string_view variant : variants()) {
        const Guarded<std::int32_t> in(x, stream(), 1);
        Guarded<std::int32_t> y(n, stream());
        kernels::sq_or_cube(y.data(), in.data(), n, rounds, variant, stream());
        EXPECT_EQ(y.get(), oracle(x, rounds)) << variant << " of " << n << ", rounds " << rounds;
      }
    }
  }
}

TEST_P(DivergenceTest, OneRoundSquaresAndCubesInPlace) {
  for (const std::string_view variant : variants()) {
    Guarded<std::int32_t> x(Words{2, 2, 5, 5, -10, -10}, stream());
    kernels::sq_or_cube(x.data(), x.data(), 6, 1, variant, stream());
    EXPECT_EQ(x.get(), (Words{4, 8, 25, 125, 100, -1000})) << variant;
  }
}

TEST_P(DivergenceTest, EmptyAndWrongArguments) {
  Guarded<std::int32_t> y(4, stream()), x(4, stream());
  const Words before = y.get();
  kernels::sq_or_cube(y.data(), x.data(), 0, 3, "automatic", stream());
  EXPECT_EQ(y.get(), before);
  EXPECT_USAGE_ERROR(kernels::sq_or_cube(y.data(), x.data(), -1, 3, "automatic", stream()),
                     "negative extent -1");
  EXPECT_USAGE_ERROR(kernels::sq_or_cube(y.data(), x.data(), 4, -3, "automatic", stream()),
                     "negative rounds -3");
  EXPECT_USAGE_ERROR(kernels::sq_or_cube(y.data(), x.data(), 4, 3, "branch", stream()),
                     "choose from automatic, branch_by_thread");
}

TEST(DivergenceCpu, EveryInstructionSetAgrees) {
  const Words x = random_words(1021, 2);
  for (const auto& [isa, table] : divergence_cpu_tables()) {
    Words y(x.size());
    table->sq_or_cube(y.data(), x.data(), 1021, 5);
    EXPECT_EQ(y, oracle(x, 5)) << isa;
  }
}

WEFT_ON_EACH_DEVICE(DivergenceTest);

}  // namespace
}  // namespace weft::test
