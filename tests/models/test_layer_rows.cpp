// SPDX-License-Identifier: MIT
// The registry of layers: every class has a row, every row its word, its ONNX and its Python name
// or a reason, and a layer that a program adds is one like the others.
#include "layers/registry/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "layers/softmax.h"
#include "models/onnx/onnx.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using layers::layer_rows;
using layers::LayerRow;

// The classes of the headers of layers/ that networks are made of, which are final.
std::set<std::string> classes() {
  std::set<std::string> names;
  const std::regex layer("(?:class|struct) (\\w+) final : (?:public )?\\w*(?:Layer|Pool2d)\\b");
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/layers")) {
    if (file.path().extension() != ".h") continue;
    const std::string text = test::read_text(file.path());
    for (std::sregex_iterator at(text.begin(), text.end(), layer), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
  }
  return names;
}

TEST(LayerRows, EveryClassHasARow) {
  std::set<std::string> types;
  for (const LayerRow& row : layer_rows()) types.emplace(row.type);
  EXPECT_EQ(classes(), types);
}

TEST(LayerRows, EachHasAWordItsOnnxAndItsPythonNameOrSaysWhyNot) {
  for (const LayerRow& row : layer_rows()) {
    const bool is_whole = !row.word.empty() && !row.onnx.empty() && !row.python.empty();
    EXPECT_EQ(is_whole, row.why_not.empty()) << row.type;
    if (!row.word.empty()) {
      EXPECT_FALSE(row.summary.empty() || row.stem.empty() || row.read == nullptr) << row.type;
    }
    EXPECT_TRUE(!is_whole || row.arguments.empty() == row.example.empty()) << row.type;
  }
}

NetworkOptions of_line(const std::string& line) {
  return {.name = "t.net",
          .height = 7,
          .width = 8,
          .channels = 2,
          .definition = line + "\nlinear classes"};
}

std::string in_words(const layers::Sequential& net) {
  std::string all;
  for (const auto& layer : net.layers()) {
    if (!layer->traits().identity_in_inference) all += layer->describe() + "\n";
  }
  return all;
}

// The file's text is kept only where its graph says the same.
TEST(LayerRows, EachIsReadFromATextAndFromItsOnnxFile) {
  const test::TemporaryFolder folder;
  for (const LayerRow& row : layer_rows()) {
    if (!row.why_not.empty()) continue;
    const std::string line = str(row.word, " ", row.example);
    Model model;
    model.info.network = of_line(line);
    model.info.class_names.assign(10, "a class");
    model.net = make_network(model.info.network);
    const auto has_type = [&](const auto& layer) { return layer->type() == row.type; };
    EXPECT_TRUE(std::ranges::any_of(model.net->layers(), has_type)) << line;
    EXPECT_TRUE(model.net->layers()[0]->name().starts_with(row.stem) || row.stem == "fc") << line;
    if (!knows_onnx()) continue;
    model.parameters = model.net->initial_parameters(1);
    model.buffers = model.net->initial_buffers();
    write_onnx(folder / "m.onnx", model);
    const Model back = read_onnx(folder / "m.onnx").model;
    EXPECT_EQ(back.info.network.definition, model.info.network.definition);
    EXPECT_EQ(in_words(*back.net), in_words(*model.net));
    EXPECT_EQ(back.parameters, model.parameters) << line;
  }
}

TEST(LayerRows, OfAProgramMayTakeNoWordThatIsThere) {
  const LayerRow mine{.type = "Mine", .word = "mine", .read = layers::plain<layers::Softmax>};
  const auto refuses = [](const LayerRow& row, const char* message) {
    return test::throws(ErrorKind::usage, message, [&] { layers::register_layer(row); });
  };
  LayerRow row = mine;
  row.word = "conv";
  EXPECT_TRUE(refuses(row, "register_layer: Mine: there is a word conv"));
  row = mine;
  row.read = nullptr;
  EXPECT_TRUE(refuses(row, "register_layer: Mine: expected a word and its reader"));
  row = mine;
  row.onnx = {{"Gemm", nullptr}};
  EXPECT_TRUE(refuses(row, "register_layer: Mine: Gemm is read as linear"));
  row = mine;
  row.python = "relu";
  EXPECT_TRUE(refuses(row, "register_layer: Mine: Python has a relu"));
  EXPECT_EQ(layers::find_layer("mine"), nullptr);
}

}  // namespace
}  // namespace weft::models
