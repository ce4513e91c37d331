// SPDX-License-Identifier: MIT
// The errors of products of fp32 over the spread of exponents: fp32's stay, those of fewer bits
// show.
#include "measure/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "kernels/gemm/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

// A yardstick that keeps `bits` of each operand, or gives no number at all.
Peer coarse(std::string name, int bits) {
  const auto bind = [bits](Work& work) {
    auto* gemm = work_on<problems::Gemm>(work);
    if (gemm == nullptr) return PeerCall{};
    return PeerCall{[gemm, bits](int set) {
                      const auto rounded = [bits](float value) {
                        int exponent = 0;
                        const double part = std::frexp(static_cast<double>(value), &exponent);
                        return std::ldexp(std::round(std::ldexp(part, bits)), exponent - bits);
                      };
                      const auto matrix = [&](std::string_view which) {
                        return gemm->array<std::uint8_t>(which)[set];
                      };
                      const kernels::GemmDims& d = gemm->p.dims;
                      const auto* a = reinterpret_cast<const float*>(matrix("a"));
                      const auto* b = reinterpret_cast<const float*>(matrix("b"));
                      auto* c = reinterpret_cast<float*>(matrix("c"));
                      for (std::int64_t i = 0; i < d.m * d.n; ++i) {
                        double sum = 0;
                        for (std::int64_t p = 0; p < d.k; ++p) {
                          sum += rounded(a[i / d.n * d.k + p]) * rounded(b[p * d.n + i % d.n]);
                        }
                        c[i] = bits == 0 ? NAN : static_cast<float>(sum);
                      }
                    },
                    {}};
  };
  return {std::move(name), Arithmetic::fp32, bind};
}

TEST(Errors, ThoseOfFp32StaySmallAndFewerBitsShow) {
  int shown = 0;
  const std::vector<ErrorRow> rows =
      measure_errors(Stream(Device::cpu()), 1, {coarse("11 bits", 11), coarse("none", 0)},
                     [&](const ErrorRow&) { ++shown; });
  EXPECT_EQ(static_cast<std::size_t>(shown), rows.size());
  int own = 0;
  for (const ErrorRow& row : rows) {
    EXPECT_EQ(row.error, "") << row.name;
    ASSERT_EQ(row.errors.size(), std::size(kSpreads)) << row.name;
    if (row.peer) continue;
    ++own;
    // k terms are rounded k times at most; what is off is a few of them.
    for (const double error : row.errors) {
      EXPECT_GE(error, 0) << row.name;
      EXPECT_LE(error, 64) << row.family << " " << row.problem << " " << row.name;
    }
    EXPECT_GT(*std::max_element(row.errors.begin(), row.errors.end()), 0) << row.name;
  }
  EXPECT_GE(own, 8) << "two rungs and more of a product and of three passes";
  for (const ErrorRow& row : rows) {
    if (row.name == "11 bits") {  // 2^-11 of a term is 2^13 units
      for (const double error : row.errors) EXPECT_GT(error, 100);
    } else if (row.name == "none") {
      for (const double error : row.errors) EXPECT_TRUE(std::isinf(error));
    }
  }
  const auto none = std::find_if(rows.begin(), rows.end(),
                                 [](const ErrorRow& row) { return row.name == "none"; });
  ASSERT_NE(none, rows.end());
  EXPECT_TRUE(nlohmann::json::parse(error_json(*none, Machine{}))["errors"][0].is_null());
}

TEST(SpreadValues, HaveExponentsOverSoManyBits) {
  for (const double bits : {10.0, 40.0}) {
    int least = 1000, most = -1000;
    for (const float value : spread_values(100000, 3, bits)) {
      ASSERT_TRUE(std::isfinite(value));
      if (std::fabs(value) < std::ldexp(1.0, -30)) continue;  // a small one of the uniform values
      least = std::min(least, std::ilogb(value));
      most = std::max(most, std::ilogb(value));
    }
    EXPECT_EQ(most, static_cast<int>(bits / 2) - 1);
    EXPECT_LE(least, -static_cast<int>(bits / 2));
  }
  EXPECT_EQ(spread_values(100, 3, 0), random_values(100, 3));
}

}  // namespace
}  // namespace weft::measure
