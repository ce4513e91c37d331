// SPDX-License-Identifier: MIT
// Networks from a text: what the words make, where mistakes are found, and what limits a stranger's
// file meets before memory is taken.
#include "models/networks/network_text.h"

#include <gtest/gtest.h>

#include "models/networks/networks.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::read_text;
using test::TemporaryFolder;
using test::throws;

NetworkOptions of_text(const std::string& text) {
  NetworkOptions options;
  options.name = "t.net";
  options.definition = text;
  return options;
}

// "conv1: Conv2d(1, 8, kernel 3x3)" and so on, one layer a line.
std::string layers_of(const NetworkOptions& options) {
  const auto net = make_network(options);
  std::string all;
  for (const auto& layer : net->layers()) {
    all += layer->name() + ": " + layer->describe() + "\n";
  }
  return all;
}

TEST(NetworkText, MakesEveryLayer) {
  EXPECT_EQ(layers_of(of_text("conv 4 3x5 stride 2x1 pad 1x2 no_bias   # a comment\n"
                              "batch_norm\nrelu\n\n"
                              "\tmax_pool 2\r\n"
                              "avg_pool 3x2 stride 1 pad 1\n"
                              "sigmoid\n tanh\n"
                              "residual {\n  conv 4 1\n}\n"
                              "residual { tanh } shortcut { conv 4 1x1\nrelu }\n"
                              "global_avg_pool\n"
                              "dropout 0.25\n"
                              "flatten\n"
                              "linear 7 no_bias\n"
                              "linear classes")),
            "conv1: Conv2d(1, 4, kernel 3x5, stride 2x1, padding 1x2, no bias)\n"
            "bn1: BatchNorm2d(4)\n"
            "relu1: ReLU\n"
            "pool1: MaxPool2d(kernel 2x2, stride 2x2)\n"
            "pool2: AvgPool2d(kernel 3x2, padding 1x1)\n"
            "sigmoid1: Sigmoid\n"
            "tanh1: Tanh\n"
            "fork1: Fork\n"
            "conv2: Conv2d(4, 4, kernel 1x1)\n"
            "add1: Add\n"
            "fork2: Fork\n"
            "tanh2: Tanh\n"
            "shortcut1: Shortcut\n"
            "conv3: Conv2d(4, 4, kernel 1x1)\n"
            "relu2: ReLU\n"
            "add2: Add\n"
            "pool3: AvgPool2d(kernel 7x15, stride 7x15)\n"
            "dropout1: Dropout(0.25)\n"
            "flatten: Flatten\n"
            "fc1: Linear(4, 7, no bias)\n"
            "fc2: Linear(7, 10)\n");
}

// A concat of more than two blocks is one of the first and of a concat of the others.
TEST(NetworkText, MakesPaddingAndBlocksOfConcat) {
  EXPECT_EQ(layers_of(of_text("pad 1\npad 1x0 2 reflect\npad 0x3 edge\n"
                              "concat {\n  conv 2 1\n} and {\n} and {\n  conv 3 1\n  relu\n}\n"
                              "concat { } and { residual { tanh } }\n"
                              "global_avg_pool\n"
                              "concat { linear 4 } and { linear 5 }\n"
                              "linear classes\n")),
            "pad1: Pad2d(top 1, left 1, bottom 1, right 1)\n"
            "pad2: Pad2d(top 1, left 0, bottom 2, right 2, reflect)\n"
            "pad3: Pad2d(top 0, left 3, bottom 0, right 3, edge)\n"
            "fork1: Fork\n"
            "conv1: Conv2d(1, 2, kernel 1x1)\n"
            "shortcut1: Shortcut\n"
            "fork2: Fork\n"
            "shortcut2: Shortcut\n"
            "conv2: Conv2d(1, 3, kernel 1x1)\n"
            "relu1: ReLU\n"
            "concat1: Concat(1 + 3)\n"
            "concat2: Concat(2 + 4)\n"
            "fork3: Fork\n"
            "shortcut3: Shortcut\n"
            "fork4: Fork\n"
            "tanh1: Tanh\n"
            "add1: Add\n"
            "concat3: Concat(6 + 6)\n"
            "pool1: AvgPool2d(kernel 33x38, stride 33x38)\n"
            "fork5: Fork\n"
            "flatten: Flatten\n"
            "fc1: Linear(12, 4)\n"
            "shortcut4: Shortcut\n"
            "flatten2: Flatten\n"
            "fc2: Linear(12, 5)\n"
            "concat4: Concat(4 + 5)\n"
            "fc3: Linear(9, 10)\n");
}

