// SPDX-License-Identifier: MIT
// Convolution in groups and with dilation against the formula of its contract, in double.
#include <omp.h>

#include "kernels/activation/activation.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/cpu/grouped_table.h"
#include "kernels/conv/grouped.h"
#include "tests/cases/cpu_isas.h"
#include "tests/kernels/kernel_test.h"

WEFT_CPU_TABLES(GroupedConvCpu, grouped_conv_cpu)

namespace weft::test {
namespace {

using kernels::Epilogue;
using kernels::GradientMode;
using kernels::GroupedConvDims;

// n, c, h, w, oc, kh, kw, strides, pads, dilations, groups
constexpr GroupedConvDims kGroupedCases[] = {
    {2, 4, 7, 9, 4, 3, 3, 1, 1, 1, 1, 1, 1, 4},    // depthwise
    {3, 3, 8, 8, 6, 3, 3, 2, 2, 1, 1, 1, 1, 3},    // two filters for each channel
    {2, 6, 6, 5, 4, 3, 2, 1, 2, 0, 1, 1, 1, 2},    // groups of three channels
    {2, 2, 9, 8, 3, 3, 3, 1, 1, 2, 2, 2, 2, 1},    // dilation
    {1, 4, 11, 10, 8, 2, 3, 2, 1, 1, 3, 3, 2, 2},  // all of it
    {2, 5, 1, 1, 5, 1, 1, 1, 1, 0, 0, 1, 1, 5},    // one pixel
    {1, 1, 4, 4, 1, 3, 3, 5, 5, 2, 2, 3, 3, 1},    // a stride larger than the image
    {5, 33, 13, 17, 33, 5, 5, 1, 1, 2, 2, 1, 1, 33},
    {2, 4, 5, 6, 8, 3, 3, 1, 1, 4, 5, 1, 1, 2},    // padding beyond the kernel, groups of both
    {1, 6, 12, 70, 6, 3, 5, 1, 1, 2, 6, 2, 3, 3},  // dilation that differs by axis
    {3, 2, 4, 6, 2, 3, 5, 1, 1, 0, 0, 1, 1, 2},    // fewer columns of outputs than of the kernel
};

struct GroupedArrays {
  std::vector<float> x, w, bias, dy;
};

GroupedArrays arrays_of(const GroupedConvDims& d, bool integers) {
  const std::int64_t y = d.n * d.oc * d.oh() * d.ow();
  const std::int64_t w = d.oc * d.group_channels() * d.kh * d.kw;
  GroupedArrays all{random_floats(d.n * d.c * d.h * d.w, 1), random_floats(w, 2),
                    random_floats(d.oc, 3), random_floats(y, 4)};
  if (!integers) return all;
  for (std::vector<float>* values : {&all.x, &all.w, &all.bias, &all.dy}) {
    for (float& value : *values) value = std::round(3 * value);
  }
  return all;
}

struct GroupedResults {
  std::vector<double> y, dx, dw, db;
};

GroupedResults expected(const GroupedConvDims& d, const GroupedArrays& a) {
  const std::int64_t oh = d.oh(), ow = d.ow(), channels = d.group_channels();
  GroupedResults all{std::vector<double>(a.dy.size()), std::vector<double>(a.x.size()),
                     std::vector<double>(a.w.size()), std::vector<double>(a.bias.size())};
  for (std::int64_t at = 0; at < std::ssize(a.dy); ++at) {
    const std::int64_t q = at % ow, p = at / ow % oh, o = at / ow / oh % d.oc,
                       n = at / ow / oh / d.oc;
    const auto i = static_cast<std::size_t>(at), filter = static_cast<std::size_t>(o);
    all.y[i] += double{a.bias[filter]};
    all.db[filter] += double{a.dy[i]};
    for (std::int64_t k = 0; k < channels * d.kh * d.kw; ++k) {
      const std::int64_t s = k % d.kw, r = k / d.kw % d.kh, c = k / d.kw / d.kh;
      const std::int64_t row = p * d.stride_h + r * d.dilation_h - d.pad_h;
      const std::int64_t column = q * d.stride_w + s * d.dilation_w - d.pad_w;
      if (row < 0 || row >= d.h || column < 0 || column >= d.w) continue;
      const std::int64_t channel = o / d.group_filters() * channels + c;
      const auto pixel = static_cast<std::size_t>(((n * d.c + channel) * d.h + row) * d.w + column);
      const auto weight = static_cast<std::size_t>(o * channels * d.kh * d.kw + k);
      all.y[i] += double{a.x[pixel]} * double{a.w[weight]};
      all.dx[pixel] += double{a.dy[i]} * double{a.w[weight]};
      all.dw[weight] += double{a.dy[i]} * double{a.x[pixel]};
    }
  }
  return all;
}

std::string name_of(const GroupedConvDims& d) {
  return str(d.n, " x ", d.c, " x ", d.h, " x ", d.w, ", ", d.oc, " filters ", d.kh, "x", d.kw,
             ", groups ", d.groups);
}

std::vector<double> plus(std::vector<double> values, const std::vector<float>& start) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += double{start[i]};
  return values;
}

class GroupedConv : public DeviceTest {
 protected:
  void check(const GroupedConvDims& d, bool integers, bool add) {
    SCOPED_TRACE(name_of(d));
    const GroupedArrays a = arrays_of(d, integers);
    const GroupedResults want = expected(d, a);
    const GradientMode mode = add ? GradientMode::accumulate : GradientMode::overwrite;
    const double terms = static_cast<double>(d.n * d.oh() * d.ow() + d.oc * d.kh * d.kw);
    const Bound bound = integers ? Bound{0, 0} : Bound{4e-7 * terms, 1e-6};
    Guarded<float> x(a.x, stream(), 1), w(a.w, stream()), bias(a.bias, stream());
    Guarded<float> dy(a.dy, stream(), 3), y(std::ssize(a.dy), stream());
    for (const bool relu : {false, true}) {
      std::vector<double> values = want.y;
      if (relu) {
        for (double& value : values) value = std::max(value, 0.0);
      }
      kernels::grouped_conv2d_forward(y.data(), x.data(), w.data(), bias.data(), d,
                                      relu ? Epilogue::relu : Epilogue::none, stream());
      EXPECT_TRUE(compare(y.get(), values, bound, relu ? "y with ReLU" : "y"));
    }
    const auto start = [&](const std::vector<float>& like) {
      return std::vector<float>(like.size(), 20);
    };
    Guarded<float> dx(start(a.x), stream()), dw(start(a.w), stream()), db(start(a.bias), stream());
    kernels::grouped_conv2d_backward_data(dx.data(), dy.data(), w.data(), d, mode, stream());
    kernels::grouped_conv2d_backward_weights(dw.data(), db.data(), dy.data(), x.data(), d, mode,
                                             stream());
    const auto sum = [&](const std::vector<double>& values, const std::vector<float>& like) {
      return add ? plus(values, start(like)) : values;
    };
    EXPECT_TRUE(compare(dx.get(), sum(want.dx, a.x), bound, "dx"));
    EXPECT_TRUE(compare(dw.get(), sum(want.dw, a.w), bound, "dw"));
    EXPECT_TRUE(compare(db.get(), sum(want.db, a.bias), bound, "db"));
  }
};

TEST_P(GroupedConv, MatchesTheFormula) {
  for (const GroupedConvDims& d : kGroupedCases) {
    check(d, false, false);
    check(d, false, true);
  }
}

TEST_P(GroupedConv, IsExactOnIntegers) {
  for (const GroupedConvDims& d : kGroupedCases) check(d, true, true);
}

// Every instruction set, exactly and on any number of threads.
TEST(GroupedConvCpuIsas, AreExactOnIntegers) {
  const int before = omp_get_max_threads();
  for (const auto& [isa, table] : grouped_conv_cpu_tables()) {
    for (const GroupedConvDims& d : kGroupedCases) {
      const GroupedArrays a = arrays_of(d, true);
      const GroupedResults want = expected(d, a);
      for (const int threads : {1, 3}) {
        omp_set_num_threads(threads);
        std::vector<float> y(a.dy.size(), NAN), dx(a.x.size(), NAN), dw(a.w.size(), NAN);
        table->forward(y.data(), a.x.data(), a.w.data(), a.bias.data(), d, Epilogue::none);
        table->backward_data(dx.data(), a.dy.data(), a.w.data(), d, GradientMode::overwrite);
        table->backward_weights(dw.data(), a.dy.data(), a.x.data(), d, GradientMode::overwrite);
        const std::string what = str(isa, ", ", threads, " threads, ", name_of(d));
        EXPECT_TRUE(compare(y, want.y, Bound{0, 0}, what + " y"));
        EXPECT_TRUE(compare(dx, want.dx, Bound{0, 0}, what + " dx"));
        EXPECT_TRUE(compare(dw, want.dw, Bound{0, 0}, what + " dw"));
      }
    }
  }
  omp_set_num_threads(before);
}

// With one group and no dilation it is the convolution of conv.h.
TEST_P(GroupedConv, OfOneGroupIsAConvolution) {
  const GroupedConvDims d{2, 3, 8, 9, 4, 3, 3, 2, 1, 1, 1};
  const GroupedArrays a = arrays_of(d, true);
  Guarded<float> x(a.x, stream()), w(a.w, stream()), bias(a.bias, stream());
  Guarded<float> y(std::ssize(a.dy), stream()), other(std::ssize(a.dy), stream());
  kernels::grouped_conv2d_forward(y.data(), x.data(), w.data(), bias.data(), d, Epilogue::none,
                                  stream());
  kernels::conv2d_forward(other.data(), x.data(), w.data(), bias.data(),
                          {2, 3, 8, 9, 4, 3, 3, 2, 1, 1, 1}, Epilogue::none, {.variant = "direct"},
                          {}, stream());
  EXPECT_TRUE(same_bits(y.get(), other.get()));
}

TEST_P(GroupedConv, OfAnEmptyBatchHasNoGradient) {
  const GroupedConvDims d{0, 4, 5, 5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 4};
  Guarded<float> dw(std::vector<float>(36, 7), stream()), db(std::vector<float>(4, 7), stream());
  kernels::grouped_conv2d_backward_weights(dw.data(), db.data(), nullptr, nullptr, d,
                                           GradientMode::overwrite, stream());
  EXPECT_EQ(dw.get(), std::vector<float>(36, 0));
  EXPECT_EQ(db.get(), std::vector<float>(4, 0));
}

TEST_P(GroupedConv, ShapesThatAreNoneAreRefused) {
  float x = 0;
  const auto refuses = [&](GroupedConvDims d, const char* message) {
    EXPECT_USAGE_ERROR(
        kernels::grouped_conv2d_forward(&x, &x, &x, nullptr, d, Epilogue::none, stream()), message);
  };
  const GroupedConvDims d{1, 4, 5, 5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 4};
  auto changed = d;
  changed.groups = 3;
  refuses(changed, "groups must divide channels and filters");
  changed = d;
  changed.groups = 0;
  refuses(changed, "groups must divide channels and filters");
  changed = d;
  changed.dilation_h = 0;
  refuses(changed, "dilations must be positive");
  changed = d;
  changed.dilation_w = 4;
  refuses(changed, "the kernel is larger than the padded image");
  changed = d;
  changed.kh = std::int64_t{1} << 40;
  refuses(changed, "an extent is too large");
}

WEFT_ON_EACH_DEVICE(GroupedConv);

}  // namespace
}  // namespace weft::test
