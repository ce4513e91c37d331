// SPDX-License-Identifier: MIT
// The built-in networks: size, shape, the same function as a double network written down here
// again, gradients along random directions, and the ability to learn.
#include "models/networks/networks.h"

#include <set>

#include "kernels/optimizer/optimizer.h"
#include "layers/losses/softmax_cross_entropy.h"
#include "tests/layers/instance.h"
#include "tests/support/compare.h"
#include "tests/support/device_test.h"

namespace weft::test {
namespace {

using layers::Window;
using models::make_network;
using models::NetworkOptions;

// resnet9 is for colour; the images are as small as its double network is fast.
Shape sample_of(const std::string& name) {
  return name == "resnet9" ? Shape{3, 16, 16} : Shape{1, 28, 28};
}

std::unique_ptr<layers::Sequential> network(const std::string& name) {
  NetworkOptions options;
  options.name = name;
  const Shape sample = sample_of(name);
  options.channels = sample[0];
  options.height = sample[1];
  options.width = sample[2];
  return make_network(options);
}

// A convolution without bias, batch norm and ReLU; `number` is that of their names.
void add_stage(std::vector<ReferenceLayer>& list, int number, std::int64_t in, std::int64_t out,
               const Window& window = Window::square(3, 1, 1)) {
  const std::string suffix = std::to_string(number);
  list.push_back(conv2d(("conv" + suffix).c_str(), in, out, window, false));
  list.push_back(batch_norm2d(("bn" + suffix).c_str(), out));
  list.push_back(relu(("relu" + suffix).c_str()));
}

// A convolution of each channel by itself with batch norm, and a stage of single pixels behind it.
void add_separable(std::vector<ReferenceLayer>& list, int number, std::int64_t in, std::int64_t out,
                   std::int64_t side) {
  const std::string suffix = std::to_string(number);
  list.push_back(
      grouped_conv2d(("conv" + suffix).c_str(), in, in,
                     {.window = Window::square(side, 1, side / 2), .groups = in, .bias = false}));
  list.push_back(batch_norm2d(("bn" + suffix).c_str(), in));
  add_stage(list, number + 1, in, out, Window::square(1));
}

// `in` is of the layer behind the last stage.
void add_classes(std::vector<ReferenceLayer>& list, std::int64_t side, std::int64_t in) {
  list.push_back(max_pool2d("pool", Window::square(side, side)));  // all of the plane
  list.push_back(flatten("flatten"));
  list.push_back(linear("fc1", in, 10));
}

std::vector<ReferenceLayer> written_down_small_98() {
  std::vector<ReferenceLayer> list;
  const auto halve = [&](const char* name) {
    list.push_back(max_pool2d(name, Window::square(2, 2)));
  };
  add_stage(list, 1, 1, 8);
  halve("pool1");
  add_separable(list, 2, 8, 11, 3);
  halve("pool2");
  add_separable(list, 4, 11, 12, 5);
  halve("pool3");
  add_classes(list, 3, 12);
  return list;
}

std::vector<ReferenceLayer> written_down_small_99() {
  std::vector<ReferenceLayer> list;
  add_stage(list, 1, 1, 12, Window::square(5, 2, 2));
  add_separable(list, 2, 12, 17, 3);
  add_separable(list, 4, 17, 23, 3);
  list.push_back(max_pool2d("pool1", Window::square(2, 2)));
  add_separable(list, 6, 23, 25, 3);
  add_classes(list, 7, 25);
  return list;
}

std::vector<ReferenceLayer> written_down_resnet9() {
  std::vector<ReferenceLayer> list;
  const auto halve = [&](const char* name) {
    list.push_back(max_pool2d(name, Window::square(2, 2)));
  };
  const auto block = [&](const char* first, const char* last, int number, std::int64_t channels) {
    list.push_back(fork(first));
    add_stage(list, number, channels, channels);
    add_stage(list, number + 1, channels, channels);
    list.push_back(add(last));
  };
  add_stage(list, 1, 3, 64);
  add_stage(list, 2, 64, 128);
  halve("pool1");
  block("fork1", "add1", 3, 128);
  add_stage(list, 5, 128, 256);
  halve("pool2");
  add_stage(list, 6, 256, 512);
  halve("pool3");
  block("fork2", "add2", 7, 512);
  halve("pool4");  // all of the plane
  list.push_back(flatten("flatten"));
  list.push_back(linear("fc1", 512, 10, false));
  return list;
}

// The double network that `name` should be.
std::vector<ReferenceLayer> written_down(const std::string& name) {
  const auto pool = [](const char* label) { return max_pool2d(label, Window::square(2, 2)); };
  const auto mean = [](const char* label) { return avg_pool2d(label, Window::square(2, 2)); };
  if (name == "mlp") {
    return stack(flatten("f"), linear("fc1", 784, 512), relu("r1"), linear("fc2", 512, 512),
                 relu("r2"), linear("fc3", 512, 10));
  }
  if (name == "lenet5") {
    return stack(conv2d("conv1", 1, 6, Window::square(5, 1, 2)), relu("r1"), pool("p1"),
                 conv2d("conv2", 6, 16, Window::square(5)), relu("r2"), pool("p2"), flatten("f"),
                 linear("fc1", 400, 120), relu("r3"), linear("fc2", 120, 84), relu("r4"),
                 linear("fc3", 84, 10));
  }
  if (name == "lenet5-classic") {
    return stack(conv2d("conv1", 1, 6, Window::square(5, 1, 2)), sigmoid("r1"), mean("p1"),
                 conv2d("conv2", 6, 16, Window::square(5)), sigmoid("r2"), mean("p2"), flatten("f"),
                 linear("fc1", 400, 120), sigmoid("r3"), linear("fc2", 120, 84), sigmoid("r4"),
                 linear("fc3", 84, 10));
  }
  if (name == "resnet9") return written_down_resnet9();
  if (name == "small-98") return written_down_small_98();
  if (name == "small-99") return written_down_small_99();
  if (name == "convnet-bn") {
    const Window same = Window::square(3, 1, 1);
    return stack(conv2d("conv1", 1, 32, Window::square(5, 1, 2)), relu("r1"), pool("p1"),
                 batch_norm2d("bn1", 32), conv2d("conv2", 32, 64, same), relu("r2"),
                 batch_norm2d("bn2", 64), conv2d("conv3", 64, 64, same), relu("r3"), pool("p2"),
                 batch_norm2d("bn3", 64), conv2d("conv4", 64, 128, same), relu("r4"),
                 batch_norm2d("bn4", 128), conv2d("conv5", 128, 128, same), relu("r5"),
                 batch_norm2d("bn5", 128), max_pool2d("p3", Window::square(7, 7)), flatten("f"),
                 linear("fc1", 128, 10));
  }
  return stack(conv2d("conv1", 1, 32, Window::square(3)), relu("r1"),
               conv2d("conv2", 32, 64, Window::square(3)), relu("r2"), pool("p1"), flatten("f"),
               linear("fc1", 9216, 128), relu("r3"), linear("fc2", 128, 10));
}

TEST(Networks, HaveThePublishedParameterCounts) {
  EXPECT_EQ(network("mlp")->parameter_count(), 669706);
  EXPECT_EQ(network("lenet5")->parameter_count(), 61706);
  EXPECT_EQ(network("lenet5-classic")->parameter_count(), 61706);
  EXPECT_EQ(network("convnet")->parameter_count(), 1199882);
  EXPECT_EQ(network("convnet-bn")->parameter_count(), 279818);
  EXPECT_EQ(network("resnet9")->parameter_count(), 6573120);
  EXPECT_EQ(network("small-98")->parameter_count(), 869);
  EXPECT_EQ(network("small-99")->parameter_count(), 2456);
}

TEST(Networks, NameTheirTensorsAsPyTorchDoes) {
  const auto names = [](const std::string& name) {
    const auto net = network(name);
    std::string all;
    for (const layers::NamedSlice& slice : net->slices()) {
      all += slice.name + str(slice.shape) + " ";
    }
    return all;
  };
  EXPECT_EQ(names("mlp"),
            "fc1.weight(512, 784) fc1.bias(512,) fc2.weight(512, 512) fc2.bias(512,) "
            "fc3.weight(10, 512) fc3.bias(10,) ");
  EXPECT_EQ(names("lenet5"),
            "conv1.weight(6, 1, 5, 5) conv1.bias(6,) conv2.weight(16, 6, 5, 5) conv2.bias(16,) "
            "fc1.weight(120, 400) fc1.bias(120,) fc2.weight(84, 120) fc2.bias(84,) "
            "fc3.weight(10, 84) fc3.bias(10,) ");
  EXPECT_EQ(names("lenet5"), names("lenet5-classic"));
  EXPECT_EQ(names("convnet"),
            "conv1.weight(32, 1, 3, 3) conv1.bias(32,) conv2.weight(64, 32, 3, 3) "
            "conv2.bias(64,) fc1.weight(128, 9216) fc1.bias(128,) fc2.weight(10, 128) "
            "fc2.bias(10,) ");
}

TEST(Networks, AreAllListed) {
  ASSERT_EQ(models::networks().size(), 8u);
  for (const models::NetworkInfo& info : models::networks()) {
    EXPECT_FALSE(info.summary.empty());
    EXPECT_EQ(network(std::string(info.name))->output_shape(3), Shape({3, 10})) << info.name;
  }
}

TEST(Networks, FollowTheirOptions) {
  NetworkOptions options;
  options.name = "convnet";
  options.height = 20;
  options.width = 24;
  options.classes = 7;
  options.dropout = 0.5f;
  const auto net = make_network(options);
  EXPECT_EQ(net->output_shape(2), Shape({2, 7}));
  std::string dropouts;
  for (const auto& layer : net->layers()) {
    if (layer->type() == "Dropout") dropouts += layer->describe() + " ";
  }
  EXPECT_EQ(dropouts, "Dropout(0.25) Dropout(0.5) ");
}

std::string complaint(const NetworkOptions& options) {
  try {
    make_network(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(Networks, RefuseWhatCannotBe) {
  EXPECT_EQ(complaint({.name = "lenet"}), "unknown network 'lenet'; did you mean 'lenet5'?");
  EXPECT_EQ(complaint({.name = "resnet"}), "unknown network 'resnet'; did you mean 'resnet9'?");
  EXPECT_EQ(complaint({.name = "transformer"}),
            "unknown network 'transformer'; known: mlp, lenet5, lenet5-classic, convnet, "
            "convnet-bn, resnet9, small-98, small-99");
  EXPECT_NE(complaint({.name = "mlp", .channels = 0}), "");
  EXPECT_NE(complaint({.name = "mlp.net"}), "");  // it has no definition
  EXPECT_NE(complaint({.name = "mlp", .definition = "linear classes"}), "");
  EXPECT_NE(complaint({.name = ""}), "");
  EXPECT_NE(complaint({.name = "lenet5", .height = 0}), "");
  EXPECT_NE(complaint({.name = "lenet5", .width = INT64_MAX}), "");
  EXPECT_NE(complaint({.name = "lenet5", .height = 4, .width = 4}), "");  // too small to pool
  EXPECT_NE(complaint({.name = "lenet5", .classes = 0}), "");
  EXPECT_NE(complaint({.name = "convnet", .dropout = 1}), "");
  EXPECT_NE(complaint({.name = "mlp", .dropout = 0.5f}), "");
}

class BuiltInNetworks : public DeviceTest {
 protected:
  static constexpr std::int64_t kBatch = 2;

  // One backward pass of the mean cross-entropy from `instance`'s plan.
  void backward(Plan& plan, Tensor& labels) {
    layers::softmax_cross_entropy(
        {.loss = {}, .gradient = plan.output_gradient(), .prediction = {}}, plan.output(),
        labels.view<std::int32_t>(), 1.0f / static_cast<float>(plan.batch()), stream());
    plan.backward(GradientMode::overwrite, stream());
  }
};

TEST_P(BuiltInNetworks, ComputeTheWrittenDownFunction) {
  for (const models::NetworkInfo& info : models::networks()) {
    const std::string name(info.name);
    const Shape sample = sample_of(name);
    Instance expected(sample, written_down(name), stream());
    const auto net = network(name);
    ASSERT_EQ(net->parameter_count(), expected.net.parameter_count());
    const std::vector<float> x = random_floats(kBatch * sample.elements(), 71);
    for (const Phase phase : {Phase::inference, Phase::training}) {
      // Batch norm's inference is another function.
      if (phase == Phase::inference && net->buffer_count() > 0) continue;
      Plan plan(*net, expected.weights, kBatch, phase, {}, 0, nullptr, stream());
      fill(plan.input(), x, stream());
      plan.forward(stream());
      const Values y = expected.reference(Values(net->input_shape(kBatch), to_double(x)),
                                          to_double(expected.parameters()));
      // Behind eight batch norms, of which the last have eight values each, rounding is larger.
      const double bound = name == "resnet9" ? 1e-3 : 2e-5;
      EXPECT_TRUE(compare(to_host(plan.output(), stream()), y.data, {bound, bound}, name));
    }
  }
}

// d/dt of the loss at parameters + t v, by central differences in double, is <gradient, v>. Each
// tensor gets a random direction of its own, so that a small bias counts as much as a large weight.
TEST_P(BuiltInNetworks, HaveTheGradientOfTheirLoss) {
  const std::vector<std::int32_t> labels{7, 2};
  for (const std::string name : {"mlp", "lenet5", "lenet5-classic", "resnet9"}) {
    const Shape sample = sample_of(name);
    Instance instance(sample, written_down(name), stream());
    Tensor device_labels = tensor_from_host<std::int32_t>({kBatch}, labels, stream());
    Plan plan = instance.plan(kBatch, Phase::training);
    const std::vector<float> x = random_floats(kBatch * sample.elements(), 72);
    fill(plan.input(), x, stream());
    plan.forward(stream());
    backward(plan, device_labels);

    const Values input(instance.net.input_shape(kBatch), to_double(x));
    // The double network of resnet9 takes seconds: its tensors around both blocks are enough.
    const std::set<std::string> chosen = {"conv1.weight", "conv3.weight", "bn4.weight",
                                          "conv7.weight", "bn8.bias"};
    const bool is_resnet = name == "resnet9";
    // Rounding of a gradient's entries is independent and 1e-6 of |g|; batch norm makes more of it.
    const double tolerance = is_resnet ? 1e-3 : 2e-5;
    const std::vector<double> parameters = to_double(instance.parameters());
    const std::vector<float> gradients = instance.gradients();
    for (const layers::NamedSlice& slice : instance.net.slices()) {
      if (is_resnet && !chosen.contains(slice.name)) continue;
      const auto offset = static_cast<std::size_t>(slice.offset);
      const std::vector<float> v = random_floats(slice.shape.elements(), 73);
      const auto loss_at = [&](double t) {
        std::vector<double> moved = parameters;
        for (std::size_t i = 0; i < v.size(); ++i) moved[offset + i] += t * v[i];
        return cross_entropy(instance.reference(input, moved), labels);
      };
      const double h = 1e-6;
      const double expected = (loss_at(h) - loss_at(-h)) / (2 * h);
      double found = 0, squares = 0;
      for (std::size_t i = 0; i < v.size(); ++i) {
        found += static_cast<double>(gradients[offset + i]) * v[i];
        squares += static_cast<double>(gradients[offset + i]) * gradients[offset + i];
      }
      // |<g, v>| is about |g| / sqrt(3).
      const double bound = tolerance * std::sqrt(squares) + 1e-8;
      EXPECT_GT(squares, 0) << name << " " << slice.name;
      EXPECT_LE(std::fabs(found - expected), bound)
          << name << " " << slice.name << ": found " << found << ", expected " << expected;
    }
  }
}

TEST_P(BuiltInNetworks, OverfitOneBatch) {
  constexpr std::int64_t kImages = 16;
  constexpr int kSteps = 400;
  for (const std::string name : {"mlp", "lenet5"}) {
    const auto net = network(name);
    layers::Weights weights(*net, stream());
    fill(weights.parameters.view<float>(), net->initial_parameters(5), stream());
    Tensor step = tensor_from_host<std::int64_t>({1}, std::vector<std::int64_t>{0}, stream());
    Tensor lr = tensor_from_host<float>({1}, std::vector<float>{0.1f}, stream());
    Tensor loss({kImages}, DType::f32, stream());
    std::vector<std::int32_t> labels;
    for (std::uint32_t i = 0; i < kImages; ++i) {
      labels.push_back(
          static_cast<std::int32_t>(philox(6, RandomStream::data, 0, i).value[0] % 10));
    }
    Tensor device_labels = tensor_from_host<std::int32_t>({kImages}, labels, stream());
    Plan plan(*net, weights, kImages, Phase::training, {}, 0, step.data<std::int64_t>(), stream());
    fill(plan.input(), random_floats(kImages * 784, 74), stream());

    double mean = 1e9;
    for (int i = 0; i < kSteps && !(mean < 0.01); ++i) {
      plan.forward(stream());
      layers::softmax_cross_entropy(
          {.loss = loss.view<float>(), .gradient = plan.output_gradient(), .prediction = {}},
          plan.output(), device_labels.view<std::int32_t>(), 1.0f / kImages, stream());
      plan.backward(GradientMode::overwrite, stream());
      kernels::sgd_update(weights.parameters.data<float>(), nullptr,
                          weights.gradients.data<float>(), net->parameter_count(), lr.data<float>(),
                          step.data<std::int64_t>(), {}, stream());
      mean = 0;
      for (const float value : to_host(loss.view<float>(), stream())) mean += value / kImages;
      if (i == 0) {
        EXPECT_NEAR(mean, std::log(10.0), 0.3) << name;  // it starts out undecided
      }
    }
    EXPECT_LT(mean, 0.01) << name;
  }
}

WEFT_ON_EACH_DEVICE(BuiltInNetworks);

}  // namespace
}  // namespace weft::test
