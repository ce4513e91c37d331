// SPDX-License-Identifier: MIT
// Every variant of convolution against the oracle.
#include "tests/kernels/products/conv_problem.h"
#include "tests/support/device_test.h"
#include "tests/support/small.h"

namespace weft::test::conv {
namespace {

class Conv : public DeviceTest {
 protected:
  // Runs the case table on the rungs with or without tensor cores: either takes a sanitizer
  // minutes.
  void check_cases(bool integers, bool tensor_cores) {
    if (tensor_cores && device_properties(device()).compute_capability < 80) {
      GTEST_SKIP() << "no tensor cores that a rung uses";
    }
    must_compare();
    int turn = 0;
    for (const ConvCase& c : conv_cases()) {
      if (too_large(c.flops())) continue;
      const bool relu = integers || turn % 2 == 1, add = integers || turn % 3 == 0;
      const ConvProblem problem(c, integers, relu ? Epilogue::relu : Epilogue::none,
                                add ? GradientMode::accumulate : GradientMode::overwrite);
      ++turn;
      const ConvResults<double> expected = problem.expected();
      for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
        if (on_tensor_cores(options) != tensor_cores) return;
        expect_equal(problem.run(options, stream()), expected, problem, variant + " " + c.name(),
                     integers, options);
      });
      if (HasFailure()) return;
    }
  }
};

TEST_P(Conv, MatchesTheOracle) {
  check_cases(false, false);
}

TEST_P(Conv, IsExactOnIntegers) {
  check_cases(true, false);
}

TEST_P(Conv, MatchesTheOracleOnTensorCores) {
  check_cases(false, true);
}

TEST_P(Conv, IsExactOnIntegersOnTensorCores) {
  check_cases(true, true);
}

TEST_P(Conv, KeepsToThePrecisionOfItsMode) {
  must_compare();
  std::vector<ConvCase> cases = network_conv_cases(2);
  cases.push_back({{1, 4, 7, 6, 8, 3, 3, 1, 1, 1, 1}});  // small enough for host-cuda
  for (const ConvCase& c : cases) {
    if (too_large(c.flops())) continue;
    const ConvProblem problem(c, false);
    const ConvResults<double> expected = problem.expected();
    for_each_variant(device(), [&](const std::string& variant, ConvOptions options) {
      for (const ComputeMode mode : {ComputeMode::tf32, ComputeMode::bf16}) {
        options.mode = mode;
        expect_equal(problem.run(options, stream()), expected, problem,
                     str(variant, mode == ComputeMode::bf16 ? " in bf16 " : " in tf32 ", c.name()),
                     false, options);
      }
    });
  }
}

// On 132 multiprocessors each of these is a layer for another tile of filters and pixels: 128 x
// 128, 128 x 96, 64 x 256, 64 x 128. Channels go through several chunks, backward weights through
// many slices. The last two are for the tiles of wgmma: three taps a stage and more tiles than
// multiprocessors, and whole images of 14 x 14.
TEST_P(Conv, FillsLargeTiles) {
  if (device().is_cpu() || too_large(8e7)) GTEST_SKIP() << "large tiles of tensor cores";
  must_compare();
  for (const ConvCase& c :
       {ConvCase{{43, 17, 28, 28, 128, 3, 1, 1, 1, 1, 0}},
        ConvCase{{32, 17, 28, 28, 128, 3, 1, 1, 1, 1, 0}}, ConvCase{{86, 16, 28, 28, 40, 1, 1}},
        ConvCase{{8, 96, 14, 14, 96, 3, 3, 1, 1, 1, 1}},
        ConvCase{{20, 17, 56, 56, 64, 3, 3, 1, 1, 1, 1}},
        ConvCase{{67, 33, 14, 14, 130, 3, 3, 1, 1, 1, 1}}}) {
    if (too_large(c.flops())) continue;
    const ConvProblem problem(c, true);
    const ConvResults<double> expected = problem.expected();
    for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
      if (!has_all_modes(options)) return;
      expect_equal(problem.run(options, stream()), expected, problem, variant + " " + c.name(),
                   true, options);
    });
    ConvOptions automatic;  // tensor cores, for work of this size
    automatic.mode = ComputeMode::tf32;
    expect_equal(problem.run(automatic, stream()), expected, problem, "automatic " + c.name(), true,
                 automatic);
  }
}

