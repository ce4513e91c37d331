// SPDX-License-Identifier: MIT
// The forward and backward passes of every layer, and of small networks, against an independent
// double implementation and its central differences. The loss is <r, y> with random r: a sum over
// y would hide errors (the gradient of the sum of a softmax is 0).
#include "layers/losses/softmax_cross_entropy.h"
#include "tests/layers/instance.h"
#include "tests/support/compare.h"
#include "tests/support/device_test.h"
#include "tests/support/small.h"

namespace weft::test {
namespace {

using layers::Window;

class Gradients : public DeviceTest {
 protected:
  // `bound` covers float rounding of values of order 1 through a few layers; the differences
  // themselves are exact to about 1e-10.
  void check(const Shape& sample, std::vector<ReferenceLayer> layers, std::vector<float> x,
             std::int64_t batch, const Bound& bound = {2e-5, 2e-5},
             const layers::KernelChoice& kernels = {}) {
    Instance instance(sample, std::move(layers), stream());
    Plan plan = instance.plan(batch, Phase::training, kernels);
    const Values x_values(instance.net.input_shape(batch), to_double(x));
    const std::vector<double> parameters = to_double(instance.parameters());

    fill(plan.input(), x, stream());
    plan.forward(stream());
    const Values y = instance.reference(x_values, parameters);
    ASSERT_EQ(plan.output().shape, y.shape);
    EXPECT_TRUE(compare(to_host(plan.output(), stream()), y.data, bound, "output"));

    const std::vector<float> r = random_floats(y.shape.elements(), 5);
    fill(plan.output_gradient(), r, stream());
    plan.backward(GradientMode::overwrite, stream(), true);
    const auto loss = [&](const Values& input, const std::vector<double>& theta) {
      const Values out = instance.reference(input, theta);
      double sum = 0;
      for (std::size_t i = 0; i < r.size(); ++i) sum += r[i] * out.data[i];
      return sum;
    };
    const std::vector<double> dx = central_differences(
        [&](std::vector<double>& v) { return loss(Values(x_values.shape, v), parameters); },
        x_values.data);
    EXPECT_TRUE(compare(to_host(plan.input_gradient(), stream()), dx, bound, "input gradient"));
    if (parameters.empty()) return;
    const std::vector<double> dp =
        central_differences([&](std::vector<double>& v) { return loss(x_values, v); }, parameters);
    EXPECT_TRUE(compare(instance.gradients(), dp, bound, "parameter gradients"));
  }

  void check_layer(const Shape& sample, ReferenceLayer layer, std::int64_t batch = 3) {
    const std::int64_t elements = sample.elements() * batch;
    check(sample, stack(std::move(layer)), random_off_zero(elements, 3), batch);
  }
};

// Values that are all different by at least 2/n, in a scrambled order: no ties for a maximum.
std::vector<float> distinct_floats(std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i)] =
        2 * static_cast<float>(permuted_index(i, n, 9)) / static_cast<float>(n) - 1;
  }
  return values;
}

TEST_P(Gradients, Linear) {
  check_layer({7}, linear("fc", 7, 5));
  check_layer({1}, linear("fc", 1, 1), 1);
  check_layer({33}, linear("fc", 33, 17), 31);
}

TEST_P(Gradients, Conv2d) {
  check_layer({1, 5, 5}, conv2d("conv", 1, 2, Window::square(3)));
  check_layer({3, 6, 5}, conv2d("conv", 3, 4, Window::square(3, 1, 1)));
  check_layer({2, 7, 9}, conv2d("conv", 2, 3, {3, 2, 2, 3, 1, 0}));
  check_layer({2, 4, 4}, conv2d("conv", 2, 3, Window::square(1)));
  check_layer({1, 5, 5}, conv2d("conv", 1, 2, Window::square(5)), 1);
}

