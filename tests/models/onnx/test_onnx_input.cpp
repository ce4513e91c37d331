// SPDX-License-Identifier: MIT
// What an ONNX file does to its input: normalisation, and where its channels are.
#ifdef WEFT_WITH_ONNX

#include <cmath>

#include "models/answers/classifier.h"
#include "models/training/runs/run_state.h"
#include "tests/models/onnx/onnx_files.h"

namespace weft::models {
namespace {

using namespace weft::test;

// As another program would have written it.
onnx::ModelProto foreign(const std::string& definition, std::int64_t channels = 2,
                         std::int64_t height = 8, std::int64_t width = 8) {
  NetworkOptions network = network_file(definition);
  network.channels = channels;
  network.height = height;
  network.width = width;
  onnx::ModelProto file = file_of(random_model(network));
  file.clear_metadata_props();
  return file;
}

constexpr const char* kConvolution = "conv 4 3x3 pad 1\nrelu\nlinear classes\n";
constexpr const char* kLinear = "flatten\nlinear 5\nrelu\nlinear classes\n";

void set_input(onnx::ModelProto& file, const std::vector<std::int64_t>& extents) {
  auto& shape = *file.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim()->DeleteSubrange(1, shape.dim_size() - 1);
  for (const std::int64_t extent : extents) shape.add_dim()->set_dim_value(extent);
}

// A node in front of all others, which read what it makes.
onnx::NodeProto& put_in_front(onnx::ModelProto& file, const std::string& type,
                              const std::string& name) {
  onnx::GraphProto& graph = *file.mutable_graph();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (input == "input") input = name;
    }
  }
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  node.set_name(name);
  node.add_input("input");
  node.add_output(name);
  for (int i = graph.node_size() - 1; i > 0; --i) graph.mutable_node()->SwapElements(i, i - 1);
  return *graph.mutable_node(0);
}

void put_scale(onnx::ModelProto& file, const std::string& type,
               const std::vector<std::int64_t>& shape, const std::vector<float>& values,
               bool comes_first = false) {
  const std::string name = type + std::to_string(file.graph().node_size());
  onnx::NodeProto& node = put_in_front(file, type, name);
  node.add_input(name + ".value");
  if (comes_first) node.mutable_input()->SwapElements(0, 1);
  add_tensor(file, name + ".value", shape, values);
}

void put_batch_norm(onnx::ModelProto& file, const std::vector<std::vector<float>>& tensors) {
  onnx::NodeProto& node = put_in_front(file, "BatchNormalization", "norm");
  for (const std::vector<float>& tensor : tensors) {
    const std::string name = "norm" + std::to_string(node.input_size());
    node.add_input(name);
    add_tensor(file, name, {std::ssize(tensor)}, tensor);
  }
}

void expect_scale(const onnx::ModelProto& file, const std::vector<double>& mean,
                  const std::vector<double>& stddev, NormalisationSource source,
                  const OnnxImport& options = {}) {
  const ModelInfo info = read(file, options).model.info;
  EXPECT_EQ(name_of(info.normalisation), name_of(source));
  ASSERT_EQ(info.mean.size(), mean.size());
  for (std::size_t c = 0; c < mean.size(); ++c) {
    EXPECT_NEAR(info.mean[c], mean[c], 1e-6 * (1 + std::fabs(mean[c])));
    EXPECT_NEAR(info.stddev[c], stddev[c], 1e-6 * stddev[c]);
  }
}

constexpr auto kFile = NormalisationSource::file;
constexpr auto kAssumed = NormalisationSource::assumed;
constexpr auto kFlags = NormalisationSource::flags;

TEST(OnnxInput, WithoutAWordPixelsFromZeroToOneAreAssumed) {
  expect_scale(small_file(), {0, 0}, {1, 1}, kAssumed);
  EXPECT_EQ(read(small_file()).model.info.dataset, "");
  expect_scale(small_file(), {0.5, 0.5}, {0.25, 0.25}, kFlags, {.mean = {0.5}, .stddev = {0.25}});
  EXPECT_TRUE(throws(ErrorKind::usage, "go together", [] { read(small_file(), {.mean = {0.5}}); }));
}

