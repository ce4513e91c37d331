// SPDX-License-Identifier: MIT
// Plan: what it fuses, reuses and skips must not show in the results.
#include "tests/layers/plan_test.h"
#include "tests/support/compare.h"

namespace weft::test {
namespace {

using layers::Window;

class Plans : public PlanTest {};

TEST_P(Plans, FusedReLUGivesTheSameBits) {
  Instance fused(kSample, everything(), stream()), unfused(kSample, everything(), stream());
  // A variant of convolution that does not take pooling in as well.
  const layers::KernelChoice kernels{.conv = "direct"};
  layers::KernelChoice separate = kernels;
  separate.fuse = false;
  Plan fused_plan = fused.plan(5, Phase::training, kernels);
  Plan plan = unfused.plan(5, Phase::training, separate);
  const std::vector<float> x = random_floats(5 * kPixels, 51), dy = random_floats(20, 52);
  const Result expected = step(unfused, plan, x, dy), found = step(fused, fused_plan, x, dy);
  EXPECT_TRUE(compare(found.output, expected.output, exact(), "output"));
  EXPECT_TRUE(compare(found.gradients, expected.gradients, exact(), "gradients"));
  EXPECT_TRUE(compare(found.input_gradient, expected.input_gradient, exact(), "input gradient"));
  EXPECT_EQ(fused_plan.activation_bytes(), plan.activation_bytes());  // unfused runs in place
}

TEST_P(Plans, OwnWhatTheyAreMadeFromButTheWeights) {
  auto list = stack(linear("fc1", 6, 5), relu("relu1"), linear("fc2", 5, 3));
  auto net = std::make_unique<layers::Sequential>(Shape{6}, take_layers(list));
  auto weights = std::make_unique<layers::Weights>(*net, stream(), Phase::inference);
  const std::vector<float> values = net->initial_parameters(5);
  copy_from_host(weights->parameters.view<float>(), values, stream());
  auto kernels = std::make_unique<layers::KernelChoice>();
  kernels->gemm = std::string("na") + "ive";
  Plan plan(*net, *weights, 4, Phase::inference, *kernels, 0, nullptr, stream());
  const std::vector<float> x = random_floats(24, 6);
  const auto forward = [&] {
    copy_from_host(plan.input(), x, stream());
    plan.forward(stream());
    return to_host(plan.output(), stream());
  };
  const std::vector<float> expected = forward();
  net.reset();
  kernels->gemm = "no rung";
  kernels.reset();
  layers::Weights moved = std::move(*weights);
  weights.reset();
  EXPECT_TRUE(compare(forward(), to_double(expected), exact(), "with moved weights"));
  { const layers::Weights gone = std::move(moved); }
  try {
    plan.forward(stream());
    ADD_FAILURE() << "computed with weights that are gone";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(), "plan: its weights have ended before it");
  }
}

// Does nothing but write down how it is called.
class Spy final : public layers::Layer {
 public:
  using Layer::Layer;
  std::string_view type() const override { return "Spy"; }
  std::string describe() const override { return "Spy"; }
  layers::LayerTraits traits() const override { return {.fuses_relu = true}; }

  mutable std::vector<layers::Epilogue> epilogues;
  mutable std::vector<bool> wants_dx;

