// SPDX-License-Identifier: MIT
// What GEMM does for the backward pass besides the product: the mask of a ReLU and the sums of
// rows.
#include "tests/kernels/products/gemm_problem.h"
#include "tests/support/device_test.h"

namespace weft::test {
namespace {

// A product with a mask of both signs and zeros, and row sums that start from other values.
struct BackwardProblem : Problem {
  std::vector<float> mask, sums_before;

  explicit BackwardProblem(const GemmCase& test_case) : Problem(test_case, true) {
    mask = random_integers(d.m * d.ldc, 5);
    sums_before = random_integers(d.m, 6);
    if (c.beta == 0) {  // then they must not be read
      for (float& value : sums_before) value = std::numeric_limits<float>::quiet_NaN();
    }
  }

  std::vector<double> expected_product() const {
    std::vector<double> values = expected();
    for (std::int64_t i = 0; i < d.m; ++i) {
      for (std::int64_t j = 0; j < d.n; ++j) {
        const auto at = static_cast<std::size_t>(i * d.ldc + j);
        if (!(mask[at] > 0)) values[at] = 0;
      }
    }
    return values;
  }

  std::vector<double> expected_sums() const {
    std::vector<double> sums;
    for (std::int64_t i = 0; i < d.m; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p < d.k; ++p) {
        const std::int64_t at = d.transpose_a ? p * d.lda + i : i * d.lda + p;
        sum += static_cast<double>(a[static_cast<std::size_t>(at)]);
      }
      sum *= static_cast<double>(c.alpha);
      if (c.beta != 0) {
        sum += static_cast<double>(c.beta) *
               static_cast<double>(sums_before[static_cast<std::size_t>(i)]);
      }
      sums.push_back(sum);
    }
    return sums;
  }

