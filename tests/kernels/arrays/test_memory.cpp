// SPDX-License-Identifier: MIT
#include "kernels/memory/memory.h"

#include <cstring>
#include <limits>

#include "kernels/memory/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/histogram_cases.h"
#include "tests/cases/memory_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(MemoryCpu, memory_cpu)

namespace weft::test {
namespace {

using kernels::Access;
using kernels::HostMemory;
using kernels::MemoryOperation;

std::vector<std::int32_t> random_ints(std::int64_t n, std::uint64_t seed) {
  const auto values = cases::histogram_values(n, cases::Distribution::uniform, 32, seed);
  return std::vector<std::int32_t>(values.begin(), values.end());
}

std::vector<std::uint32_t> shared_oracle(std::int64_t blocks, int stride, int rounds) {
  std::vector<std::uint32_t> sums;
  for (std::int64_t i = 0; i < blocks * kernels::kSharedThreads; ++i) {
    sums.push_back(problems::SharedStrided{blocks, stride, rounds}.expected(i));
  }
  return sums;
}

class MemoryTest : public DeviceTest {
 protected:
  // The rungs of an operation on this device, and `automatic`.
  std::vector<std::string_view> variants(MemoryOperation operation) const {
    std::vector<std::string_view> found = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::memory_rungs()) {
      if (kernels::memory_takes(rung.name, operation, device())) found.push_back(rung.name);
    }
    EXPECT_GT(found.size(), 1u);
    return found;
  }
};

TEST_P(MemoryTest, VectorAddIsExact) {
  for (const std::int64_t n : linear_sizes()) {
    const std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2);
    std::vector<float> expected;
    for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(a[i] + b[i]);
    for (const std::string_view variant : variants(MemoryOperation::vector_add)) {
      for (const std::int64_t misalign : {0, 1}) {
        const Guarded<float> left(a, stream(), misalign), right(b, stream());
        Guarded<float> c(n, stream(), misalign);
        kernels::vector_add(c.data(), left.data(), right.data(), n, variant, stream());
        EXPECT_TRUE(same_bits(c.get(), expected)) << n;
      }
    }
  }
}

TEST_P(MemoryTest, StridedCopiesAndReadsAreExact) {
  for (const Access& access : all_or_few(cases::kAccesses, cases::kFewAccesses)) {
    for (const std::int64_t n : sizes_here({1, 31, 33, 2047, 2048, 2049, 50021}, {33, 2049})) {
      const std::vector<float> x = random_floats(access.extent(n), 3);
      const std::vector<std::int32_t> k = random_ints(access.extent(n), 4);
      std::vector<float> expected;
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::size_t at =
            static_cast<std::size_t>(problems::Strided{n, access, true}.source(i));
        expected.push_back(x[at]);
        sum += k[at];
      }
      const Guarded<float> in(x, stream());
      const Guarded<std::int32_t> integers(k, stream());
      for (const std::string_view variant : variants(MemoryOperation::copy)) {
        Guarded<float> y(n, stream());
        kernels::copy_strided(y.data(), in.data(), n, access, variant, stream());
        EXPECT_TRUE(same_bits(y.get(), expected)) << variant << " of " << n << ", " << access;
      }
      for (const std::string_view variant : variants(MemoryOperation::read)) {
        Guarded<std::int64_t> total(1, stream());
        kernels::read_strided(total.data(), integers.data(), n, access, variant, stream());
        EXPECT_EQ(total.get(), std::vector<std::int64_t>{sum})
            << variant << " of " << n << ", " << access;
      }
    }
  }
}

// Bits of NaNs, of zeros with a sign and of the smallest numbers.
TEST_P(MemoryTest, CopiesAndSumsKeepSpecialValues) {
  const std::int64_t n = 2051;
  std::vector<std::int32_t> bits = random_ints(n, 9);  // any pattern of 32 bits
  bits[0] = 1;
  bits[1] = INT32_MIN;
  std::vector<float> x(bits.size());
  std::memcpy(x.data(), bits.data(), bits.size() * 4);
  const Guarded<float> in(x, stream());
  Guarded<float> y(n, stream());
  kernels::copy_strided(y.data(), in.data(), n, {0, 1}, "automatic", stream());
  EXPECT_TRUE(same_bits(y.get(), x));
  kernels::copy_rows(y.data(), in.data(), 7, 293, 293, 293, "automatic", stream());
  EXPECT_TRUE(same_bits(y.get(), x));

  const float inf = std::numeric_limits<float>::infinity(), tiny = 1e-45f, most = 3.4028235e38f;
  const Guarded<float> a(std::vector<float>{inf, tiny, most, -0.0f, 1}, stream());
  const Guarded<float> b(std::vector<float>{-inf, tiny, most, -0.0f, -1}, stream());
  for (const std::string_view variant : variants(MemoryOperation::vector_add)) {
    Guarded<float> c(5, stream());
    kernels::vector_add(c.data(), a.data(), b.data(), 5, variant, stream());
    const std::vector<float> found = c.get();
    EXPECT_TRUE(std::isnan(found[0]));
    EXPECT_TRUE(same_bits(std::vector<float>(found.begin() + 1, found.end()),
                          std::vector<float>{2 * tiny, inf, -0.0f, 0.0f}));
  }
}

