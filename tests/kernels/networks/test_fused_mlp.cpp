// SPDX-License-Identifier: MIT
// kernels/fused_mlp against the same network in double, in bf16 with the same roundings. What is
// left is the order of fp32 sums, what parts of fp16 leave out, and that a value close to the
// middle of two bfloat16 may be rounded to the other one.
#include "kernels/networks/mlp/fused_mlp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/networks/mlp/cpu/templates.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test::mlp {
namespace {

using kernels::ComputeMode;
using kernels::FusedMlpDims;
using kernels::FusedMlpOptions;
using kernels::MetricTotals;
using kernels::SgdOptions;

constexpr FusedMlpDims kSmall = {8, 10, 64, 128, 10}, kOther = {4, 6, 128, 64, 7},
                       kMlp = {28, 28, 512, 512, 10};
constexpr ComputeMode kModes[] = {ComputeMode::bf16, ComputeMode::fp32};

const char* name_of(ComputeMode mode) {
  return mode == ComputeMode::bf16 ? "bf16" : "fp32";
}

FusedMlpDims in_mode(FusedMlpDims dims, ComputeMode mode) {
  dims.mode = mode;
  return dims;
}

constexpr SgdOptions kPlain = {}, kHeavyBall = {0.9f, 0, false}, kNesterov = {0.9f, 5e-4f, true};

std::vector<std::uint8_t> random_bytes(std::int64_t n, std::uint64_t seed, std::uint32_t modulus) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(philox(seed, RandomStream::data, 8, i).value[0] % modulus);
  }
  return bytes;
}

// PyTorch's bounds, so that values neither vanish nor grow on their way.
std::vector<float> initial_parameters(const FusedMlpDims& d) {
  std::vector<float> values;
  const auto draw = [&](std::int64_t outputs, std::int64_t inputs) {
    const float bound = 1 / std::sqrt(static_cast<float>(inputs));
    const std::vector<float> layer =
        random_floats(outputs * (inputs + 1), 3 + values.size(), -bound, bound);
    values.insert(values.end(), layer.begin(), layer.end());
  };
  draw(d.hidden1, d.inputs());
  draw(d.hidden2, d.hidden1);
  draw(d.classes, d.hidden2);
  return values;
}

FusedMlpOptions options_of(std::int64_t count, std::int64_t batch, const SgdOptions& sgd) {
  FusedMlpOptions options;
  options.order = {count, (count + batch - 1) / batch, batch, true, 7};
  options.normalization = {0.1307f, 0.3081f};
  options.sgd = sgd;
  return options;
}

// A data set, and a network in training on a device.
class Problem {
 public:
  Problem(const FusedMlpDims& dims, const FusedMlpOptions& options, const Stream& stream)
      : dims_(dims),
        options_(options),
        stream_(stream),
        pixels_(random_bytes(options.order.count * dims.inputs(), 1, 256)),
        labels_(as_labels(random_bytes(options.order.count, 2, 256), dims.classes)),
        parameters_(initial_parameters(dims), stream),
        velocity_(std::vector<float>(static_cast<std::size_t>(dims.parameters())), stream),
        rates_(kRates, stream),
        images_(pixels_, stream),
        image_labels_(labels_, stream),
        step_(std::vector<std::int64_t>{0}, stream),
        totals_(std::vector<std::uint8_t>(sizeof(MetricTotals)), stream) {}

  void train(std::int64_t rows, std::int64_t steps) {
    Guarded<std::uint8_t> scratch(static_cast<std::int64_t>(kernels::fused_mlp_workspace_bytes(
                                      dims_, rows, stream_.device())),
                                  stream_);
    train(rows, steps, {scratch.data(), static_cast<std::size_t>(scratch.size())});
    static_cast<void>(scratch.get());  // nothing beside it was written
  }
  void train(std::int64_t rows, std::int64_t steps, kernels::Workspace workspace) {
    const kernels::FusedMlpState state{
        parameters_.data(), options_.sgd.momentum == 0 ? nullptr : velocity_.data(),
        totals_data(),      step_.data(),
        images_.data(),     image_labels_.data(),
        rates_.data()};
    kernels::fused_mlp_prepare(state, rows, dims_, options_, workspace, stream_);
    kernels::fused_mlp_train(state, rows, steps, dims_, options_, workspace, stream_);
  }

