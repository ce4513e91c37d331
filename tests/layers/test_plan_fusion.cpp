// SPDX-License-Identifier: MIT
// Fusion by a plan: the same results within rounding, and which layers it joins.
#include <algorithm>

#include "layers/network/conv_relu_pool.h"
#include "tests/layers/plan_test.h"
#include "tests/support/compare.h"
#include "tests/support/small.h"

namespace weft::test {
namespace {

using layers::KernelChoice;
using layers::Window;

class PlanFusion : public PlanTest {
 protected:
  // A rung of conv_relu_pool that takes every shape here.
  const std::string kAnyShape = device().is_cpu() ? "staged_images" : "gather";

  // A step of the network with and without fusion, for several batch sizes, tails among them.
  void compare_fused(const Shape& sample, std::vector<ReferenceLayer> (*network)(),
                     const KernelChoice& kernels) {
    Instance fused(sample, network(), stream()), separate(sample, network(), stream());
    KernelChoice apart = kernels;
    apart.fuse = false;
    // The threads of kAnyShape do not share images, and are slow on host-cuda.
    const bool few = small_tests() && kernels.conv_relu_pool == kAnyShape;
    for (const std::int64_t batch : {1, 5, 33}) {
      if (few && batch > 5) continue;
      SCOPED_TRACE(batch);
      Plan fused_plan = fused.plan(batch, Phase::training, kernels);
      Plan plan = separate.plan(batch, Phase::training, apart);
      const std::vector<float> x = random_floats(batch * sample.elements(), 71);
      const std::vector<float> dy = random_floats(plan.output().elements(), 72);
      const Result expected = step(separate, plan, x, dy), found = step(fused, fused_plan, x, dy);
      const Bound bound{1e-5 * std::sqrt(static_cast<double>(batch)), 2e-5};
      EXPECT_TRUE(compare(found.output, expected.output, bound, "output"));
      EXPECT_TRUE(compare(found.gradients, expected.gradients, bound, "gradients"));
      EXPECT_TRUE(compare(found.input_gradient, expected.input_gradient, bound, "input gradient"));
      fill(fused_plan.output_gradient(), dy, stream());
      fused_plan.backward(GradientMode::accumulate, stream());
      std::vector<double> twice;
      for (const float value : found.gradients) twice.push_back(2.0 * value);
      EXPECT_TRUE(compare(fused.gradients(), twice, bound, "accumulated"));

      Plan fused_inference = fused.plan(batch, Phase::inference, kernels);
      Plan inference = separate.plan(batch, Phase::inference, apart);
      EXPECT_TRUE(compare(forward(fused_inference, x), forward(inference, x), bound, "inference"));
    }
  }
};

std::vector<ReferenceLayer> perceptron() {
  return stack(linear("fc1", 20, 36), relu("relu1"), linear("fc2", 36, 32), relu("relu2"),
               linear("fc3", 32, 10));
}
std::vector<ReferenceLayer> lenet() {
  return stack(conv2d("conv1", 1, 3, Window::square(5, 1, 2)), relu("relu1"),
               max_pool2d("pool1", Window::square(2, 2)), conv2d("conv2", 3, 5, Window::square(5)),
               relu("relu2"), max_pool2d("pool2", Window::square(2, 2)), flatten("flatten"),
               linear("fc1", 5, 12), relu("relu3"), linear("fc2", 12, 9), relu("relu4"),
               linear("fc3", 9, 4));
}
std::vector<ReferenceLayer> two_convolutions() {
  return stack(conv2d("conv1", 1, 4, Window::square(3)), relu("relu1"),
               conv2d("conv2", 4, 6, Window::square(3)), relu("relu2"),
               max_pool2d("pool", Window::square(2, 2)), flatten("flatten"), linear("fc1", 96, 8),
               relu("relu3"), linear("fc2", 8, 4));
}

TEST_P(PlanFusion, ChangesResultsByRoundingOnly) {
  for (const std::string& rung : {std::string(kernels::kAutomatic), kAnyShape}) {
    const KernelChoice kernels{.conv_relu_pool = rung};
    compare_fused({20}, perceptron, kernels);
    compare_fused({1, 12, 12}, lenet, kernels);
    compare_fused({1, 12, 12}, two_convolutions, kernels);
    compare_fused(
        kSample, [] { return everything(); }, kernels);
  }
}

// train_classifier() is forward(), the loss and backward().
TEST_P(PlanFusion, TrainsAClassifierAsItsPartsDo) {
  for (const bool with_loss : {true, false}) {
    for (const std::int64_t batch : {0, 1, 5, 33}) {
      SCOPED_TRACE(batch);
      Instance fused({20}, perceptron(), stream()), separate({20}, perceptron(), stream());
      Plan fused_plan = fused.plan(batch, Phase::training);
      Plan plan = separate.plan(batch, Phase::training, {.fuse = false});
      const std::vector<float> x = random_floats(batch * 20, 75);
      std::vector<std::int32_t> targets;
      for (std::int64_t i = 0; i < batch; ++i) targets.push_back(static_cast<std::int32_t>(i % 10));
      Tensor labels = tensor_from_host<std::int32_t>({batch}, targets, stream());
      const float scale = 1.0f / static_cast<float>(std::max<std::int64_t>(batch, 1));
      const auto run = [&](Instance& instance, Plan& on, std::vector<float>& losses,
                           std::vector<std::int32_t>& predictions, kernels::MetricTotals& sums) {
        Tensor loss(Shape{batch}, DType::f32, stream());
        Tensor prediction(Shape{batch}, DType::i32, stream());
        Tensor totals(Shape{sizeof(kernels::MetricTotals)}, DType::u8, stream());
        zero_bytes(totals.raw(), totals.bytes(), stream());
        layers::ClassifierLoss wanted{.labels = labels.view<std::int32_t>(), .scale = scale};
        if (with_loss) {
          wanted.loss = loss.view<float>();
          wanted.prediction = prediction.view<std::int32_t>();
          wanted.totals = static_cast<kernels::MetricTotals*>(totals.raw());
        }
        fill(on.input(), x, stream());
        on.train_classifier(wanted, GradientMode::overwrite, stream());
        if (with_loss) {
          losses = to_host(ConstFloatView(loss.view<float>()), stream());
          predictions = to_host(prediction.view<std::int32_t>(), stream());
          copy_bytes(&sums, Device::cpu(), totals.raw(), device(), totals.bytes(), stream());
        }
        return Result{to_host(on.output(), stream()), instance.gradients(), {}};
      };
      std::vector<float> losses, expected_losses;
      std::vector<std::int32_t> predictions, expected_predictions;
      kernels::MetricTotals totals, expected_totals;
      const Result found = run(fused, fused_plan, losses, predictions, totals);
      const Result expected =
          run(separate, plan, expected_losses, expected_predictions, expected_totals);
      Bound bound{1e-5, 2e-5};
      bound.zero_is_right = batch == 0;
      if (batch > 0) {
        EXPECT_TRUE(compare(found.output, expected.output, bound, "output"));
      }
      EXPECT_TRUE(compare(found.gradients, expected.gradients, bound, "gradients"));
      if (!with_loss || batch == 0) continue;
      EXPECT_TRUE(compare(losses, expected_losses, bound, "losses"));
      EXPECT_EQ(predictions, expected_predictions);
      EXPECT_EQ(totals.hits, expected_totals.hits);
      EXPECT_EQ(totals.rows, batch);
      EXPECT_NEAR(totals.loss_sum, expected_totals.loss_sum, 1e-4);
    }
  }
}

TEST_P(PlanFusion, IsRepeatedBitForBit) {
  Instance instance({1, 12, 12}, lenet(), stream());
  Plan plan = instance.plan(33, Phase::training);
  const std::vector<float> x = random_floats(33 * 144, 73), dy = random_floats(33 * 4, 74);
  const Result first = step(instance, plan, x, dy);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(instance, plan, x, dy), first);
}

TEST_P(PlanFusion, ShowsTheLastOutputOfLayersThatAreOneCall) {
  Instance instance({1, 12, 12}, lenet(), stream());
  const auto shapes = [&](const KernelChoice& kernels) {
    Plan plan = instance.plan(2, Phase::training, kernels);
    std::vector<Shape> all;
    for (std::size_t i = 0; i < instance.net.layers().size(); ++i) {
      all.push_back(plan.activation(i).shape);
    }
    return all;
  };
  const std::vector<Shape> separate = shapes({.fuse = false});
  EXPECT_EQ(separate[0], Shape({2, 3, 12, 12}));
  EXPECT_EQ(separate[1], Shape({2, 3, 12, 12}));
  EXPECT_EQ(separate[2], Shape({2, 3, 6, 6}));
  const std::vector<Shape> joined = shapes({.conv_relu_pool = kAnyShape});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(joined[i], separate[2]) << i;
  for (std::size_t i = 6; i < separate.size(); ++i) EXPECT_EQ(joined[i], separate[i]) << i;
}

TEST_P(PlanFusion, NeedsLessMemoryForAPooledMap) {
  Instance instance({1, 12, 12}, lenet(), stream());
  Plan joined = instance.plan(8, Phase::training, {.conv_relu_pool = kAnyShape});
  Plan apart = instance.plan(8, Phase::training, {.fuse = false});
  EXPECT_LT(joined.activation_bytes(), apart.activation_bytes());
  EXPECT_LT(joined.cache_bytes(), apart.cache_bytes());
}

// conv1 and conv2 as one call: the map between them has the bits that the layer alone would store,
// and so has all that does not depend on the order of conv1's own sums.
TEST_P(PlanFusion, JoinsAStem) {
  for (const auto mode : {kernels::ComputeMode::tf32, kernels::ComputeMode::bf16}) {
    Instance joined({1, 12, 12}, two_convolutions(), stream());
    Instance apart({1, 12, 12}, two_convolutions(), stream());
    if (device_properties(device()).compute_capability != 90) {
      const Plan plan = joined.plan(33, Phase::training, {.mode = mode});
      EXPECT_EQ(plan.activation(0).shape, Shape({33, 4, 10, 10})) << "joined without a rung for it";
      continue;
    }
    Plan plan = joined.plan(33, Phase::training, {.mode = mode, .conv_relu_pool = "wgmma"});
    Plan without = apart.plan(33, Phase::training,
                              {.mode = mode, .conv = "direct", .conv_relu_pool = "wgmma"});
    EXPECT_EQ(plan.activation(0).shape, Shape({33, 6, 4, 4}));
    EXPECT_EQ(without.activation(0).shape, Shape({33, 4, 10, 10}));
    const std::vector<float> x = random_floats(33 * 144, 73), dy = random_floats(33 * 4, 74);
    const auto gradients = [&](Instance& instance, Plan& on, bool of_input) {
      const std::vector<float> y = forward(on, x);
      fill(on.output_gradient(), dy, stream());
      on.backward(GradientMode::overwrite, stream(), of_input);
      return std::pair(y, instance.gradients());
    };
    const auto [y, found] = gradients(joined, plan, false);
    const auto [expected_y, expected] = gradients(apart, without, false);
    EXPECT_EQ(y, expected_y);
    ASSERT_EQ(found.size(), expected.size());
    constexpr std::size_t kStem = 4 * 9 + 4;
    EXPECT_TRUE(std::equal(found.begin() + kStem, found.end(), expected.begin() + kStem));
    const std::vector<double> stem(expected.begin(), expected.begin() + kStem);
    EXPECT_TRUE(compare(std::vector<float>(found.begin(), found.begin() + kStem), stem,
                        Bound{1e-5, 1e-5}, "stem"));
    EXPECT_EQ(gradients(joined, plan, false), std::pair(y, found));
    EXPECT_THROW(gradients(joined, plan, true), Error);
  }
}

WEFT_ON_EACH_DEVICE(PlanFusion);

TEST(ConvReluPool, JoinsWhatItCan) {
  const KernelChoice forced{.conv_relu_pool = "staged_images"};
  const layers::Conv2d conv("conv", 1, 2, Window::square(3));
  const layers::ReLU relu("relu");
  const layers::Tanh tanh("tanh");
  const auto joins = [&](const layers::Layer& middle, const Window& window,
                         const KernelChoice& kernels) {
    const layers::MaxPool2d pool("pool", window);
    return layers::ConvReluPool::joins(conv, middle, pool, {1, 1, 20, 20}, kernels, Device::cpu());
  };
  EXPECT_TRUE(joins(relu, Window::square(2, 2), forced));
  EXPECT_TRUE(joins(relu, {3, 2, 3, 2, 0, 0}, forced));
  EXPECT_FALSE(joins(tanh, Window::square(2, 2), forced));
  EXPECT_FALSE(joins(relu, Window::square(3, 2), forced));     // windows overlap
  EXPECT_FALSE(joins(relu, Window::square(2, 2, 1), forced));  // padding
  EXPECT_FALSE(joins(relu, Window::square(16, 16), forced));   // 256 elements
  EXPECT_TRUE(joins(relu, Window::square(2, 2), {}));
  EXPECT_FALSE(joins(relu, Window::square(2, 2), {.conv = "direct"}));
  KernelChoice off = forced;
  off.fuse = false;
  EXPECT_FALSE(joins(relu, Window::square(2, 2), off));
  EXPECT_THROW(layers::ConvReluPool(conv, layers::MaxPool2d("pool", Window::square(3, 2))), Error);
  const layers::MaxPool2d halves("pool", Window::square(2, 2));
  const Shape input{2, 1, 20, 20}, map = conv.output_shape(input);
  EXPECT_EQ(layers::ConvReluPool(conv, halves).forward_flops(input),
            conv.forward_flops(input) + layers::ReLU("relu").forward_flops(map) +
                halves.forward_flops(map));
}

// Does nothing but write down how its backward is called.
class MaskSpy final : public layers::Layer {
 public:
  explicit MaskSpy(std::string name) : Layer(std::move(name), {{"weight", {1}}}) {}
  std::string_view type() const override { return "MaskSpy"; }
  std::string describe() const override { return "MaskSpy"; }
  layers::LayerTraits traits() const override {
    return {.fuses_relu = true, .masks_input_gradient = true};
  }