 protected:
  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(const layers::ForwardCall& call) const override {
    epilogues.push_back(call.epilogue);
  }
  void do_backward(const layers::BackwardCall& call) const override {
    wants_dx.push_back(call.dx.data != nullptr);
  }
};

TEST(PlanCalls, FuseReLUAndSkipUnwantedInputGradients) {
  const Stream stream(Device::cpu());
  const std::vector<layers::ParameterSpec> weight{{"weight", {1}}};
  auto net = stack(ReferenceLayer{std::make_unique<Spy>("a"), {}},
                   ReferenceLayer{std::make_unique<Spy>("b", weight), {}},
                   ReferenceLayer{std::make_unique<Spy>("c"), {}}, relu("r"));
  const auto spy = [&](std::size_t i) { return static_cast<const Spy*>(net[i].layer.get()); };
  const Spy *a = spy(0), *b = spy(1), *c = spy(2);
  Instance instance({3}, std::move(net), stream);
  Plan plan = instance.plan(2, Phase::training);
  plan.forward(stream);
  plan.backward(GradientMode::overwrite, stream);
  EXPECT_EQ(b->epilogues, std::vector{layers::Epilogue::none});
  EXPECT_EQ(c->epilogues, std::vector{layers::Epilogue::relu});
  EXPECT_EQ(a->wants_dx, std::vector<bool>{});  // before the first parameters: not called
  EXPECT_EQ(b->wants_dx, std::vector<bool>{false});
  EXPECT_EQ(c->wants_dx, std::vector<bool>{true});
  plan.backward(GradientMode::overwrite, stream, true);
  EXPECT_EQ(a->wants_dx, std::vector<bool>{true});
  EXPECT_EQ(b->wants_dx, (std::vector<bool>{false, true}));
}

TEST_P(Plans, RepeatTheSameBits) {
  Instance instance(kSample, everything(), stream());
  Plan plan = instance.plan(5, Phase::training);
  const std::vector<float> x = random_floats(5 * kPixels, 51), dy = random_floats(20, 52);
  EXPECT_EQ(step(instance, plan, x, dy), step(instance, plan, x, dy));
}

TEST_P(Plans, NeverOverwriteTheirInput) {
  const auto check = [&](std::vector<ReferenceLayer> layers) {
    Instance instance({6}, std::move(layers), stream());
    for (const Phase phase : {Phase::inference, Phase::training}) {
      Plan plan = instance.plan(3, phase);
      const std::vector<float> x = random_floats(18, 59);
      const std::vector<float> first = forward(plan, x);
      plan.forward(stream());
      EXPECT_EQ(to_host(plan.output(), stream()), first);
      EXPECT_EQ(to_host(plan.input(), stream()), x);
    }
  };
  check(stack(tanh("t"), flatten("f"), sigmoid("s"), linear("fc", 6, 2)));
  check(stack(fork("f"), linear("fc", 6, 6), shortcut("s"), tanh("t"), add("a")));
}

TEST_P(Plans, ShareWeights) {
  Instance instance(kSample, row_wise(), stream());
  Plan training = instance.plan(5, Phase::training), inference = instance.plan(5, Phase::inference);
  const std::vector<float> x = random_floats(5 * kPixels, 55);
  EXPECT_TRUE(compare(forward(inference, x), forward(training, x), {1e-6, 1e-6}, "same weights"));
  const std::vector<float> before = forward(inference, x);
  instance.set_parameters(random_floats(instance.net.parameter_count(), 56, -0.2f, 0.2f));
  const std::vector<float> after = forward(inference, x);
  EXPECT_NE(before, after);
  EXPECT_TRUE(compare(after, forward(training, x), {1e-6, 1e-6}, "new weights"));
  EXPECT_LT(inference.activation_bytes(), training.activation_bytes());
  EXPECT_EQ(inference.gradient_bytes(), 0u);
  EXPECT_EQ(inference.cache_bytes(), 0u);
  EXPECT_GT(training.cache_bytes(), 0u);
}

TEST_P(Plans, TakeTheBytesThatWereFoundWithoutTakingThem) {
  Instance instance(kSample, everything(), stream());
  for (const Phase phase : {Phase::inference, Phase::training}) {
    for (const bool fuse : {true, false}) {
      const layers::KernelChoice kernels{.fuse = fuse};
      const Plan plan = instance.plan(5, phase, kernels);
      const layers::PlanBytes bytes = layers::plan_bytes(instance.net, 5, phase, kernels, device());
      EXPECT_EQ(bytes.activations, plan.activation_bytes());
      EXPECT_EQ(bytes.gradients, plan.gradient_bytes());
      EXPECT_EQ(bytes.workspace, plan.workspace_bytes());
      EXPECT_EQ(bytes.caches, plan.cache_bytes());
      EXPECT_GT(bytes.activations, 0u);
    }
  }
}

// All tensors are 4 x 64 floats: 1024 bytes. Inference needs the plan's input, that of the block,
// and two that its layers take turns in; the sum lies in one that is free by then. Backward needs
// the gradient of the sum and two more, of which the last one takes the sum of both ways.
TEST_P(Plans, ReuseTheMemoryOfAResidualBlock) {
  Instance instance(
      {64},
      stack(linear("l1", 64, 64), fork("f"), linear("l2", 64, 64), sigmoid("s1"),
            linear("l3", 64, 64), add("a"), linear("l4", 64, 64), linear("l5", 64, 64)),
      stream());
  const Plan inference = instance.plan(4, Phase::inference);
  EXPECT_EQ(inference.activation_bytes(), 4 * 1024u);
  const Plan training = instance.plan(4, Phase::training, {.fuse = false});
  EXPECT_EQ(training.gradient_bytes(), 3 * 1024u);
  // The input and one for each layer but the sigmoid, which runs in place.
  EXPECT_EQ(training.activation_bytes(), 7 * 1024u);
}

// Backward of a block that ends with another one: the outer sum's gradient, which both ways read,
// and two regions that the ways take turns in.
TEST_P(Plans, ReuseTheMemoryOfABlockAtTheEndOfABlock) {
  Instance instance({64},
                    stack(fork("f1"), linear("l1", 64, 64), linear("l2", 64, 64), fork("f2"),
                          linear("l3", 64, 64), add("a2"), add("a1")),
                    stream());
  const Plan training = instance.plan(4, Phase::training, {.fuse = false});
  EXPECT_EQ(training.gradient_bytes(), 3 * 1024u);
}

TEST_P(Plans, TakeTailBatchesAndSingleRows) {
  Instance instance(kSample, row_wise(), stream());
  const std::vector<float> x = random_floats(8 * kPixels, 57), dy = random_floats(8 * 4, 58);
  Plan whole = instance.plan(8, Phase::training);
  const Result expected = step(instance, whole, x, dy);
  std::vector<float> sum(expected.gradients.size());
  std::vector<float> outputs, input_gradients;
  std::size_t row = 0;
  for (const std::int64_t batch : {5, 1, 2}) {
    Plan plan = instance.plan(batch, Phase::training);
    const auto rows = [&](const std::vector<float>& all) {
      const auto width = static_cast<std::ptrdiff_t>(all.size() / 8);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row) * width;
      return std::vector<float>(begin, begin + batch * width);
    };
    const Result part = step(instance, plan, rows(x), rows(dy));
    outputs.insert(outputs.end(), part.output.begin(), part.output.end());
    input_gradients.insert(input_gradients.end(), part.input_gradient.begin(),
                           part.input_gradient.end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part.gradients[i];
    row += static_cast<std::size_t>(batch);
  }
  EXPECT_TRUE(compare(outputs, expected.output, {1e-6, 1e-5}, "outputs"));
  EXPECT_TRUE(compare(input_gradients, expected.input_gradient, {1e-6, 1e-5}, "input gradients"));
  EXPECT_TRUE(compare(sum, expected.gradients, {1e-5, 1e-5}, "gradients"));
}

TEST_P(Plans, TakeAnEmptyBatch) {
  Instance instance(kSample, row_wise(), stream());
  Plan plan = instance.plan(0, Phase::training);
  EXPECT_NO_THROW(plan.forward(stream()));
  EXPECT_EQ(plan.output().shape, Shape({0, 4}));
  plan.backward(GradientMode::overwrite, stream(), true);
  EXPECT_EQ(instance.gradients(),
            std::vector<float>(static_cast<std::size_t>(instance.net.parameter_count()), 0.0f));
  plan.backward(GradientMode::accumulate, stream());
  EXPECT_NO_THROW(instance.plan(0, Phase::inference).forward(stream()));
  EXPECT_THROW(instance.plan(-1, Phase::inference), Error);
}

TEST_P(Plans, AccumulateGradients) {
  Instance instance(kSample, everything(), stream());
  Plan plan = instance.plan(5, Phase::training);
  const std::vector<float> x = random_floats(5 * kPixels, 51), dy = random_floats(20, 52);
  const Result once = step(instance, plan, x, dy);
  fill(plan.output_gradient(), dy, stream());
  plan.backward(GradientMode::accumulate, stream());
  std::vector<double> twice;
  for (const float value : once.gradients) twice.push_back(2.0 * value);
  EXPECT_TRUE(compare(instance.gradients(), twice, {1e-5, 1e-5}));
}

TEST_P(Plans, SkippingTheInputGradientChangesNoOther) {
  // Starts with layers without parameters, whose backward is skipped too.
  const auto layers = [] {
    return stack(avg_pool2d("pool", Window::square(2, 2)), tanh("t"), flatten("f"),
                 linear("fc", 32, 4));
  };
  Instance instance(kSample, layers(), stream());
  Plan plan = instance.plan(3, Phase::training);
  const std::vector<float> dy = random_floats(12, 52);
  const Result whole = step(instance, plan, random_floats(3 * kPixels, 51), dy);
  fill(plan.output_gradient(), dy, stream());
  plan.backward(GradientMode::overwrite, stream());
  EXPECT_EQ(instance.gradients(), whole.gradients);
}

TEST_P(Plans, SkipTheInputGradientOfAFirstBatchNorm) {
  Instance instance({3, 4, 4}, stack(batch_norm2d("bn", 3), flatten("f"), linear("fc", 48, 4)),
                    stream());
  Plan plan = instance.plan(3, Phase::training);
  const std::vector<float> dy = random_floats(12, 52);
  const Result whole = step(instance, plan, random_floats(3 * 48, 51), dy);
  fill(plan.output_gradient(), dy, stream());
  plan.backward(GradientMode::overwrite, stream());
  EXPECT_EQ(instance.gradients(), whole.gradients);
}

TEST_P(Plans, DropOutOnlyInTraining) {
  const auto with = [] {
    return stack(linear("fc1", 128, 64), relu("r"), dropout("d", 0.5f, Instance::kSeed, 2, 0),
                 linear("fc2", 64, 4));
  };
  const auto without = [] {
    return stack(linear("fc1", 128, 64), relu("r"), linear("fc2", 64, 4));
  };
  Instance a({128}, with(), stream()), b({128}, without(), stream());
  Plan inference = a.plan(2, Phase::inference), plain = b.plan(2, Phase::inference);
  Plan training = a.plan(2, Phase::training);
  const std::vector<float> x = random_floats(256, 61);
  EXPECT_EQ(forward(inference, x), forward(plain, x));
  const std::vector<float> step0 = forward(training, x);
  EXPECT_NE(step0, forward(plain, x));
  EXPECT_EQ(step0, forward(training, x));
  copy_from_host(a.step.view<std::int64_t>(), std::vector<std::int64_t>{1}, stream());
  EXPECT_NE(step0, forward(training, x));
}

TEST_P(Plans, BatchNormUpdatesAndThenUsesRunningStatistics) {
  Instance instance({2, 3, 3}, stack(batch_norm2d("bn", 2)), stream());
  Plan training = instance.plan(4, Phase::training), inference = instance.plan(4, Phase::inference);
  const std::vector<float> x = random_floats(72, 62, -1, 3);
  forward(training, x);
  std::vector<double> buffers(4), expected(72);
  const std::vector<float> p = instance.parameters();
  for (std::size_t c = 0; c < 2; ++c) {
    double mean = 0, variance = 0;
    const auto visit = [&](auto f) {
      for (std::size_t i = 0; i < 72; ++i) {
        if (i / 9 % 2 == c) f(i);
      }
    };
    visit([&](std::size_t i) { mean += x[i] / 36.0; });
    visit([&](std::size_t i) { variance += (x[i] - mean) * (x[i] - mean) / 35.0; });  // unbiased
    buffers[c] = 0.1 * mean;
    buffers[2 + c] = 0.9 + 0.1 * variance;
    visit([&](std::size_t i) {
      expected[i] = p[c] * (x[i] - buffers[c]) / std::sqrt(buffers[2 + c] + 1e-5) + p[2 + c];
    });
  }
  EXPECT_TRUE(compare(to_host(instance.weights.buffers.view<float>(), stream()), buffers,
                      {1e-6, 1e-5}, "running statistics"));
  EXPECT_TRUE(compare(forward(inference, x), expected, {1e-5, 1e-5}, "inference"));
}

TEST_P(Plans, ShowEveryLayersOutput) {
  Instance instance(kSample, row_wise(), stream());
  Plan plan = instance.plan(3, Phase::training);
  const std::vector<float> x = random_floats(3 * kPixels, 63);
  const std::vector<float> output = forward(plan, x);
  // Convolution and pooling are one call: the map between them is not stored.
  const Shape expected[] = {{3, 4, 3, 3}, {3, 4, 3, 3}, {3, 4, 3, 3}, {3, 36},
                            {3, 12},      {3, 12},      {3, 4}};
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(plan.activation(i).shape, expected[i]) << i;
    for (const float value : to_host(plan.activation(i), stream())) {
      EXPECT_TRUE(std::isfinite(value)) << i;
    }
  }
  EXPECT_EQ(to_host(plan.activation(6), stream()), output);
  EXPECT_EQ(to_host(plan.activation(3), stream()), to_host(plan.activation(2), stream()));
  EXPECT_THROW(plan.activation(7), Error);
}

