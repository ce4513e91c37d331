// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <omp.h>

#include "engine/device.h"
#include "kernels/gemm/automatic.h"
#include "kernels/gemm/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/kernels/products/gemm_problem.h"
#include "tests/support/device_test.h"

WEFT_CPU_TABLES(GemmCpu, gemm_cpu)

namespace weft::test {
namespace {

class Gemm : public DeviceTest {};

TEST_P(Gemm, MatchesTheOracle) {
  for (const GemmCase& c : cases_here()) {
    const Problem problem(c, false);
    const std::vector<double> expected = problem.expected();
    for_each_variant(
        problem.c.dims, device(), [&](const std::string& variant, const GemmOptions& options) {
          EXPECT_TRUE(compare(problem.run(options, stream()), expected,
                              problem.bound(rounding_of(options)), variant + " " + c.name()));
        });
    if (HasFailure()) return;
  }
}

TEST_P(Gemm, IsExactOnIntegers) {
  for (const GemmCase& c : cases_here()) {
    if (c.dims.k > 1100) continue;  // sums stay below 2^24
    const Problem problem(c, true);
    const std::vector<double> expected = problem.expected();
    for_each_variant(problem.c.dims, device(),
                     [&](const std::string& variant, const GemmOptions& options) {
                       EXPECT_TRUE(compare(problem.run(options, stream()), expected, problem.none(),
                                           variant + " " + c.name()));
                     });
    if (HasFailure()) return;
  }
}

// Products of 256 x 128 and 128 x 128 tiles, which the other cases are too small for, and one of so
// many that clusters of blocks take several each. Fewer tiles fill the multiprocessors of
// host-cuda.
TEST_P(Gemm, IsExactInEveryTile) {
  if (device().is_cpu()) GTEST_SKIP() << "for the tiles of large products";
  must_compare();
  struct Size {
    std::int64_t m, n, k;
    float beta;
  };
  const std::vector<Size> large = {{1920, 2088, 328, 0}, {1600, 1800, 328, 1}, {1500, 8400, 72, 0}};
  const std::vector<Size> of_few = {{264, 136, 72, 0}, {104, 264, 72, 1}};
  for (const auto& [m, n, k, beta] :
       device_properties(device()).multiprocessors < 16 ? of_few : large) {
    if (small_tests() && n > 8000) continue;
    for (int transposes = 0; transposes < 4; ++transposes) {
      if ((small_tests() || n > 8000) && (transposes == 1 || transposes == 2)) continue;
      const GemmCase c{
          {m, n, k, (transposes & 1) != 0, (transposes & 2) != 0, 0, 0, n + 8}, 1, beta, true};
      const Problem problem(c, true);
      std::vector<double> expected = problem.expected();
      for_each_variant(
          problem.c.dims, device(), [&](const std::string& variant, const GemmOptions& options) {
            const Rung* rung = gemm_rungs().find(options.variant);
            const bool tiled =
                rung != nullptr && (rung->arithmetic.in(options.mode) != Arithmetic::fp32 ||
                                    (rung->name == "operand_reuse" && !small_tests()));
            if (!tiled || (small_tests() && options.variant == "wmma_tf32")) return;
            EXPECT_TRUE(compare(problem.run(options, stream()), expected, exact(),
                                variant + " " + c.name()));
          });
      for (double& value : expected) {
        value = static_cast<double>(to_float(to_bfloat16(static_cast<float>(value))));
      }
      for_each_bfloat16_variant(
          device(), [&](const std::string& variant, const GemmOptions& options) {
            check_bfloat16(problem, variant, options, expected, exact(), stream());
          });
    }
  }
}

// Two tiles of 128 x 128 for every multiprocessor, which the rung chooses its larger tile for.
TEST_P(Gemm, OperandReuseIsExactInLargeTiles) {
  if (device().is_cpu()) GTEST_SKIP() << "the rung runs on CUDA";
  GemmOptions options;
  options.variant = "operand_reuse";
  const std::int64_t m = 256 * device_properties(device()).multiprocessors;
  for (const bool whole : {true, false}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      for (const std::int64_t k : {4, 96, 149}) {
        const GemmCase c{{whole ? m : m - 24, whole ? 128 : 121, k, (transposes & 1) != 0,
                          (transposes & 2) != 0, 0, 0, 132},
                         1,
                         whole ? 0.0f : 1.0f,
                         !whole,
                         whole ? Epilogue::none : Epilogue::relu};
        const Problem problem(c, true);
        EXPECT_TRUE(compare(problem.run(options, stream()), problem.expected(), exact(), c.name()));
      }
    }
  }
}

// Root of the mean squared error, against fp32 multiply-adds in the order of k.
TEST_P(Gemm, PartsAreAsAccurateAsFp32) {
  if (!gemm_takes("tf32x3", {{40, 100, 512, false, true}}, device())) {
    GTEST_SKIP() << "tf32x3 does not run here";
  }
  for (const std::int64_t k : sizes_here({512, 2048, 4096}, {512})) {
    const Problem problem({{40, 100, k, false, true}}, false);
    const std::vector<double> expected = problem.expected();
    const auto error_of = [&](std::string_view variant) {
      GemmOptions options;
      options.variant = variant;
      const std::vector<float> found = problem.run(options, stream());
      double squares = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        squares += std::pow(static_cast<double>(found[i]) - expected[i], 2);
      }
      return std::sqrt(squares / static_cast<double>(found.size()));
    };
    const double fp32 = error_of("naive");
    EXPECT_GT(fp32, 0);
    EXPECT_LE(error_of("tf32x3"), 2 * fp32) << "k = " << k;
    for (const std::string_view variant : {"wgmma_tf32x3", "wgmma_fp16x3"}) {
      if (!gemm_takes(variant, {{40, 100, 512, false, true}}, device())) continue;
      EXPECT_LE(error_of(variant), 2 * fp32) << variant << ", k = " << k;
    }
    if (k > 2048 || !gemm_takes("cluster_tf32x3", {{40, 100, 512, false, true}}, device()))
      continue;
    EXPECT_LE(error_of("cluster_tf32x3"), 2 * fp32) << "k = " << k;
  }
}

