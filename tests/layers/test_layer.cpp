// SPDX-License-Identifier: MIT
// What the public functions of Layer refuse, and what they say.
#include <gtest/gtest.h>

#include <utility>

#include "tests/layers/reference.h"
#include "tests/support/random.h"

namespace weft::test {
namespace {

using layers::Epilogue;
using layers::FloatView;
using layers::GradientMode;
using layers::LayerContext;
using layers::Phase;
using layers::Window;

// The message of the Error{usage} that `action` throws; empty when it throws nothing.
std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    return error.what();
  }
  return "";
}

std::string complaint_about(const layers::Layer& layer, const Shape& input) {
  return complaint([&] { layer.output_shape(input); });
}

TEST(LayerShapes, AreComputed) {
  EXPECT_EQ(layers::Linear("fc", 784, 10).output_shape({64, 784}), Shape({64, 10}));
  EXPECT_EQ(layers::Conv2d("c", 1, 6, Window::square(5, 1, 2)).output_shape({2, 1, 28, 28}),
            Shape({2, 6, 28, 28}));
  EXPECT_EQ(layers::Conv2d("c", 3, 4, {3, 5, 2, 1, 1, 0}).output_shape({0, 3, 9, 9}),
            Shape({0, 4, 5, 5}));
  EXPECT_EQ(layers::MaxPool2d("p", Window::square(2, 2)).output_shape({1, 3, 7, 6}),
            Shape({1, 3, 3, 3}));
  EXPECT_EQ(layers::AvgPool2d("p", Window::square(3, 2, 1)).output_shape({1, 3, 7, 6}),
            Shape({1, 3, 4, 3}));
  EXPECT_EQ(layers::Flatten("f").output_shape({5, 16, 4, 4}), Shape({5, 256}));
  EXPECT_EQ(layers::Flatten("f").output_shape({0, 16, 4, 4}), Shape({0, 256}));
  EXPECT_EQ(layers::Flatten("f").output_shape({5}), Shape({5, 1}));
  EXPECT_EQ(layers::ReLU("r").output_shape({5, 2, 3}), Shape({5, 2, 3}));
}

TEST(LayerShapes, ComplaintsNameTheLayerAndBothShapes) {
  EXPECT_EQ(complaint_about(layers::Linear("fc1", 784, 10), {64, 100}),
            "fc1: Linear(784, 10) expects input (N, 784), found (64, 100)");
  EXPECT_EQ(complaint_about(layers::Linear("fc1", 784, 10), {64, 1, 28, 28}),
            "fc1: Linear(784, 10) expects input (N, 784), found (64, 1, 28, 28)");
  EXPECT_EQ(complaint_about(layers::Conv2d("conv1", 1, 6, Window::square(5, 1, 1)), {2, 3, 28, 28}),
            "conv1: Conv2d(1, 6, kernel 5x5, padding 1x1) expects input (N, 1, H >= 3, W >= 3), "
            "found (2, 3, 28, 28)");
  EXPECT_EQ(complaint_about(layers::Conv2d("conv1", 1, 6, Window::square(5)), {2, 1, 28, 4}),
            "conv1: Conv2d(1, 6, kernel 5x5) expects input (N, 1, H >= 5, W >= 5), found "
            "(2, 1, 28, 4)");
  EXPECT_EQ(complaint_about(layers::MaxPool2d("pool1", Window::square(2, 2)), {2, 1, 1, 4}),
            "pool1: MaxPool2d(kernel 2x2, stride 2x2) expects input (N, C, H >= 2, W >= 2), found "
            "(2, 1, 1, 4)");
  EXPECT_EQ(complaint_about(layers::AvgPool2d("pool1", Window::square(2, 2)), {2, 8}),
            "pool1: AvgPool2d(kernel 2x2, stride 2x2) expects input (N, C, H >= 2, W >= 2), found "
            "(2, 8)");
  EXPECT_EQ(complaint_about(layers::BatchNorm2d("bn1", 6), {2, 5, 4, 4}),
            "bn1: BatchNorm2d(6) expects input (N, 6, H, W) or (N, 6), found (2, 5, 4, 4)");
  EXPECT_EQ(complaint_about(layers::Softmax("softmax"), {7}),
            "softmax: Softmax expects input (N, ..., C >= 1), found (7,)");
  EXPECT_EQ(complaint_about(layers::ReLU("relu1"), Shape()),
            "relu1: ReLU expects input with a batch axis, found ()");
}