TEST(OnnxInput, WhatTheFileDoesToItsInputIsItsNormalisation) {
  onnx::ModelProto file = foreign(kConvolution);
  put_scale(file, "Mul", {}, {1.0f / 255});
  expect_scale(file, {0, 0}, {1, 1}, kFile);
  // Flags say what comes in front of it.
  expect_scale(file, {0.5, 0.5}, {63.75, 63.75}, kFlags, {.mean = {0.5}, .stddev = {0.25}});

  file = foreign(kConvolution);  // the first in the graph is put in last
  put_scale(file, "Div", {1, 2, 1, 1}, {0.25f, 0.5f});
  put_scale(file, "Sub", {2, 1, 1}, {0.125f, 0.375f});
  expect_scale(file, {0.125, 0.375}, {0.25, 0.5}, kFile);

  file = foreign(kConvolution);
  put_scale(file, "Sub", {1}, {1});
  put_scale(file, "Div", {}, {127.5f});
  expect_scale(file, {0.5, 0.5}, {0.5, 0.5}, kFile);

  file = foreign(kConvolution);
  put_scale(file, "Add", {}, {-1}, true);
  put_scale(file, "Mul", {1, 1, 1, 1}, {2}, true);
  expect_scale(file, {0.5, 0.5}, {0.5, 0.5}, kFile);

  file = foreign(kConvolution);
  put_scale(file, "Mul", {}, {1});  // which says nothing
  expect_scale(file, {0, 0}, {1, 1}, kAssumed);
  file = foreign(kConvolution);
  put_scale(file, "Mul", {}, {0.25f});  // nor does this
  expect_scale(file, {0, 0}, {4, 4}, kAssumed);
}

TEST(OnnxInput, ABatchNormalisationAtTheInputIsOne) {
  onnx::ModelProto file = foreign(kConvolution);
  put_batch_norm(file, {{1, 2}, {0, 1}, {0.25f, 0.5f}, {0.0625f, 0.04f}});
  set_real(node_named(file, "norm"), "epsilon", 0);
  expect_scale(file, {0.25, 0.5 - 0.1}, {0.25, 0.1}, kFile);
  file = foreign(kConvolution);
  put_batch_norm(file, {{1, 1}, {0, 0}, {51, 127.5f}, {51 * 51, 102 * 102}});
  set_real(node_named(file, "norm"), "epsilon", 0);
  expect_scale(file, {0.2, 0.5}, {0.2, 0.4}, kFile);
  // These numbers are of pixels that were normalised before.
  file = foreign(kConvolution);
  put_batch_norm(file, {{1, 1}, {0, 0}, {0.01f, -0.01f}, {1, 0.98f}});
  EXPECT_EQ(read(file).model.info.normalisation, kAssumed);
  // A negative weight is no normalisation, but a layer.
  file = foreign(kConvolution);
  put_batch_norm(file, {{1, -1}, {0, 0}, {0, 0}, {1, 1}});
  EXPECT_EQ(read(file).model.info.network.definition.find("batch_norm\nconv"), 0u);
}

// Weft's own files say it in their metadata, and a layer of theirs stays one.
TEST(OnnxInput, WeftsOwnFilesKeepTheirLayersAndTheirNumbers) {
  Model model = random_model(network_file("batch_norm\nconv 4 3x3\nlinear classes\n"));
  model.info.mean = {0.1f, 0.2f};
  model.info.stddev = {0.3f, 0.4f};
  model.info.normalisation = NormalisationSource::measured;
  const Model found = read(file_of(model)).model;
  EXPECT_EQ(to_json(found.info), to_json(model.info));
  EXPECT_EQ(found.net->layers().size(), model.net->layers().size());
}