// Values fall to 2^-27 of the largest one. Each result is one product, so that it shows how many
// bits of both factors are kept, 19 at least: a filter has one weight that is not 0, and for the
// weight gradient a channel of x one such pixel.
TEST_P(Conv, KeepsSmallValuesBesideLargeOnes) {
  const ConvCase c{{4, 33, 6, 9, 33, 3, 3, 1, 1, 1, 1}};
  if (too_large(c.flops())) GTEST_SKIP() << "33 channels are too many here";
  must_compare();
  ConvProblem few_weights(c, false, Epilogue::none, GradientMode::overwrite);
  for (std::vector<float>* values : {&few_weights.x, &few_weights.dy}) {
    for (std::size_t i = 0; i < values->size(); ++i) {
      float& value = (*values)[i];
      value = std::ldexp(value < 0 ? value - 1 : value + 1, -static_cast<int>(i * 5 % 28));
    }
  }
  ConvProblem few_pixels = few_weights;
  for (float& bias : few_weights.bias) bias = 0;
  for (std::size_t i = 0; i < few_weights.w.size(); ++i) {  // (33, 33, 9)
    const std::size_t filter = i / (33 * 9), channel = i / 9 % 33, tap = i % 9;
    const int exponent = static_cast<int>(filter % 9) - 4;
    float& weight = few_weights.w[i];
    weight =
        channel == filter && tap == filter % 9 ? std::ldexp(1 + std::fabs(weight), exponent) : 0;
  }
  for (std::size_t i = 0; i < few_pixels.x.size(); ++i) {  // (4, 33, 6, 9)
    const std::size_t image = i / (33 * 54), channel = i / 54 % 33, pixel = i % 54;
    const bool kept = image == channel % 4 && pixel == channel + 11;
    few_pixels.x[i] = kept ? 1 + std::fabs(few_pixels.x[i]) : 0;
  }
  const ConvResults<double> of_weights = few_weights.expected(), of_pixels = few_pixels.expected();
  const auto near = [](const std::vector<float>& found, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double most = std::fabs(expected[i]) * 0x1p-19;
      if (!(std::fabs(static_cast<double>(found[i]) - expected[i]) <= most)) {
        return testing::AssertionFailure() << found[i] << " at " << i << " is not " << expected[i];
      }
    }
    return testing::AssertionSuccess();
  };
  for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
    if (options.mode != ComputeMode::fp32) return;
    const ConvResults<float> found = few_weights.run(options, stream());
    if (found.forward) {
      EXPECT_TRUE(near(found.y, of_weights.y)) << variant << ", forward";
    }
    if (found.backward_data) {
      EXPECT_TRUE(near(found.dx, of_weights.dx)) << variant << ", data";
    }
    const ConvResults<float> gradient = few_pixels.run(options, stream());
    if (gradient.backward_weights) {
      EXPECT_TRUE(near(gradient.dw, of_pixels.dw)) << variant << ", weights";
    }
  });
}

TEST_P(Conv, TakesAnyAlignment) {
  for (const std::int64_t misalign : {1, 2, 3}) {
    const ConvProblem problem({{2, 3, 9, 12, 5, 3, 3, 1, 1, 1, 1}}, true);
    for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
      expect_equal(problem.run(options, stream(), misalign), problem.expected(), problem,
                   str(variant, " misaligned by ", misalign), true, options);
    });
  }
}