  // One step on the device and one in double from the same state; compares what they leave.
  void expect_step(std::int64_t rows, const std::string& what) {
    std::vector<double> parameters = to_double(parameters_.get());
    std::vector<double> velocity = to_double(velocity_.get());
    const std::vector<double> rates = to_double(kRates);
    std::int64_t step = step_.get()[0];
    MetricTotals expected = totals();
    const double rate = rates[static_cast<std::size_t>(step)];
    kernels::cpu::FusedMlpMemory<double> memory;
    std::vector<std::uint8_t> bytes(memory.cut(nullptr, dims_, rows));
    memory.cut(bytes.data(), dims_, rows);
    kernels::cpu::fused_mlp_train<double>(
        parameters.data(), velocity.data(), &expected, &step, pixels_.data(), labels_.data(),
        rates.data(), rows, 1, dims_, options_, kernels::draw::line_of(options_.normalization),
        bytes.data());
    train(rows, 1);
    const double relative = dims_.mode == ComputeMode::bf16 ? 1.0 / 128 : 1e-5,
                 eps = std::numeric_limits<float>::epsilon();
    const std::vector<float> found = parameters_.get(), found_velocity = velocity_.get();
    for (int layer = 0; layer < 3; ++layer) {
      const kernels::cpu::FusedMlpLayer<double> g(memory.gradients, dims_, layer);
      const std::pair<const double*, std::int64_t> slices[] = {{g.weight, g.out * g.in},
                                                               {g.bias, g.out}};
      for (const auto& [gradient, count] : slices) {
        const auto at = static_cast<std::size_t>(gradient - memory.gradients);
        const auto n = static_cast<std::size_t>(count);
        double largest = 0;
        for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(gradient[i]));
        EXPECT_GT(largest, 0);
        const std::string where = str(what, ", parameters from ", at);
        EXPECT_TRUE(compare(std::span(found).subspan(at, n),
                            std::span<const double>(parameters).subspan(at, n),
                            Bound{2 * rate * relative * largest, 2 * eps, false}, where));
        if (options_.sgd.momentum == 0) continue;
        EXPECT_TRUE(compare(std::span<const float>(found_velocity).subspan(at, n),
                            std::span<const double>(velocity).subspan(at, n),
                            Bound{relative * largest, 4 * eps, false}, where + ", velocity"));
      }
    }
    EXPECT_EQ(step_.get()[0], step) << what;
    const MetricTotals got = totals();
    EXPECT_LE(std::abs(got.hits - expected.hits), rows / 64) << what;
    EXPECT_EQ(got.rows, expected.rows) << what;
    EXPECT_TRUE(std::fabs(got.loss_sum - expected.loss_sum) <= 1e-4 * expected.loss_sum)
        << what << ": loss " << got.loss_sum << ", expected " << expected.loss_sum;
  }

  MetricTotals totals() const {
    const std::vector<std::uint8_t> bytes = totals_.get();
    MetricTotals result;
    std::memcpy(&result, bytes.data(), sizeof(result));
    return result;
  }
  std::vector<float> parameters() const { return parameters_.get(); }
  std::vector<float> velocity() const { return velocity_.get(); }
  std::int64_t step() const { return step_.get()[0]; }
  void set_label(std::int64_t index, std::int32_t label) {
    labels_[static_cast<std::size_t>(index)] = label;
    image_labels_.set(labels_);
  }
  // Makes each unit of the first hidden layer larger by a power of two of its own, from 2^12 to
  // 2^27, and its weights in the second layer smaller by the same: the second layer's values stay.
  void grow_hidden_units() {
    std::vector<float> values = parameters_.get();
    const kernels::cpu::FusedMlpLayer<float> first(values.data(), dims_, 0),
        second(values.data(), dims_, 1);
    for (std::int64_t unit = 0; unit < first.out; ++unit) {
      const float factor = std::ldexp(1.0f, 12 + static_cast<int>(unit % 16));
      for (std::int64_t i = 0; i < first.in; ++i) first.weight[unit * first.in + i] *= factor;
      first.bias[unit] *= factor;
      for (std::int64_t o = 0; o < second.out; ++o) second.weight[o * second.in + unit] /= factor;
    }
    parameters_.set(values);
  }

 private:
  inline static const std::vector<float> kRates = {0.1f, 0.05f, 0.2f,  0.01f,
                                                   0.1f, 0.02f, 0.03f, 0.1f};
  MetricTotals* totals_data() { return reinterpret_cast<MetricTotals*>(totals_.data()); }

  FusedMlpDims dims_;
  FusedMlpOptions options_;
  Stream stream_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::int32_t> labels_;
  Guarded<float> parameters_, velocity_, rates_;
  Guarded<std::uint8_t> images_;
  Guarded<std::int32_t> image_labels_;
  Guarded<std::int64_t> step_;
  Guarded<std::uint8_t> totals_;
};

