// SPDX-License-Identifier: MIT
// Model files: round trip, recognition of plain state dicts, and mismatches that name the tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "models/model.h"
#include "models/training/runs/run_state.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::TemporaryFolder;
using test::throws;

Model fresh_model(const std::string& name, std::int64_t classes = 10) {
  Model model;
  model.info.network.name = name;
  model.info.network.classes = classes;
  for (std::int64_t i = 0; i < classes; ++i) model.info.class_names.push_back(str("c", i));
  model.net = make_network(model.info.network);
  model.parameters = model.net->initial_parameters(7);
  model.buffers = model.net->initial_buffers();
  return model;
}

class EachNetwork : public testing::TestWithParam<std::string> {};

TEST_P(EachNetwork, RoundTripKeepsEverything) {
  const TemporaryFolder folder;
  Model model = fresh_model(GetParam(), 7);
  model.info.dataset = "fashion-mnist";
  model.info.mean = {0.2860406f};
  model.info.stddev = {0.35302424f};
  model.info.normalisation = NormalisationSource::measured;
  model.info.output = Output::sigmoid;
  model.info.epochs = 4;
  model.info.test_accuracy = 0.1 + 0.2;
  model.info.test_images = 10'000;
  model.info.calibration = {0.1 + 0.2, 1.0 / 3, 3'000, Certainty{0.1, -2, 1.0 / 7, 3}};
  if (GetParam() == "convnet") model.info.network.dropout = 0.5f;
  write_safetensors(folder / "model.safetensors", model_content(model));
  for (const auto& path : {folder / "model.safetensors", folder.path()}) {
    const Model read = load_model(path);
    EXPECT_EQ(read.parameters, model.parameters);
    EXPECT_EQ(read.buffers, model.buffers);
    EXPECT_EQ(read.info.network.name, GetParam());
    EXPECT_EQ(read.info.network.classes, 7);
    EXPECT_EQ(read.info.network.dropout, model.info.network.dropout);
    EXPECT_EQ(read.info.class_names, model.info.class_names);
    EXPECT_EQ(read.info.dataset, model.info.dataset);
    EXPECT_EQ(read.info.mean, model.info.mean);
    EXPECT_EQ(read.info.stddev, model.info.stddev);
    EXPECT_EQ(read.info.normalisation, NormalisationSource::measured);
    EXPECT_EQ(read.info.output, Output::sigmoid);
    EXPECT_EQ(read.info.epochs, 4);
    EXPECT_EQ(read.info.test_accuracy, model.info.test_accuracy);
    EXPECT_EQ(read.info.test_images, 10'000);
    EXPECT_EQ(read.info.calibration.temperature, 0.1 + 0.2);
    EXPECT_EQ(read.info.calibration.threshold, 1.0 / 3);
    EXPECT_EQ(read.info.calibration.images, 3'000);
    EXPECT_EQ(read.info.calibration.certainty, model.info.calibration.certainty);
    EXPECT_FALSE(read.info.recognised);
  }
}

TEST_P(EachNetwork, IsRecognisedFromNamesAndShapes) {
  const TemporaryFolder folder;
  for (const std::int64_t classes : {10, 47}) {
    const Model model = fresh_model(GetParam(), classes);
    SafeTensors content = model_content(model);
    content.metadata.clear();
    std::reverse(content.tensors.begin(), content.tensors.end());
    write_safetensors(folder / "state_dict.safetensors", content);
    const Model read = load_model(folder / "state_dict.safetensors");
    const std::string expected = GetParam() == "lenet5-classic" ? "lenet5" : GetParam();
    EXPECT_EQ(read.info.network.name, expected);
    EXPECT_EQ(read.info.network.classes, classes);
    EXPECT_EQ(static_cast<std::int64_t>(read.info.class_names.size()), classes);
    EXPECT_TRUE(read.info.recognised);
    EXPECT_EQ(read.info.normalisation, NormalisationSource::assumed);
    EXPECT_EQ(read.info.dataset, "");
    EXPECT_LT(read.info.test_accuracy, 0);
    EXPECT_EQ(read.info.calibration.temperature, 1);
    EXPECT_EQ(read.info.calibration.images, 0);
    EXPECT_EQ(read.parameters, model.parameters);
  }
}

std::vector<std::string> network_list() {
  std::vector<std::string> names;
  for (const NetworkInfo& network : networks()) names.emplace_back(network.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, EachNetwork, testing::ValuesIn(network_list()),
                         [](const auto& param_info) {
                           std::string label = param_info.param;
                           std::replace(label.begin(), label.end(), '-', '_');
                           return label;
                         });

// A file of its own is a part of the model, and what was known of a network by its name alone, in
// files written before, loads as it did.
TEST(NetworkInModelFile, RoundTripsAndIsNotTrusted) {
  const TemporaryFolder folder;
  Model model;
  model.info.network.name = "own.net";
  model.info.network.definition =
      "conv 4 3x3 pad 1\nresidual {\n  conv 4 3x3 pad 1\n  batch_norm\n}\nlinear classes\n";
  model.info.network.channels = 3;
  model.info.network.height = 9;
  model.info.class_names.assign(10, "c");
  model.net = make_network(model.info.network);
  model.parameters = model.net->initial_parameters(7);
  model.buffers = model.net->initial_buffers();
  const SafeTensors good = model_content(model);
  write_safetensors(folder / "m.safetensors", good);
  const Model read = load_model(folder / "m.safetensors");
  EXPECT_EQ(read.info.network.name, "own.net");
  EXPECT_EQ(read.info.network.definition, model.info.network.definition);
  EXPECT_EQ(read.net->sample_shape(), Shape({3, 9, 28}));
  EXPECT_EQ(read.parameters, model.parameters);
  EXPECT_EQ(read.buffers, model.buffers);
  EXPECT_NE(good.find("conv2.weight"), nullptr);

  const auto refuses = [&](const std::string& message, auto change) {
    SafeTensors content = good;
    auto json = nlohmann::json::parse(content.metadata.at("weft"));
    change(json);
    content.metadata["weft"] = json.dump();
    write_safetensors(folder / "m.safetensors", content);
    return throws(ErrorKind::data, message, [&] { load_model(folder / "m.safetensors"); });
  };
  using J = nlohmann::json;
  EXPECT_TRUE(refuses("m.safetensors: own.net:1:1: expected a layer",
                      [](J& j) { j["definition"] = "bonv 4 3x3"; }));
  EXPECT_TRUE(refuses("own.net:2:1: expected a network of at most", [](J& j) {
    j["definition"] = "linear 1048576\nlinear 1048576\nlinear classes";
  }));
  EXPECT_TRUE(
      refuses("tensor conv1.weight: expected shape (4, 3, 5, 5), found (4, 3, 3, 3)", [](J& j) {
        std::string text = j["definition"];
        j["definition"] = text.replace(0, 16, "conv 4 5x5 pad 2");
      }));
  EXPECT_TRUE(refuses("named NAME.net", [](J& j) { j["network"] = "../../x.net"; }));
  EXPECT_TRUE(refuses("named NAME.net", [](J& j) { j["network"] = "lenet5"; }));
  EXPECT_TRUE(refuses("unknown network", [](J& j) { j["definition"] = ""; }));
  EXPECT_TRUE(refuses("\"definition\"", [](J& j) { j["definition"] = 3; }));
  EXPECT_TRUE(refuses("\"channels\"", [](J& j) { j["channels"] = 1 << 20; }));

  SafeTensors older = model_content(fresh_model("lenet5"));
  auto json = nlohmann::json::parse(older.metadata.at("weft"));
  json.erase("definition");
  json.erase("channels");
  older.metadata["weft"] = json.dump();
  write_safetensors(folder / "older.safetensors", older);
  EXPECT_EQ(load_model(folder / "older.safetensors").parameters, fresh_model("lenet5").parameters);
}

// The first tensor of a plain state dict says how many channels there are.
TEST(NetworkInModelFile, IsRecognisedWithItsChannels) {
  const TemporaryFolder folder;
  for (const std::int64_t channels : {3, 1024}) {
    Model model;
    model.info.network.name = "lenet5";
    model.info.network.channels = channels;
    model.info.class_names.assign(10, "c");
    model.net = make_network(model.info.network);
    model.parameters = model.net->initial_parameters(7);
    SafeTensors content = model_content(model);
    content.metadata.clear();
    write_safetensors(folder / "m.safetensors", content);
    const Model read = load_model(folder / "m.safetensors");
    EXPECT_EQ(read.info.network.name, "lenet5");
    EXPECT_EQ(read.info.network.channels, channels);
    EXPECT_EQ(std::ssize(read.info.mean), channels);
    EXPECT_EQ(read.parameters, model.parameters);
  }
}

class ModelFile : public testing::Test {
 protected:
  ModelFile() : content_(model_content(fresh_model("mlp"))) {}

  testing::AssertionResult refuses(const std::string& text) {
    write_safetensors(folder_ / "m.safetensors", content_);
    return throws(ErrorKind::data, text, [&] { load_model(folder_ / "m.safetensors"); });
  }
  void change_info(const std::function<void(nlohmann::json&)>& change) {
    auto json = nlohmann::json::parse(content_.metadata.at("weft"));
    change(json);
    content_.metadata["weft"] = json.dump();
  }

  TemporaryFolder folder_;
  SafeTensors content_;
};

TEST_F(ModelFile, MissingOrEmptyFolderIsDataError) {
  EXPECT_TRUE(throws(ErrorKind::data, "No such file", [&] { load_model(folder_ / "none"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "no model.safetensors", [&] { load_model(folder_.path()); }));
}

TEST_F(ModelFile, WrongShapeNamesTensorExpectedAndFound) {
  content_.tensors[1] = {"fc1.bias", Shape{513}, std::vector<float>(513)};
  EXPECT_TRUE(refuses("tensor fc1.bias: expected shape (512,), found (513,)"));
  content_.metadata.clear();
  EXPECT_TRUE(refuses("tensor fc1.bias: expected shape (512,), found (513,)"));
}

TEST_F(ModelFile, MissingAndUnexpectedTensorsAreNamed) {
  content_.tensors.push_back({"extra.weight", Shape{2}, {1, 2}});
  EXPECT_TRUE(refuses("unexpected tensor \"extra.weight\" of shape (2,)"));
  content_.tensors.pop_back();
  content_.tensors.pop_back();
  EXPECT_TRUE(refuses("tensor fc3.bias is missing, expected shape (10,)"));
  content_.metadata.clear();
  EXPECT_TRUE(refuses("are not those of a built-in network"));
  content_.tensors.clear();
  EXPECT_TRUE(refuses("no tensors"));
}

TEST_F(ModelFile, WeightsThatAreNotFiniteAreRefused) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -INFINITY}) {
    content_.tensors[2].values[5] = bad;
    EXPECT_TRUE(refuses("tensor fc2.weight holds a value that is not finite"));
  }
}

// A list where there are channels, and one number in older files and for one channel.
TEST(ModelMetadata, KnowsTheNormalisationOfEveryChannel) {
  const TemporaryFolder folder;
  Model model;
  model.info.network = {.name = "mlp", .height = 4, .width = 4, .classes = 3, .channels = 3};
  model.info.class_names = {"a", "b", "c"};
  model.info.mean = {0.4914f, 0.4822f, 0.4465f};
  model.info.stddev = {0.247f, 0.2435f, 0.2616f};
  model.info.fit = data::Fit::crop;
  model.net = make_network(model.info.network);
  model.parameters = model.net->initial_parameters(7);
  SafeTensors content = model_content(model);
  write_safetensors(folder / "model.safetensors", content);
  const Model read = load_model(folder.path());
  EXPECT_EQ(read.info.mean, model.info.mean);
  EXPECT_EQ(read.info.stddev, model.info.stddev);
  EXPECT_EQ(read.info.fit, data::Fit::crop);
  EXPECT_EQ(read.info.network.channels, 3);

  const auto with_mean = [&](const nlohmann::json& mean) {
    nlohmann::json info = nlohmann::json::parse(content.metadata["weft"]);
    info["mean"] = mean;
    content.metadata["weft"] = info.dump();
    write_safetensors(folder / "model.safetensors", content);
    return load_model(folder.path()).info.mean;
  };
  EXPECT_EQ(with_mean(0.5), (std::vector<float>(3, 0.5f)));
  EXPECT_TRUE(test::throws(ErrorKind::data, "3 numbers as \"mean\", found 2", [&] {
    with_mean({0.5, 0.5});
  }));
  EXPECT_TRUE(test::throws(ErrorKind::data, "\"mean\" to be a finite number", [&] {
    with_mean({0.5, "x", 0.5});
  }));
}

TEST_F(ModelFile, DamagedMetadataIsRefused) {
  const SafeTensors good = content_;
  const auto refuses_change = [&](const std::string& text, auto change) {
    content_ = good;
    change_info(change);
    return refuses(text);
  };
  using J = nlohmann::json;
  EXPECT_TRUE(refuses_change("schema_version 1, found 2", [](J& j) { j["schema_version"] = 2; }));
  EXPECT_TRUE(refuses_change("nonet", [](J& j) { j["network"] = "nonet"; }));
  EXPECT_TRUE(refuses_change("\"height\"", [](J& j) { j["height"] = 1 << 30; }));
  EXPECT_TRUE(refuses_change("\"width\"", [](J& j) { j["width"] = -28; }));
  EXPECT_TRUE(refuses_change("\"classes\"", [](J& j) { j["classes"] = 1e300; }));
  EXPECT_TRUE(refuses_change("class names", [](J& j) { j["classes"] = 11; }));
  EXPECT_TRUE(refuses_change("stddev", [](J& j) { j["stddev"] = 0; }));
  EXPECT_TRUE(refuses_change("guessed", [](J& j) { j["normalisation"] = "guessed"; }));
  EXPECT_TRUE(refuses_change("tanh", [](J& j) { j["output"] = "tanh"; }));
  EXPECT_TRUE(refuses_change("\"mean\"", [](J& j) { j["mean"] = 1e300; }));
  EXPECT_TRUE(refuses_change("\"mean\" is missing", [](J& j) { j.erase("mean"); }));
  EXPECT_TRUE(refuses_change("test_accuracy", [](J& j) { j["test_accuracy"] = 1.5; }));
  EXPECT_TRUE(refuses_change("strings", [](J& j) { j["class_names"][0] = 3; }));
  EXPECT_TRUE(refuses_change("dropout", [](J& j) { j["dropout"] = 1; }));
  content_ = good;
  content_.metadata["weft"] = "{\"schema_version\":1,\"schema_version\":1}";
  EXPECT_TRUE(refuses("appears twice"));
  content_.metadata["weft"] = std::string(100, '[');
  EXPECT_TRUE(refuses("nested deeper"));
}

TEST_F(ModelFile, TrainingStateIsNotTakenForAModel) {
  content_.metadata["weft_run"] = "{}";
  EXPECT_TRUE(refuses("model.safetensors beside it"));
}

TEST_F(ModelFile, CarriesTheFormatThatPyTorchLooksFor) {
  EXPECT_EQ(content_.metadata.at("format"), "pt");
  EXPECT_EQ(content_.tensors.front().name, "fc1.weight");
}

}  // namespace
}  // namespace weft::models