TEST_P(Gradients, GroupedConv2d) {
  const Window same = Window::square(3, 1, 1);
  check_layer({4, 5, 6}, grouped_conv2d("conv", 4, 4, {.window = same, .groups = 4}));
  check_layer({4, 5, 6}, grouped_conv2d("conv", 4, 6, {{3, 2, 2, 1, 1, 0}, 2, 1, 1, false}));
  check_layer({2, 7, 8}, grouped_conv2d("conv", 2, 3, {Window::square(3, 1, 2), 1, 2, 3}));
  // Depthwise and pointwise layers with their ReLUs, as in MobileNets.
  for (const bool fuse : {true, false}) {
    check(
        {2, 6, 6},
        stack(conv2d("c1", 2, 4, same), relu("r1"),
              grouped_conv2d("c2", 4, 4, {.window = same, .groups = 4}), relu("r2"),
              conv2d("c3", 4, 3, Window::square(1)), relu("r3"), flatten("f"), linear("l", 108, 3)),
        random_floats(2 * 72, 23), 2, {2e-5, 2e-5}, {.fuse = fuse});
  }
}

TEST_P(Gradients, MaxPool2d) {
  check({2, 6, 6}, stack(max_pool2d("pool", Window::square(2, 2))), distinct_floats(3 * 72), 3);
  check({1, 7, 5}, stack(max_pool2d("pool", Window::square(3, 2, 1))), distinct_floats(70), 2);
  check({2, 5, 5}, stack(max_pool2d("pool", {3, 2, 1, 2, 0, 1})), distinct_floats(50), 1);
}

TEST_P(Gradients, AvgPool2d) {
  check_layer({2, 6, 6}, avg_pool2d("pool", Window::square(2, 2)));
  check_layer({1, 7, 5}, avg_pool2d("pool", Window::square(3, 2, 1)));
  check_layer({2, 5, 5}, avg_pool2d("pool", {3, 2, 1, 2, 0, 1}));
}

TEST_P(Gradients, PoolingOfOneSidedPaddingAndOtherCounts) {
  const Window ceil{.kernel_h = 3,
                    .kernel_w = 3,
                    .stride_h = 2,
                    .stride_w = 2,
                    .pad_h = 1,
                    .pad_w = 1,
                    .ceil = true};
  const Window behind{
      .kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .more_h = 1, .more_w = 1};
  check({2, 6, 8}, stack(max_pool2d("pool", ceil)), distinct_floats(192), 2);
  check({1, 6, 7}, stack(max_pool2d("pool", behind)), distinct_floats(84), 2);
  for (const bool counts : {true, false}) {
    check_layer({2, 6, 8}, avg_pool2d("pool", ceil, counts));
    check_layer({1, 6, 7}, avg_pool2d("pool", behind, counts));
    check_layer({1, 4, 5}, avg_pool2d("pool", Window::square(3, 1, 1), counts));
  }
}

TEST_P(Gradients, Activations) {
  check_layer({13}, relu("relu"));
  check_layer({13}, sigmoid("sigmoid"));
  check_layer({2, 3, 3}, tanh("tanh"));
}

TEST_P(Gradients, ActivationsOfNetworks) {
  check_layer({13}, leaky_relu("leaky_relu"));
  check_layer({13}, elu("elu"));
  check_layer({2, 3, 3}, silu("silu"));
  check_layer({13}, gelu("gelu", false));
  check_layer({13}, gelu("gelu", true));
  check_layer({3, 2, 2}, hard_swish("hard_swish"));
  check_layer({13}, hard_sigmoid("hard_sigmoid"));
  check_layer({13}, relu6("relu6"));
  check_layer({13}, clip("clip"));
}

TEST_P(Gradients, PReLU) {
  check_layer({3, 4, 5}, prelu("prelu", {3}));
  check_layer({7}, prelu("prelu", {7}));
  check_layer({3, 2, 2}, prelu("prelu", {1}));
  check_layer({3, 2, 4}, prelu("prelu", {3, 2, 4}));
}