class FusedMlp : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    if (!kernels::fused_mlp_supports(kMlp, device())) GTEST_SKIP() << "needs sm_90a";
  }
};

TEST_P(FusedMlp, FollowsTheOracle) {
  struct Case {
    FusedMlpDims dims;
    std::int64_t count, batch, rows;
    int steps;
    SgdOptions sgd;
  };
  const Case all[] = {{kSmall, 5, 1, 1, 3, kPlain},        {kSmall, 100, 64, 64, 3, kNesterov},
                      {kSmall, 300, 70, 70, 4, kNesterov}, {kOther, 300, 130, 20, 2, kHeavyBall},
                      {kOther, 300, 130, 130, 2, kPlain},  {kOther, 400, 200, 200, 2, kNesterov}};
  const Case few[] = {{kSmall, 5, 1, 1, 1, kPlain}, {kOther, 90, 70, 70, 2, kNesterov}};
  for (const ComputeMode mode : kModes) {
    for (const Case& c : all_or_few(all, few)) {
      Problem problem(in_mode(c.dims, mode), options_of(c.count, c.batch, c.sgd), stream());
      for (int step = 0; step < c.steps; ++step) {
        problem.expect_step(c.rows, str(c.dims.height, " x ", c.dims.width, ", ", c.rows, " of ",
                                        c.batch, " rows, ", name_of(mode), ", step ", step));
      }
    }
  }
}

TEST_P(FusedMlp, TheMlpFollowsTheOracle) {
  if (small_tests()) GTEST_SKIP() << "small tests only";
  for (const ComputeMode mode : kModes) {
    Problem problem(in_mode(kMlp, mode), options_of(300, 150, kNesterov), stream());
    for (int step = 0; step < 2; ++step) {
      problem.expect_step(150, str("mlp in ", name_of(mode), ", step ", step));
    }
  }
}

TEST_P(FusedMlp, DistortsImagesAndSmoothsLabels) {
  FusedMlpOptions options = options_of(90, 70, kNesterov);
  options.augmentation.shift = 2;
  options.label_smoothing = 0.1f;
  for (const ComputeMode mode : kModes) {
    Problem problem(in_mode(kSmall, mode), options, stream());
    for (int step = 0; step < 2; ++step) {
      problem.expect_step(70, str("distorted, ", name_of(mode), ", step ", step));
    }
  }
}

// fp16 holds neither these weights nor these activations, and a tile of 64 x 64 has all sizes.
TEST_P(FusedMlp, TakesValuesOfVeryDifferentSize) {
  for (const ComputeMode mode : kModes) {
    Problem problem(in_mode(kOther, mode), options_of(90, 70, kPlain), stream());
    problem.grow_hidden_units();
    problem.expect_step(70, str("grown units, ", name_of(mode)));
  }
}