// The backward of a ReLU before the layer: the gradient passes where its output is above 0.
TEST_P(Conv, MasksTheGradientOfTheData) {
  must_compare();
  for (const ConvCase& c :
       {ConvCase{{2, 3, 9, 12, 5, 3, 3, 1, 1, 1, 1}}, ConvCase{{3, 2, 8, 7, 4, 3, 2, 2, 3, 1, 0}},
        ConvCase{{2, 32, 7, 12, 64, 3, 3, 1, 1, 1, 1}}}) {
    if (too_large(c.flops() / 2)) continue;
    std::vector<float> mask = random_integers(c.inputs(), 8, -1, 2);
    mask[0] = std::nanf("");
    const Guarded<float> x(mask, stream());
    for (const GradientMode mode : {GradientMode::overwrite, GradientMode::accumulate}) {
      const ConvProblem problem(c, true, Epilogue::none, mode);
      ConvResults<double> expected = problem.expected();
      for (std::size_t i = 0; i < mask.size(); ++i) {
        if (!(mask[i] > 0)) expected.dx[i] = 0;
      }
      for_each_variant(device(), [&](const std::string& variant, ConvOptions options) {
        options.relu_mask = x.data();
        expect_equal(problem.run(options, stream()), expected, problem, variant + " " + c.name(),
                     true, options);
      });
    }
  }
}

TEST_P(Conv, GivesTheSameBitsTwice) {
  const auto [images, side] = small_tests() ? std::pair(2, 10) : std::pair(19, 14);
  const ConvProblem problem({{images, 6, side, side, 16, 5, 5, 1, 1, 0, 0}}, false);
  for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
    const ConvResults<float> one = problem.run(options, stream());
    const ConvResults<float> two = problem.run(options, stream());
    EXPECT_TRUE(one.y == two.y && one.dx == two.dx && one.dw == two.dw && one.db == two.db)
        << variant;
  });
}

TEST_P(Conv, WorksWithoutBias) {
  for (const ConvDims& d : {ConvDims{2, 3, 9, 12, 5, 3, 3, 1, 1, 1, 1},
                            ConvDims{2, 1, 12, 12, 6, 5, 5}, ConvDims{2, 1, 8, 9, 6, 3, 3}}) {
    const ConvProblem problem({d}, true);
    const auto x64 = to_double(problem.x), w64 = to_double(problem.w), dy64 = to_double(problem.dy);
    std::vector<double> y64(problem.dy.size()), dw64(problem.w.size());
    cpu::conv2d_forward_direct<double>(y64.data(), x64.data(), w64.data(), nullptr, d,
                                       Epilogue::none);
    cpu::conv2d_backward_weights_direct<double>(dw64.data(), nullptr, dy64.data(), x64.data(), d,
                                                GradientMode::overwrite);
    for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
      const bool takes =
          conv_takes(options.variant, {ConvPass::forward, d, options.mode}, device());
      if (!taken(options.variant, takes)) return;
      const Guarded<float> x(problem.x, stream()), w(problem.w, stream()), dy(problem.dy, stream());
      Guarded<float> y(problem.c.outputs(), stream()), dw(problem.c.weights(), stream());
      const Buffer forward(conv2d_workspace_bytes(ConvPass::forward, d, options, device()),
                           stream());
      conv2d_forward(y.data(), x.data(), w.data(), nullptr, d, Epilogue::none, options,
                     {forward.data(), forward.bytes()}, stream());
      EXPECT_TRUE(compare(y.get(), y64, exact(), variant));
      if (!conv_takes(options.variant, {ConvPass::backward_weights, d, options.mode}, device()))
        return;
      const Buffer backward(
          conv2d_workspace_bytes(ConvPass::backward_weights, d, options, device()), stream());
      conv2d_backward_weights(dw.data(), nullptr, dy.data(), x.data(), d, GradientMode::overwrite,
                              options, {backward.data(), backward.bytes()}, stream());
      EXPECT_TRUE(compare(dw.get(), dw64, exact(), variant));
    });
  }
}