// Backward of some reads x, and of others y: neither may be overwritten before.
TEST_P(Gradients, ActivationsBehindEachOther) {
  for (const bool fuse : {true, false}) {
    const layers::KernelChoice kernels{.fuse = fuse};
    check({2, 4, 4},
          stack(conv2d("c1", 2, 3, Window::square(3)), silu("a1"), tanh("a2"), gelu("a3", false),
                prelu("a4", {3}), elu("a5"), flatten("f"), linear("l1", 12, 6), hard_swish("a6"),
                sigmoid("a7"), linear("l2", 6, 4), silu("a8")),
          random_floats(3 * 32, 22), 3, {2e-5, 2e-5}, kernels);
  }
}

TEST_P(Gradients, Dropout) {
  check_layer({37}, dropout("dropout", 0.4f, Instance::kSeed, 0, 0));
}

TEST_P(Gradients, BatchNorm2d) {
  check_layer({3, 4, 5}, batch_norm2d("bn", 3), 4);
  check_layer({2, 3, 3}, batch_norm2d("bn", 2), 1);
  check_layer({7}, batch_norm2d("bn", 7), 5);
}

TEST_P(Gradients, GroupAndLayerNorm) {
  check_layer({6, 4, 5}, group_norm("gn", 6, 2, 20));
  check_layer({3, 3, 3}, group_norm("gn", 3, 3, 9), 1);
  check_layer({4, 17, 19}, group_norm("gn", 4, 1, 323), 2);
  check_layer({9}, layer_norm("ln", {9}, 1e-3f), 4);
  check_layer({2, 3, 4}, layer_norm("ln", {2, 3, 4}, 1e-5f));
}

TEST_P(Gradients, Softmax) {
  check_layer({5}, softmax("softmax"));
  check_layer({3, 7}, softmax("softmax"));
}

TEST_P(Gradients, Flatten) {
  check_layer({2, 3, 3}, flatten("flatten"));
}

TEST_P(Gradients, FusedReLU) {
  for (const bool fuse : {true, false}) {
    const layers::KernelChoice kernels{.fuse = fuse};
    check({2, 6, 6},
          stack(conv2d("conv", 2, 3, Window::square(3)), relu("relu1"), flatten("flat"),
                linear("fc", 48, 6), relu("relu2")),
          random_floats(3 * 72, 21), 3, {2e-5, 2e-5}, kernels);
    check({2, 6, 6},
          stack(conv2d("conv1", 2, 3, Window::square(3)), relu("relu1"),
                conv2d("conv2", 3, 2, Window::square(3)), relu("relu2"), flatten("flat"),
                linear("fc1", 8, 6), relu("relu3"), linear("fc2", 6, 5), relu("relu4"),
                linear("fc3", 5, 3)),
          random_floats(3 * 72, 28), 3, {2e-5, 2e-5}, kernels);
  }
}

// Convolution, ReLU and pooling as one call and apart, behind a ReLU and in front of one.
TEST_P(Gradients, FusedPooling) {
  const std::string any_shape = device().is_cpu() ? "staged_images" : "gather";
  for (const bool fuse : {true, false}) {
    const layers::KernelChoice kernels{.conv_relu_pool = any_shape, .fuse = fuse};
    check({2, 9, 9},
          stack(conv2d("conv1", 2, 3, Window::square(3, 1, 1)), relu("relu1"),
                conv2d("conv2", 3, 4, Window::square(3)), relu("relu2"),
                max_pool2d("pool2", Window::square(2, 2)), conv2d("conv3", 4, 5, Window::square(2)),
                relu("relu3"), max_pool2d("pool3", Window::square(2, 2)), flatten("flat"),
                linear("fc", 5, 3)),
          random_floats(3 * 162, 29), 3, {2e-5, 2e-5}, kernels);
  }
}

TEST_P(Gradients, InPlaceLayersLeaveWhatBackwardNeeds) {
  check({6},
        stack(linear("fc1", 6, 9), tanh("t"), sigmoid("s"), tanh("t2"), linear("fc2", 9, 4),
              relu("r"), sigmoid("s2"), dropout("d", 0.3f, Instance::kSeed, 7, 0), tanh("t3"),
              softmax("p"), sigmoid("s3")),
        random_floats(18, 22), 3);
}

