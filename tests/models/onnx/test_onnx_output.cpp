// SPDX-License-Identifier: MIT
// What the output of an ONNX file means: logits, probabilities, sigmoids, one of several outputs.
#ifdef WEFT_WITH_ONNX

#include <cmath>

#include "models/answers/classifier.h"
#include "models/answers/evaluate.h"
#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;

std::vector<std::uint8_t> some_pixels(const Model& model) {
  std::mt19937 random(3);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(model.net->sample_shape().elements()));
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() % 256);
  return pixels;
}

Answer answer_of(const Model& model) {
  return Classifier(model, Stream(Device::cpu())).classify(some_pixels(model));
}

// A linear network of so many outputs, as another program would have written it.
onnx::ModelProto linear_file(std::int64_t classes) {
  NetworkOptions network = network_file("linear classes\n");
  network.classes = classes;
  onnx::ModelProto file = file_of(random_model(network));
  file.clear_metadata_props();
  return file;
}

double sigmoid(double z) {
  return 1 / (1 + std::exp(-z));
}

TEST(OnnxOutput, ASoftmaxAndALogSoftmaxAreThoseOfTheLogits) {
  const OnnxModel logits = read(small_file());
  EXPECT_TRUE(logits.notices.empty());
  for (const std::string type : {"Softmax", "LogSoftmax"}) {
    SCOPED_TRACE(type);
    onnx::ModelProto file = small_file();
    set_number(insert_behind(file, "logits", type), "axis", 1);
    const OnnxModel found = read(file);
    EXPECT_EQ(found.softmax_dropped, type == "Softmax");
    EXPECT_EQ(found.model.info.output, Output::softmax);
    EXPECT_EQ(found.notices.size(), 1u);
    EXPECT_EQ(answer_of(found.model).probabilities, answer_of(logits.model).probabilities);
  }
  onnx::ModelProto file = small_file();
  insert_behind(file, "logits", "Softmax");
  onnx::NodeProto& log = *file.mutable_graph()->add_node();
  log.set_op_type("Log");
  log.add_input("new");
  log.add_output("log");
  file.mutable_graph()->mutable_output(0)->set_name("log");
  EXPECT_EQ(answer_of(read(file).model).probabilities, answer_of(logits.model).probabilities);
}

// As the ONNX project's functions have it, and without the largest logit.
TEST(OnnxOutput, ASoftmaxOfSeveralNodes) {
  const OnnxModel logits = read(small_file());
  for (const bool is_log : {false, true}) {
    for (const bool lessens : {true, false}) {
      onnx::ModelProto file = small_file();
      const std::string x = lessens ? "less" : "logits";
      set_numbers(add_node_at_end(file, "ReduceMax", {"logits"}, "most"), "axes", {-1});
      add_node_at_end(file, "Sub", {"logits", "most"}, "less");
      add_node_at_end(file, "Exp", {x}, "exp");
      add_integers(file, "axes", {1});
      add_node_at_end(file, "ReduceSum", {"exp", "axes"}, "sum");
      if (is_log) add_node_at_end(file, "Log", {"sum"}, "log");
      add_node_at_end(
          file, is_log ? "Sub" : "Div",
          is_log ? std::vector<std::string>{x, "log"} : std::vector<std::string>{"exp", "sum"},
          "answer");
      file.mutable_graph()->mutable_output(0)->set_name("answer");
      const OnnxModel found = read(file);
      EXPECT_EQ(answer_of(found.model).probabilities, answer_of(logits.model).probabilities);
      tensor_named(file, "axes").set_int64_data(0, 0);  // over the images of a batch
      EXPECT_TRUE(throws(ErrorKind::data, "node ", [&] { read(file); }));
    }
  }
}

TEST(OnnxOutput, SigmoidsAreTheProbabilityOfEachClassAlone) {
  const Answer logits = answer_of(read(linear_file(3)).model);
  onnx::ModelProto file = linear_file(3);
  insert_behind(file, "logits", "Sigmoid");
  const OnnxModel found = read(file);
  EXPECT_EQ(found.model.info.output, Output::sigmoid);
  const Answer answer = answer_of(found.model);
  EXPECT_EQ(answer.logits, logits.logits);
  EXPECT_EQ(answer.ranking, logits.ranking);
  double sum = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_DOUBLE_EQ(answer.probabilities[c], sigmoid(double{logits.logits[c]}));
    sum += answer.probabilities[c];
  }
  EXPECT_GT(std::fabs(sum - 1), 0.01);  // as a softmax of anything has
}

