// SPDX-License-Identifier: MIT
// The flat buffers of a Sequential: names, offsets and initial values.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/layers/instance.h"

namespace weft::test {
namespace {

using layers::NamedSlice;
using layers::Sequential;
using layers::Window;

Sequential example() {
  auto list = stack(conv2d("conv1", 2, 3, Window::square(3)), batch_norm2d("bn1", 3), relu("relu1"),
                    flatten("flatten"), linear("fc1", 48, 5), linear("fc2", 5, 5));
  return Sequential({2, 6, 6}, take_layers(list));
}

TEST(Sequential, NamesAndPlacesItsTensors) {
  const Sequential net = example();
  const std::vector<NamedSlice> expected{
      {"conv1.weight", {3, 2, 3, 3}, 0, true}, {"conv1.bias", {3}, 54, true},
      {"bn1.weight", {3}, 57, true},           {"bn1.bias", {3}, 60, true},
      {"fc1.weight", {5, 48}, 63, true},       {"fc1.bias", {5}, 303, true},
      {"fc2.weight", {5, 5}, 308, true},       {"fc2.bias", {5}, 333, true},
      {"bn1.running_mean", {3}, 0, false},     {"bn1.running_var", {3}, 3, false}};
  ASSERT_EQ(net.slices().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(net.slices()[i].name, expected[i].name);
    EXPECT_EQ(net.slices()[i].shape, expected[i].shape) << expected[i].name;
    EXPECT_EQ(net.slices()[i].offset, expected[i].offset) << expected[i].name;
    EXPECT_EQ(net.slices()[i].trainable, expected[i].trainable) << expected[i].name;
  }
  EXPECT_EQ(net.parameter_count(), 338);
  EXPECT_EQ(net.buffer_count(), 6);
  EXPECT_EQ(net.output_shape(7), Shape({7, 5}));
  EXPECT_EQ(net.output_shape(0), Shape({0, 5}));
}

TEST(Sequential, RefusesLayersThatDoNotFit) {
  auto list = stack(linear("fc1", 4, 5), linear("fc2", 6, 2));
  try {
    const Sequential net({4}, take_layers(list));
    FAIL() << "5 features went into a layer for 6";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "fc2: Linear(6, 2) expects input (N, 6), found (1, 5)");
  }
}

TEST(Sequential, RefusesSamplesOfTooManyAxes) {
  try {
    const Sequential net(Shape({1, 1, 1, 1, 1, 1}), {});
    FAIL() << "no axis is left for the batch";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a sample has at most 5 axes, found (1, 1, 1, 1, 1, 1)");
  }
}

TEST(Sequential, RefusesResidualBlocksThatDoNotClose) {
  const auto complaint = [](std::vector<ReferenceLayer> list) -> std::string {
    try {
      Sequential({4}, take_layers(list));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(stack(fork("f"), linear("l", 4, 4), add("a"))), "");
  EXPECT_EQ(complaint(stack(fork("f"), linear("l", 4, 4))),
            "f: Fork expects an Add or a Concat after it");
  EXPECT_EQ(complaint(stack(linear("l", 4, 4), add("a"))), "a: Add expects an open Fork before it");
  EXPECT_EQ(complaint(stack(fork("f"), shortcut("s"), shortcut("t"), add("a"))),
            "t: Shortcut expects an open Fork before it");
  EXPECT_EQ(complaint(stack(fork("f"), linear("l", 4, 3), add("a"))),
            "a: Add expects operands (1, 3) and (1, 3), found by the shortcut (1, 4)");
  EXPECT_EQ(
      complaint(stack(fork("f"), linear("l", 4, 3), shortcut("s"), linear("m", 4, 2), add("a"))),
      "a: Add expects operands (1, 3) and (1, 3), found by the shortcut (1, 2)");
  EXPECT_EQ(complaint(stack(fork("f"), linear("l", 4, 3), concat("c", 3, 4))), "");
  EXPECT_EQ(complaint(stack(linear("l", 4, 4), concat("c", 4, 4))),
            "c: Concat(4 + 4) expects an open Fork before it");
  EXPECT_EQ(complaint(stack(fork("f"), linear("l", 4, 3), concat("c", 3, 5))),
            "c: Concat(3 + 5) expects operands (1, 3) and (1, 5), found by the shortcut (1, 4)");
  EXPECT_EQ(complaint(stack(fork("f"), linear("l", 4, 3), concat("c", 4, 4))),
            "c: Concat(4 + 4) expects input (N, 4) or (N, 4, H, W), found (1, 3)");
}

TEST(Sequential, FollowsTheShapesThroughAResidualBlock) {
  auto list = stack(linear("l1", 4, 6), fork("f"), linear("l2", 6, 3), shortcut("s"),
                    linear("l3", 6, 3), add("a"));
  const Sequential net({4}, take_layers(list));
  const std::vector<Shape> expected{{2, 6}, {2, 6}, {2, 3}, {2, 6}, {2, 3}, {2, 3}};
  EXPECT_EQ(net.output_shapes(2), expected);
  EXPECT_EQ(net.output_shape(5), Shape({5, 3}));
}

TEST(Sequential, RefusesEqualNames) {
  auto list = stack(linear("fc", 4, 4), linear("fc", 4, 4));
  EXPECT_THROW(Sequential({4}, take_layers(list)), Error);
}

std::span<const float> slice_of(const Sequential& net, const std::vector<float>& flat,
                                const std::string& name) {
  const auto slice = std::ranges::find(net.slices(), name, &NamedSlice::name);
  return std::span(flat).subspan(static_cast<std::size_t>(slice->offset),
                                 static_cast<std::size_t>(slice->shape.elements()));
}

TEST(InitialParameters, AreUniformWithinTheFanInBound) {
  const Sequential net = example();
  const std::vector<float> values = net.initial_parameters(3);
  const struct {
    const char* name;
    double fan_in;
  } cases[] = {{"conv1.weight", 18},
               {"conv1.bias", 18},
               {"fc1.weight", 48},
               {"fc1.bias", 48},
               {"fc2.weight", 5}};
  for (const auto& [name, fan_in] : cases) {
    const double bound = 1 / std::sqrt(fan_in);
    double largest = 0;
    for (const float value : slice_of(net, values, name)) {
      EXPECT_LE(std::fabs(value), bound * (1 + 1e-6)) << name;
      largest = std::max(largest, std::fabs(static_cast<double>(value)));
    }
    EXPECT_GE(largest, bound / 4) << name;
  }
  // 240 uniform values: the mean is within 4 standard errors of 0, the mean square near bound^2/3.
  double sum = 0, squares = 0;
  for (const float value : slice_of(net, values, "fc1.weight")) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double variance = 1.0 / 48 / 3;
  EXPECT_LE(std::fabs(sum / 240), 4 * std::sqrt(variance / 240));
  EXPECT_NEAR(squares / 240, variance, variance * 0.25);
  for (const float gamma : slice_of(net, values, "bn1.weight")) EXPECT_EQ(gamma, 1);
  for (const float beta : slice_of(net, values, "bn1.bias")) EXPECT_EQ(beta, 0);
}

TEST(InitialParameters, FollowTheSeedAndTheLayer) {
  const Sequential net = example();
  const std::vector<float> values = net.initial_parameters(3);
  EXPECT_EQ(values, net.initial_parameters(3));
  EXPECT_NE(values, net.initial_parameters(4));

  auto list = stack(linear("a", 5, 5), linear("b", 5, 5));
  const Sequential twins({5}, take_layers(list));
  const std::vector<float> flat = twins.initial_parameters(3);
  EXPECT_FALSE(
      std::ranges::equal(slice_of(twins, flat, "a.weight"), slice_of(twins, flat, "b.weight")));
}

TEST(InitialBuffers, AreMeanZeroVarianceOne) {
  EXPECT_EQ(example().initial_buffers(), (std::vector<float>{0, 0, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace weft::test