// The same bits however many steps are asked for at once, across the end of an epoch.
TEST_P(FusedMlp, GroupsOfStepsGiveTheSameBits) {
  for (const ComputeMode mode : kModes) {
    const auto train = [&](const std::vector<int>& groups) {
      auto problem = std::make_unique<Problem>(in_mode(kSmall, mode),
                                               options_of(200, 70, kNesterov), stream());
      for (const int steps : groups) problem->train(70, steps);
      return problem;
    };
    const auto one = train({1, 1, 1, 1, 1, 1}), two = train({4, 2}), three = train({6});
    for (const Problem* other : {two.get(), three.get()}) {
      EXPECT_TRUE(same_bits(one->parameters(), other->parameters()));
      EXPECT_TRUE(same_bits(one->velocity(), other->velocity()));
      const double loss = one->totals().loss_sum, other_loss = other->totals().loss_sum;
      EXPECT_EQ(std::memcmp(&loss, &other_loss, sizeof(loss)), 0);
      EXPECT_EQ(one->totals().hits, other->totals().hits);
      EXPECT_EQ(one->step(), other->step());
    }
    EXPECT_EQ(one->step(), 6);
  }
}

TEST_P(FusedMlp, AWrongLabelShowsAsNan) {
  for (const ComputeMode mode : kModes) {
    Problem problem(in_mode(kSmall, mode), options_of(64, 64, kPlain), stream());
    problem.set_label(11, 10);
    problem.train(64, 1);
    EXPECT_TRUE(std::isnan(problem.totals().loss_sum));
    EXPECT_EQ(problem.totals().rows, 64);
    EXPECT_TRUE(std::isnan(problem.parameters().back()));
  }
}

TEST_P(FusedMlp, RefusesWhatItCannotDo) {
  Problem problem(kSmall, options_of(64, 32, kPlain), stream());
  EXPECT_USAGE_ERROR(problem.train(33, 1), "33 rows");
  EXPECT_USAGE_ERROR(problem.train(0, 1), "0 rows");
  EXPECT_USAGE_ERROR(problem.train(32, 1, {nullptr, 0}), "bytes of workspace");
  const std::size_t enough = kernels::fused_mlp_workspace_bytes(kSmall, 32, device());
  Guarded<float> values(kSmall.parameters() + 4, stream());
  Guarded<float> velocities(kSmall.parameters() + 4, stream()), rate(1, stream());
  Guarded<std::uint8_t> images(64 * kSmall.inputs() + 8, stream());
  Guarded<std::uint8_t> scratch(static_cast<std::int64_t>(enough) + 1, stream());
  Guarded<std::int32_t> labels(64, stream());
  Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
  FusedMlpOptions options = options_of(64, 32, kNesterov);
  const auto train = [&](int parameters, int velocity, int image, int workspace) {
    kernels::fused_mlp_train({values.data() + parameters, velocities.data() + velocity, nullptr,
                              step.data(), images.data() + image, labels.data(), rate.data()},
                             32, 1, kSmall, options, {scratch.data() + workspace, enough},
                             stream());
  };
  EXPECT_USAGE_ERROR(train(1, 0, 0, 0), "parameters must be aligned to 16 bytes");
  EXPECT_USAGE_ERROR(train(0, 1, 0, 0), "velocity must be aligned to 16 bytes");
  EXPECT_USAGE_ERROR(train(0, 0, 4, 0), "images must be aligned to 8 bytes");
  EXPECT_USAGE_ERROR(train(0, 0, 0, 1), "workspace must be aligned to 256 bytes");
  options.augmentation.flip = true;
  EXPECT_USAGE_ERROR(train(0, 0, 0, 0), "only the warp");
  if (device().is_cpu()) return;
  EXPECT_FALSE(kernels::fused_mlp_supports({28, 28, 100, 512, 10}, device()));
  EXPECT_FALSE(kernels::fused_mlp_supports({28, 28, 512, 1024, 10}, device()));
  EXPECT_FALSE(kernels::fused_mlp_supports({28, 28, 512, 512, 17}, device()));
  EXPECT_FALSE(kernels::fused_mlp_supports({5, 5, 512, 512, 10}, device()));
}

WEFT_ON_EACH_DEVICE(FusedMlp);

}  // namespace
}  // namespace weft::test::mlp
