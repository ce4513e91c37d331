// SPDX-License-Identifier: MIT
#include "kernels/conv_relu_pool/conv_relu_pool.h"

#include <algorithm>
#include <map>

#include "kernels/pool/pool.h"
#include "tests/kernels/products/relu_pool_problem.h"
#include "tests/support/device_test.h"
#include "tests/support/small.h"

namespace weft::test::relu_pool {
namespace {

std::vector<ReluPoolDims> relu_pool_cases() {
  return {
      {{1, 1, 3, 3, 1, 2, 2}},                // one window
      {{3, 1, 28, 28, 6, 5, 5, 1, 1, 2, 2}},  // lenet5
      {{7, 6, 14, 14, 16, 5, 5}},
      {{2, 32, 26, 26, 64, 3, 3}},  // convnet: channels come in turns
      {{3, 1, 9, 7, 5, 3, 3}},      // odd maps: the last row and column are not used
      {{2, 4, 12, 10, 33, 3, 3, 1, 1, 1, 1}},
      {{2, 3, 11, 9, 4, 3, 3, 2, 1, 1, 0}},  // strided
      {{2, 3, 9, 9, 4, 5, 5, 2, 2, 2, 2}},
      {{3, 2, 7, 6, 3, 2, 4, 1, 2, 1, 3}},
      {{2, 5, 6, 6, 7, 1, 1}},              // 1 x 1
      {{5, 2, 8, 8, 3, 3, 3, 1, 1, 3, 3}},  // padding beyond the kernel
      {{1, 20, 7, 7, 20, 3, 3, 1, 1, 4, 3}},
      {{1, 1, 3, 3, 5, 3, 3}, 1, 1},  // kernel = image, no pooling
      {{2, 3, 15, 15, 2, 7, 7, 1, 1, 3, 3}, 3, 2},
      {{4, 2, 9, 9, 2, 5, 5, 1, 1, 0, 1}, 3, 3},
      {{1, 2, 120, 9, 3, 3, 3, 1, 1, 1, 1}},
      {{1, 2, 150, 150, 3, 3, 3, 1, 1, 1, 1}},  // larger than shared memory
      {{600, 1, 6, 6, 2, 3, 3}},                // chunks of more than one image
      {{300, 2, 8, 8, 16, 5, 5, 1, 1, 1, 1}},   // several images in a block
      {{2, 40, 30, 51, 70, 3, 3, 1, 1, 0, 1}},  // several tiles, blocks of filters and channels
      {{1, 70, 11, 12, 40, 3, 3, 1, 1, 2, 2}},
      {{2, 5, 60, 7, 8, 3, 3, 1, 1, 1, 2}},
      {{300, 16, 14, 14, 32, 3, 3, 1, 1, 1, 1}},  // several tiles of images to a multiprocessor
  };
}

class ReluPool : public DeviceTest {
 protected:
  // Every rung in the modes that it computes differently in, and automatic where one does.
  std::vector<ReluPoolOptions> calls() const {
    std::vector<ReluPoolOptions> all;
    for (const ComputeMode mode : {ComputeMode::fp32, ComputeMode::tf32, ComputeMode::bf16}) {
      const std::size_t before = all.size();
      for (const Rung& rung : conv_relu_pool_rungs()) {
        const bool new_arithmetic =
            mode == ComputeMode::fp32 || rung.arithmetic.in(mode) != Arithmetic::fp32;
        if (new_arithmetic && ladder::refusal(rung, mode, device()).empty()) {
          all.push_back({.variant = rung.name, .mode = mode});
        }
      }
      if (all.size() > before) all.push_back({.mode = mode});
    }
    return all;
  }
};

TEST_P(ReluPool, MatchesTheOracle) {
  std::map<std::string_view, int> compared;
  int turn = 0;
  for (const ReluPoolDims& d : relu_pool_cases()) {
    if (too_large(problems::ReluPool{d}.flops())) continue;
    const GradientMode mode = turn++ % 2 == 0 ? GradientMode::overwrite : GradientMode::accumulate;
    const PoolProblem problem(d, false, mode);
    const PoolResults<double> expected = problem.expected();
    for (const ReluPoolOptions& options : calls()) {
      const PoolResults<float> found = problem.run(expected.argmax, options, stream());
      expect_equal(found, expected, problem, options, false);
      compared[options.variant] += !found.y.empty() + !found.dx.empty() + !found.dw.empty();
    }
  }
  for (const ReluPoolOptions& options : calls()) {
    EXPECT_GT(compared[options.variant], 0) << options.variant << " took nothing";
  }
}

// Channels that shared memory takes in two turns, or as blocks of which the last is not full, and
// more windows than a block has threads, which two blocks do not share evenly.
TEST_P(ReluPool, ChannelsComeInTurns) {
  const PoolProblem problem({{2, 9, 34, 34, 8, 3, 3, 1, 1, 1, 1}}, true, GradientMode::overwrite);
  const PoolResults<double> expected = problem.expected();
  const ReluPoolOptions options{.variant = "staged_images"};
  const PoolResults<float> found = problem.run(expected.argmax, options, stream());
  expect_equal(found, expected, problem, options, true);
  EXPECT_EQ(found.argmax, expected.argmax);
}

// Small integers tie often: the lowest index must win.
TEST_P(ReluPool, IsExactOnIntegers) {
  for (const ReluPoolDims& d : relu_pool_cases()) {
    if (too_large(problems::ReluPool{d}.flops())) continue;
    const PoolProblem problem(d, true, GradientMode::accumulate);
    const PoolResults<double> expected = problem.expected();
    for (const ReluPoolOptions& options : calls()) {
      const PoolResults<float> found = problem.run(expected.argmax, options, stream());
      expect_equal(found, expected, problem, options, true);
      if (!found.y.empty()) {
        EXPECT_EQ(found.argmax, expected.argmax) << name_of(d);
      }
    }
  }
}

// The same as the layers it stands for, one after the other.
TEST_P(ReluPool, EqualsTheUnfusedLayers) {
  const ReluPoolDims d{{9, 6, 14, 15, 16, 5, 5, 1, 1, 1, 0}};
  const PoolProblem p(d, true, GradientMode::overwrite);
  const Bytes argmax = p.expected().argmax;
  const PoolResults<float> fused = p.run(argmax, {}, stream());

  const std::int64_t maps = d.conv.n * d.conv.oc * d.conv.oh() * d.conv.ow();
  const PoolDims pool{d.conv.n, d.conv.oc, d.conv.oh(), d.conv.ow()};
  const Guarded<float> x(p.x, stream()), w(p.w, stream()), bias(p.bias, stream()),
      dy(p.dy, stream());
  Guarded<float> z(maps, stream()), dz(maps, stream()),
      y(problems::ReluPool{d}.outputs(), stream());
  Guarded<std::int32_t> indices(problems::ReluPool{d}.outputs(), stream());
  Guarded<float> dx(problems::ReluPool{d}.inputs(), stream()),
      dw(problems::ReluPool{d}.weights(), stream()), db(d.conv.oc, stream());
  const auto scratch = [&](ConvPass pass) {
    return Buffer(conv2d_workspace_bytes(pass, d.conv, {}, device()), stream());
  };
  const Buffer forward = scratch(ConvPass::forward), data = scratch(ConvPass::backward_data),
               filters = scratch(ConvPass::backward_weights);
  conv2d_forward(z.data(), x.data(), w.data(), bias.data(), d.conv, Epilogue::relu, {},
                 {forward.data(), forward.bytes()}, stream());
  max_pool2d_forward(y.data(), indices.data(), z.data(), pool, stream());
  max_pool2d_backward(dz.data(), dy.data(), indices.data(), pool, GradientMode::overwrite,
                      stream());
  std::vector<float> gradient = dz.get();
  const std::vector<float> map = z.get();
  for (std::size_t i = 0; i < map.size(); ++i) gradient[i] = map[i] > 0 ? gradient[i] : 0;
  dz.set(gradient);
  conv2d_backward_data(dx.data(), dz.data(), w.data(), d.conv, GradientMode::overwrite, {},
                       {data.data(), data.bytes()}, stream());
  conv2d_backward_weights(dw.data(), db.data(), dz.data(), x.data(), d.conv,
                          GradientMode::overwrite, {}, {filters.data(), filters.bytes()}, stream());
  EXPECT_EQ(fused.y, y.get());
  EXPECT_EQ(fused.dx, dx.get());
  EXPECT_EQ(fused.dw, dw.get());
  EXPECT_EQ(fused.db, db.get());
}

TEST_P(ReluPool, TakesAnyAlignmentAndGivesTheSameBitsTwice) {
  for (const ReluPoolDims& d :
       {ReluPoolDims{{5, 6, 14, 14, 16, 5, 5}}, ReluPoolDims{{3, 32, 26, 26, 64, 3, 3}}}) {
    if (too_large(problems::ReluPool{d}.flops())) continue;
    const PoolProblem problem(d, false, GradientMode::accumulate);
    const Bytes argmax = problem.expected().argmax;
    for (const ReluPoolOptions& options : calls()) {
      const PoolResults<float> two = problem.run(argmax, options, stream());
      for (const std::int64_t misalign : {0, 1, 2, 3}) {
        const PoolResults<float> one = problem.run(argmax, options, stream(), misalign);
        EXPECT_TRUE(one.y == two.y && one.dx == two.dx && one.dw == two.dw && one.db == two.db &&
                    one.argmax == two.argmax)
            << name_of(d) << " misaligned by " << misalign;
      }
    }
  }
}

// Values fall to 2^-17 of the largest one. Each result is one product, so that it shows how many
// bits of both factors are kept, 19 at least: a filter has one weight that is not 0, and for the
// weight gradient a channel of x one such pixel. It is the same whatever the size of all. For rungs
// that compute in parts of floats.
TEST_P(ReluPool, KeepsSmallValuesBesideLargeOnes) {
  const ReluPoolDims d{{4, 33, 6, 9, 33, 3, 3, 1, 1, 1, 1}};
  std::vector<ReluPoolOptions> of_parts;
  for (const Rung& rung : conv_relu_pool_rungs()) {
    const bool parts = rung.arithmetic.in(ComputeMode::fp32) == Arithmetic::fp16x3;
    if (parts && ladder::refusal(rung, ComputeMode::fp32, device()).empty()) {
      of_parts.push_back({.variant = rung.name});
    }
  }
  if (of_parts.empty()) GTEST_SKIP() << "no rung computes in parts here";
  int compared = 0;
  for (const int size : {0, 40, -40}) {
    PoolProblem few_weights(d, false, GradientMode::overwrite);
    for (std::vector<float>* values : {&few_weights.x, &few_weights.dy}) {
      for (std::size_t i = 0; i < values->size(); ++i) {
        float& value = (*values)[i];
        value = std::ldexp(value < 0 ? value - 1 : value + 1, size - static_cast<int>(i * 5 % 18));
      }
    }
    PoolProblem few_pixels = few_weights;
    for (float& bias : few_weights.bias) bias = 0;
    for (std::size_t i = 0; i < few_weights.w.size(); ++i) {  // (33, 33, 9)
      const std::size_t filter = i / (33 * 9), channel = i / 9 % 33, tap = i % 9;
      const int exponent = static_cast<int>(filter % 9) - 4 - size / 2;
      float& weight = few_weights.w[i];
      weight =
          channel == filter && tap == filter % 9 ? std::ldexp(1 + std::fabs(weight), exponent) : 0;
    }
    for (std::size_t i = 0; i < few_pixels.x.size(); ++i) {  // (4, 33, 6, 9)
      const std::size_t image = i / (33 * 54), channel = i / 54 % 33, pixel = i % 54;
      const bool kept = image == channel % 4 && pixel == channel + 11;
      if (!kept) few_pixels.x[i] = 0;
    }
    const PoolResults<double> of_weights = few_weights.expected(),
                              of_pixels = few_pixels.expected();
    const auto near = [&](const std::vector<float>& found, const std::vector<double>& expected) {
      compared += !found.empty();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double most = std::fabs(expected[i]) * 0x1p-19;
        if (!(std::fabs(static_cast<double>(found[i]) - expected[i]) <= most)) {
          return testing::AssertionFailure()
                 << found[i] << " at " << i << " is not " << expected[i];
        }
      }
      return testing::AssertionSuccess();
    };
    for (const ReluPoolOptions& options : of_parts) {
      const PoolResults<float> found = few_weights.run(of_weights.argmax, options, stream());
      EXPECT_TRUE(near(found.y, of_weights.y)) << options.variant << ", forward, size " << size;
      EXPECT_TRUE(near(found.dx, of_weights.dx)) << options.variant << ", data, size " << size;
      const PoolResults<float> gradient = few_pixels.run(of_pixels.argmax, options, stream());
      EXPECT_TRUE(near(gradient.dw, of_pixels.dw)) << options.variant << ", weights, size " << size;
    }
  }
  EXPECT_EQ(compared, 9);  // passes and sizes
}

TEST_P(ReluPool, WorksWithoutBiasAndArgmax) {
  const ReluPoolDims d{{2, 3, 8, 8, 4, 3, 3, 1, 1, 1, 1}};
  PoolProblem p(d, true, GradientMode::overwrite);
  p.bias.assign(p.bias.size(), 0.0f);
  const PoolResults<double> expected = p.expected();
  const Guarded<float> x(p.x, stream()), w(p.w, stream()), dy(p.dy, stream());
  const Guarded<std::uint8_t> argmax(expected.argmax, stream());
  for (const ReluPoolOptions& options : calls()) {
    if (options.mode != ComputeMode::fp32) continue;
    Guarded<float> y(problems::ReluPool{d}.outputs(), stream()),
        dw(problems::ReluPool{d}.weights(), stream());
    const auto bytes_of = [&](ConvPass pass) {
      return conv2d_relu_pool_workspace_bytes(pass, d, options, device());
    };
    const Buffer scratch(
        std::max(bytes_of(ConvPass::forward), bytes_of(ConvPass::backward_weights)), stream());
    conv2d_relu_pool_forward(y.data(), nullptr, x.data(), w.data(), nullptr, d, options,
                             {scratch.data(), scratch.bytes()}, stream());
    conv2d_relu_pool_backward_weights(dw.data(), nullptr, dy.data(), argmax.data(), x.data(), d,
                                      GradientMode::overwrite, options,
                                      {scratch.data(), scratch.bytes()}, stream());
    EXPECT_TRUE(compare(y.get(), expected.y, exact(), str(options.variant)));
    EXPECT_TRUE(compare(dw.get(), expected.dw, exact(), str(options.variant)));
  }
}

TEST_P(ReluPool, MasksTheGradientOfTheData) {
  for (const ReluPoolDims& d :
       {ReluPoolDims{{2, 3, 9, 8, 4, 3, 3, 1, 1, 1, 1}}, ReluPoolDims{{2, 32, 26, 26, 64, 3, 3}},
        ReluPoolDims{{2, 3, 11, 9, 4, 3, 3, 2, 1, 1, 0}}}) {
    if (too_large(problems::ReluPool{d}.flops())) continue;
    const std::vector<float> x = random_integers(problems::ReluPool{d}.inputs(), 8, -1, 2);
    const Guarded<float> mask(x, stream());
    for (const GradientMode mode : {GradientMode::overwrite, GradientMode::accumulate}) {
      const PoolProblem p(d, true, mode);
      PoolResults<double> expected = p.expected();
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!(x[i] > 0)) expected.dx[i] = 0;
      }
      for (ReluPoolOptions options : calls()) {
        options.relu_mask = mask.data();
        expect_equal(p.run(expected.argmax, options, stream()), expected, p, options, true);
      }
    }
  }
}

