// SPDX-License-Identifier: MIT
// Tensors whose values lie beside the file, as PyTorch writes them.
#ifdef WEFT_WITH_ONNX

#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;
namespace fs = std::filesystem;

void say(onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

// Moves all tensors into other bytes, which it returns.
std::string take_values(onnx::ModelProto& file, const std::string& location) {
  std::string values = "16 other bytes..";
  for (onnx::TensorProto& tensor : *file.mutable_graph()->mutable_initializer()) {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    say(tensor, "location", location);
    say(tensor, "offset", std::to_string(values.size()));
    say(tensor, "length", std::to_string(tensor.raw_data().size()));
    values += tensor.raw_data();
    tensor.clear_raw_data();
  }
  return values;
}

TEST(OnnxExternal, TensorsBesideTheFileAreReadBitByBit) {
  for (const char* location : {"m.onnx.data", "weights/of m.bin", "./m.onnx.data"}) {
    const TemporaryFolder folder;
    onnx::ModelProto file = small_file();
    const std::string values = take_values(file, location);
    fs::create_directory(folder / "weights");
    write_text(folder / location, values);
    write_text(folder / "m.onnx", file.SerializeAsString());
    const Model found = read_onnx(folder / "m.onnx").model, expected = read(small_file()).model;
    EXPECT_TRUE(bits_of(found.parameters) == bits_of(expected.parameters));
    EXPECT_TRUE(bits_of(found.buffers) == bits_of(expected.buffers));
    EXPECT_EQ(found.info.network.definition, kSmallNetwork);
  }
}

// The error that reading gives when one tensor says this.
void expect_refused(const std::string& expected, const std::string& key, const std::string& value) {
  SCOPED_TRACE(value);
  const TemporaryFolder folder;
  fs::create_directory(folder / "inner");
  onnx::ModelProto file = small_file();
  const std::string values = take_values(file, "m.data");
  write_text(folder / "inner" / "m.data", values);
  write_text(folder / "secret", values);
  fs::create_symlink(folder / "secret", folder / "inner" / "link");
  fs::create_directory_symlink(folder / ".", folder / "inner" / "up");
  onnx::TensorProto& tensor = tensor_named(file, "fc1.weight");
  for (auto& entry : *tensor.mutable_external_data()) {
    if (entry.key() == key) entry.set_value(value);
  }
  write_text(folder / "inner" / "m.onnx", file.SerializeAsString());
  EXPECT_TRUE(throws(ErrorKind::data, expected, [&] { read_onnx(folder / "inner" / "m.onnx"); }));
}

TEST(OnnxExternal, NoPathLeadsOutOfTheFolder) {
  const std::string message = "the tensor \"fc1.weight\" keeps its values in";
  for (const char* location : {"../secret", "/etc/passwd", "inner/../../secret", "link",
                               "up/secret", "", "..", "./../secret"}) {
    const bool is_there = std::string(location) != "inner/../../secret";
    expect_refused(is_there ? message : "fc1.weight", "location", location);
  }
  expect_refused(message, "location", std::string("m.data\0/../x", 12));
  expect_refused("No such file", "location", "missing");
  expect_refused("No such file", "location", "of two\nlines\x1b[2J");
  expect_refused("regular file", "location", ".");
}

TEST(OnnxExternal, NumbersThatLie) {
  expect_refused("which has", "offset", "1000000");
  expect_refused("which has", "offset", "18446744073709551615");
  expect_refused("which has", "length", "18446744073709551615");
  expect_refused("expected a number of bytes", "offset", "-1");
  expect_refused("expected a number of bytes", "length", "12x");
  expect_refused("expected a number of bytes", "offset", "99999999999999999999");
  expect_refused("which does not fit its 4 bytes", "length", "4");
}

TEST(OnnxExternal, ManyTensorsOfTheSameBytesAreRefused) {
  const TemporaryFolder folder;
  onnx::ModelProto file = small_file();
  write_text(folder / "m.data", std::string(1 << 20, '\0'));
  for (int i = 0; i < 70; ++i) {
    onnx::TensorProto& tensor = *file.mutable_graph()->add_initializer();
    tensor.set_name("copy" + std::to_string(i));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(1 << 18);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    say(tensor, "location", "m.data");
  }
  write_text(folder / "m.onnx", file.SerializeAsString());
  EXPECT_TRUE(throws(ErrorKind::data, "bytes of values in other files",
                     [&] { read_onnx(folder / "m.onnx"); }));
}

}  // namespace
}  // namespace weft::models

#endif
