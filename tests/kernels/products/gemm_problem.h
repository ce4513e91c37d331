// SPDX-License-Identifier: MIT
// One GEMM on the host with its oracle, and how tests of GEMM run it on a device.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kernels/gemm/cpu/templates.h"
#include "kernels/gemm/gemm.h"
#include "tests/cases/gemm_cases.h"
#include "tests/support/combinations.h"
#include "tests/support/compare.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"
#include "tests/support/small.h"

namespace weft::test {

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
            4 * eps, few()};
  }
  // Sums of integers are exact.
  Bound none() const { return {0, 0, few()}; }
  // All of a handful of elements may be zero: by chance, or where ReLU or a mask cuts them.
  bool few() const { return d.m * d.n <= 5; }

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

// Whether a call takes the dimensions of a case, with matrices that begin `misalign` elements past
// a boundary of 16 bytes.
inline bool takes(const GemmOptions& options, const GemmDims& dims, GemmStorage storage,
                  Device device, std::int64_t misalign = 0) {
  const std::int64_t vector = storage == GemmStorage::bf16 ? 8 : 4;  // elements of 16 bytes
  return gemm_takes(options.variant, {dims, storage, options.mode, misalign % vector == 0}, device);
}

// Calls `body` for every rung that takes floats of these dimensions here, in each mode that it
// rounds differently in.
inline void for_each_variant(
    const GemmDims& dims, Device device,
    const std::function<void(const std::string&, const GemmOptions&)>& body,
    std::int64_t misalign = 0) {
  for (const Rung& rung : gemm_rungs()) {
    if (device.is_cpu() ? !rung.on_cpu : !rung.on_cuda) continue;
    std::optional<Arithmetic> before;
    for (const ComputeMode mode : {ComputeMode::fp32, ComputeMode::tf32, ComputeMode::bf16}) {
      const GemmOptions options{.variant = rung.name, .mode = mode};
      // wmma_tf32 computes the same in mode bf16, but from there on its bound is a wider one.
      const bool same = rung.arithmetic.in(mode) == before && rung.arithmetic.fp32;
      before = rung.arithmetic.in(mode);
      if (same || !rung.arithmetic.in(mode)) continue;
      if (!taken(rung.name, takes(options, dims, GemmStorage::fp32, device, misalign))) continue;
      body(str(rung.name, mode == ComputeMode::bf16 ? " bf16" : ""), options);
    }
  }
  body("automatic", {});
}

// Compares, or expects a refusal where the rung does not take the problem.
inline void check_bfloat16(const Problem& problem, const std::string& what,
                           const GemmOptions& options, const std::vector<double>& expected,
                           const Bound& bound, const Stream& stream, std::int64_t misalign = 0) {
  if (!taken(options.variant,
             takes(options, problem.c.dims, GemmStorage::bf16, stream.device(), misalign))) {
    EXPECT_THROW(problem.run_bfloat16(options, stream, misalign), Error) << what;
    return;
  }
  EXPECT_TRUE(compare(problem.run_bfloat16(options, stream, misalign), expected, bound,
                      str(what, " misaligned by ", misalign, " ", problem.c.name())));
}

// Calls `body` for every rung that takes bfloat16 on this device, at least in some dimensions.
inline void for_each_bfloat16_variant(
    Device device, const std::function<void(const std::string&, const GemmOptions&)>& body) {
  bool any = false;  // GPUs before sm_80 have none
  for (const Rung& rung : gemm_rungs()) {
    if (!gemm_takes(rung.name, {{8, 8, 8}, GemmStorage::bf16}, device)) continue;
    body(str(rung.name, " on bfloat16"), {.variant = rung.name});
    any = true;
  }
  if (any) body("automatic on bfloat16", {});
}

inline std::vector<GemmCase> cases_here(std::int64_t k_of_few = built_for_host_cuda() ? 137 : 265) {
  return small_tests() ? few_gemm_cases(k_of_few) : gemm_cases();
}

inline double rounding_of(const GemmOptions& options) {
  return options.mode == ComputeMode::bf16   ? std::ldexp(1.0, -8)
         : options.mode == ComputeMode::tf32 ? std::ldexp(1.0, -11)
                                             : 0.0;
}

}  // namespace weft::test
