// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/networks/cnn/fused_cnn.h"

#include "tests/kernels/networks/fused_cnn_problem.h"

namespace weft::test {
namespace {

using kernels::lenet5_dims;
using kernels::SgdOptions;

constexpr SgdOptions kPlain = {}, kHeavyBall = {0.9f, 0, false}, kDecay = {0.9f, 5e-4f, false},
                     kNesterov = {0.9f, 5e-4f, true};
constexpr std::string_view kVariants[] = {"two_kernels", "persistent"};

// A data set of `count` images in batches of `batch`.
FusedCnnOptions options_of(std::int64_t count, std::int64_t batch, const SgdOptions& sgd,
                           std::string_view variant, bool shuffle = true) {
  FusedCnnOptions options;
  options.order = {count, (count + batch - 1) / batch, batch, shuffle, 7};
  options.normalization = {0.1307f, 0.3081f};
  options.sgd = sgd;
  options.variant = variant;
  return options;
}

const std::vector<float> kRates = {0.1f, 0.05f, 0.2f, 0.01f, 0.1f, 0.02f, 0.03f, 0.1f};

class FusedCnn : public DeviceTest {
 protected:
  // LeNet-5 takes more shared memory than most GPUs have.
  bool runs(const FusedCnnDims& dims) const { return kernels::fused_cnn_supports(dims, device()); }
};

struct StepCase {
  FusedCnnDims dims;
  std::int64_t count, batch, rows;
  int steps;
  SgdOptions sgd;
};

// Every step starts from what the device has, so that the comparison stays as tight as for one.
void follow(const StepCase& c, std::string_view variant, const Stream& stream) {
  FusedCnnProblem problem(c.dims, options_of(c.count, c.batch, c.sgd, variant), kRates, stream);
  for (int step = 0; step < c.steps; ++step) {
    problem.clear_up(c.rows);
    problem.expect_step(c.rows, str(variant, ", ", c.dims.height, " x ", c.dims.width, ", ", c.rows,
                                    " of ", c.batch, " rows, step ", step));
  }
}

TEST_P(FusedCnn, FollowsTheOracle) {
  const StepCase all[] = {
      {kSmallCnn, 5, 1, 1, 2, kPlain},      {kSmallCnn, 7, 3, 3, 5, kNesterov},
      {kSmallCnn, 9, 9, 7, 2, kHeavyBall},  {kSmallCnn, 40, 17, 17, 3, kDecay},
      {kSmallCnn, 40, 17, 6, 2, kNesterov}, {kSmallCnn, 64, 64, 64, 2, {0, 0.1f, false}},
  };
  const StepCase few[] = {{kSmallCnn, 5, 1, 1, 1, kPlain},
                          {kSmallCnn, 9, 9, 9, 1, kNesterov},
                          {kSmallCnn, 9, 9, 6, 1, {0, 0.1f, false}}};
  for (const StepCase& c : all_or_few(all, few)) {
    for (const std::string_view variant : kVariants) follow(c, variant, stream());
  }
}

// With one of the variants: that both give the same bits is a test of its own.
TEST_P(FusedCnn, Lenet5FollowsTheOracle) {
  constexpr std::string_view kTwo = "two_kernels";
  constexpr std::string_view kOne = "persistent";
  const FusedCnnDims dims = lenet5_dims(10);
  if (!runs(dims)) GTEST_SKIP() << "LeNet-5 does not fit this device";
  follow({dims, 12, 3, 3, 1, kNesterov}, kTwo, stream());  // one image at a time
  if (small_tests()) {  // two images, in two rounds on the four SMs of host-cuda
    follow({dims, 12, 9, 9, 1, kDecay}, kOne, stream());
    return;
  }
  follow({dims, 12, 1, 1, 5, kPlain}, kOne, stream());
  follow({lenet5_dims(26), 128, 64, 64, 1, kDecay}, kTwo, stream());
  if (device().is_cpu()) return;
  follow({dims, 600, 300, 256, 1, kHeavyBall}, kOne, stream());
  follow({dims, 600, 300, 300, 2, kNesterov}, kOne, stream());
}

// Shifted by draws, so that bilinear samples and background are in the images.
TEST_P(FusedCnn, FollowsTheOracleOnDistortedImages) {
  for (const std::string_view variant : kVariants) {
    FusedCnnOptions options = options_of(20, 6, kNesterov, variant);
    options.augmentation.shift = 2;
    FusedCnnProblem problem(kSmallCnn, options, kRates, stream());
    for (int step = 0; step < 2; ++step) {
      problem.clear_up(6);
      problem.expect_step(6, str(variant, ", shifted"));
    }
  }
}

TEST_P(FusedCnn, FollowsTheOracleOfSmoothedLabels) {
  for (const std::string_view variant : kVariants) {
    FusedCnnOptions options = options_of(9, 9, kNesterov, variant);
    options.label_smoothing = 0.1f;
    FusedCnnProblem problem(kSmallCnn, options, kRates, stream());
    problem.clear_up(7);
    problem.expect_step(7, str(variant, ", smoothed labels"));
  }
}

// Windows of one colour tie exactly; the first position wins, as in the oracle.
TEST_P(FusedCnn, TiesGoToTheFirst) {
  for (const std::string_view variant : kVariants) {
    FusedCnnProblem problem(kSmallCnn, options_of(4, 4, kPlain, variant), kRates, stream());
    std::vector<std::uint8_t> pixels(4 * 13 * 12, 0);
    for (std::size_t i = 13 * 12; i < pixels.size(); ++i) pixels[i] = i % 12 < 6 ? 255 : 0;
    problem.set_pixels(pixels);
    problem.expect_step(4, str(variant, ", plain images"));
  }
}

struct State {
  std::vector<float> parameters, velocity;
  MetricTotals totals;
  std::int64_t step;
};

// Steps in groups of these sizes.
State state_after(const FusedCnnDims& dims, std::int64_t count, std::int64_t batch,
                  std::int64_t rows, const std::vector<int>& groups, std::string_view variant,
                  const Stream& stream) {
  FusedCnnOptions options = options_of(count, batch, kNesterov, variant);
  options.augmentation = {10, 0.1f, 0.1f, 1};
  FusedCnnProblem problem(dims, options, kRates, stream);
  for (const int steps : groups) problem.train(rows, steps);
  return {problem.parameters(), problem.velocity(), problem.totals(), problem.step()};
}

void expect_same(const State& a, const State& b, const std::string& what) {
  EXPECT_TRUE(same_bits(a.parameters, b.parameters)) << what;
  EXPECT_TRUE(same_bits(a.velocity, b.velocity)) << what;
  EXPECT_EQ(std::memcmp(&a.totals.loss_sum, &b.totals.loss_sum, sizeof(double)), 0) << what;
  EXPECT_EQ(a.totals.hits, b.totals.hits) << what;
  EXPECT_EQ(a.totals.rows, b.totals.rows) << what;
  EXPECT_EQ(a.step, b.step) << what;
}

// The same bits whatever the variant and however many steps a launch takes, also across epochs and
// where a block has several rounds.
TEST_P(FusedCnn, VariantsAndGroupsOfStepsGiveTheSameBits) {
  struct Case {
    FusedCnnDims dims;
    std::int64_t count, batch, rows;
  };
  const Case all[] = {{kSmallCnn, 30, 13, 13},
                      {kSmallCnn, 8, 3, 3},
                      {lenet5_dims(10), 1000, 300, 300},
                      {lenet5_dims(10), 1000, 64, 40}};
  const Case few[] = {{kSmallCnn, 20, 9, 9}, {kSmallCnn, 8, 3, 2}};
  for (const Case& c : all_or_few(all, few)) {
    if (!runs(c.dims) || (device().is_cpu() && c.dims == lenet5_dims(10))) continue;
    const std::string what = str(c.rows, " rows of ", c.dims.height);
    const auto run = [&](const std::vector<int>& groups, std::string_view variant) {
      return state_after(c.dims, c.count, c.batch, c.rows, groups, variant, stream());
    };
    const State first = run({4}, "persistent");
    EXPECT_TRUE(std::isfinite(first.totals.loss_sum)) << what;
    EXPECT_EQ(first.step, 4);
    expect_same(first, run({1, 2, 1}, "persistent"), what + ", in groups");
    expect_same(first, run({4}, "two_kernels"), what + ", two_kernels");
    if (small_tests()) continue;
    expect_same(first, run({4}, "persistent"), what + ", again");
    expect_same(first, run({2, 2}, kernels::kAutomatic), what + ", automatic");
  }
}

// The first block counts; if the others did too, they would add to the same numbers at once.
TEST_P(FusedCnn, CountingCyclesChangesNoBit) {
  if (device().is_cpu()) GTEST_SKIP() << "only a GPU counts cycles";
  const FusedCnnOptions options = options_of(18, 9, kNesterov, "persistent");
  FusedCnnProblem plain(kSmallCnn, options, kRates, stream()),
      timed(kSmallCnn, options, kRates, stream());
  plain.train(9, 2);
  for (const std::int64_t cycles : timed.train_timed(9, 2)) EXPECT_GE(cycles, 0);
  EXPECT_TRUE(same_bits(timed.parameters(), plain.parameters()));
  EXPECT_TRUE(same_bits(timed.velocity(), plain.velocity()));
}

TEST_P(FusedCnn, ReplaysAsAGraph) {
  for (const std::string_view variant : kVariants) {
    FusedCnnProblem direct(kSmallCnn, options_of(20, 3, kNesterov, variant), kRates, stream());
    FusedCnnProblem replayed(kSmallCnn, options_of(20, 3, kNesterov, variant), kRates, stream());
    direct.train(3, 4);
    Graph graph = replayed.record(3, 2);
    graph.launch();
    graph.launch();
    EXPECT_TRUE(same_bits(direct.parameters(), replayed.parameters())) << variant;
    EXPECT_EQ(replayed.step(), 4);
  }
}

TEST_P(FusedCnn, AWrongLabelShowsAsNan) {
  for (const std::string_view variant : kVariants) {
    FusedCnnProblem problem(kSmallCnn, options_of(6, 6, kPlain, variant), kRates, stream());
    problem.set_label(4, 7);  // of seven classes
    problem.train(6, 1);
    EXPECT_TRUE(std::isnan(problem.totals().loss_sum)) << variant;
    EXPECT_TRUE(std::isnan(problem.parameters().back())) << variant;
  }
}

TEST_P(FusedCnn, NothingToDoIsNothingWritten) {
  FusedCnnProblem problem(kSmallCnn, options_of(6, 6, kPlain, kernels::kAutomatic), kRates,
                          stream());
  const std::vector<float> before = problem.parameters();
  problem.train(0, 3);
  problem.train(6, 0);
  EXPECT_TRUE(same_bits(problem.parameters(), before));
  EXPECT_EQ(problem.step(), 0);
  EXPECT_EQ(problem.totals().rows, 0);
}

TEST_P(FusedCnn, RefusesWhatItCannotDo) {
  FusedCnnOptions options = options_of(6, 6, kNesterov, kernels::kAutomatic);
  Guarded<float> memory(4096, stream());
  const auto train = [&](const float* parameters, float* velocity, std::int64_t rows,
                         const FusedCnnDims& dims, std::size_t bytes) {
    kernels::fused_cnn_train(const_cast<float*>(parameters), velocity, nullptr, nullptr, nullptr,
                             nullptr, nullptr, rows, 1, dims, options, {memory.data(), bytes},
                             stream());
  };
  const std::size_t enough = kernels::fused_cnn_workspace_bytes(kSmallCnn, 6, device());
  FusedCnnDims none = kSmallCnn;
  none.hidden2 = 0;
  EXPECT_USAGE_ERROR(train(memory.data(), memory.data(), 6, none, enough), "shape");
  EXPECT_USAGE_ERROR(train(memory.data() + 1, memory.data(), 6, kSmallCnn, enough), "16 bytes");
  EXPECT_USAGE_ERROR(train(memory.data(), memory.data(), 6, kSmallCnn, enough - 1), "workspace");
  EXPECT_USAGE_ERROR(train(memory.data(), memory.data(), 7, kSmallCnn, 10 * enough), "7 rows");
  EXPECT_USAGE_ERROR(train(memory.data(), nullptr, 6, kSmallCnn, enough), "velocity");
  options.augmentation.cutout = 3;
  EXPECT_USAGE_ERROR(train(memory.data(), memory.data(), 6, kSmallCnn, enough), "only the warp");
  options.augmentation.cutout = 0;
  options.label_smoothing = 1;
  EXPECT_USAGE_ERROR(train(memory.data(), memory.data(), 6, kSmallCnn, enough),
                     "0 <= smoothing < 1");
  options.label_smoothing = 0;
  EXPECT_USAGE_ERROR(train(memory.data(), memory.data(), -1, kSmallCnn, enough), "negative");
  EXPECT_FALSE(kernels::fused_cnn_supports(none, device()));
  FusedCnnDims other = kSmallCnn;
  other.filters1 = 5;
  EXPECT_EQ(kernels::fused_cnn_supports(other, device()), device().is_cpu());
  EXPECT_EQ(kernels::fused_cnn_supports(lenet5_dims(33), device()), device().is_cpu());
  EXPECT_TRUE(kernels::fused_cnn_supports(kSmallCnn, device()));
  const auto train_as = [&](std::string_view variant) {
    FusedCnnProblem problem(kSmallCnn, options_of(6, 6, kPlain, variant), kRates, stream());
    problem.train(6, 1);
  };
  EXPECT_USAGE_ERROR(train_as("three_kernels"), "two_kernels, persistent");
  EXPECT_USAGE_ERROR(train_as("resident_weights"),
                     "a version of fused_cnn_infer, not of fused_cnn_train");
}

WEFT_ON_EACH_DEVICE(FusedCnn);

// The oracle's gradients against central differences of its own mean loss.
TEST(FusedCnnOracle, GradientsMatchCentralDifferences) {
  constexpr std::int64_t kRows = 3, kClasses = 7;
  FusedCnnOracle oracle(kSmallCnn, kRows);
  auto& m = oracle.memory();
  const std::vector<float> x = random_floats(kRows * 13 * 12, 5);
  std::copy(x.begin(), x.end(), m.x);
  for (std::int64_t r = 0; r < kRows; ++r) m.labels[r] = static_cast<std::int32_t>(2 * r);
  std::vector<double> parameters = to_double(initial_parameters(kSmallCnn, 3));
  ASSERT_GT(oracle.margin(parameters), 1e-5) << "a step of 1e-6 must not cross a kink";
  const auto loss = [&] {
    kernels::cpu::fused_cnn_forward(m, parameters.data(), kSmallCnn, kRows);
    kernels::cpu::softmax_cross_entropy(m.loss, m.dlogits, m.predictions, m.logits, m.labels,
                                        1.0 / kRows, kRows, kClasses);
    return (m.loss[0] + m.loss[1] + m.loss[2]) / kRows;
  };
  loss();
  kernels::cpu::fused_cnn_backward(m, parameters.data(), kSmallCnn, kRows);
  const std::vector<double> gradients(m.gradients, m.gradients + parameters.size());
  std::vector<double> differences(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double value = parameters[i], step = 1e-6;
    parameters[i] = value + step;
    const double above = loss();
    parameters[i] = value - step;
    differences[i] = (above - loss()) / (2 * step);
    parameters[i] = value;
  }
  EXPECT_TRUE(compare(gradients, differences, {1e-8, 1e-6, false}));
}

}  // namespace
}  // namespace weft::test