TEST_P(Gradients, BatchNormBetweenConvolutionAndReLU) {
  check({1, 8, 8},
        stack(conv2d("conv1", 1, 3, Window::square(3, 1, 1)), batch_norm2d("bn", 3), relu("r1"),
              max_pool2d("pool", Window::square(2, 2)), conv2d("conv2", 3, 2, Window::square(3)),
              sigmoid("s"), avg_pool2d("avg", Window::square(2)), flatten("flat"),
              linear("fc", 2, 3)),
        random_floats(4 * 64, 23), 4, {1e-4, 1e-4});
}

// Blocks in every arrangement that a plan treats in its own way. What goes two ways is read twice
// and its gradient is a sum; layers that run in place, ReLUs in epilogues, their masks and branches
// stand at each end of a way.
TEST_P(Gradients, ResidualBlocks) {
  const Window same = Window::square(3, 1, 1);
  for (const bool fuse : {true, false}) {
    SCOPED_TRACE(fuse ? "fused" : "apart");
    const auto check_block = [&](const Shape& sample, std::vector<ReferenceLayer> layers,
                                 std::uint32_t seed, const Bound& bound = {4e-5, 4e-5}) {
      SCOPED_TRACE(seed);
      check(sample, std::move(layers), random_floats(3 * sample.elements(), seed), 3, bound,
            {.fuse = fuse});
    };
    // The shortcut is the block's input, which a ReLU in an epilogue made.
    check_block({2, 5, 5},
                stack(conv2d("c1", 2, 3, same), relu("r1"), fork("f"), conv2d("c2", 3, 3, same),
                      relu("r2"), add("a"), conv2d("c3", 3, 2, same)),
                41);
    // The first and the last layer of both ways run in place.
    check_block({6},
                stack(linear("l1", 6, 7), fork("f"), tanh("t1"), linear("l2", 7, 7), sigmoid("s1"),
                      shortcut("s"), sigmoid("s2"), linear("l3", 7, 7), tanh("t2"), add("a"),
                      tanh("t3"), linear("l4", 7, 3)),
                42);
    // The shortcut could run in place on what the block's first layer needs for its weights.
    check_block({6},
                stack(linear("l1", 6, 7), fork("f"), linear("l2", 7, 7), shortcut("s"), tanh("t"),
                      add("a"), linear("l3", 7, 3)),
                49);
    // Products whose weight gradients run on a branch, with ReLUs between them.
    check_block({6},
                stack(linear("l1", 6, 7), relu("r1"), fork("f"), linear("l2", 7, 9), relu("r2"),
                      linear("l3", 9, 5), relu("r3"), shortcut("s"), linear("l4", 7, 5), relu("r4"),
                      add("a"), relu("r5"), linear("l5", 5, 3)),
                43);
    // A block of one layer that has no parameters, at the network's input and at its output.
    check_block({7}, stack(fork("f"), sigmoid("s"), add("a")), 44);
    check_block({7}, stack(fork("f"), add("a")), 45);
    check_block({7}, stack(fork("f"), flatten("x"), shortcut("s"), tanh("t"), add("a")), 46);
    // Blocks in a block, in both of its ways, and one behind another.
    check_block({5},
                stack(fork("f1"), linear("l1", 5, 4), fork("f2"), fork("f3"), tanh("t1"), add("a3"),
                      linear("l2", 4, 4), add("a2"), shortcut("s1"), linear("l3", 5, 4), fork("f4"),
                      sigmoid("s2"), shortcut("s4"), linear("l4", 4, 4), add("a4"), add("a1"),
                      fork("f5"), tanh("t2"), add("a5")),
                47);
    // As in a residual network of images, with batch norm and a projection of half the size.
    check_block(
        {2, 6, 6},
        stack(conv2d("c1", 2, 3, same), batch_norm2d("b1", 3), tanh("t1"), fork("f1"),
              conv2d("c2", 3, 4, Window::square(3, 2, 1)), batch_norm2d("b2", 4), tanh("t2"),
              conv2d("c3", 4, 4, same), batch_norm2d("b3", 4), shortcut("s1"),
              conv2d("c4", 3, 4, Window::square(1, 2)), batch_norm2d("b4", 4), add("a1"),
              tanh("t3"), avg_pool2d("p", Window::square(3, 3)), flatten("x"), linear("l", 4, 3)),
        48, {2e-4, 2e-4});
  }
}

