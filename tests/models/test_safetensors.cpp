// SPDX-License-Identifier: MIT
// The safetensors reader against damaged and hostile files, and the round trip.
#include <bit>
#include <cstring>
#include <limits>

#include "models/files/safetensors.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::read_text;
using test::TemporaryFolder;
using test::throws;
using test::write_text;

std::string with_length(const std::string& header, std::uint64_t length, const std::string& data) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  return with_length(header, header.size(), std::string(data_bytes, '\0'));
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

SafeTensors two_tensors() {
  SafeTensors content;
  content.metadata = {{"format", "pt"}, {"note", "line\n\"quoted\" \xc3\xa9"}};
  content.tensors.push_back({"b.weight", Shape{2, 3}, {1, -2, 3.5f, 1e-40f, 0, -0.0f}});
  content.tensors.push_back({"a.bias", Shape{}, {std::numeric_limits<float>::max()}});
  content.tensors.push_back({"empty", Shape{0, 7}, {}});
  return content;
}

TEST(Safetensors, RoundTripKeepsBitsOrderAndMetadata) {
  const TemporaryFolder folder;
  const SafeTensors content = two_tensors();
  write_safetensors(folder / "m.safetensors", content);
  const SafeTensors read = read_safetensors(folder / "m.safetensors");
  EXPECT_EQ(read.metadata, content.metadata);
  ASSERT_EQ(read.tensors.size(), content.tensors.size());
  for (std::size_t i = 0; i < content.tensors.size(); ++i) {
    EXPECT_EQ(read.tensors[i].name, content.tensors[i].name);
    EXPECT_EQ(read.tensors[i].shape, content.tensors[i].shape);
    EXPECT_EQ(bits_of(read.tensors[i].values), bits_of(content.tensors[i].values));
  }
  EXPECT_EQ(read.find("a.bias"), &read.tensors[1]);
  EXPECT_EQ(read.find("c"), nullptr);
}

TEST(Safetensors, DataStartsAligned) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m.safetensors", two_tensors());
  std::uint64_t header = 0;
  std::memcpy(&header, read_text(folder / "m.safetensors").data(), 8);
  EXPECT_EQ(header % 8, 0u);
}

TEST(Safetensors, WriterRefusesContentThatCannotBeReadBack) {
  const TemporaryFolder folder;
  const auto write = [&](const SafeTensors& content) {
    return [&, content] { write_safetensors(folder / "m.safetensors", content); };
  };
  EXPECT_TRUE(throws(ErrorKind::usage, "two tensors named \"a\"",
                     write({{}, {{"a", Shape{1}, {1}}, {"a", Shape{1}, {1}}}})));
  EXPECT_TRUE(
      throws(ErrorKind::usage, "__metadata__", write({{}, {{"__metadata__", Shape{0}, {}}}})));
  EXPECT_TRUE(
      throws(ErrorKind::usage, "1 values for shape (2,)", write({{}, {{"a", Shape{2}, {1}}}})));
  EXPECT_TRUE(folder.names().empty());
}

TEST(Safetensors, TruncatedAnywhereIsRefused) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m.safetensors", two_tensors());
  const std::string whole = read_text(folder / "m.safetensors");
  ASSERT_GT(whole.size(), 200u);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_text(folder / "cut.safetensors", whole.substr(0, length));
    EXPECT_TRUE(throws(ErrorKind::data, (folder / "cut.safetensors").string(),
                       [&] { read_safetensors(folder / "cut.safetensors"); }))
        << "cut to " << length << " bytes";
  }
  write_text(folder / "long.safetensors", whole + '\0');
  EXPECT_TRUE(
      throws(ErrorKind::data, "of data", [&] { read_safetensors(folder / "long.safetensors"); }));
}