// The network cut off behind a layer gives what the whole one shows of that layer.
TEST_P(Plans, ShowEveryLayersOwnOutputInInferenceWithoutFusion) {
  Instance instance(kSample, everything(), stream());
  Plan plan = instance.plan(3, Phase::inference, {.fuse = false});
  const std::vector<float> x = random_floats(3 * kPixels, 63);
  const std::vector<float> output = forward(plan, x);
  const auto shown = [&](std::size_t layer) { return to_host(plan.activation(layer), stream()); };
  const std::size_t count = instance.net.layers().size();
  bool in_block = false;  // which is a network from its last layer on
  for (std::size_t i = 0; i < count; ++i) {
    const layers::Junction junction = instance.net.layers()[i]->traits().junction;
    if (junction != layers::Junction::none) in_block = junction != layers::Junction::add;
    if (in_block) continue;
    std::vector<ReferenceLayer> head = everything();
    head.erase(head.begin() + static_cast<std::ptrdiff_t>(i) + 1, head.end());
    Instance first(kSample, std::move(head), stream());
    std::vector<float> parameters = instance.parameters();
    parameters.resize(static_cast<std::size_t>(first.net.parameter_count()));
    first.set_parameters(parameters);
    Plan fused = first.plan(3, Phase::inference);
    EXPECT_TRUE(compare(shown(i), forward(fused, x), {1e-5, 1e-5}, str("layer ", i)));
  }
  EXPECT_EQ(shown(count - 1), output);
  EXPECT_EQ(forward(plan, x), output);
  EXPECT_THROW(plan.activation(count), Error);
}

