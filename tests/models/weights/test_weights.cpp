// SPDX-License-Identifier: MIT
// Tensors of other programs' files: each format, and which tensor of a network they become.
#include <cmath>
#include <fstream>

#include "models/files/foreign.h"
#include "models/weights/match.h"
#include "tests/support/folder.h"

namespace weft::models::weights_tests {
namespace {

using test::TemporaryFolder;
using test::throws;
using test::write_text;

const std::string kFiles = std::string(WEFT_TESTS_DIR) + "/models/weights/files/";
constexpr const char* kNetwork = "conv 2 3x3\nbatch_norm\nrelu\nlinear classes\n";

// A folder with the network of the files, of 1 x 4 x 4 pixels and three classes.
struct Place {
  TemporaryFolder folder;
  Place() { write_text(folder / "m.net", kNetwork); }

  WeightsImport wish(std::vector<NamePair> map = {}) const {
    return {(folder / "m.net").string(), std::array<std::int64_t, 3>{1, 4, 4}, {}, std::move(map)};
  }
  MatchedModel match(const Weights& weights) const { return matched_model(weights, wish(), "w"); }
};

// The numbers 0, 1/8, ... in the order of PyTorch, where statistics are between the parameters.
void expect_numbers(const Model& model) {
  ASSERT_EQ(model.parameters.size(), 18u + 2 + 4 + 24 + 3);
  std::vector<float> expected;
  for (int i = 0; i < 55; ++i) {
    if (i < 24 || i >= 28) expected.push_back(static_cast<float>(i) / 8);
  }
  EXPECT_EQ(model.parameters, expected);
  EXPECT_EQ(model.buffers, (std::vector<float>{3, 3.125f, 3.25f, 3.375f}));
  EXPECT_EQ(model.info.network.classes, 3);
  EXPECT_EQ(model.info.class_names, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(model.info.normalisation, NormalisationSource::assumed);
}

TEST(Weights, OfEachFormatAreRead) {
  const Place place;
  for (const char* name : {"zip.pt", "old.pth", "half.pt", "double.pt", "views.pt", "checkpoint.pt",
                           "arrays.pkl", "arrays.npz"}) {
    SCOPED_TRACE(name);
#ifndef WEFT_WITH_LIBARCHIVE
    if (*foreign_format(kFiles + name) != ForeignFormat::pickle && std::string(name) != "old.pth") {
      continue;
    }
#endif
    const MatchedModel made = place.match(read_weights(kFiles + name));
    expect_numbers(made.model);
    ASSERT_EQ(made.map.size(), 8u);
    EXPECT_EQ(made.map.front(), NamePair("conv1.weight", "0.weight"));
    EXPECT_NE(made.notices.back().find("matched by their order and shapes"), std::string::npos);
  }
}

#ifdef WEFT_WITH_LIBARCHIVE
TEST(Weights, ACheckpointTellsWhatIsRead) {
  const Weights weights = read_weights(kFiles + "checkpoint.pt");
  ASSERT_EQ(weights.notices.size(), 2u);
  EXPECT_EQ(weights.notices[0], "its entry \"state_dict\" is read");
  EXPECT_NE(weights.notices[1].find("begin with \"module.\""), std::string::npos);
  EXPECT_EQ(weights.tensors.front().name, "0.weight");
}

TEST(Weights, AWholeModelIsRefusedByItsClass) {
  EXPECT_TRUE(throws(ErrorKind::data, "'torch.nn.modules.linear.Linear', which is not on Weft's",
                     [] { read_weights(kFiles + "whole.pt"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "save model.state_dict()",
                     [] { read_weights(kFiles + "whole.pt"); }));
}
#endif

// The tensors of the files, in a list that a test may change.
Weights weights_of_files() {
  return read_weights(kFiles + "old.pth");
}

NamedTensor& tensor_of(Weights& weights, const std::string& name) {
  for (NamedTensor& tensor : weights.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

TEST(Weights, NamesOfTheNetworkCountWhateverTheirOrder) {
  const Place place;
  Weights weights = weights_of_files();
  for (NamedTensor& tensor : weights.tensors) {
    const std::string layer = tensor.name.starts_with("0.")   ? "conv1"
                              : tensor.name.starts_with("1.") ? "bn1"
                                                              : "fc1";
    tensor.name = layer + tensor.name.substr(1);
  }
  std::reverse(weights.tensors.begin(), weights.tensors.end());
  const MatchedModel made = place.match(weights);
  expect_numbers(made.model);
  EXPECT_TRUE(made.map.empty());
  EXPECT_TRUE(made.notices.empty());
}

TEST(Weights, AMapSaysWhichLayersAreTheSame) {
  const Place place;
  Weights weights = weights_of_files();
  std::reverse(weights.tensors.begin(), weights.tensors.end());
  EXPECT_TRUE(throws(ErrorKind::data, "--map OURS=THEIRS says which layers are the same",
                     [&] { place.match(weights); }));
  const auto with_map = [&](const std::string& map) {
    return matched_model(weights, place.wish(parse_map(map)), "w");
  };
  expect_numbers(with_map("conv1=0,bn1=1,fc1.weight=4.weight,fc1.bias=4.bias").model);
  expect_numbers(with_map("conv1=0,fc1=4").model);  // what is left is one layer
  EXPECT_TRUE(throws(ErrorKind::usage, "the network has no layer or tensor \"conv2\"",
                     [&] { with_map("conv2=0"); }));
  EXPECT_TRUE(throws(ErrorKind::usage, "the file has no tensor \"7.weight\" for conv1.weight",
                     [&] { with_map("conv1=7"); }));
  EXPECT_TRUE(throws(ErrorKind::usage, "two tensors of the network are \"0.bias\"",
                     [&] { with_map("conv1=0,bn1.bias=0.bias"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "tensor conv1.bias: expected shape (2,), found (3,)", [&] {
    with_map(
        "conv1.bias=4.bias,conv1.weight=0.weight,bn1=1,fc1.weight="
        "4.weight,fc1.bias=0.bias");
  }));
  for (const char* text : {"conv1", "=0", "conv1=", "conv1=0,"}) {
    if (std::string(text) == "conv1=0,") continue;
    EXPECT_TRUE(throws(ErrorKind::usage, "expected conv1=features.0", [&] { parse_map(text); }));
  }
}

// Safetensors files are sorted by size or name, so the numbers in the names tell the order.
TEST(Weights, WithoutAnOrderNamesAreSortedAsPeopleDo) {
  const TemporaryFolder folder;
  write_text(folder / "m.net", "linear 4\nrelu\nlinear 4\nrelu\nlinear 4\n");
  Weights weights;
  weights.order = TensorOrder::names;
  const std::pair<const char*, float> kLayers[] = {{"net.10", 3}, {"net.2", 2}, {"net.0", 1}};
  for (const auto& [layer, value] : kLayers) {
    const Shape shape = value == 1 ? Shape{4, 9} : Shape{4, 4};
    weights.tensors.push_back({str(layer, ".bias"), {4}, std::vector<float>(4, value)});
    weights.tensors.push_back(
        {str(layer, ".weight"), shape,
         std::vector<float>(static_cast<std::size_t>(shape.elements()), value)});
  }
  const MatchedModel made = matched_model(
      weights, {(folder / "m.net").string(), std::array<std::int64_t, 3>{1, 3, 3}}, "w");
  EXPECT_EQ(made.model.parameters.front(), 1);
  EXPECT_EQ(made.model.parameters[40], 2);
  EXPECT_EQ(made.model.parameters.back(), 3);
  EXPECT_EQ(made.map.front(), NamePair("fc1.weight", "net.0.weight"));
}

TEST(Weights, OfAnotherNetworkAreRefused) {
  const Place place;
  const auto refuses = [&](const std::string& why, const std::function<void(Weights&)>& change) {
    Weights weights = weights_of_files();
    change(weights);
    return throws(ErrorKind::data, why, [&] { place.match(weights); });
  };
  EXPECT_TRUE(refuses("\"4.weight\" has the shape (3, 9)", [](Weights& weights) {
    NamedTensor& tensor = tensor_of(weights, "4.weight");
    tensor.shape = {3, 9};
    tensor.values.resize(27);
  }));
  EXPECT_TRUE(refuses("its layer \"4\" has 1 tensors, where the network's fc1 has 2",
                      [](Weights& weights) { weights.tensors.pop_back(); }));
  EXPECT_TRUE(refuses("holds no tensors for the layer fc1", [](Weights& weights) {
    weights.tensors.pop_back();
    weights.tensors.pop_back();
  }));
  EXPECT_TRUE(refuses("its tensor \"5.weight\" of shape (2,) is none of the network's",
                      [](Weights& weights) {
                        weights.tensors.push_back({"5.weight", {2}, {1, 2}});
                      }));
  EXPECT_TRUE(refuses("named as in Keras and Flax",
                      [](Weights& weights) { tensor_of(weights, "4.weight").name = "4.kernel"; }));
  EXPECT_TRUE(refuses("not finite",
                      [](Weights& weights) { tensor_of(weights, "0.bias").values[0] = NAN; }));
}

TEST(Weights, TheImageIsToldWhereItIsAssumed) {
  const TemporaryFolder folder;
  write_text(folder / "m.net", "conv 2 3x3\nglobal_avg_pool\nlinear classes\n");
  Weights weights;
  weights.tensors = {{"a.weight", {2, 3, 3, 3}, std::vector<float>(54, 1)},
                     {"a.bias", {2}, {0, 1}},
                     {"b.weight", {5, 2}, std::vector<float>(10, 1)},
                     {"b.bias", {5}, std::vector<float>(5, 1)}};
  const MatchedModel made = matched_model(weights, {(folder / "m.net").string()}, "w");
  EXPECT_EQ(made.model.info.network.channels, 3);
  EXPECT_EQ(made.model.info.mean.size(), 3u);
  EXPECT_EQ(made.model.info.network.classes, 5);
  EXPECT_NE(made.notices.front().find("images of 3 x 28 x 28 are assumed"), std::string::npos);
}

std::string safetensors(const std::string& dtype, const std::string& shape,
                        const std::string& values) {
  const std::string header = str(R"({"a":{"dtype":")", dtype, R"(","shape":)", shape,
                                 R"(,"data_offsets":[0,)", values.size(), "]}}");
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  return length + header + values;
}

TEST(Weights, OtherTypesOfSafetensorsBecomeFloats) {
  const TemporaryFolder folder;
  const auto values_of = [&](const std::string& dtype, const std::string& bytes) {
    write_text(folder / "a.safetensors", safetensors(dtype, "[2]", bytes));
    const Weights weights = read_weights(folder / "a.safetensors");
    EXPECT_EQ(weights.order, TensorOrder::names);
    return weights.tensors.at(0).values;
  };
  const std::vector<float> expected = {1, -2};
  using namespace std::string_literals;
  EXPECT_EQ(values_of("F16", "\x00\x3c\x00\xc0"s), expected);
  EXPECT_EQ(values_of("BF16", "\x80\x3f\x00\xc0"s), expected);
  EXPECT_EQ(values_of("F32", "\0\0\x80\x3f\0\0\0\xc0"s), expected);
  EXPECT_EQ(values_of("F64", "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0"s), expected);
  EXPECT_TRUE(throws(ErrorKind::data, "needs 2", [&] { values_of("F16", "\x00\x3c"s); }));
  EXPECT_TRUE(throws(ErrorKind::data, "holds \"I32\", expected F32, F16, BF16 or F64",
                     [&] { values_of("I32", "12345678"); }));
}

TEST(Weights, ShardsAreReadByTheirIndex) {
  const TemporaryFolder folder;
  const auto index = folder / "m.safetensors.index.json";
  for (const char* name : {"a", "b"}) {
    SafeTensors content;
    content.tensors.push_back({name, Shape{1}, {name[0] == 'a' ? 1.0f : 2.0f}});
    write_safetensors(folder / (std::string(name) + ".safetensors"), content);
  }
  write_text(index, R"({"weight_map":{"a":"a.safetensors","b":"b.safetensors"}})");
  const Weights weights = read_weights(index);
  ASSERT_EQ(weights.tensors.size(), 2u);
  EXPECT_EQ(weights.tensors[1].values, std::vector<float>{2});
  const auto refuses = [&](const std::string& text, const std::string& why) {
    write_text(index, text);
    return throws(ErrorKind::data, why, [&] { read_weights(index); });
  };
  EXPECT_TRUE(refuses("{}", "expected a \"weight_map\""));
  EXPECT_TRUE(refuses("[1]", "expected a \"weight_map\""));
  for (const char* name : {"../a.safetensors", "/etc/passwd", "", "..", "c/a.safetensors"}) {
    EXPECT_TRUE(refuses(str(R"({"weight_map":{"a":")", name, "\"}}"), "expected a file beside it"));
  }
  EXPECT_TRUE(refuses(R"({"weight_map":{"a":"c.safetensors"}})", "c.safetensors"));
}

TEST(Weights, EachFileIsNamedForWhatItIs) {
  const TemporaryFolder folder;
  const auto is = [&](const std::string& file, const std::string& what) {
    return throws(ErrorKind::data, what, [&] { load_model(file); }) &&
           throws(ErrorKind::data, "`weft import ", [&] { load_model(file); });
  };
  using namespace std::string_literals;
  write_text(folder / "m.h5", "\x89HDF\r\n\x1a\n more");
  write_text(folder / "m.keras", "PK\3\4 more");
  write_text(folder / "m.onnx", "anything");
  write_text(folder / "m.safetensors.index.json", "{}");
  EXPECT_TRUE(is(kFiles + "zip.pt", "zip.pt: a file of PyTorch, and no model"));
  EXPECT_TRUE(is(kFiles + "old.pth", "a file of PyTorch"));
  EXPECT_TRUE(is(kFiles + "arrays.npz", "an archive of NumPy's arrays"));
  EXPECT_TRUE(is(kFiles + "arrays.pkl", "a Python pickle"));
  EXPECT_TRUE(is((folder / "m.h5").string(), "an HDF5 file"));
  EXPECT_TRUE(is((folder / "m.keras").string(), "a file of Keras"));
  EXPECT_TRUE(is((folder / "m.onnx").string(), "an ONNX file"));
  EXPECT_TRUE(is((folder / "m.safetensors.index.json").string(), "several safetensors files"));
}

// The length of a header may look like the beginning of a pickle.
TEST(Weights, ASafetensorsFileIsOneWhateverItsLength) {
  const TemporaryFolder folder;
  SafeTensors content;
  content.tensors.push_back({"x", Shape{1}, {1}});
  std::vector<std::byte> bytes = safetensors_bytes(content);
  while (bytes.size() < 8 + 0x380 + 4) {
    content.tensors[0].name += 'x';
    bytes = safetensors_bytes(content);
  }
  ASSERT_EQ(std::to_integer<int>(bytes[0]), 0x80);
  ASSERT_EQ(std::to_integer<int>(bytes[1]), 3);
  write_safetensors(folder / "m", content);
  EXPECT_EQ(foreign_format(folder / "m"), std::nullopt);
}

TEST(Weights, DamageIsRefusedWhereverItLies) {
  const std::string whole = test::read_text(kFiles + "old.pth");
  const TemporaryFolder folder;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(folder / "m.pth", whole.substr(0, size));
    EXPECT_TRUE(throws(ErrorKind::data, "m.pth: ", [&] { read_weights(folder / "m.pth"); }));
  }
  // A view that leads out of its storage: the offset of conv's bias.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    write_text(folder / "m.pth", changed);
    try {
      read_weights(folder / "m.pth");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << at;
    }
  }
}

}  // namespace
}  // namespace weft::models::weights_tests
