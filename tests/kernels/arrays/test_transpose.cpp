// SPDX-License-Identifier: MIT
#include "kernels/transpose/transpose.h"

#include <bit>

#include "kernels/transpose/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/transpose_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"

WEFT_CPU_TABLES(TransposeCpu, transpose_cpu)

namespace weft::test {
namespace {

using kernels::TransposeDims;

std::vector<float> transposed(const std::vector<float>& x, const TransposeDims& dims) {
  std::vector<float> y;
  for (std::int64_t i = 0; i < dims.elements(); ++i) {
    y.push_back(x[static_cast<std::size_t>(problems::Transpose{dims}.source(i))]);
  }
  return y;
}

class TransposeTest : public DeviceTest {
 protected:
  std::vector<std::string_view> variants(const TransposeDims& dims) const {
    std::vector<std::string_view> result = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::transpose_rungs()) {
      const bool takes = kernels::transpose_takes(rung.name, dims, device());
      if (taken(rung, device(), takes)) result.push_back(rung.name);
    }
    return result;
  }
};

TEST_P(TransposeTest, MatchesAnOracleAtAnyExtentAndAlignment) {
  must_compare();
  for (const TransposeDims& dims : all_or_few(cases::kTransposes, cases::kFewTransposes)) {
    const std::vector<float> x = random_floats(dims.elements(), 1);
    const std::vector<float> expected = transposed(x, dims);
    for (const std::string_view variant : variants(dims)) {
      for (const std::int64_t misalign : {0, 1}) {
        const Guarded<float> in(x, stream(), misalign);
        Guarded<float> y(dims.elements(), stream(), misalign);
        kernels::transpose(y.data(), in.data(), dims, variant, stream());
        EXPECT_TRUE(same_bits(y.get(), expected)) << variant << " of " << dims.rows << " x "
                                                  << dims.cols << ", misaligned by " << misalign;
      }
    }
  }
}

// Arithmetic on the way would quiet a signalling NaN or flush the smallest numbers.
TEST_P(TransposeTest, KeepsEveryBitPattern) {
  const TransposeDims dims{36, 68};
  std::vector<float> x;
  for (std::uint32_t i = 0; i < 36 * 68; ++i) x.push_back(std::bit_cast<float>(i * 1753801u));
  x[0] = std::bit_cast<float>(0x7f800001u);
  x[1] = std::bit_cast<float>(1u);
  x[2] = -0.0f;
  const Guarded<float> in(x, stream());
  for (const std::string_view variant : variants(dims)) {
    Guarded<float> y(dims.elements(), stream());
    kernels::transpose(y.data(), in.data(), dims, variant, stream());
    EXPECT_TRUE(same_bits(y.get(), transposed(x, dims))) << variant;
  }
}

TEST_P(TransposeTest, EmptyAndWrongArguments) {
  Guarded<float> y(4, stream()), x(4, stream());
  const std::vector<float> before = y.get();
  kernels::transpose(y.data(), x.data(), {0, 4}, "automatic", stream());
  kernels::transpose(y.data(), x.data(), {4, 0}, "automatic", stream());
  EXPECT_TRUE(same_bits(y.get(), before));
  EXPECT_USAGE_ERROR(kernels::transpose(y.data(), x.data(), {-1, 4}, "automatic", stream()),
                     "negative extent -1");
  EXPECT_USAGE_ERROR(kernels::transpose(y.data(), x.data(), {2, 2}, "fast", stream()),
                     "choose from automatic, naive, tiled");
}

TEST_P(TransposeTest, AutomaticTakesVectorsOnlyWhereRowsAreWholeVectors) {
  if (device().is_cpu()) {
    EXPECT_EQ(kernels::transpose_choice({64, 64}, device()).rung, "tiled");
    return;
  }
  EXPECT_EQ(kernels::transpose_choice({64, 60}, device()).rung, "vectorized");
  EXPECT_EQ(kernels::transpose_choice({64, 62}, device()).rung, "swizzled");
  EXPECT_EQ(kernels::transpose_choice({62, 64}, device()).rung, "swizzled");
}

TEST(TransposeCpu, EveryInstructionSetAgrees) {
  const TransposeDims dims{131, 197};
  const std::vector<float> x = random_floats(dims.elements(), 2);
  for (const auto& [isa, table] : transpose_cpu_tables()) {
    for (const auto function : {table->naive, table->tiled}) {
      std::vector<float> y(x.size());
      function(y.data(), x.data(), dims);
      EXPECT_TRUE(same_bits(y, transposed(x, dims))) << isa;
    }
  }
}

WEFT_ON_EACH_DEVICE(TransposeTest);

}  // namespace
}  // namespace weft::test