// Each result is one product, so that it shows how many bits of both factors are kept. Rows of A
// have largest values from 2^-140, where floats lose bits of their own, to 2^118; in a row, values
// fall to 2^-27 of that.
TEST_P(Gemm, HalvesKeepRowsOfAnySizeAndSmallValuesInThem) {
  if (!gemm_takes("wgmma_fp16x3", {{130, 136, 200}}, device())) {
    GTEST_SKIP() << "wgmma_fp16x3 does not run here";
  }
  for (const bool transposed : {false, true}) {
    Problem problem({{130, 136, 200, transposed, transposed}}, false);
    const auto& [m, n, k, transpose_a, transpose_b, lda, ldb, ldc] = problem.d;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t p = 0; p < k; ++p) {
        float& a = problem.a[static_cast<std::size_t>(transposed ? p * lda + i : i * lda + p)];
        const float digits = 1 + std::fabs(a);
        const auto exponent = static_cast<int>(2 * i - 140 - p % 28);
        a = i == 64 ? 0 : std::ldexp(a < 0 ? -digits : digits, exponent);
      }
    }
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < n; ++j) {
        float& b = problem.b[static_cast<std::size_t>(transposed ? j * ldb + p : p * ldb + j)];
        const auto exponent = static_cast<int>(j % 17 - 8);
        b = p == j ? std::ldexp(1 + std::fabs(b), exponent) : 0;
      }
    }
    GemmOptions options;
    options.variant = "wgmma_fp16x3";
    const std::vector<float> found = problem.run(options, stream());
    const std::vector<double> expected = problem.expected();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double most = std::fabs(expected[i]) * 0x1p-21 + 0x1p-149;
      ASSERT_LE(std::fabs(static_cast<double>(found[i]) - expected[i]), most)
          << "row " << i / 136 << ", column " << i % 136 << ", expected " << expected[i];
    }
  }
}