TEST(OnnxOutput, OneSigmoidIsTwoClasses) {
  // Behind a row, and behind a plane of one pixel.
  const auto of_row = [] { return linear_file(1); };
  const auto of_plane = [] {
    NetworkOptions network = network_file("conv 1 3x3\nglobal_avg_pool\nflatten\n");
    network.classes = 1;
    onnx::ModelProto file = file_of(random_model(network));
    file.clear_metadata_props();
    file.mutable_graph()->mutable_node()->RemoveLast();
    file.mutable_graph()->mutable_node(1)->set_output(0, "logits");
    return file;
  };
  for (const auto& make : {std::function<onnx::ModelProto()>(of_row), {of_plane}}) {
    onnx::ModelProto file = make();
    // Without a sigmoid a number may be anything.
    EXPECT_TRUE(throws(ErrorKind::data, "a single number", [&] { read(file); }));
    const double logit = [&] {
      const Answer answer = answer_of(read(file, {.class_names = {"no", "yes"}}).model);
      EXPECT_EQ(answer.logits.size(), 2u);
      EXPECT_EQ(answer.logits[0], 0);
      return answer.logits[1];
    }();
    insert_behind(file, "logits", "Sigmoid");
    const Model found = read(file).model;
    EXPECT_EQ(found.info.class_names, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(found.info.output, Output::softmax);
    const Answer answer = answer_of(found);
    EXPECT_NEAR(answer.probabilities[1], sigmoid(logit), 1e-7);
    EXPECT_NEAR(answer.probabilities[0], sigmoid(-logit), 1e-7);
    node_named(file, "new").set_op_type("Softmax");
    EXPECT_TRUE(throws(ErrorKind::data, "always 1", [&] { read(file); }));
  }
}

TEST(OnnxOutput, WhatIsNoVectorOfClassesIsRefusedWithItsShape) {
  onnx::ModelProto file =
      file_of(random_model(network_file("conv 3 3x3\nglobal_avg_pool\n"
                                        "flatten\n")));
  file.clear_metadata_props();
  auto& nodes = *file.mutable_graph()->mutable_node();
  const Answer row = answer_of(read(file).model);
  nodes.RemoveLast();  // (N, 3, 1, 1)
  nodes[1].set_output(0, "logits");
  EXPECT_EQ(answer_of(read(file).model).logits, row.logits);
  nodes.RemoveLast();
  nodes[0].set_output(0, "logits");
  EXPECT_TRUE(throws(ErrorKind::data, "its output \"logits\" is (3, 6, 6) for each image",
                     [&] { read(file); }));
}

// Outputs: a hidden layer's planes, its row, the logits, and their softmax.
onnx::ModelProto file_of_four() {
  onnx::ModelProto file = small_file();
  insert_behind(file, "logits", "Softmax").set_output(0, "share");
  auto& outputs = *file.mutable_graph()->mutable_output();
  onnx::ValueInfoProto info = outputs[0];
  outputs.Clear();
  const std::pair<std::string, std::vector<std::int64_t>> values[] = {
      {"relu1", {1, 4, 8, 8}}, {"fc1", {1, 5}}, {"logits", {1, 3}}, {"share", {1, 3}}};
  for (const auto& [name, extents] : values) {
    info.set_name(name);
    auto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.Clear();
    for (const std::int64_t extent : extents) shape.add_dim()->set_dim_value(extent);
    *outputs.Add() = info;
  }
  return file;
}

TEST(OnnxOutput, OfSeveralTheFirstVectorOfClassesIsTaken) {
  const OnnxModel first = read(file_of_four());
  EXPECT_EQ(first.model.info.network.classes, 5);
  ASSERT_EQ(first.notices.size(), 1u);
  EXPECT_EQ(
      first.notices[0].find("its output \"fc1\" is read, and not \"relu1\", \"logits\", \"share\""),
      0u)
      << first.notices[0];
  const Answer whole = answer_of(read(small_file()).model);
  for (const char* name : {"logits", "share"}) {
    const OnnxModel found = read(file_of_four(), {.output = name});
    EXPECT_EQ(answer_of(found.model).probabilities, whole.probabilities) << name;
  }
  EXPECT_TRUE(throws(ErrorKind::usage, "no output is named \"x\"; there are \"relu1\"",
                     [&] { read(file_of_four(), {.output = "x"}); }));
  EXPECT_TRUE(throws(ErrorKind::data, "(4, 8, 8) for each image",
                     [&] { read(file_of_four(), {.output = "relu1"}); }));
  // What leads to an output that is not taken may be anything.
  onnx::ModelProto file = file_of_four();
  onnx::NodeProto& node = *file.mutable_graph()->add_node();
  node.set_op_type("ArgMax");
  node.add_input("logits");
  node.add_output("best");
  onnx::ValueInfoProto info = file.graph().output(1);
  info.set_name("best");
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  *file.mutable_graph()->add_output() = info;
  file.mutable_graph()->mutable_output()->SwapElements(0, 4);
  EXPECT_EQ(read(file).model.info.network.classes, 5);
  file = file_of_four();
  file.mutable_graph()->mutable_output()->DeleteSubrange(1, 3);
  *file.mutable_graph()->add_output() = file.graph().output(0);
  EXPECT_TRUE(
      throws(ErrorKind::data, "none of its outputs is a vector of classes", [&] { read(file); }));
}

TEST(OnnxOutput, ASoftmaxIsOverTheClasses) {
  onnx::ModelProto file = small_file();
  onnx::NodeProto& node = insert_behind(file, "logits", "Softmax");
  auto& shape = *file.mutable_graph()
                     ->mutable_output(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.add_dim()->set_dim_value(1);
  shape.add_dim()->set_dim_value(1);
  EXPECT_TRUE(throws(ErrorKind::data, "expected axis 1", [&] { read(file); }));
  set_number(node, "axis", 1);
  EXPECT_EQ(read(file).model.info.network.classes, 3);
}

// The meaning outlives the file: in the model file, and in an ONNX file made of that.
TEST(OnnxOutput, SigmoidsComeBackFromTheModelAndFromItsExport) {
  const TemporaryFolder folder;
  onnx::ModelProto file = linear_file(3);
  insert_behind(file, "logits", "Sigmoid");
  const Model found = read(file).model;
  const Answer expected = answer_of(found);
  write_safetensors(folder / "m.safetensors", model_content(found));
  EXPECT_EQ(answer_of(load_model(folder / "m.safetensors")).probabilities, expected.probabilities);
  onnx::ModelProto exported = file_of(found);
  EXPECT_EQ(exported.graph().output(0).name(), "probabilities");
  const auto& nodes = exported.graph().node();
  EXPECT_EQ(nodes[nodes.size() - 1].op_type(), "Sigmoid");
  for (int i = 0; i < 2; ++i) {
    const Model back = read(exported).model;
    EXPECT_EQ(back.info.output, Output::sigmoid);
    EXPECT_EQ(answer_of(back).probabilities, expected.probabilities);
    exported.clear_metadata_props();  // the graph alone says it too
  }
}

TEST(OnnxOutput, EvaluationTakesTheSigmoids) {
  onnx::ModelProto file = linear_file(3);
  insert_behind(file, "logits", "Sigmoid");
  const Model model = read(file).model;
  data::ImageSet set{.count = 1, .channels = 2, .height = 8, .width = 8};
  set.images = some_pixels(model);
  set.labels = {1};
  const Answer answer = answer_of(model);
  const Evaluation evaluation = evaluate(model, set, 1, {}, Stream(Device::cpu()));
  double loss = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(evaluation.probabilities[c], answer.probabilities[c], 1e-5);
    const double p = answer.probabilities[c];
    loss -= std::log(c == 1 ? p : 1 - p) / 3;
  }
  EXPECT_NEAR(evaluation.metrics.loss, loss, 1e-4);
}

}  // namespace
}  // namespace weft::models

#endif