  mutable std::vector<bool> masks;

 protected:
  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(const layers::ForwardCall&) const override {}
  void do_backward(const layers::BackwardCall& call) const override {
    masks.push_back(call.context.mask_input_gradient);
  }
};

TEST(PlanMasks, GoToTheLayerBehindAFusedReLU) {
  const Stream stream(Device::cpu());
  for (const bool fuse : {true, false}) {
    auto net = stack(ReferenceLayer{std::make_unique<MaskSpy>("a"), {}},
                     ReferenceLayer{std::make_unique<MaskSpy>("b"), {}}, relu("r"), flatten("f"),
                     ReferenceLayer{std::make_unique<MaskSpy>("c"), {}});
    std::vector<const MaskSpy*> spies;
    for (const std::size_t i : {0, 1, 4}) {
      spies.push_back(static_cast<const MaskSpy*>(net[i].layer.get()));
    }
    Instance instance({3}, std::move(net), stream);
    Plan plan = instance.plan(2, Phase::training, {.fuse = fuse});
    plan.forward(stream);
    plan.backward(GradientMode::overwrite, stream);
    EXPECT_EQ(spies[0]->masks, std::vector<bool>{false});
    EXPECT_EQ(spies[1]->masks, std::vector<bool>{false});  // no ReLU in front
    EXPECT_EQ(spies[2]->masks, std::vector<bool>{fuse});
  }
}

}  // namespace
}  // namespace weft::test
