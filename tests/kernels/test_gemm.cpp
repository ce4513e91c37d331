// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/gemm/automatic.h"
#include "kernels/gemm/cpu.h"
#include "kernels/gemm/cpu_table.h"
#include "kernels/gemm/gemm.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/gemm_cases.h"
#include "tests/support/compare.h"
#include "tests/support/device_test.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(GemmCpu, gemm_cpu)

namespace weft::test {
namespace {

using namespace weft::kernels;

constexpr float kGap = -77;  // between the end of a row of C and the leading dimension

// Inputs of a case on the host. C holds kGap outside the rows and, when it must not be read, NaN.
struct Problem {
  GemmCase c;
  GemmDims d;  // leading dimensions resolved
  std::vector<float> a, b, bias, before;

  Problem(const GemmCase& test_case, bool integers) : c(test_case), d(test_case.dims) {
    if (d.lda == 0) d.lda = d.transpose_a ? d.m : d.k;
    if (d.ldb == 0) d.ldb = d.transpose_b ? d.k : d.n;
    if (d.ldc == 0) d.ldc = d.n;
    const auto values = [&](std::int64_t n, std::uint64_t seed) {
      return integers ? random_integers(n, seed) : random_floats(n, seed);
    };
    a = values((d.transpose_a ? d.k : d.m) * d.lda, 1);
    b = values((d.transpose_b ? d.n : d.k) * d.ldb, 2);
    bias = values(d.n, 3);
    before = values(d.m * d.ldc, 4);
    for (std::int64_t i = 0; i < d.m * d.ldc; ++i) {
      float& value = before[static_cast<std::size_t>(i)];
      if (i % d.ldc >= d.n) {
        value = kGap;
      } else if (c.beta == 0) {
        value = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }

  std::vector<double> expected() const {
    const std::vector<double> a64 = to_double(a), b64 = to_double(b), bias64 = to_double(bias);
    std::vector<double> c64 = to_double(before);
    cpu::gemm_naive<double>(c64.data(), a64.data(), b64.data(), c.bias ? bias64.data() : nullptr, d,
                            c.alpha, c.beta, c.epilogue);
    return c64;
  }

  // Random walk of k roundings of partial sums of size sqrt(k) / 3, with room for unlucky signs;
  // `unit` is the rounding of each operand, for the tensor-core modes.
  Bound bound(double unit = 0) const {
    const double eps = std::numeric_limits<float>::epsilon(), k = static_cast<double>(d.k);
    return {std::fabs(c.alpha) * (4 * eps * (k / 6 + 2) + 4 * unit * std::sqrt(k + 1)) + 8 * eps,
            4 * eps, true};
  }

  // A, B and C as bfloat16 hold; the oracle then starts from the same values.
  void round_to_bfloat16() {
    for (std::vector<float>* values : {&a, &b, &before}) {
      for (float& value : *values) value = to_float(to_bfloat16(value));
    }
  }

  // The same product on bfloat16 storage, widened.
  std::vector<float> run_bfloat16(GemmOptions options, const Stream& stream,
                                  std::int64_t misalign = 0) const {
    options.alpha = c.alpha;
    options.beta = c.beta;
    options.epilogue = c.epilogue;
    const auto narrow = [](const std::vector<float>& values) {
      std::vector<std::uint8_t> bytes(values.size() * sizeof(Bfloat16));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Bfloat16 value = to_bfloat16(values[i]);
        std::memcpy(&bytes[i * sizeof(Bfloat16)], &value, sizeof(Bfloat16));
      }
      return bytes;
    };
    const std::int64_t shift = misalign * static_cast<std::int64_t>(sizeof(Bfloat16));
    Guarded<std::uint8_t> a_device(narrow(a), stream, shift), b_device(narrow(b), stream, shift);
    Guarded<std::uint8_t> c_device(narrow(before), stream, shift);
    Guarded<float> bias_device(bias, stream, misalign);
    gemm(reinterpret_cast<Bfloat16*>(c_device.data()),
         reinterpret_cast<const Bfloat16*>(a_device.data()),
         reinterpret_cast<const Bfloat16*>(b_device.data()), c.bias ? bias_device.data() : nullptr,
         c.dims, options, stream);
    const std::vector<std::uint8_t> bytes = c_device.get();
    std::vector<float> result(before.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      Bfloat16 value;
      std::memcpy(&value, &bytes[i * sizeof(Bfloat16)], sizeof(Bfloat16));
      result[i] = to_float(value);
    }
    return result;
  }

  std::vector<float> run(GemmOptions options, const Stream& stream,
                         std::int64_t misalign = 0) const {
    options.alpha = c.alpha;
    options.beta = c.beta;
    options.epilogue = c.epilogue;
    Guarded<float> a_device(a, stream, misalign), b_device(b, stream, misalign);
    Guarded<float> bias_device(bias, stream, misalign), c_device(before, stream, misalign);
    gemm(c_device.data(), a_device.data(), b_device.data(), c.bias ? bias_device.data() : nullptr,
         c.dims, options, stream);
    return c_device.get();
  }
};

// Calls `body` for every variant that this device has for floats, in each mode that it knows.
void for_each_variant(Device device,
                      const std::function<void(const std::string&, const GemmOptions&)>& body) {
  for (const VariantInfo& info : gemm_variants()) {
    GemmOptions options;
    options.variant = parse_gemm_variant(info.name);
    if (!gemm_runs_on(options.variant, GemmStorage::fp32, device)) continue;
    const bool rounds = info.needs.find("ComputeMode") != std::string_view::npos;
    for (const ComputeMode mode : {ComputeMode::fp32, ComputeMode::tf32, ComputeMode::bf16}) {
      options.mode = mode;
      if (rounds == (mode == ComputeMode::fp32)) continue;
      body(str(info.name, mode == ComputeMode::bf16 ? " bf16" : ""), options);
    }
  }
  body("automatic", {});
}

// Compares, or expects a refusal where the variant needs alignment that the problem has not.
void check_bfloat16(const Problem& problem, const std::string& what, const GemmOptions& options,
                    const std::vector<double>& expected, const Bound& bound, const Stream& stream,
                    std::int64_t misalign = 0) {
  constexpr std::int64_t kVector = 8;  // elements of 16 bytes
  const bool aligned =
      misalign % kVector == 0 && problem.d.lda % kVector == 0 && problem.d.ldb % kVector == 0;
  if (options.variant == GemmVariant::wgmma_bf16 && !aligned) {
    EXPECT_THROW(problem.run_bfloat16(options, stream, misalign), Error) << what;
    return;
  }
  EXPECT_TRUE(compare(problem.run_bfloat16(options, stream, misalign), expected, bound,
                      str(what, " misaligned by ", misalign, " ", problem.c.name())));
}

// for_each_variant() for those that take bfloat16.
void for_each_bfloat16_variant(
    Device device, const std::function<void(const std::string&, const GemmOptions&)>& body) {
  for (const VariantInfo& info : gemm_variants()) {
    GemmOptions options;
    options.variant = parse_gemm_variant(info.name);
    if (gemm_runs_on(options.variant, GemmStorage::bf16, device)) {
      body(str(info.name, " on bfloat16"), options);
    }
  }
  body("automatic on bfloat16", {});
}

std::vector<GemmCase> cases_here() {
  return small_tests() ? few_gemm_cases() : gemm_cases();
}

double rounding_of(const GemmOptions& options) {
  return options.mode == ComputeMode::bf16   ? std::ldexp(1.0, -8)
         : options.mode == ComputeMode::tf32 ? std::ldexp(1.0, -11)
                                             : 0.0;
}

class Gemm : public DeviceTest {};

TEST_P(Gemm, MatchesTheOracle) {
  for (const GemmCase& c : cases_here()) {
    const Problem problem(c, false);
    const std::vector<double> expected = problem.expected();
    for_each_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
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
    Bound bound = exact();
    bound.zero_is_right = true;
    for_each_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
      EXPECT_TRUE(
          compare(problem.run(options, stream()), expected, bound, variant + " " + c.name()));
    });
    if (HasFailure()) return;
  }
}

TEST_P(Gemm, OnBfloat16MatchesTheOracle) {
  for (const GemmCase& c : cases_here()) {
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

TEST_P(Gemm, OnBfloat16IsRoundedIntegers) {
  for (const GemmCase& c : cases_here()) {
    if (c.dims.k > 1100) continue;
    const Problem problem(c, true);
    std::vector<double> expected = problem.expected();
    for (double& value : expected) {
      value = static_cast<double>(to_float(to_bfloat16(static_cast<float>(value))));
    }
    Bound bound = exact();
    bound.zero_is_right = true;
    for_each_bfloat16_variant(
        device(), [&](const std::string& variant, const GemmOptions& options) {
          for (const std::int64_t misalign : {0, 1, 4}) {
            if (misalign != 0 && c.dims.m * c.dims.n > 5000) continue;
            check_bfloat16(problem, variant, options, expected, bound, stream(), misalign);
          }
        });
    if (HasFailure()) return;
  }
}

// Products of 256 x 128 and 128 x 128 tiles, which the other cases are too small for.
TEST_P(Gemm, IsExactOnLargeProducts) {
  if (device().is_cpu()) GTEST_SKIP() << "for the tiles of large products";
  for (const bool wide : {false, true}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      if (small_tests() && (transposes == 1 || transposes == 2)) continue;
      const std::int64_t m = wide ? 1600 : 1920, n = wide ? 1800 : 2088, k = 328;
      const GemmCase c{{m, n, k, (transposes & 1) != 0, (transposes & 2) != 0, 0, 0, n + 8},
                       1,
                       wide ? 1.0f : 0.0f,
                       true};
      const Problem problem(c, true);
      std::vector<double> expected = problem.expected();
      for_each_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
        const bool simt =
            options.mode == ComputeMode::fp32 && options.variant != GemmVariant::tf32x3;
        if (simt || (small_tests() && options.variant == GemmVariant::wmma_tf32)) return;
        EXPECT_TRUE(
            compare(problem.run(options, stream()), expected, exact(), variant + " " + c.name()));
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

// Root of the mean squared error, against fp32 multiply-adds in the order of k.
TEST_P(Gemm, Tf32x3IsAsAccurateAsFp32) {
  if (!gemm_runs_on(GemmVariant::tf32x3, GemmStorage::fp32, device())) {
    GTEST_SKIP() << "tf32x3 does not run here";
  }
  for (const std::int64_t k : sizes_here({512, 4096}, {512})) {
    const Problem problem({{40, 100, k, false, true}}, false);
    const std::vector<double> expected = problem.expected();
    const auto error_of = [&](GemmVariant variant) {
      GemmOptions options;
      options.variant = variant;
      const std::vector<float> found = problem.run(options, stream());
      double squares = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        squares += std::pow(static_cast<double>(found[i]) - expected[i], 2);
      }
      return std::sqrt(squares / static_cast<double>(found.size()));
    };
    const double fp32 = error_of(GemmVariant::naive);
    EXPECT_GT(fp32, 0);
    EXPECT_LE(error_of(GemmVariant::tf32x3), 2 * fp32) << "k = " << k;
  }
}

TEST_P(Gemm, TakesAnyAlignment) {
  for (const std::int64_t misalign : {1, 2, 3}) {
    const Problem problem({{65, 67, 71, false, true}, 1, 1, true}, true);
    for_each_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
      EXPECT_TRUE(compare(problem.run(options, stream(), misalign), problem.expected(), exact(),
                          str(variant, " misaligned by ", misalign)));
    });
  }
}

TEST_P(Gemm, StripsHaveAnyWidth) {
  if (device().is_cpu()) GTEST_SKIP() << "the strip rungs run on CUDA";
  const std::int64_t m = small_tests() ? 5 : 67;
  const Problem problem({{m, 259, 301, false, true}, 1, 0, true}, true);
  for (const GemmVariant variant :
       {GemmVariant::strip_k1, GemmVariant::strip_k2, GemmVariant::strip_k3, GemmVariant::strip_k4,
        GemmVariant::strip_k3k4}) {
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
  const Problem problem(small_tests() ? few_gemm_cases()[0] : GemmCase{{129, 200, 1031}}, false);
  for_each_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
    EXPECT_EQ(problem.run(options, stream()), problem.run(options, stream())) << variant;
  });
}

TEST_P(Gemm, WithoutInnerExtentKeepsBetaAndBias) {
  const Problem problem({{13, 35, 0, false, false, 1, 0, 40}, 1, 2, true, Epilogue::relu}, false);
  for_each_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
    EXPECT_TRUE(
        compare(problem.run(options, stream()), problem.expected(), problem.bound(), variant));
  });
}