TEST_P(Gemm, TakesAnyAlignment) {
  // The rows of the others are a multiple of 16 bytes, and still begin beside a boundary.
  for (const GemmDims& dims : {GemmDims{65, 67, 71, false, true}, GemmDims{36, 68, 72, false, true},
                               GemmDims{36, 68, 24, true, false}}) {
    for (const std::int64_t misalign : {1, 2, 3}) {
      const Problem problem({dims, 1, 1, true}, true);
      for_each_variant(
          problem.c.dims, device(),
          [&](const std::string& variant, const GemmOptions& options) {
            EXPECT_TRUE(compare(problem.run(options, stream(), misalign), problem.expected(),
                                exact(), str(variant, " misaligned by ", misalign)));
          },
          misalign);
    }
  }
}

// A whole tile of one operand does not make the other one whole: here it begins beside a boundary
// of 16 bytes.
TEST_P(Gemm, OperandReuseLooksAtBothOperands) {
  if (device().is_cpu()) GTEST_SKIP() << "the rung runs on CUDA";
  const GemmDims dims{128, 128, 96};
  const Problem problem({dims, 1, 0}, true);
  for (const std::int64_t shift : {0, 1}) {
    const Guarded<float> a(problem.a, stream(), shift), b(problem.b, stream(), 1 - shift);
    Guarded<float> c(128 * 128, stream());
    gemm(c.data(), a.data(), b.data(), nullptr, dims, {.variant = "operand_reuse"}, stream());
    EXPECT_TRUE(compare(c.get(), problem.expected(), exact(), str("A shifted by ", shift)));
  }
}

TEST_P(Gemm, StripsHaveAnyWidth) {
  if (device().is_cpu()) GTEST_SKIP() << "the strip rungs run on CUDA";
  const std::int64_t m = small_tests() ? 5 : 67;
  const Problem problem({{m, 259, 301, false, true}, 1, 0, true}, true);
  for (const std::string_view variant :
       {"strip_k1", "strip_k2", "strip_k3", "strip_k4", "strip_k3k4"}) {
    for (const int width : {32, 64, 128, 256}) {
      for (const int results : {2, 4}) {
        GemmOptions options;
        options.variant = variant;
        options.strip_width = width;
        options.strip_results = results;
        EXPECT_TRUE(compare(problem.run(options, stream()), problem.expected(), exact(),
                            str("width ", width, ", results ", results)));
      }
    }
  }
}

TEST_P(Gemm, GivesTheSameBitsTwice) {
  const Problem problem(small_tests() ? cases_here()[0] : GemmCase{{129, 200, 1031}}, false);
  for_each_variant(
      problem.c.dims, device(), [&](const std::string& variant, const GemmOptions& options) {
        EXPECT_EQ(problem.run(options, stream()), problem.run(options, stream())) << variant;
      });
}

TEST_P(Gemm, WithoutInnerExtentKeepsBetaAndBias) {
  const Problem problem({{13, 35, 0, false, false, 1, 0, 40}, 1, 2, true, Epilogue::relu}, false);
  for_each_variant(
      problem.c.dims, device(), [&](const std::string& variant, const GemmOptions& options) {
        EXPECT_TRUE(
            compare(problem.run(options, stream()), problem.expected(), problem.bound(), variant));
      });
}

TEST_P(Gemm, ReluLetsNanPass) {
  Problem problem({{3, 20, 4}, 1, 0, false, Epilogue::relu}, false);
  problem.a[5] = std::numeric_limits<float>::quiet_NaN();  // in row 1
  for_each_variant(problem.c.dims, device(),
                   [&](const std::string& variant, const GemmOptions& options) {
                     const std::vector<float> c = problem.run(options, stream());
                     for (std::size_t i = 0; i < c.size(); ++i) {
                       EXPECT_EQ(std::isnan(c[i]), i / 20 == 1) << variant << " at " << i;
                     }
                   });
}

