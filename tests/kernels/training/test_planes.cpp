// SPDX-License-Identifier: MIT
// Padding and concatenation, bit by bit. Both move values; what backward of a padding adds up is
// written down by scattering, where the kernels gather.
#include "kernels/planes/concat.h"
#include "kernels/planes/pad.h"

#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::ConcatDims;
using kernels::GradientMode;
using kernels::PadDims;
using kernels::PadMode;

// planes, h, w, then pads: top, left, bottom, right
constexpr PadDims kPadCases[] = {{1, 1, 1, 0, 0, 0, 0},   {3, 4, 5, 1, 1, 1, 1},
                                 {2, 7, 9, 3, 0, 6, 8},   {5, 3, 4, 2, 3, 1, 2},
                                 {1, 65, 33, 1, 2, 3, 4}, {33, 28, 28, 2, 2, 2, 2},
                                 {2, 2, 31, 0, 30, 1, 0}};

// The pixel in a plane that a place shows, from the picture in kernels/planes/pad.h; -1 for none.
std::int64_t shown_pixel(const PadDims& d, std::int64_t row, std::int64_t column) {
  const auto along = [&](std::int64_t at, std::int64_t extent) {
    if (at >= 0 && at < extent) return at;
    if (d.mode == PadMode::zero) return std::int64_t{-1};
    if (d.mode == PadMode::edge) return at < 0 ? std::int64_t{0} : extent - 1;
    return at < 0 ? -at : 2 * extent - 2 - at;
  };
  const std::int64_t i = along(row - d.top, d.h), j = along(column - d.left, d.w);
  return i < 0 || j < 0 ? -1 : i * d.w + j;
}

struct PlanesTest : DeviceTest {};

TEST_P(PlanesTest, PadShowsPixelsAndItsGradientSumsTheirPlaces) {
  for (PadDims d : kPadCases) {
    for (const PadMode mode : {PadMode::zero, PadMode::reflect, PadMode::edge}) {
      d.mode = mode;
      const bool is_small = d.top < d.h && d.bottom < d.h && d.left < d.w && d.right < d.w;
      if (mode == PadMode::reflect && !is_small) continue;
      SCOPED_TRACE(str(d.planes, " x ", d.h, " x ", d.w, ", mode ", static_cast<int>(mode)));
      const std::int64_t n = d.planes * d.h * d.w, places = d.oh() * d.ow(), m = d.planes * places;
      const std::vector<float> x = random_floats(n, 1), dy = random_floats(m, 2);
      std::vector<float> y(static_cast<std::size_t>(m), 0);
      std::vector<double> dx(static_cast<std::size_t>(n), 0);
      for (std::int64_t i = 0; i < m; ++i) {
        const std::int64_t pixel = shown_pixel(d, i % places / d.ow(), i % d.ow());
        if (pixel < 0) continue;
        const auto from = static_cast<std::size_t>(i / places * d.h * d.w + pixel);
        y[static_cast<std::size_t>(i)] = x[from];
        dx[from] += double{dy[static_cast<std::size_t>(i)]};
      }
      Guarded<float> in(x, stream(), 1), out(m, stream(), 3), gradient(dy, stream());
      kernels::pad_forward(out.data(), in.data(), d, stream());
      EXPECT_EQ(out.get(), y);
      for (const bool adds : {false, true}) {
        Guarded<float> back(std::vector<float>(x.size(), adds ? 2.0f : 7.0f), stream(), 1);
        kernels::pad_backward(back.data(), gradient.data(), d,
                              adds ? GradientMode::accumulate : GradientMode::overwrite, stream());
        std::vector<double> want = dx;
        for (double& value : want) value += adds ? 2 : 0;
        // An edge's corner sums up to (3 + 1) (4 + 1) values below 1 of this size.
        EXPECT_TRUE(compare(back.get(), want, {2e-5, 1e-6}, "dx"));
        if (!adds && mode == PadMode::zero) {
          EXPECT_EQ(back.get(), std::vector<float>(dx.begin(), dx.end()));
        }
      }
    }
  }
}