TEST_P(Gemm, ReluLetsNanPass) {
  Problem problem({{3, 20, 4}, 1, 0, false, Epilogue::relu}, false);
  problem.a[5] = std::numeric_limits<float>::quiet_NaN();  // in row 1
  for_each_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
    const std::vector<float> c = problem.run(options, stream());
    for (std::size_t i = 0; i < c.size(); ++i) {
      EXPECT_EQ(std::isnan(c[i]), i / 20 == 1) << variant << " at " << i;
    }
  });
}

TEST_P(Gemm, EmptyExtentsWriteNothing) {
  for_each_variant(device(), [&](const std::string&, const GemmOptions& options) {
    Guarded<float> c(8, stream()), a(8, stream()), b(8, stream());
    const std::vector<float> before = c.get();
    gemm(c.data(), a.data(), b.data(), nullptr, {0, 4, 2}, options, stream());
    gemm(c.data(), a.data(), b.data(), nullptr, {4, 0, 2}, options, stream());
    for (const float value : c.get()) EXPECT_TRUE(std::isnan(value));
  });
}

TEST_P(Gemm, OnBfloat16KeepsTheEdgesOfTheContract) {
  const Problem no_k({{13, 35, 0, false, true, 8, 8, 40}, 1, 2, true, Epilogue::relu}, true);
  Problem nan({{3, 24, 8}, 1, 0, false, Epilogue::relu}, false);
  nan.round_to_bfloat16();
  nan.a[9] = std::numeric_limits<float>::quiet_NaN();  // in row 1
  std::vector<double> no_k_expected = no_k.expected();
  for_each_bfloat16_variant(device(), [&](const std::string& variant, const GemmOptions& options) {
    check_bfloat16(no_k, variant, options, no_k_expected, exact(), stream());
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
  for (const VariantInfo& info : gemm_variants()) {
    GemmOptions options;
    options.variant = parse_gemm_variant(info.name);
    if (gemm_runs_on(options.variant, GemmStorage::fp32, device())) continue;
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
    options.variant = GemmVariant::mma_tf32;
    refused({1, 1, 1}, options, "tf32");
    options.variant = GemmVariant::mma_bf16;
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
    for_each_variant(Device::cpu(), [&](const std::string& variant, const GemmOptions& options) {
      omp_set_num_threads(1);
      const std::vector<float> one = problem.run(options, stream);
      for (const int threads : {2, 3}) {
        omp_set_num_threads(threads);
        EXPECT_EQ(problem.run(options, stream), one) << variant << " on " << threads << " threads";
      }
    });
  }
  omp_set_num_threads(before);
}

TEST(GemmVariants, AutomaticFollowsDeviceAndShape) {
  const GemmDevice turing{75, false}, ampere{80, false}, hopper{90, true}, later{100, false};
  const auto chosen = [](std::int64_t side, GemmStorage storage, ComputeMode mode, bool aligned,
                         const GemmDevice& on) {
    return gemm_automatic({side, side, side, false, false, side, side, side}, storage, mode,
                          aligned, on);
  };
  const auto floats = [&](std::int64_t side, ComputeMode mode, const GemmDevice& on) {
    return chosen(side, GemmStorage::fp32, mode, true, on);
  };
  const auto bf16 = [&](std::int64_t side, bool aligned, const GemmDevice& on) {
    return chosen(side, GemmStorage::bf16, ComputeMode::fp32, aligned, on);
  };
  EXPECT_EQ(floats(1024, ComputeMode::fp32, hopper), GemmVariant::register_tiled);
  EXPECT_EQ(floats(2048, ComputeMode::fp32, hopper), GemmVariant::warp_tiled);
  EXPECT_EQ(floats(2048, ComputeMode::tf32, turing), GemmVariant::warp_tiled);
  EXPECT_EQ(floats(2048, ComputeMode::tf32, ampere), GemmVariant::mma_tf32);
  EXPECT_EQ(floats(2048, ComputeMode::bf16, later), GemmVariant::mma_tf32);
  EXPECT_EQ(floats(2048, ComputeMode::tf32, hopper), GemmVariant::wgmma_tf32);
  EXPECT_EQ(floats(64, ComputeMode::tf32, hopper), GemmVariant::register_tiled);
  EXPECT_EQ(bf16(2048, true, hopper), GemmVariant::wgmma_bf16);
  EXPECT_EQ(bf16(2048, false, hopper), GemmVariant::mma_bf16);
  EXPECT_EQ(bf16(2048, true, ampere), GemmVariant::mma_bf16);
  EXPECT_EQ(bf16(64, true, hopper), GemmVariant::mma_bf16);
}

TEST(GemmVariants, ParseTheirNames) {
  for (const VariantInfo& info : gemm_variants()) {
    EXPECT_TRUE(info.on_cpu || info.on_cuda) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_NE(parse_gemm_variant(info.name), GemmVariant::automatic) << info.name;
  }
  EXPECT_EQ(parse_gemm_variant("automatic"), GemmVariant::automatic);
  EXPECT_THROW(parse_gemm_variant("fast"), Error);
}

}  // namespace
}  // namespace weft::test