TEST(LayerConstructors, RefuseSizesThatMakeNoSense) {
  EXPECT_NE(complaint([] { layers::Linear("fc", 0, 3); }), "");
  EXPECT_NE(complaint([] { layers::Linear("fc", 3, -1); }), "");
  EXPECT_NE(complaint([] { layers::Conv2d("conv", 0, 3, Window::square(3)); }), "");
  EXPECT_NE(complaint([] { layers::Conv2d("conv", 3, 0, Window::square(3)); }), "");
  EXPECT_NE(complaint([] { layers::Conv2d("conv", 1, 1, Window::square(0)); }), "");
  EXPECT_NE(complaint([] { layers::Conv2d("conv", 1, 1, Window::square(3, 0)); }), "");
  EXPECT_NE(complaint([] { layers::Conv2d("conv", 1, 1, Window::square(3, 1, -1)); }), "");
  EXPECT_NE(complaint([] { layers::Conv2d("conv", 1, 1, Window::square(INT64_MAX)); }), "");
  const std::string large =
      complaint([] { layers::Conv2d("conv", 1, 1, Window::square((1 << 20) + 1)); });
  EXPECT_NE(large.find("all up to 1048576"), std::string::npos) << large;
  EXPECT_EQ(complaint([] { layers::Conv2d("conv", 1, 1, Window::square(1 << 20)); }), "");
  EXPECT_NE(complaint([] { layers::MaxPool2d("pool", Window::square(2, 2, 2)); }), "");
  EXPECT_NE(complaint([] { layers::AvgPool2d("pool", Window::square(3, 2, 2)); }), "");
  EXPECT_NE(complaint([] { layers::Dropout("dropout", 1); }), "");
  EXPECT_NE(complaint([] { layers::Dropout("dropout", -0.1f); }), "");
  EXPECT_NE(complaint([] { layers::Dropout("dropout", NAN); }), "");
  EXPECT_NE(complaint([] { layers::BatchNorm2d("bn", 0); }), "");
  EXPECT_NE(complaint([] { layers::BatchNorm2d("bn", 3, 0); }), "");
}

TEST(LayerFlops, CountMultiplyAndAddAsTwo) {
  EXPECT_EQ(layers::Linear("fc", 784, 10).forward_flops({64, 784}), 2.0 * 64 * 784 * 10);
  EXPECT_EQ(layers::Conv2d("c", 6, 16, Window::square(5)).forward_flops({2, 6, 14, 14}),
            2.0 * 2 * 16 * 10 * 10 * 6 * 5 * 5);
  EXPECT_EQ(layers::MaxPool2d("p", Window::square(2, 2)).forward_flops({1, 1, 4, 4}), 16);
  EXPECT_EQ(layers::MaxPool2d("p", Window::square(3, 2)).forward_flops({1, 1, 7, 7}), 81);
  EXPECT_EQ(layers::ReLU("r").forward_flops({2, 5}), 10);
  EXPECT_EQ(layers::Flatten("f").forward_flops({2, 5}), 0);
}

TEST(LayerBytes, BatchNormKeepsTheMomentsOfEveryChannelBetweenTwoSums) {
  for (const std::int64_t channels : {1, 100, 1000}) {
    const std::size_t bytes =
        layers::BatchNorm2d("bn", channels)
            .workspace_bytes({1, channels, 1, 1}, {}, Device::cpu(), Phase::training);
    EXPECT_GE(bytes, static_cast<std::size_t>(channels) * sizeof(kernels::Moments)) << channels;
  }
}