TEST_P(PlanesTest, PadKeepsBitsAndAnEmptyImageIsAllZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Guarded<float> x({nan, -0.0f, 1}, stream()), y(15, stream());
  kernels::pad_forward(y.data(), x.data(), {1, 1, 3, 1, 1, 1, 1, PadMode::zero}, stream());
  const std::vector<float> shown = y.get();
  EXPECT_TRUE(std::isnan(shown[6]));
  EXPECT_TRUE(std::signbit(shown[7]));
  EXPECT_EQ(shown[8], 1);
  Guarded<float> nothing(0, stream()), zeros(8, stream());
  kernels::pad_forward(zeros.data(), nothing.data(), {2, 0, 1, 1, 1, 1, 0, PadMode::zero},
                       stream());
  EXPECT_EQ(zeros.get(), std::vector<float>(8, 0));
  kernels::pad_backward(nullptr, nullptr, {0, 4, 4, 1, 1, 1, 1, PadMode::edge},
                        GradientMode::overwrite, stream());
}

TEST_P(PlanesTest, PadsThatAreNoneAreRefused) {
  float x = 0, y = 0;
  const auto forward = [&](const PadDims& d) { kernels::pad_forward(&y, &x, d, stream()); };
  EXPECT_USAGE_ERROR(forward({1, 2, 2, -1, 0, 0, 0}), "must not be negative");
  EXPECT_USAGE_ERROR(forward({1, 2, 2, 2, 0, 0, 0, PadMode::reflect}), "larger than their padding");
  EXPECT_USAGE_ERROR(forward({1, 0, 2, 1, 0, 0, 0, PadMode::edge}), "has no edge");
  EXPECT_USAGE_ERROR(forward({1, 1 << 25, 1, 0, 0, 0, 0}), "too large");
  EXPECT_USAGE_ERROR(forward({1, 1 << 20, 1 << 20, 0, 0, 0, 0}), "a plane is too large");
}

// rows, a, b: parts of 16 bytes and of others, and one part alone.
constexpr ConcatDims kConcatCases[] = {{1, 1, 1},     {3, 4, 8},       {7, 5, 3},
                                       {2, 0, 6},     {4, 12, 0},      {5, 97, 31},
                                       {129, 16, 20}, {2, 3000, 1001}, {3, 4096, 512}};

TEST_P(PlanesTest, ConcatAndSplitMoveRows) {
  for (const ConcatDims& d : kConcatCases) {
    for (const int shift : {0, 1}) {  // of addresses, from 16 bytes
      SCOPED_TRACE(str(d.rows, " rows of ", d.a, " and ", d.b, ", shifted by ", shift));
      const std::vector<float> a = random_floats(d.rows * d.a, 1),
                               b = random_floats(d.rows * d.b, 2);
      std::vector<float> y;
      for (std::int64_t r = 0; r < d.rows; ++r) {
        y.insert(y.end(), a.begin() + r * d.a, a.begin() + (r + 1) * d.a);
        y.insert(y.end(), b.begin() + r * d.b, b.begin() + (r + 1) * d.b);
      }
      Guarded<float> left(a, stream(), shift), right(b, stream(), shift);
      Guarded<float> both(d.rows * d.row(), stream(), shift);
      kernels::concat(both.data(), left.data(), right.data(), d, stream());
      EXPECT_EQ(both.get(), y);
      Guarded<float> to_a(d.rows * d.a, stream(), shift), to_b(d.rows * d.b, stream(), shift);
      kernels::split(to_a.data(), to_b.data(), both.data(), d, stream());
      EXPECT_EQ(to_a.get(), a);
      EXPECT_EQ(to_b.get(), b);
      Guarded<float> alone(d.rows * d.b, stream(), shift);
      kernels::split(nullptr, alone.data(), both.data(), d, stream());
      EXPECT_EQ(alone.get(), b);
    }
  }
  Guarded<float> one(5, stream());
  kernels::split(nullptr, nullptr, one.data(), {1, 1, 0}, stream());
  kernels::concat(nullptr, nullptr, nullptr, {0, 3, 4}, stream());
  EXPECT_USAGE_ERROR(kernels::concat(one.data(), nullptr, nullptr, {1, -1, 2}, stream()),
                     "negative extent");
}

WEFT_ON_EACH_DEVICE(PlanesTest);

}  // namespace
}  // namespace weft::test