TEST(OnnxInput, BytesAreCast) {
  onnx::ModelProto file = foreign(kConvolution);
  put_scale(file, "Div", {}, {255});
  set_number(put_in_front(file, "Cast", "cast"), "to", onnx::TensorProto::FLOAT);
  auto& type = *file.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::UINT8);
  expect_scale(file, {0, 0}, {1, 1}, kFile);
  file = foreign(kConvolution);
  file.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::UINT8);
  EXPECT_TRUE(throws(ErrorKind::data, "expected a Cast", [&] { read(file); }));
}

TEST(OnnxInput, WhatIsNoNormalisationIsRefused) {
  const auto refused = [](const std::string& message, const std::string& type,
                          const std::vector<std::int64_t>& shape, const std::vector<float>& values,
                          bool comes_first = false) {
    onnx::ModelProto file = foreign(kConvolution);
    put_scale(file, type, shape, values, comes_first);
    EXPECT_TRUE(throws(ErrorKind::data, message, [&] { read(file); })) << message;
  };
  refused("Weft normalises by channel", "Sub", {2, 8, 8}, std::vector<float>(128, 0.5f));
  refused("Weft normalises by channel", "Sub", {2}, {0.5f, 0.25f});  // of each column, if at all
  refused("Weft normalises by channel", "Mul", {2, 1}, {0.5f, 0.25f});
  refused("Weft normalises by channel", "Mul", {0}, {});
  refused("a number above 0", "Mul", {}, {-1});
  refused("a number above 0", "Mul", {}, {0});
  refused("a number above 0", "Div", {}, {0});
  refused("a number above 0", "Mul", {}, {NAN});
  refused("a number above 0", "Sub", {}, {1}, true);
  refused("divides by the input", "Div", {}, {1}, true);
  refused("no float holds", "Mul", {}, {1e-39f});
}

std::vector<float> logits_of(const Model& model, const std::vector<std::uint8_t>& pixels) {
  return Classifier(model, Stream(Device::cpu())).classify(pixels).logits;
}