TEST(NetworkText, FollowsTheImageTheClassesAndTheRate) {
  NetworkOptions options = of_text("conv 2 3\ndropout rate/2\nglobal_max_pool\nlinear classes\n");
  options.channels = 5;
  options.height = 9;
  options.width = 7;
  options.classes = 3;
  EXPECT_EQ(layers_of(options),
            "conv1: Conv2d(5, 2, kernel 3x3)\npool1: MaxPool2d(kernel 7x5, stride 7x5)\n"
            "flatten: Flatten\nfc1: Linear(2, 3)\n");
  EXPECT_EQ(make_network(options)->sample_shape(), Shape({5, 9, 7}));
  options.dropout = 0.5f;
  EXPECT_NE(layers_of(options).find("dropout1: Dropout(0.25)"), std::string::npos);
  EXPECT_TRUE(takes_dropout(options));
  EXPECT_FALSE(takes_dropout(of_text("dropout 0.5\nlinear classes")));
  NetworkOptions without = of_text("dropout 0.25\nlinear classes");
  without.dropout = 0.5f;
  EXPECT_TRUE(
      throws(ErrorKind::usage, "has no dropout with a rate", [&] { make_network(without); }));
}

struct Mistake {
  std::string text, message;  // the message from the file's name on
};

// Each is refused with its place, by the words alone or once the shapes are known.
TEST(NetworkText, RefusesMistakesWithTheirLineAndColumn) {
  const Mistake mistakes[] = {
      {"# nothing\n\n", "t.net:1:1: expected at least one layer"},
      {"}", "t.net:1:1: found a } without its {"},
      {"relu\n  }\n", "t.net:2:3: found a } without its {"},
      {"residual {\nrelu\n", "t.net:1:1: this block is not closed: expected a }"},
      {"residual { residual { relu }", "t.net:1:1: this block is not closed"},
      {"residual relu }", "t.net:1:10: expected a {, found \"relu\""},
      {"residual\n{ relu }", "t.net:1:9: expected a {, found the end of the line"},
      {"residual {\n}", "t.net:2:1: expected a layer in front of }"},
      {"residual { relu } shortcut { }", "t.net:1:30: expected a layer in front of }"},
      {"shortcut { relu }", "t.net:1:1: expected a residual block in front of shortcut"},
      {"residual { relu }\nrelu\nshortcut { relu }", "t.net:3:1: expected a residual block"},
      {"residual { relu } shortcut { relu } shortcut { relu }", "t.net:1:37: expected a residual"},
      {"{ relu }", "t.net:1:1: expected a layer, one of conv, "},
      {"concat { relu }\nlinear classes",
       "t.net:1:16: expected `and {` behind the first block of concat, found the end of the line"},
      {"concat { relu }", "t.net:1:16: expected `and {` behind the first block of concat"},
      {"concat { } and relu", "t.net:1:16: expected a {, found \"relu\""},
      {"concat { relu } shortcut { relu }", "t.net:1:17: expected `and {` behind the first block"},
      {"residual { relu } and { relu }", "t.net:1:19: expected a block of concat in front of and"},
      {"concat { relu } and { relu", "t.net:1:17: this block is not closed"},
      {"concat { } and { pad 1 }",
       "t.net:1:24: the blocks of concat give (1, 28, 28) and (1, 30, "},
      {"concat { linear 4 } and { }", "t.net:1:27: the blocks of concat give (4,) and (1, 28, 28)"},
      {"pad", "t.net:1:4: expected a padding such as 3x3 or 3, each from 0 to"},
      {"pad 1 reflect edge", "t.net:1:15: expected the end of the line after pad P"},
      {"pad 28 reflect\nlinear classes", "t.net:1:1: pad1: Pad2d(top 28, left 28, bottom 28, "},
      {"konv 3 3", "t.net:1:1: expected a layer (did you mean conv?), found \"konv\""},
      {"Conv 3 3", "t.net:1:1: expected a layer (did you mean conv?), found \"Conv\""},
      {"relu relu", "t.net:1:6: expected the end of the line after relu, found \"relu\""},
      {"relu {", "t.net:1:6: expected the end of the line after relu, found \"{\""},
      {"conv", "t.net:1:5: expected a number of filters from 1 to 1048576, found the end of"},
      {"conv 0 3", "t.net:1:6: expected a number of filters"},
      {"conv -3 3", "t.net:1:6: expected a number of filters from 1 to 1048576, found \"-3\""},
      {"conv 3.5 3", "t.net:1:6: expected a number of filters"},
      {"conv 99999999999999999999 3", "t.net:1:6: expected a number of filters"},
      {"conv 1048577 3", "t.net:1:6: expected a number of filters"},
      {"conv classes 3", "t.net:1:6: expected a number of filters"},
      {"conv 3", "t.net:1:7: expected a window such as 3x3 or 3"},
      {"conv 3 0x3", "t.net:1:8: expected a window such as 3x3 or 3, each from 1 to 1024, found"},
      {"conv 3 3x", "t.net:1:8: expected a window"},
      {"conv 3 3x3x3", "t.net:1:8: expected a window"},
      {"conv 3 2000", "t.net:1:8: expected a window"},
      {"conv 3 3 stride", "t.net:1:16: expected a stride such as"},
      {"conv 3 3 stride 0", "t.net:1:17: expected a stride such as"},
      {"conv 3 3 pad -1", "t.net:1:14: expected a padding such as"},
      {"conv 3 3 pad 1 pad 1", "t.net:1:16: expected the end of the line after conv N HxW"},
      {"conv 3 3 no_bias pad 1", "t.net:1:18: expected the end of the line after conv"},
      {"max_pool 2 no_bias", "t.net:1:12: expected the end of the line after max_pool"},
      {"max_pool 2 pad 2\nlinear classes", "t.net:1:1: pool1: expects padding of at most half"},
      {"dropout", "t.net:1:8: expected a share from 0 to less than 1, or rate, or rate/2"},
      {"dropout 1", "t.net:1:9: expected a share"},
      {"dropout nan", "t.net:1:9: expected a share"},
      {"dropout 1e999", "t.net:1:9: expected a share"},
      {"dropout -0.1", "t.net:1:9: expected a share"},
      {"linear", "t.net:1:7: expected classes or a number from 1 to 1048576"},
      {"linear klasses", "t.net:1:8: expected classes or a number"},
      {std::string("linear \0 3", 10), "t.net:1:8: expected classes or a number"},
      {"\xff\xfe", "t.net:1:1: expected a layer"},
      {"relu \x1b[31m", "t.net:1:6: expected the end of the line after relu, found \"\\x1b[31m\""},
      // Shapes.
      {"conv 3 29\nlinear classes", "t.net:1:1: conv1: Conv2d(1, 3, kernel 29x29) expects input"},
      {"max_pool 2\nmax_pool 15\nlinear classes", "t.net:2:1: pool2: MaxPool2d"},
      {"linear 5\nconv 3 3\nlinear classes", "t.net:2:1: conv expects an image, found (5,)"},
      {"flatten\nconv 3 3\nlinear classes", "t.net:2:1: conv expects an image"},
      {"linear 5\nglobal_avg_pool\nlinear classes", "t.net:2:1: global_avg_pool expects an image"},
      {"linear 9", "t.net:1:1: expected 10 values behind the last layer, as many as classes"},
      {"conv 10 28",
       "t.net:1:1: expected 10 values behind the last layer, as many as classes, found (10, 1, 1)"},
      {"residual {\nconv 3 3\n}\nlinear classes",
       "t.net:3:1: the residual block gives (3, 26, 26) and its shortcut (1, 28, 28); shortcut "
       "{ ... } may change the shape"},
      {"residual {\nconv 3 3\n} shortcut {\n conv 4 3 }\nlinear classes",
       "t.net:4:11: the residual block gives (3, 26, 26) and its shortcut (4, 26, 26)"},
  };
  for (const auto& [text, message] : mistakes) {
    EXPECT_TRUE(throws(ErrorKind::data, message, [&text = text] { make_network(of_text(text)); }))
        << text;
  }
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(NetworkText, HasLimitsBeforeMemoryIsTaken) {
  const auto refuses = [](const std::string& text, const std::string& message) {
    return throws(ErrorKind::data, message, [&] { make_network(of_text(text)); });
  };
  EXPECT_TRUE(refuses(std::string(70'000, ' '), "t.net:1:1: expected at most 65536 bytes, found"));
  EXPECT_TRUE(refuses(repeated("relu\n", 2049), "t.net:2049:1: expected at most 2048 layers"));
  EXPECT_TRUE(refuses(repeated("residual {\n", 17), "t.net:17:1: expected at most 16 blocks in"));
  EXPECT_TRUE(refuses("linear 1048576\nlinear 1048576\n",
                      "t.net:2:1: expected a network of at most 4294967296 parameters"));
  EXPECT_TRUE(refuses("linear 300000\nlinear 10000\nlinear 200000\n",
                      "t.net:3:1: expected a network of at most 4294967296 parameters"));
  EXPECT_TRUE(refuses("conv 1048576 1\nlinear classes\n",
                      "t.net:1:1: expected a layer of at most 268435456 values for an image"));
  EXPECT_TRUE(refuses(repeated("conv 1 1 pad 1024\n", 2000),
                      "expected a layer of at most 268435456 values"));
  EXPECT_NO_THROW(make_network(
      of_text(repeated("residual { relu\n", 16) + repeated("}\n", 16) + "linear classes")));
}

TEST(NetworkText, ReadsAFileUnderItsName) {
  const TemporaryFolder folder;
  test::write_text(folder / "my-net_2.net", "linear classes");
  const NetworkOptions options = read_network(folder / "my-net_2.net");
  EXPECT_EQ(options.name, "my-net_2.net");
  EXPECT_EQ(options.definition, "linear classes");
  test::write_text(folder / "bad.net", "\n  lineer 3");
  EXPECT_TRUE(throws(ErrorKind::data, "bad.net:2:3: expected a layer (did you mean linear?)",
                     [&] { read_network(folder / "bad.net"); }));
  test::write_text(folder / "empty.net", "");
  EXPECT_TRUE(throws(ErrorKind::data, "empty.net:1:1: expected at least one layer",
                     [&] { read_network(folder / "empty.net"); }));
  test::write_text(folder / "large.net", std::string(70'000, '#'));
  EXPECT_TRUE(throws(ErrorKind::data, "large.net:1:1: expected at most 65536 bytes, found 70000",
                     [&] { read_network(folder / "large.net"); }));
  test::write_text(folder / "a b.net", "linear classes");
  EXPECT_TRUE(
      throws(ErrorKind::usage, "named NAME.net", [&] { read_network(folder / "a b.net"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "none.net", [&] { read_network(folder / "none.net"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "", [&] { read_network(folder.path()); }));
}

// The page has a row for each word, with what the table of the words says of it, and the example.
TEST(NetworkText, IsToldInThePage) {
  const std::string page = read_text(std::string(WEFT_SOURCE_DIR) + "/docs/networks.md");
  ASSERT_GE(layers::layer_rows().size(), 10u);
  for (const layers::LayerRow& row : layers::layer_rows()) {
    if (row.word.empty()) continue;
    std::string arguments(row.arguments);
    for (std::size_t at = 0; (at = arguments.find('|', at)) != std::string::npos; at += 2) {
      arguments.insert(at, "\\");  // in a table
    }
    const std::string line =
        str("| `", row.word, arguments.empty() ? "" : " ", arguments, "` | ", row.summary, " |");
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  const std::string example =
      read_text(std::string(WEFT_SOURCE_DIR) + "/examples/networks/tiny.net");
  const std::size_t first = example.find("\nconv") + 1;
  EXPECT_NE(page.find("```\n" + example.substr(first) + "```"), std::string::npos);
  NetworkOptions options;
  options.name = "tiny.net";
  options.definition = example;
  EXPECT_EQ(make_network(options)->parameter_count(), 4634);
}

TEST(NetworkText, TheBuiltInNetworksAreTheFilesOfTheFolder) {
  for (const NetworkInfo& info : networks()) {
    const std::string file = str(WEFT_SOURCE_DIR, "/models/networks/", info.name, ".net");
    EXPECT_EQ(info.definition, read_text(file)) << file;
    // Given as a file it is the same network.
    NetworkOptions built_in;
    built_in.name = info.name;
    const auto a = make_network(built_in), b = make_network(read_network(file));
    ASSERT_EQ(a->slices().size(), b->slices().size());
    EXPECT_EQ(a->initial_parameters(3), b->initial_parameters(3)) << info.name;
  }
}

}  // namespace
}  // namespace weft::models