TEST_P(MemoryTest, SharedReadsSumWhatTheyRead) {
  for (const int stride : all_or_few(cases::kSharedStrides, cases::kFewSharedStrides)) {
    for (const auto& [blocks, rounds] : {std::pair(1, 0), {1, 1}, {3, 17}, {2, 1100}}) {
      if (small_tests() && rounds > 100) continue;
      Guarded<std::int32_t> sums(blocks * kernels::kSharedThreads, stream());
      kernels::shared_strided(reinterpret_cast<std::uint32_t*>(sums.data()), blocks, stride, rounds,
                              stream());
      std::vector<std::int32_t> expected;
      for (const std::uint32_t sum : shared_oracle(blocks, stride, rounds)) {
        expected.push_back(static_cast<std::int32_t>(sum));
      }
      EXPECT_EQ(sums.get(), expected) << "stride " << stride << ", rounds " << rounds;
    }
  }
}

TEST_P(MemoryTest, RowsAreCopiedAndGapsAreNot) {
  for (const auto& [rows, cols] : cases::kRowsCopyCases) {
    const std::int64_t pitch = kernels::pitch_for(cols);
    EXPECT_TRUE(pitch >= cols && pitch < cols + 32 && pitch % 32 == 0);
    for (const auto& [y_pitch, x_pitch] :
         {std::pair(cols, cols), {pitch, cols}, {cols, pitch}, {pitch, pitch}}) {
      const std::vector<float> x = random_floats(rows * x_pitch, 5);
      const Guarded<float> in(x, stream());
      const std::vector<float> before(static_cast<std::size_t>(rows * y_pitch), -7.0f);
      std::vector<float> expected = before;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) {
          expected[static_cast<std::size_t>(r * y_pitch + c)] =
              x[static_cast<std::size_t>(r * x_pitch + c)];
        }
      }
      for (const std::string_view variant : variants(MemoryOperation::rows)) {
        Guarded<float> y(before, stream());
        kernels::copy_rows(y.data(), in.data(), rows, cols, y_pitch, x_pitch, variant, stream());
        EXPECT_TRUE(same_bits(y.get(), expected)) << variant << " " << rows << " x " << cols;
      }
    }
  }
}

TEST_P(MemoryTest, TransfersGoThereAndBack) {
  for (const HostMemory kind : {HostMemory::pageable, HostMemory::pinned}) {
    const std::vector<std::int32_t> x = random_ints(100003, 6);
    const std::size_t bytes = x.size() * sizeof(std::int32_t);
    const kernels::HostBuffer there(bytes, kind, device()), back(bytes, kind, device());
    std::memcpy(there.data(), x.data(), bytes);
    Guarded<std::int32_t> y(100003, stream());
    kernels::transfer_to_device(y.data(), there, bytes, stream());
    EXPECT_EQ(y.get(), x);
    kernels::transfer_to_host(back, y.data(), bytes, stream());
    stream().synchronize();
    EXPECT_EQ(std::memcmp(back.data(), x.data(), bytes), 0);
    EXPECT_USAGE_ERROR(kernels::transfer_to_host(back, y.data(), bytes + 1, stream()), "400012");
  }
}

TEST_P(MemoryTest, EmptyAndWrongArguments) {
  Guarded<float> y(4, stream()), x(4, stream());
  Guarded<std::int64_t> sum(1, stream());
  const std::vector<float> before = y.get();
  const float* in = x.data();
  kernels::vector_add(y.data(), in, in, 0, "automatic", stream());
  kernels::copy_strided(y.data(), in, 0, {3, 2}, "automatic", stream());
  kernels::copy_rows(y.data(), in, 0, 4, 4, 4, "automatic", stream());
  kernels::copy_rows(y.data(), in, 4, 0, 0, 0, "automatic", stream());
  EXPECT_TRUE(same_bits(y.get(), before));
  kernels::read_strided(sum.data(), nullptr, 0, {}, "automatic", stream());
  EXPECT_EQ(sum.get(), std::vector<std::int64_t>{0});
  EXPECT_USAGE_ERROR(kernels::copy_strided(y.data(), in, 2, {-1, 1}, "automatic", stream()),
                     "offset");
  EXPECT_USAGE_ERROR(kernels::copy_strided(y.data(), in, 2, {0, 0}, "automatic", stream()),
                     "stride");
  EXPECT_USAGE_ERROR(kernels::copy_rows(y.data(), in, 2, 4, 3, 4, "automatic", stream()),
                     "row of 4");
  EXPECT_USAGE_ERROR(kernels::copy_strided(y.data(), in, 2, {}, "dense_rows", stream()),
                     "it is a version of copy_rows, not of copy_strided; copy_by_stride can");
  EXPECT_USAGE_ERROR(kernels::shared_strided(nullptr, 1, 0, 1, stream()), "stride");
  EXPECT_USAGE_ERROR(kernels::shared_strided(nullptr, 1, 1, 5000, stream()), "5000");
}

TEST(MemoryCpu, EveryInstructionSetAgrees) {
  const std::vector<float> a = random_floats(1003, 7), b = random_floats(1003, 8);
  std::vector<float> expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(a[i] + b[i]);
  for (const auto& [isa, table] : memory_cpu_tables()) {
    std::vector<float> c(a.size());
    table->vector_add(c.data(), a.data(), b.data(), 1003);
    EXPECT_TRUE(same_bits(c, expected)) << isa;
    std::vector<std::uint32_t> sums(2 * kernels::kSharedThreads);
    table->shared_strided(sums.data(), 2, 3, 1100);
    EXPECT_EQ(sums, shared_oracle(2, 3, 1100)) << isa;
  }
}

WEFT_ON_EACH_DEVICE(MemoryTest);

}  // namespace
}  // namespace weft::test