// Each way gets a gradient of its own from a Concat, and a way without layers is the block's input.
TEST_P(Gradients, ConcatenatedBranches) {
  const Window same = Window::square(3, 1, 1);
  for (const bool fuse : {true, false}) {
    SCOPED_TRACE(fuse ? "fused" : "apart");
    const auto check_block = [&](const Shape& sample, std::vector<ReferenceLayer> layers,
                                 std::uint32_t seed) {
      SCOPED_TRACE(seed);
      check(sample, std::move(layers), random_floats(3 * sample.elements(), seed), 3, {4e-5, 4e-5},
            {.fuse = fuse});
    };
    // Three branches with ReLUs in epilogues at both ends, as in an Inception module.
    check_block({2, 5, 5},
                stack(conv2d("c1", 2, 3, same), relu("r1"), fork("f1"), conv2d("c2", 3, 2, same),
                      relu("r2"), shortcut("s1"), fork("f2"), conv2d("c3", 3, 4, Window::square(1)),
                      relu("r3"), shortcut("s2"), avg_pool2d("p", same), concat("k2", 4, 3),
                      concat("k1", 2, 7), relu("r4"), conv2d("c4", 9, 2, same)),
                61);
    // As in a DenseNet: the input in front of what is made of it, twice; then behind it.
    check_block({2, 4, 3},
                stack(fork("f1"), shortcut("s1"), conv2d("c1", 2, 3, same), concat("k1", 2, 3),
                      fork("f2"), shortcut("s2"), tanh("t"), conv2d("c2", 5, 1, same),
                      concat("k2", 5, 1), fork("f3"), conv2d("c3", 6, 2, same), concat("k3", 2, 6)),
                62);
    // Rows, layers that run in place, both ways empty, and blocks of both kinds in each other.
    check_block({5},
                stack(fork("f1"), tanh("t1"), shortcut("s1"), fork("f2"), sigmoid("t2"), add("a1"),
                      concat("k1", 5, 5), fork("f3"), shortcut("s3"), concat("k2", 10, 10),
                      linear("l1", 20, 4), fork("f4"), fork("f5"), linear("l2", 4, 4), relu("r"),
                      linear("l3", 4, 1), shortcut("s5"), linear("l4", 4, 3), concat("k3", 1, 3),
                      add("a2"), tanh("t3")),
                63);
  }
}

TEST_P(Gradients, Pad2d) {
  using kernels::PadMode;
  for (const PadMode mode : {PadMode::zero, PadMode::reflect, PadMode::edge}) {
    SCOPED_TRACE(static_cast<int>(mode));
    check_layer({2, 4, 5}, pad2d("pad", {1, 2, 3, 4, mode}));
    check_layer({1, 4, 5}, pad2d("pad", {0, 4, 3, 0, mode}));
    check_layer({3, 2, 2}, pad2d("pad", {0, 0, 0, 0, mode}));
    check({2, 5, 5},
          stack(conv2d("c1", 2, 3, Window::square(2)), relu("r"), pad2d("pad", {1, 0, 1, 2, mode}),
                conv2d("c2", 3, 2, Window::square(3))),
          random_floats(3 * 50, 64), 3);
  }
  check_layer({2, 1, 3}, pad2d("pad", {2, 1, 1, 0, PadMode::edge}));
}

TEST_P(Gradients, GlobalAveragePooling) {
  check_layer({3, 5, 4}, avg_pool2d("pool", {5, 4, 5, 4, 0, 0}));
  check_layer({17, 1, 1}, avg_pool2d("pool", {1, 1, 1, 1, 0, 0}));
}