TEST_P(Conv, AnEmptyBatchHasZeroWeightGradients) {
  const ConvDims d{0, 2, 6, 6, 3, 3, 3};
  for_each_variant(device(), [&](const std::string& variant, const ConvOptions& options) {
    Guarded<float> dw(54, stream()), db(3, stream()), image(4, stream());
    dw.set(std::vector<float>(54, 3.0f));
    conv2d_forward(image.data(), image.data(), dw.data(), nullptr, d, Epilogue::none, options, {},
                   stream());
    conv2d_backward_data(image.data(), image.data(), dw.data(), d, GradientMode::overwrite, options,
                         {}, stream());
    for (const float value : image.get()) EXPECT_TRUE(std::isnan(value)) << variant;
    if (!conv_takes(options.variant, {ConvPass::backward_weights, d, options.mode}, device()))
      return;
    const Buffer buffer(conv2d_workspace_bytes(ConvPass::backward_weights, d, options, device()),
                        stream());
    const Workspace workspace{buffer.data(), buffer.bytes()};
    conv2d_backward_weights(dw.data(), db.data(), image.data(), image.data(), d,
                            GradientMode::overwrite, options, workspace, stream());
    EXPECT_EQ(dw.get(), std::vector<float>(54)) << variant;
    EXPECT_EQ(db.get(), std::vector<float>(3)) << variant;
    dw.set(std::vector<float>(54, 3.0f));
    conv2d_backward_weights(dw.data(), db.data(), image.data(), image.data(), d,
                            GradientMode::accumulate, options, workspace, stream());
    EXPECT_EQ(dw.get(), std::vector<float>(54, 3.0f)) << variant;
  });
}

TEST_P(Conv, RefusesWhatItCannotDo) {
  const auto refused = [&](const ConvDims& d, const ConvOptions& options, const std::string& part) {
    try {
      conv2d_forward(nullptr, nullptr, nullptr, nullptr, d, Epilogue::none, options, {}, stream());
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const std::int64_t huge = std::int64_t{1} << 30;
  refused({-1, 1, 4, 4, 1, 3, 3}, {}, "must not be negative");
  refused({1, 1, 4, 4, 1, 0, 3}, {}, "no size");
  refused({1, 1, 4, 4, 1, 3, 3, 0, 1}, {}, "strides must be positive");
  refused({1, 1, 4, 4, 1, 3, 3, 1, 1, -1, 0}, {}, "pads must not be negative");
  refused({1, 1, 4, 4, 1, 5, 3}, {}, "larger than the padded image");
  refused({huge, huge, 4, 4, 1, 3, 3}, {}, "does not fit in memory");
  for (const Rung& info : conv_rungs()) {
    if (ladder::refusal(info, ComputeMode::fp32, device()).empty()) continue;
    ConvOptions options;
    options.variant = info.name;
    refused({1, 1, 4, 4, 1, 3, 3}, options, std::string(info.name));
  }
  if (device().is_cpu()) return;
  ConvOptions options;
  options.variant = "direct_constant";
  refused({1, 2000, 4, 4, 1, 3, 3}, options, "at most 16384 weights");
  options.variant = "tiled";
  refused({1, 1, 200, 200, 1, 200, 200}, options, "shared memory");
}

TEST_P(Conv, RefusesThePassesThatARungLacks) {
  const ConvDims d{1, 1, 4, 4, 1, 3, 3};
  for (const Rung& rung : conv_rungs()) {
    if (!ladder::refusal(rung, ComputeMode::fp32, device()).empty()) continue;
    const ConvOptions options{.variant = rung.name};
    for (const ConvPass pass :
         {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
      if (conv_takes(rung.name, {pass, d, options.mode}, device())) continue;
      EXPECT_FALSE(rung.needs.empty()) << rung.name << " does not say what it lacks";
      EXPECT_THROW(conv2d_workspace_bytes(pass, d, options, device()), Error) << rung.name;
    }
  }
}

WEFT_ON_EACH_DEVICE(Conv);

}  // namespace
}  // namespace weft::test::conv