TEST_P(Gemm, EmptyExtentsWriteNothing) {
  for_each_variant({0, 4, 2}, device(), [&](const std::string&, const GemmOptions& options) {
    Guarded<float> c(8, stream()), a(8, stream()), b(8, stream());
    const std::vector<float> before = c.get();
    gemm(c.data(), a.data(), b.data(), nullptr, {0, 4, 2}, options, stream());
    gemm(c.data(), a.data(), b.data(), nullptr, {4, 0, 2}, options, stream());
    for (const float value : c.get()) EXPECT_TRUE(std::isnan(value));
  });
}

TEST_P(Gemm, RefusesWhatItCannotDo) {
  const auto refused = [&](const GemmDims& dims, GemmOptions options, const std::string& part) {
    try {
      gemm(static_cast<float*>(nullptr), nullptr, nullptr, nullptr, dims, options, stream());
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const std::int64_t huge = std::int64_t{1} << 40;
  refused({-1, 2, 3}, {}, "(-1, 2, 3)");
  refused({4, 5, 6, false, false, 5, 0, 0}, {}, "lda = 5 is shorter than a row of 6");
  refused({4, 5, 6, false, true, 0, 5, 0}, {}, "ldb = 5 is shorter than a row of 6");
  refused({4, 5, 6, false, false, 0, 0, 4}, {}, "ldc = 4 is shorter than a row of 5");
  refused({huge, huge, 1}, {}, "do not fit in memory");
  for (const Rung& info : gemm_rungs()) {
    GemmOptions options;
    options.variant = info.name;
    if (gemm_takes(info.name, {{1, 1, 1}}, device())) continue;
    refused({1, 1, 1}, options, std::string(info.name));
  }
  GemmOptions strip;
  strip.strip_width = 48;
  refused({1, 1, 1}, strip, "strip_width must be 32, 64, 128 or 256, found 48");
  strip = {};
  strip.strip_results = 3;
  refused({1, 1, 1}, strip, "strip_results must be 2 or 4, found 3");
  if (device().is_cuda()) {
    GemmOptions options;
    options.variant = "mma_tf32";
    refused({1, 1, 1}, options, "tf32");
    options.variant = "mma_bf16";
    refused({1, 1, 1}, options, "takes matrices of bfloat16, found floats");
  }
}

WEFT_ON_EACH_DEVICE(Gemm);

TEST(GemmCpuIsas, MatchTheOracle) {
  for (const auto& [isa, table] : gemm_cpu_tables()) {
    for (const GemmCase& c : cases_here()) {
      const Problem problem(c, false);
      const std::vector<double> expected = problem.expected();
      const Buffer scratch(table->packed_scratch(problem.d) * sizeof(float), Stream(Device::cpu()));
      std::vector<float> packed = problem.before, naive = problem.before;
      const float* bias = c.bias ? problem.bias.data() : nullptr;
      table->packed(packed.data(), problem.a.data(), problem.b.data(), bias, problem.d, c.alpha,
                    c.beta, c.epilogue, static_cast<float*>(scratch.data()));
      table->naive(naive.data(), problem.a.data(), problem.b.data(), bias, problem.d, c.alpha,
                   c.beta, c.epilogue);
      EXPECT_TRUE(compare(packed, expected, problem.bound(), str(isa, " packed ", c.name())));
      EXPECT_TRUE(compare(naive, expected, problem.bound(), str(isa, " naive ", c.name())));
      if (HasFailure()) return;
    }
  }
}

TEST(GemmCpu, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  const Stream stream(Device::cpu());
  for (const GemmCase& c : {GemmCase{{251, 241, 1033}}, GemmCase{{64, 512, 784, false, true}},
                            GemmCase{{300, 130, 64, true, false}}}) {
    const Problem problem(c, false);
    for_each_variant(problem.c.dims, Device::cpu(),
                     [&](const std::string& variant, const GemmOptions& options) {
                       omp_set_num_threads(1);
                       const std::vector<float> one = problem.run(options, stream);
                       for (const int threads : {2, 3}) {
                         omp_set_num_threads(threads);
                         EXPECT_EQ(problem.run(options, stream), one)
                             << variant << " on " << threads << " threads";
                       }
                     });
  }
  omp_set_num_threads(before);
}

TEST(GemmVariants, AutomaticFollowsDeviceAndShape) {
  const GemmDevice turing{75, false}, ampere{80, false}, hopper{90, true}, later{100, false};
  const auto chosen = [](std::int64_t side, GemmStorage storage, ComputeMode mode, bool aligned,
                         const GemmDevice& on) {
    return gemm_automatic(
               {{side, side, side, false, false, side, side, side}, storage, mode, aligned}, on)
        .rung;
  };
  const auto floats = [&](std::int64_t side, ComputeMode mode, const GemmDevice& on) {
    return chosen(side, GemmStorage::fp32, mode, true, on);
  };
  const auto bf16 = [&](std::int64_t side, bool aligned, const GemmDevice& on) {
    return chosen(side, GemmStorage::bf16, ComputeMode::fp32, aligned, on);
  };
  EXPECT_EQ(floats(960, ComputeMode::fp32, turing), "operand_reuse");
  EXPECT_EQ(floats(768, ComputeMode::fp32, turing), "register_tiled");
  EXPECT_EQ(floats(960, ComputeMode::fp32, ampere), "tf32x3");
  EXPECT_EQ(floats(1024, ComputeMode::fp32, hopper), "wgmma_fp16x3");
  EXPECT_EQ(floats(2048, ComputeMode::fp32, later), "tf32x3");
  EXPECT_EQ(floats(2048, ComputeMode::tf32, turing), "operand_reuse");
  EXPECT_EQ(floats(2048, ComputeMode::tf32, ampere), "mma_tf32");
  EXPECT_EQ(floats(2048, ComputeMode::bf16, later), "mma_tf32");
  EXPECT_EQ(floats(2048, ComputeMode::tf32, hopper), "wgmma_tf32");
  EXPECT_EQ(floats(256, ComputeMode::tf32, hopper), "cluster_tf32");
  EXPECT_EQ(floats(256, ComputeMode::tf32, ampere), "register_tiled");
  EXPECT_EQ(floats(256, ComputeMode::fp32, hopper), "cluster_tf32x3");
  EXPECT_EQ(floats(256, ComputeMode::fp32, ampere), "register_tiled");
  EXPECT_EQ(floats(64, ComputeMode::fp32, hopper), "register_tiled");
  // The first layer of the MLP, forward and its weight gradient.
  const auto layer = [&](const GemmDims& dims) {
    return gemm_automatic({dims, GemmStorage::fp32, ComputeMode::tf32, true}, hopper).rung;
  };
  EXPECT_EQ(layer({256, 512, 784, false, true, 784, 784, 512}), "cluster_tf32");
  EXPECT_EQ(layer({512, 784, 256, true, false, 512, 784, 784}), "cluster_tf32");
  EXPECT_EQ(layer({4096, 512, 784, false, true, 784, 784, 512}), "wgmma_tf32");
  // A large one of a CNN, and its weight gradient, for which the smaller operand is copied.
  EXPECT_EQ(layer({1024, 9216, 128, false, false, 128, 9216, 9216}), "wgmma_tf32");
  EXPECT_EQ(layer({128, 9216, 1024, true, false, 128, 9216, 9216}), "wgmma_tf32");
  EXPECT_EQ(layer({640, 1152, 100, true, false, 640, 1152, 1152}), "mma_tf32");
  EXPECT_EQ(bf16(2048, true, hopper), "wgmma_bf16");
  EXPECT_EQ(bf16(2048, false, hopper), "mma_bf16");
  EXPECT_EQ(bf16(2048, true, ampere), "mma_bf16");
  EXPECT_EQ(bf16(64, true, hopper), "mma_bf16");
  EXPECT_EQ(bf16(std::int64_t{1} << 31, true, hopper), "mma_bf16");
}

}  // namespace
}  // namespace weft::test