// Smooth, so that the rounding of a reduced precision cannot move a value across a kink.
TEST_P(Gradients, EveryKernelChoice) {
  using kernels::ComputeMode;
  const auto check_choice = [&](const std::string& name, const layers::KernelChoice& kernels) {
    // Operands are rounded to 2^-11 (tf32) or 2^-8 (bf16) of their size, sums have up to 96 terms.
    const double tolerance = kernels.mode == ComputeMode::fp32   ? 2e-5
                             : kernels.mode == ComputeMode::tf32 ? 1e-2
                                                                 : 8e-2;
    SCOPED_TRACE(name);
    check({3, 6, 6},
          stack(conv2d("conv", 3, 6, Window::square(3, 1, 0)), tanh("t"), flatten("f"),
                linear("fc", 96, 9)),
          random_floats(4 * 108, 24), 4, {tolerance, tolerance}, kernels);
  };
  check_choice("tf32", {.mode = ComputeMode::tf32});
  check_choice("bf16", {.mode = ComputeMode::bf16});
  if (small_tests()) return;  // the tests of the kernels have each variant
  // The layer of check_choice(), in each pass that training asks for.
  const kernels::ConvDims conv{.n = 4, .c = 3, .h = 6, .w = 6, .oc = 6, .kh = 3, .kw = 3};
  for (const kernels::Rung& rung : kernels::conv_rungs()) {
    using enum kernels::ConvPass;
    const auto takes = [&](kernels::ConvPass pass) {
      return kernels::conv_takes(rung.name, {pass, conv, ComputeMode::fp32}, device());
    };
    if (!takes(forward) || !takes(backward_data) || !takes(backward_weights)) continue;
    check_choice(str("conv ", rung.name), {.conv = std::string(rung.name)});
  }
  for (const kernels::Rung& rung : kernels::gemm_rungs()) {
    const auto mode = rung.arithmetic.fp32 ? ComputeMode::fp32 : ComputeMode::tf32;
    const auto takes = [&](const kernels::GemmDims& dims) {
      return kernels::gemm_takes(rung.name, {dims, kernels::GemmStorage::fp32, mode}, device());
    };
    if (!takes({4, 9, 96, false, true}) || !takes({4, 96, 9}) || !takes({9, 96, 4, true})) continue;
    check_choice(str("gemm ", rung.name), {.mode = mode, .gemm = std::string(rung.name)});
  }
}

TEST_P(Gradients, ClassifierWithCrossEntropy) {
  const std::int64_t batch = 5, classes = 4;
  const Shape sample{1, 8, 8};
  Instance instance(sample,
                    stack(conv2d("conv", 1, 3, Window::square(3)), relu("r1"),
                          max_pool2d("pool", Window::square(2, 2)), flatten("flat"),
                          linear("fc1", 27, 12), relu("r2"), linear("fc2", 12, classes)),
                    stream());
  const std::vector<float> x = random_floats(batch * 64, 31);
  const std::vector<std::int32_t> labels{3, 0, 1, 1, 2};
  Tensor device_labels = tensor_from_host<std::int32_t>({batch}, labels, stream());
  Plan plan = instance.plan(batch, Phase::training);
  fill(plan.input(), x, stream());
  plan.forward(stream());
  layers::softmax_cross_entropy({.loss = {}, .gradient = plan.output_gradient(), .prediction = {}},
                                plan.output(), device_labels.view<std::int32_t>(),
                                1.0f / static_cast<float>(batch), stream());
  plan.backward(GradientMode::overwrite, stream());

  const Values input(instance.net.input_shape(batch), to_double(x));
  const std::vector<double> expected = central_differences(
      [&](std::vector<double>& p) { return cross_entropy(instance.reference(input, p), labels); },
      to_double(instance.parameters()));
  EXPECT_TRUE(compare(instance.gradients(), expected, {5e-6, 5e-5}, "parameter gradients"));
}

WEFT_ON_EACH_DEVICE(Gradients);

}  // namespace
}  // namespace weft::test
