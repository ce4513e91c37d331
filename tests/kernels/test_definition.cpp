// SPDX-License-Identifier: MIT
// GEMM and convolution of random shapes against their definitions (tests/support/definition.h):
// the other oracle, which is the CPU version in double, and every variant on every device.
#include <algorithm>

#include "tests/support/definition.h"

#include "tests/kernels/products/conv_problem.h"
#include "tests/kernels/products/gemm_problem.h"
#include "tests/support/device_test.h"

namespace weft::test {
namespace {

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : seed_(seed) {}

  // Uniform in [low, high].
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    const std::uint32_t bits = philox(seed_, RandomStream::data, 9, next_++).value[0];
    return low + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t seed_, next_ = 0;
};

// Shapes that a sanitizer's limit lets through are a quarter as long.
std::int64_t most(std::int64_t all) {
  return small_tests() ? all / 4 : all;
}

GemmCase random_gemm(std::uint64_t seed) {
  Drawn draw(seed);
  GemmCase c;
  GemmDims& d = c.dims;
  d.m = draw(1, most(90));
  d.n = draw(1, most(90));
  d.k = draw(0, most(150));
  d.transpose_a = draw(0, 1) == 1;
  d.transpose_b = draw(0, 1) == 1;
  if (draw(0, 1) == 1) {  // rows further apart than they are long
    d.lda = std::max<std::int64_t>(1, d.transpose_a ? d.m : d.k) + draw(0, 5);
    d.ldb = std::max<std::int64_t>(1, d.transpose_b ? d.k : d.n) + draw(0, 5);
    d.ldc = d.n + draw(0, 5);
  }
  c.alpha = draw(0, 1) == 1 ? 1.0f : static_cast<float>(draw(-3, 3));
  c.beta = static_cast<float>(draw(-1, 1));
  c.bias = draw(0, 1) == 1;
  c.epilogue = draw(0, 1) == 1 ? Epilogue::relu : Epilogue::none;
  return c;
}

ConvCase random_conv(std::uint64_t seed) {
  Drawn draw(seed);
  ConvCase c;
  ConvDims& d = c.dims;
  d.n = draw(1, most(8));
  d.c = draw(1, most(9));
  d.oc = draw(1, most(20));
  d.kh = draw(1, 5);
  d.kw = draw(1, 5);
  d.pad_h = draw(0, 3);
  d.pad_w = draw(0, 3);
  d.stride_h = draw(1, 3);
  d.stride_w = draw(1, 3);
  d.h = std::max<std::int64_t>(1, d.kh - 2 * d.pad_h) + draw(0, most(12));
  d.w = std::max<std::int64_t>(1, d.kw - 2 * d.pad_w) + draw(0, most(12));
  c.zero_is_right = true;  // a single output may be cut by ReLU
  return c;
}

std::vector<double> by_definition(const Problem& p) {
  return definition::gemm(to_double(p.before), to_double(p.a), to_double(p.b),
                          p.c.bias ? to_double(p.bias) : std::vector<double>(), p.c.dims, p.c.alpha,
                          p.c.beta, p.c.epilogue == Epilogue::relu);
}

conv::ConvResults<double> by_definition(const conv::ConvProblem& p) {
  const auto start = [&](const std::vector<float>& before) {
    return p.mode == GradientMode::accumulate ? to_double(before)
                                              : std::vector<double>(before.size());
  };
  const ConvDims& d = p.c.dims;
  const auto x = to_double(p.x), w = to_double(p.w), dy = to_double(p.dy);
  conv::ConvResults<double> r;
  r.y = definition::conv_forward(x, w, to_double(p.bias), d, p.epilogue == Epilogue::relu);
  r.dx = definition::conv_backward_data(start(p.dx), dy, w, d);
  r.dw = definition::conv_backward_weights(start(p.dw), dy, x, d);
  r.db = definition::conv_backward_bias(start(p.db), dy, d);
  return r;
}

GradientMode mode_of(std::uint64_t seed) {
  return seed % 2 == 0 ? GradientMode::accumulate : GradientMode::overwrite;
}
Epilogue epilogue_of(std::uint64_t seed) {
  return seed % 3 == 0 ? Epilogue::none : Epilogue::relu;
}

// Sums in double whose terms are below 4 in size and at most 4000 in number, in any order.
constexpr Bound kDouble{4e-11, 0, true};

TEST(Definition, OfGemmIsWhatTheOtherOracleComputes) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem p(random_gemm(seed), false);
    ASSERT_TRUE(compare(p.expected(), by_definition(p), kDouble, str(seed, ": ", p.c.name())));
  }
}