// A Linear(3, 2) with everything it needs for a batch of 4, to be spoilt one argument at a time.
class LayerCalls : public testing::Test {
 protected:
  LayerCalls() {
    context_.parameters = parameters_;
    context_.gradients = gradients_;
    context_.phase = Phase::training;
  }

  FloatView view(const Shape& shape) {
    return {memory_.emplace_back(shape, DType::f32, stream_).data<float>(), shape, Device::cpu()};
  }
  std::string forward_complaint() {
    return complaint([&] { layer_.forward(y_, x_, epilogue_, context_, stream_); });
  }
  std::string backward_complaint() {
    return complaint(
        [&] { layer_.backward(dx_, dy_, x_, y_, GradientMode::overwrite, context_, stream_); });
  }

  Stream stream_{Device::cpu()};
  std::vector<Tensor> memory_;
  layers::Linear layer_{"fc", 3, 2};
  std::vector<FloatView> parameters_{view({2, 3}), view({2})};
  std::vector<FloatView> gradients_{view({2, 3}), view({2})};
  FloatView x_ = view({4, 3}), y_ = view({4, 2}), dx_ = view({4, 3}), dy_ = view({4, 2});
  Epilogue epilogue_ = Epilogue::relu;
  LayerContext context_;
};

TEST_F(LayerCalls, RefuseAnotherOutputShape) {
  y_.shape = {4, 3};
  EXPECT_EQ(forward_complaint(), "fc: Linear(3, 2) expects output (4, 2), found (4, 3)");
}

TEST_F(LayerCalls, RefuseMemoryOfAnotherDevice) {
  x_.device = Device::cuda(1);
  EXPECT_EQ(forward_complaint(), "fc: input (4, 3) is on cuda:1, the stream on cpu");
}

TEST_F(LayerCalls, RefuseNullPointers) {
  x_.data = nullptr;
  EXPECT_EQ(forward_complaint(), "fc: input (4, 3) is a null pointer");
}

TEST_F(LayerCalls, RefuseMissingParameters) {
  context_.parameters = {};
  EXPECT_EQ(forward_complaint(),
            "fc: Linear(3, 2) expects 2 parameters and 0 buffers, found 0 and 0");
}

TEST_F(LayerCalls, RefuseParametersOfAnotherShape) {
  parameters_[0].shape = {3, 2};
  EXPECT_EQ(forward_complaint(), "fc: Linear(3, 2) expects weight (2, 3), found (3, 2)");
}

TEST_F(LayerCalls, RefuseGradientsThatDoNotFit) {
  dy_.shape = {2, 4};
  EXPECT_EQ(backward_complaint(), "fc: Linear(3, 2) expects output gradient (4, 2), found (2, 4)");
  dy_.shape = {4, 2};
  dx_.shape = {3, 4};
  EXPECT_EQ(backward_complaint(), "fc: Linear(3, 2) expects input gradient (4, 3), found (3, 4)");
  dx_.shape = {4, 3};
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape good = std::exchange(gradients_[i].shape, Shape{7});
    const std::string expected = i == 0 ? "weight (2, 3)" : "bias (2,)";
    EXPECT_EQ(backward_complaint(), "fc: Linear(3, 2) expects " + expected + ", found (7,)");
    gradients_[i].shape = good;
  }
  context_.gradients = {};
  EXPECT_EQ(backward_complaint(), "fc: Linear(3, 2) expects 2 parameter gradients, found 0");
}

TEST_F(LayerCalls, RefuseBackwardInInference) {
  context_.phase = Phase::inference;
  EXPECT_EQ(backward_complaint(), "fc: backward in an inference context");
}

TEST_F(LayerCalls, RefuseAnEpilogueThatTheLayerLacks) {
  const layers::Sigmoid sigmoid("s");
  EXPECT_EQ(complaint([&] { sigmoid.forward(dx_, x_, Epilogue::relu, {}, stream_); }),
            "s: Sigmoid cannot fuse an epilogue");
}

TEST_F(LayerCalls, RefuseToRunInPlaceWhereThatIsWrong) {
  const layers::Softmax softmax("p");
  EXPECT_EQ(complaint([&] { softmax.forward(x_, x_, Epilogue::none, {}, stream_); }),
            "p: Softmax cannot run in place");
}