// Every byte of the header replaced by every value of a few: read or refused, never a crash.
TEST(Safetensors, ChangedBytesAreReadOrRefused) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m.safetensors", two_tensors());
  const std::string whole = read_text(folder / "m.safetensors");
  int refused = 0;
  for (std::size_t at = 0; at + 28 < whole.size(); ++at) {
    for (const char value : {'\0', '"', '{', '9', '\xff'}) {
      std::string changed = whole;
      changed[at] = value;
      write_text(folder / "c.safetensors", changed);
      try {
        read_safetensors(folder / "c.safetensors");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 500);
}

struct Damage {
  const char* name;
  std::string file;
  const char* message;
};

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& range) {
  return str("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
             ",\"data_offsets\":", range, "}");
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& range) {
  return str("{", tensor("a", dtype, shape, range), "}");
}

// The header {A,B} over so many bytes of data.
std::string pair_file(const std::string& a, const std::string& b, std::size_t data_bytes) {
  return file_of(str("{", a, ",", b, "}"), data_bytes);
}

TEST(Safetensors, PyTorchsStepCountersAreSkipped) {
  const TemporaryFolder folder;
  const std::string counter = tensor("bn1.num_batches_tracked", "I64", "[]", "[0,8]");
  write_text(folder / "m.safetensors",
             pair_file(counter, tensor("bn1.weight", "F32", "[2]", "[8,16]"), 16));
  const SafeTensors content = read_safetensors(folder / "m.safetensors");
  ASSERT_EQ(content.tensors.size(), 1u);
  EXPECT_EQ(content.tensors[0].name, "bn1.weight");
  EXPECT_EQ(content.tensors[0].values.size(), 2u);
}

std::vector<Damage> damages() {
  const std::string a = tensor("a", "F32", "[1]", "[0,4]");
  const std::string huge(5'000'000, '[');
  return {
      {"empty", "", "0 bytes"},
      {"text", "this is not a model at all", "a header of"},
      {"huge_length", with_length("{}", ~std::uint64_t{0}, ""), "a header of"},
      {"length_past_end", with_length("{}", 3, ""), "a header of"},
      {"sign_bit_length", with_length("{}", std::uint64_t{1} << 63, ""), "a header of"},
      {"no_header", with_length("", 0, ""), "not valid JSON"},
      {"not_json", file_of("hello", 0), "not valid JSON"},
      {"not_object", file_of("[1]", 0), "not a JSON object"},
      {"two_values", file_of("{}{}", 0), "not valid JSON"},
      {"not_utf8", file_of("{\"\xff\xfe\":1}", 0), "not valid JSON"},
      {"bomb_arrays", file_of(huge, 0), "nested deeper"},
      {"bomb_objects", file_of("{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}", 0), "nested deeper"},
      {"duplicate_tensor", pair_file(a, a, 4), "appears twice"},
      {"duplicate_field",
       file_of("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
               4),
       "appears twice"},
      {"duplicate_escaped", pair_file(a, tensor("\\u0061", "F32", "[1]", "[0,4]"), 4),
       "appears twice"},
      {"tensor_not_object", file_of("{\"a\":3}", 0), "not a JSON object"},
      {"missing_field", file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4), "lacks"},
      {"unknown_field",
       file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4),
       "unknown field"},
      {"half", file_of(one("F16", "[2]", "[0,4]"), 4), "holds \"F16\", expected F32"},
      {"int64", file_of(one("I64", "[1]", "[0,8]"), 8), "holds \"I64\""},
      {"counter_too_small",
       file_of(str("{", tensor("bn.num_batches_tracked", "I64", "[]", "[0,4]"), "}"), 4),
       "needs 1 integers, found 4 bytes"},
      {"counter_of_floats",
       file_of(str("{", tensor("bn.num_batches_tracked", "F64", "[]", "[0,8]"), "}"), 8), "holds"},
      {"dtype_number", file_of("{\"a\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
       "dtype"},
      {"shape_too_small", file_of(one("F32", "[1]", "[0,8]"), 8), "needs 1 floats, found 8 bytes"},
      {"shape_too_large", file_of(one("F32", "[3]", "[0,8]"), 8), "needs 3 floats"},
      {"shape_overflow", file_of(one("F32", "[4294967296,4294967296]", "[0,4]"), 4), "larger than"},
      {"shape_hidden_by_zero", file_of(one("F32", "[0,9223372036854775807]", "[0,0]"), 0),
       "larger than"},
      {"shape_product_overflow",
       file_of(one("F32", "[2000000000,2000000000,2000000000]", "[0,4]"), 4), "larger than"},
      {"shape_negative", file_of(one("F32", "[-1]", "[0,4]"), 4), "sizes >= 0"},
      {"shape_fraction", file_of(one("F32", "[1.0]", "[0,4]"), 4), "sizes >= 0"},
      {"shape_text", file_of(one("F32", "\"1\"", "[0,4]"), 4), "list"},
      {"shape_rank", file_of(one("F32", "[1,1,1,1,1,1,1]", "[0,4]"), 4), "list of at most 6"},
      {"range_negative", file_of(one("F32", "[1]", "[-4,0]"), 4), "sizes >= 0"},
      {"range_reversed", file_of(one("F32", "[1]", "[4,0]"), 4), "do not lie within"},
      {"range_past_end", file_of(one("F32", "[2]", "[0,8]"), 4), "do not lie within"},
      {"range_huge", file_of(one("F32", "[1]", "[18446744073709551612,18446744073709551615]"), 4),
       "do not lie within"},
      {"range_one_value", file_of(one("F32", "[1]", "[0]"), 4), "do not lie within"},
      {"range_odd_bytes", file_of(one("F32", "[1]", "[0,5]"), 5), "needs 1 floats"},
      {"overlap", pair_file(a, tensor("b", "F32", "[1]", "[2,6]"), 6), "overlaps"},
      {"same_range", pair_file(a, tensor("b", "F32", "[1]", "[0,4]"), 4), "overlaps"},
      {"gap", pair_file(a, tensor("b", "F32", "[1]", "[8,12]"), 12), "a gap"},
      {"gap_at_start", file_of(one("F32", "[1]", "[4,8]"), 8), "a gap"},
      {"trailing_data", file_of(one("F32", "[1]", "[0,4]"), 8), "cover 4 of 8"},
      {"metadata_list", file_of("{\"__metadata__\":[]}", 0), "__metadata__"},
      {"metadata_number", file_of("{\"__metadata__\":{\"k\":1}}", 0), "not a string"},
  };
}