TEST_P(Plans, SurviveMoves) {
  Instance instance(kSample, everything(), stream());
  Plan plan = instance.plan(5, Phase::training);
  const std::vector<float> x = random_floats(5 * kPixels, 51), dy = random_floats(20, 52);
  const Result expected = step(instance, plan, x, dy);
  std::vector<Plan> plans;
  plans.push_back(std::move(plan));
  plans.push_back(instance.plan(2, Phase::training));
  EXPECT_EQ(step(instance, plans[0], x, dy), expected);
}

TEST_P(Plans, RefuseTrainingCallsInInference) {
  Instance instance(kSample, row_wise(), stream());
  Plan plan = instance.plan(2, Phase::inference);
  EXPECT_THROW(plan.output_gradient(), Error);
  EXPECT_THROW(plan.input_gradient(), Error);
  EXPECT_THROW(plan.activation(0), Error);
  EXPECT_THROW(plan.backward(GradientMode::overwrite, stream()), Error);
}

TEST_P(Plans, RefuseBatchesThatNoMemoryHolds) {
  Instance instance({4}, stack(linear("fc", 4, 4)), stream());
  EXPECT_THROW(instance.plan(std::int64_t{1} << 60, Phase::inference), Error);
  EXPECT_THROW(instance.plan(std::int64_t{1} << 62, Phase::inference), Error);
}

TEST_P(Plans, RefuseWeightsOfAnotherNetwork) {
  Instance a({4}, stack(linear("fc", 4, 4)), stream());
  Instance b({4}, stack(linear("fc", 4, 5)), stream());
  EXPECT_THROW(Plan(a.net, b.weights, 1, Phase::inference, {}, 0, nullptr, stream()), Error);
}

WEFT_ON_EACH_DEVICE(Plans);

}  // namespace
}  // namespace weft::test