  // Runs with both, and says whether both are right; `mask_misaligned` in elements.
  void check(GemmOptions options, const std::string& what, const Stream& stream,
             std::int64_t misalign = 0, std::int64_t mask_misaligned = 0) const {
    Guarded<float> mask_device(mask, stream, mask_misaligned), sums(sums_before, stream);
    options.relu_mask = mask_device.data();
    options.row_sums = sums.data();
    const std::string where = str(what, " ", c.name(), " misaligned by ", misalign);
    EXPECT_TRUE(compare(run(options, stream, misalign), expected_product(), none(), where));
    const Bound of_sums{0, 0, d.m <= 5 || c.alpha == 0};
    EXPECT_TRUE(compare(sums.get(), expected_sums(), of_sums, where + ", row sums"));
  }
};

class GemmBackward : public DeviceTest {};

TEST_P(GemmBackward, MasksAndSumsRowsExactlyOnIntegers) {
  for (const GemmCase& c : cases_here()) {
    if (c.dims.k > 1100) continue;  // sums stay below 2^24
    const BackwardProblem problem(c);
    for_each_variant(problem.c.dims, device(),
                     [&](const std::string& variant, const GemmOptions& options) {
                       problem.check(options, variant, stream());
                     });
    if (HasFailure()) return;
  }
}

TEST_P(GemmBackward, TakesAnyAlignment) {
  const BackwardProblem problem(GemmCase{{65, 67, 71, true, false}, 1, 1, true});
  const BackwardProblem aligned(GemmCase{{64, 128, 96, true, false}, 1, 0});
  for (const std::int64_t misalign : {1, 2, 3}) {
    for_each_variant(
        problem.c.dims, device(),
        [&](const std::string& variant, const GemmOptions& options) {
          problem.check(options, variant, stream(), misalign);
        },
        misalign);
    for_each_variant(aligned.c.dims, device(),
                     [&](const std::string& variant, const GemmOptions& options) {
                       aligned.check(options, variant, stream(), 0, misalign);
                     });
  }
}

// Tiles that lie in C as a whole are stored 16 bytes at a time, or as C^T, by code of their own.
// The largest are 128 x 256. On host-cuda they are 128 x 128, where C has as many as there are
// multiprocessors.
TEST_P(GemmBackward, MasksWholeTilesOfEveryOrder) {
  const std::int64_t m = 256, n = built_for_host_cuda() ? 136 : 264;
  for (int transposes = 0; transposes < 4; ++transposes) {
    const BackwardProblem problem(
        GemmCase{{m, n, 40, (transposes & 1) != 0, (transposes & 2) != 0, 0, 0, n + 8},
                 2,
                 0,
                 true,
                 transposes % 2 == 0 ? Epilogue::relu : Epilogue::none});
    for_each_variant(problem.c.dims, device(),
                     [&](const std::string& variant, const GemmOptions& options) {
                       problem.check(options, variant, stream());
                     });
  }
}

// Everything that is not above 0 is cut, NaN too; what passes is not changed by the mask's value.
TEST_P(GemmBackward, CutsWhereTheMaskIsNotPositive) {
  const std::vector<float> values{1e-30f, -1e-30f, 0.0f,
                                  -0.0f,  1e30f,   std::numeric_limits<float>::quiet_NaN()};
  BackwardProblem problem(GemmCase{{8, 24, 32}});
  for (std::size_t i = 0; i < problem.mask.size(); ++i) problem.mask[i] = values[i % values.size()];
  for_each_variant(problem.c.dims, device(),
                   [&](const std::string& variant, const GemmOptions& options) {
                     problem.check(options, variant, stream());
                   });
}

// Every cluster that the blocks of the cluster rungs can form, over whole and partial tiles.
class GemmClusters : public DeviceTest {
 protected:
  void check_shapes(ComputeMode mode) {
    if (!gemm_takes("cluster_tf32", {{8, 8, 8}, GemmStorage::fp32, ComputeMode::tf32}, device())) {
      GTEST_SKIP() << "cluster_tf32 does not run here";
    }
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{128, 128, 512},
                                  {200, 148, 1000},
                                  {64, 12, 40},
                                  {40, 24, 600},
                                  {72, 80, 136},
                                  {512, 784, 96},
                                  {100, 10, 84},
                                  {52, 300, 8}}) {
      if (too_large(2.0 * static_cast<double>(m * n * k))) continue;
      for (int transposes = 0; transposes < 4; ++transposes) {
        const float beta = static_cast<float>(transposes % 2);
        const BackwardProblem problem(
            GemmCase{{m, n, k, (transposes & 1) != 0, (transposes & 2) != 0},
                     1,
                     beta,
                     true,
                     Epilogue::relu});
        for (const auto& [parts, columns] : {std::array<int, 2>{1, 64},
                                             {2, 64},
                                             {4, 64},
                                             {8, 64},
                                             {1, 32},
                                             {2, 32},
                                             {4, 32},
                                             {0, 0}}) {
          GemmOptions options;
          options.variant = mode == ComputeMode::fp32 ? "cluster_tf32x3" : "cluster_tf32";
          options.mode = mode;
          options.overlap = parts == 2;
          options.cluster_parts = parts;
          options.cluster_columns = columns;
          if (!takes(options, problem.c.dims, GemmStorage::fp32, device())) continue;
          problem.check(options, str("parts ", parts, ", columns ", columns), stream());
        }
        if (HasFailure()) return;
      }
    }
  }
};

TEST_P(GemmClusters, OfEveryShapeAgreeInFp32) {
  check_shapes(ComputeMode::fp32);
}

TEST_P(GemmClusters, OfEveryShapeAgreeInTf32) {
  check_shapes(ComputeMode::tf32);
}

TEST_P(GemmClusters, OfEveryShapeAgreeInBf16) {
  check_shapes(ComputeMode::bf16);
}

TEST_P(GemmBackward, RefusesBfloat16AndClustersThatCannotBe) {
  GemmOptions options;
  float sum = 0;
  options.row_sums = &sum;
  EXPECT_THROW(gemm(static_cast<Bfloat16*>(nullptr), nullptr, nullptr, nullptr, {1, 1, 1}, options,
                    stream()),
               Error);
  const auto refused = [&](int parts, int columns) {
    GemmOptions cluster;
    cluster.cluster_parts = parts;
    cluster.cluster_columns = columns;
    EXPECT_THROW(
        gemm(static_cast<float*>(nullptr), nullptr, nullptr, nullptr, {0, 1, 1}, cluster, stream()),
        Error)
        << parts << " " << columns;
  };
  refused(3, 0);
  refused(16, 0);
  refused(0, 16);
  refused(8, 32);
}

WEFT_ON_EACH_DEVICE(GemmBackward);
WEFT_ON_EACH_DEVICE(GemmClusters);

}  // namespace
}  // namespace weft::test