class DamagedSafetensors : public testing::TestWithParam<Damage> {};

TEST_P(DamagedSafetensors, IsRefusedWithTheReasonAndThePath) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "damaged.safetensors";
  write_text(path, GetParam().file);
  EXPECT_TRUE(throws(ErrorKind::data, GetParam().message, [&] { read_safetensors(path); }));
  EXPECT_TRUE(throws(ErrorKind::data, path.string(), [&] { read_safetensors(path); }));
}

INSTANTIATE_TEST_SUITE_P(All, DamagedSafetensors, testing::ValuesIn(damages()),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

// Sparse files: a length that the limits refuse before anything is read or allocated.
TEST(Safetensors, LimitsOfHeaderAndFileHold) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "big.safetensors";
  write_text(path, with_length("{}", kMaxSafetensorsHeaderBytes + 1, ""));
  std::filesystem::resize_file(path, kMaxSafetensorsHeaderBytes + 100);
  EXPECT_TRUE(throws(ErrorKind::data, "a header of", [&] { read_safetensors(path); }));
  write_text(path, with_length("{}", 2, ""));
  std::filesystem::resize_file(path, kMaxSafetensorsFileBytes + 1);
  EXPECT_TRUE(throws(ErrorKind::data, "the limit is", [&] { read_safetensors(path); }));
}

TEST(Safetensors, HeaderOfManyValuesIsRefused) {
  const TemporaryFolder folder;
  std::string header = "{\"a\":[0";
  for (int i = 0; i < 1'000'000; ++i) header += ",0";
  write_text(folder / "many.safetensors", file_of(header + "]}", 0));
  EXPECT_TRUE(throws(ErrorKind::data, "more than 1000000 JSON values",
                     [&] { read_safetensors(folder / "many.safetensors"); }));
}

TEST(Safetensors, EmptyHeaderAndPaddingAreAccepted) {
  const TemporaryFolder folder;
  write_text(folder / "empty.safetensors", file_of("{}      ", 0));
  EXPECT_TRUE(read_safetensors(folder / "empty.safetensors").tensors.empty());
}

}  // namespace
}  // namespace weft::models