TEST_P(ReluPool, ANanWinsAndIsCut) {
  const ReluPoolDims d{{1, 1, 4, 4, 1, 3, 3, 1, 1, 1, 1}};
  PoolProblem p(d, true, GradientMode::overwrite);
  p.x[5] = std::nanf("");
  const Guarded<float> x(p.x, stream()), w(p.w, stream()), bias(p.bias, stream());
  Guarded<float> y(4, stream());
  Guarded<std::uint8_t> argmax(4, stream());
  conv2d_relu_pool_forward(y.data(), argmax.data(), x.data(), w.data(), bias.data(), d, {}, {},
                           stream());
  for (const float value : y.get()) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(argmax.get(), Bytes(4, kReluPoolCut));
}

TEST_P(ReluPool, NothingToComputeIsNothingWritten) {
  // No images; then maps that are smaller than a window.
  for (const ReluPoolDims& d :
       {ReluPoolDims{{0, 2, 6, 6, 3, 3, 3}}, ReluPoolDims{{1, 2, 3, 3, 3, 3, 3}}}) {
    Guarded<float> y(4, stream()), dx(18, stream()), dw(54, stream()), db(3, stream());
    Guarded<std::uint8_t> argmax(4, stream());
    const Bytes before = argmax.get();
    conv2d_relu_pool_forward(y.data(), argmax.data(), dx.data(), dw.data(), nullptr, d, {}, {},
                             stream());
    for (const float value : y.get()) EXPECT_TRUE(std::isnan(value));
    EXPECT_EQ(argmax.get(), before);
    conv2d_relu_pool_backward_data(dx.data(), y.data(), argmax.data(), dw.data(), d,
                                   GradientMode::overwrite, {}, {}, stream());
    for (const float value : dx.get()) EXPECT_TRUE(d.conv.n == 0 ? std::isnan(value) : value == 0);
    conv2d_relu_pool_backward_weights(dw.data(), db.data(), y.data(), argmax.data(), dx.data(), d,
                                      GradientMode::overwrite, {}, {}, stream());
    EXPECT_EQ(dw.get(), std::vector<float>(54));
    EXPECT_EQ(db.get(), std::vector<float>(3));
  }
}