TEST(Definition, OfConvolutionIsWhatTheOtherOracleComputes) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const conv::ConvProblem p(random_conv(seed), false, epilogue_of(seed), mode_of(seed));
    const conv::ConvResults<double> other = p.expected(), expected = by_definition(p);
    const std::string what = str(seed, ": ", p.c.name());
    ASSERT_TRUE(compare(other.y, expected.y, kDouble, what + " y"));
    ASSERT_TRUE(compare(other.dx, expected.dx, kDouble, what + " dx"));
    ASSERT_TRUE(compare(other.dw, expected.dw, kDouble, what + " dw"));
    ASSERT_TRUE(compare(other.db, expected.db, kDouble, what + " db"));
  }
}

// A product whose result is known by hand: the definitions are held against numbers too.
TEST(Definition, GivesTheNumbersOfASmallExample) {
  const GemmDims d{.m = 2, .n = 2, .k = 3};
  const definition::Values c = definition::gemm({1, 1, 1, 1}, {1, 2, 3, 4, 5, 6},
                                                {1, 0, 0, 1, 1, 1}, {10, -20}, d, 2, 1, true);
  EXPECT_EQ(c, (definition::Values{1 + 2 * 4 + 10, 0, 1 + 2 * 10 + 10, 1 + 2 * 11 - 20}));
  // An image of 1 to 4 under a filter of 2 x 2 ones, padded by 1 and with stride 2.
  const ConvDims k{1, 1, 2, 2, 1, 2, 2, 2, 2, 1, 1};
  const definition::Values image = {1, 2, 3, 4}, ones = {1, 1, 1, 1};
  EXPECT_EQ(definition::conv_forward(image, ones, {0.5}, k, false),
            (definition::Values{1.5, 2.5, 3.5, 4.5}));
  EXPECT_EQ(definition::conv_backward_weights({0, 0, 0, 0}, ones, image, k),
            (definition::Values{4, 3, 2, 1}));
  EXPECT_EQ(definition::conv_backward_data({0, 0, 0, 1}, image, ones, k),
            (definition::Values{1, 2, 3, 5}));
  EXPECT_EQ(definition::conv_backward_bias({1}, image, k), (definition::Values{11}));
}

class DefinitionOn : public DeviceTest {
 protected:
  std::uint64_t shapes() const { return small_tests() ? 6 : 60; }
};

TEST_P(DefinitionOn, GemmOfRandomShapes) {
  must_compare();
  for (std::uint64_t seed = 1000; seed < 1000 + shapes(); ++seed) {
    const bool integers = seed % 2 == 0;
    const Problem p(random_gemm(seed), integers);
    if (too_large(p.c.flops())) continue;
    std::vector<double> expected = by_definition(p);
    const bool exact = integers && p.c.alpha == std::floor(p.c.alpha);
    for_each_variant(p.c.dims, device(), [&](const std::string& variant, const GemmOptions& o) {
      Bound bound = exact ? Bound{} : p.bound(rounding_of(o));
      bound.zero_is_right = true;  // where ReLU cuts, or alpha and beta are 0
      EXPECT_TRUE(
          compare(p.run(o, stream()), expected, bound, str(variant, " ", seed, ": ", p.c.name())));
    });
    if (HasFailure()) return;
  }
}

TEST_P(DefinitionOn, ConvolutionOfRandomShapes) {
  must_compare();
  for (std::uint64_t seed = 2000; seed < 2000 + shapes(); ++seed) {
    const bool integers = seed % 2 == 0;
    const conv::ConvProblem p(random_conv(seed), integers, epilogue_of(seed), mode_of(seed));
    if (too_large(p.c.flops())) continue;
    const conv::ConvResults<double> expected = by_definition(p);
    conv::for_each_variant(device(), [&](const std::string& variant, const ConvOptions& o) {
      conv::expect_equal(p.run(o, stream()), expected, p, str(variant, " ", seed, ": ", p.c.name()),
                         integers, o);
    });
    if (HasFailure()) return;
  }
}

WEFT_ON_EACH_DEVICE(DefinitionOn);

}  // namespace
}  // namespace weft::test