TEST_F(LayerCalls, RefuseAMissingCache) {
  const layers::MaxPool2d pool("p", Window::square(2, 2));
  const FloatView x = view({1, 1, 4, 4}), y = view({1, 1, 2, 2});
  LayerContext context;
  context.phase = Phase::training;
  EXPECT_EQ(complaint([&] { pool.forward(y, x, Epilogue::none, context, stream_); }),
            "p: training expects a cache of 16 bytes");
}

TEST_F(LayerCalls, RefuseDropoutWithoutAStepCounter) {
  LayerContext context;
  context.phase = Phase::training;
  const layers::Dropout dropout("d", 0.5f);
  EXPECT_EQ(complaint([&] { dropout.forward(dx_, x_, Epilogue::none, context, stream_); }),
            "d: Dropout in training expects a step counter");
}

// Layers that a Plan leaves out still work when they are called directly.
TEST_F(LayerCalls, FlattenAndDropoutCopyInInference) {
  const std::vector<float> values = random_floats(12, 1);
  const FloatView x = view({2, 2, 3}), flat = view({2, 6}), same = view({2, 2, 3});
  copy_from_host(x, std::span<const float>(values), stream_);
  layers::Flatten("f").forward(flat, x, Epilogue::none, {}, stream_);
  layers::Dropout("d", 0.5f).forward(same, x, Epilogue::none, {}, stream_);
  EXPECT_EQ(to_host(flat, stream_), values);
  EXPECT_EQ(to_host(same, stream_), values);
}

// Winograd's algorithm is for training alone: inference promises the same bits whether a
// convolution is joined with its pooling or not.
TEST_F(LayerCalls, ConvolutionsTakeWinogradInTrainingAlone) {
  const kernels::ConvDims dims{2, 16, 16, 16, 16, 3, 3, 1, 1, 1, 1};
  const layers::Conv2d conv("conv", 16, 16, Window::square(3, 1, 1));
  const Shape shape{2, 16, 16, 16}, weights{16, 16, 3, 3};
  const FloatView x = view(shape), dy = view(shape), y = view(shape), dx = view(shape);
  const std::vector<FloatView> w{view(weights), view({16})}, dw{view(weights), view({16})};
  std::uint64_t seed = 0;
  for (const FloatView& from : {x, dy, w[0], w[1]}) {
    copy_from_host(from, std::span<const float>(random_floats(from.shape.elements(), ++seed)),
                   stream_);
  }
  const FloatView other = view(shape), gradient = view(weights);
  const auto kernel = [&](bool tile_errors) {
    kernels::ConvOptions options;
    options.tile_errors = tile_errors;
    kernels::conv2d_forward(other.data, x.data, w[0].data, w[1].data, dims, Epilogue::none, options,
                            {}, stream_);
    return to_host(other, stream_);
  };
  const std::vector<float> exact = kernel(false), allowed = kernel(true);
  ASSERT_NE(exact, allowed);
  LayerContext context;
  context.parameters = w;
  context.gradients = dw;
  for (const Phase phase : {Phase::inference, Phase::training}) {
    context.phase = phase;
    conv.forward(y, x, Epilogue::none, context, stream_);
    EXPECT_EQ(to_host(y, stream_), phase == Phase::training ? allowed : exact);
  }
  conv.backward(dx, dy, x, y, GradientMode::overwrite, context, stream_);
  kernels::ConvOptions options;
  options.tile_errors = true;
  kernels::conv2d_backward_data(other.data, dy.data, w[0].data, dims, GradientMode::overwrite,
                                options, {}, stream_);
  kernels::conv2d_backward_weights(gradient.data, nullptr, dy.data, x.data, dims,
                                   GradientMode::overwrite, options, {}, stream_);
  EXPECT_EQ(to_host(dx, stream_), to_host(other, stream_));
  EXPECT_EQ(to_host(dw[0], stream_), to_host(gradient, stream_));
}

}  // namespace
}  // namespace weft::test