std::vector<std::uint8_t> some_pixels(std::size_t count) {
  std::vector<std::uint8_t> pixels(count);
  for (std::size_t i = 0; i < count; ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
  return pixels;
}

// A Transpose to (channels, rows, columns) is what Weft's pixels are already.
TEST(OnnxInput, ATransposeOfChannelsThatComeLastIsLeftOut) {
  const onnx::ModelProto first = foreign(kConvolution, 3, 6, 8);
  const std::vector<std::uint8_t> pixels = some_pixels(3 * 6 * 8);
  const std::vector<float> expected = logits_of(read(first).model, pixels);
  for (const bool scale_in_front : {false, true}) {
    onnx::ModelProto last = first;
    set_input(last, {6, 8, 3});
    if (!scale_in_front) put_scale(last, "Mul", {1, 3, 1, 1}, {1, 0.5f, 0.25f});
    set_numbers(put_in_front(last, "Transpose", "nchw"), "perm", {0, 3, 1, 2});
    if (scale_in_front) put_scale(last, "Mul", {3}, {1, 0.5f, 0.25f});
    const Model found = read(last).model;
    EXPECT_EQ(found.net->sample_shape(), (Shape{3, 6, 8}));
    EXPECT_EQ(found.info.stddev, (std::vector<float>{1, 2, 4}));
  }
  onnx::ModelProto last = first;
  set_input(last, {6, 8, 3});
  set_numbers(put_in_front(last, "Transpose", "nchw"), "perm", {0, 3, 1, 2});
  EXPECT_EQ(logits_of(read(last).model, pixels), expected);
  EXPECT_EQ(logits_of(read(last, {.input = {{3, 6, 8}}}).model, pixels), expected);
  EXPECT_TRUE(throws(ErrorKind::usage, "(6, 8, 3)", [&] { read(last, {.input = {{6, 8, 3}}}); }));
  set_numbers(node_named(last, "nchw"), "perm", {0, 3, 2, 1});
  EXPECT_TRUE(throws(ErrorKind::data, "move the channels", [&] { read(last); }));
  last = first;
  set_input(last, {8, 8, 1});
  set_numbers(put_in_front(last, "Transpose", "nhwc"), "perm", {0, 2, 3, 1});
  EXPECT_TRUE(throws(ErrorKind::data, "channels last", [&] { read(last); }));
}

// A network of rows, as Keras writes it: (8, 8, 1) is a grey image.
TEST(OnnxInput, ARowOfPixelsHasItsChannelsLast) {
  const onnx::ModelProto first = foreign(kLinear, 1);
  const std::vector<std::uint8_t> pixels = some_pixels(64);
  const std::vector<float> expected = logits_of(read(first).model, pixels);
  onnx::ModelProto last = first;
  set_input(last, {8, 8, 1});
  for (const OnnxImport& options : {OnnxImport{}, OnnxImport{.input = {{1, 8, 8}}}}) {
    const OnnxModel found = read(last, options);
    EXPECT_EQ(found.model.net->sample_shape(), (Shape{1, 8, 8}));
    EXPECT_TRUE(found.notices.empty());
    EXPECT_EQ(logits_of(found.model, pixels), expected);
  }
  set_input(last, {8, 8});
  EXPECT_EQ(logits_of(read(last).model, pixels), expected);
  set_input(last, {64, 1});  // is no picture of one column
  EXPECT_TRUE(throws(ErrorKind::usage, "(64, 1) for each image", [&] { read(last); }));
  EXPECT_EQ(logits_of(read(last, {.input = {{1, 8, 8}}}).model, pixels), expected);

  // With three channels the columns of the first weight are in another order.
  const std::size_t plane = 6 * 8;
  const onnx::ModelProto colour = foreign(kLinear, 3, 6, 8);
  const std::vector<std::uint8_t> planes = some_pixels(3 * plane);
  last = colour;
  set_input(last, {6, 8, 3});
  const OnnxModel found = read(last);
  EXPECT_EQ(found.model.net->sample_shape(), (Shape{3, 6, 8}));
  ASSERT_EQ(found.notices.size(), 1u);
  EXPECT_NE(found.notices[0].find("3 channels last"), std::string::npos);
  std::vector<std::uint8_t> interleaved(planes.size());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    interleaved[i % plane * 3 + i / plane] = planes[i];
  }
  const std::vector<float> wanted = logits_of(read(colour).model, interleaved);
  const std::vector<float> got = logits_of(found.model, planes);
  for (std::size_t c = 0; c < wanted.size(); ++c) EXPECT_NEAR(got[c], wanted[c], 1e-5);
  // --input says that the channels come first: six of them.
  EXPECT_EQ(read(last, {.input = {{6, 8, 3}}}).model.net->sample_shape(), (Shape{6, 8, 3}));
  EXPECT_TRUE(throws(ErrorKind::usage, "1x8x8", [&] { read(last, {.input = {{1, 8, 8}}}); }));
}

TEST(OnnxInput, AReshapeMayMakeTheImage) {
  const onnx::ModelProto first = foreign(kConvolution, 1);
  const std::vector<std::uint8_t> pixels = some_pixels(64);
  const std::vector<float> expected = logits_of(read(first).model, pixels);
  const auto reshaped = [&](const std::vector<std::int64_t>& input) {
    onnx::ModelProto file = first;
    set_input(file, input);
    put_in_front(file, "Reshape", "image").add_input("shape");
    onnx::TensorProto& shape = *file.mutable_graph()->add_initializer();
    shape.set_name("shape");
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(4);
    for (const std::int64_t extent : {-1, 1, 8, 8}) shape.add_int64_data(extent);
    return file;
  };
  for (const std::vector<std::int64_t>& input :
       {std::vector<std::int64_t>{64}, {8, 8}, {8, 8, 1}, {1, 8, 8}}) {
    EXPECT_EQ(logits_of(read(reshaped(input)).model, pixels), expected) << input.size();
  }
  EXPECT_TRUE(throws(ErrorKind::data, "--input CxHxW", [&] {
    read(reshaped({64}), {.input = {{1, 4, 16}}});
  }));
}

}  // namespace
}  // namespace weft::models

#endif