TEST_P(ReluPool, RefusesWhatItCannotDo) {
  const auto refused = [&](const ReluPoolDims& d, const std::string& part,
                           const ReluPoolOptions& options = {}) {
    try {
      conv2d_relu_pool_forward(nullptr, nullptr, nullptr, nullptr, nullptr, d, options, {},
                               stream());
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused({{1, 1, 64, 64, 1, 3, 3}, 16, 16}, "found 16 x 16");
  refused({{1, 1, 4, 4, 1, 3, 3}, 0, 2}, "found 0 x 2");
  refused({{1, 1, 4, 4, 1, 5, 3}}, "larger than the padded image");
  refused({{1, 1, 4, 4, 1, 3, 3}}, "choose from automatic, gather", {.variant = "direct"});
  if (device().is_cpu()) return;
  if (ladder::refusal(*conv_relu_pool_rungs().find("wgmma"), ComputeMode::fp32, device()).empty()) {
    refused({{1, 1, 8, 8, 1, 5, 5}}, "kernels of 3 x 3", {.variant = "wgmma"});
  }
  refused({{1, 1, 8, 8, 1, 3, 3, 2, 2}}, "with stride 1", {.variant = "staged_images"});
  refused({{1, 1, 150, 150, 1, 3, 3}}, "48 KiB; gather can", {.variant = "staged_images"});
}

WEFT_ON_EACH_DEVICE(ReluPool);

// The oracle's gradients against central differences of its own forward pass, for the loss
// sum(y dy) with a random dy. A step of 1e-5 moves no value across a kink of this problem.
TEST(ReluPoolOracle, GradientsMatchCentralDifferences) {
  const PoolProblem p({{2, 2, 7, 8, 3, 3, 2, 1, 1, 1, 0}}, false, GradientMode::overwrite);
  const PoolResults<double> gradients = p.expected();
  std::vector<double> x = to_double(p.x), w = to_double(p.w), bias = to_double(p.bias);
  const std::vector<double> dy = to_double(p.dy);
  const auto loss = [&] {
    std::vector<double> y(dy.size());
    cpu::conv2d_relu_pool_forward<double>(y.data(), nullptr, x.data(), w.data(), bias.data(), p.d);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  const auto differences = [&](std::vector<double>& values) {
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values[i], step = 1e-5;
      values[i] = value + step;
      const double above = loss();
      values[i] = value - step;
      result[i] = (above - loss()) / (2 * step);
      values[i] = value;
    }
    return result;
  };
  const Bound close{1e-8, 1e-6};
  EXPECT_TRUE(compare(gradients.dx, differences(x), close, "dx"));
  EXPECT_TRUE(compare(gradients.dw, differences(w), close, "dw"));
  EXPECT_TRUE(compare(gradients.db, differences(bias), close, "db"));
}

}  // namespace
}  // namespace weft::test::relu_pool
