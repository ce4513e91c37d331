// SPDX-License-Identifier: MIT
// Pickles of Python 2 and 3 in every protocol, those of NumPy and PyTorch, and what is refused.
#include "data/pickle/pickle.h"

#include "data/files/file_io.h"
#include "data/files/gzip.h"
#include "tests/data/files.h"
#include "tests/support/folder.h"

namespace weft::data::pickle_tests {
namespace {

using Kind = PickleValue::Kind;
using test::values_of;
using namespace std::string_literals;

const std::string kFiles = std::string(WEFT_TESTS_DIR) + "/data/pickle/files/";

Bytes file_of(const std::string& name) {
  return read_file(kFiles + name, 1 << 20);
}

Pickle pickle_of(const std::string& bytes) {
  return read_pickle({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "x.pkl");
}

void refused(const std::string& bytes, const std::string& why) {
  EXPECT_TRUE(test::throws(ErrorKind::data, why, [&] { pickle_of(bytes); }));
}

std::string text(const std::string& word) {  // of protocol 2
  return "X" + std::string{static_cast<char>(word.size()), 0, 0, 0} + word;
}

const PickleValue& entry(const PickleValue& dict, const std::string& key) {
  const PickleValue* found = dict.find(key);
  if (found == nullptr) throw std::runtime_error("no " + key);
  return *found;
}

const NpyArray& array_in(const PickleValue& dict, const std::string& key) {
  const PickleValue& value = entry(dict, key);
  if (value.kind != Kind::array) throw std::runtime_error(key + " is no array");
  return *value.array;
}

using Shape = std::vector<std::int64_t>;

void expect_everything(const PickleValue& root, bool has_large) {
  ASSERT_EQ(root.kind, Kind::dict);
  const NpyArray& data = array_in(root, "data");
  EXPECT_EQ(data.dtype, "u1");
  EXPECT_EQ(data.shape, (Shape{2, 3}));
  EXPECT_EQ(values_of<std::uint8_t>(data), (Bytes{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(array_in(root, "columns").shape, (Shape{2, 3}));
  EXPECT_EQ(values_of<float>(array_in(root, "columns")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of<std::int16_t>(array_in(root, "big endian")),
            (std::vector<std::int16_t>{1, -2}));
  EXPECT_EQ(array_in(root, "half").dtype, "f4");
  EXPECT_EQ(values_of<float>(array_in(root, "half")), (std::vector<float>{0.5F, -1.5F}));
  EXPECT_EQ(values_of<std::uint8_t>(array_in(root, "true")), (Bytes{1, 0}));
  EXPECT_EQ(values_of<double>(array_in(root, "scalar")), (std::vector<double>{1.5}));
  EXPECT_EQ(array_in(root, "scalar").shape, Shape{});
  EXPECT_EQ(array_in(root, "empty").shape, (Shape{0, 3}));

  const PickleValue& labels = entry(root, "labels");
  ASSERT_EQ(labels.kind, Kind::list);
  ASSERT_EQ(labels.items.size(), 3U);
  EXPECT_EQ(labels.items[1]->integer, 9);
  EXPECT_EQ(&entry(root, "again"), &labels);  // shared

  EXPECT_EQ(entry(root, "text").text, "n\u00e9 \u20ac\n");
  EXPECT_TRUE(entry(root, "bytes").is_text());
  EXPECT_EQ(entry(root, "bytes").text, std::string("\0\xff'\\\n", 5));

  const PickleValue& numbers = entry(root, "numbers");
  ASSERT_EQ(numbers.kind, Kind::tuple);
  const std::vector<std::int64_t> integers = {0, 255, 256, 65536, -1, std::int64_t{1} << 40};
  ASSERT_EQ(numbers.items.size(), integers.size() + 2);
  for (std::size_t i = 0; i < integers.size(); ++i) {
    EXPECT_EQ(numbers.items[i]->kind, Kind::integer);
    EXPECT_EQ(numbers.items[i]->integer, integers[i]);
  }
  EXPECT_EQ(numbers.items[6]->real, 2.5);
  EXPECT_EQ(numbers.items[7]->real, -1e300);

  const PickleValue& constants = entry(root, "constants");
  ASSERT_EQ(constants.items.size(), 3U);
  EXPECT_EQ(constants.items[0]->kind, Kind::none);
  EXPECT_EQ(constants.items[1]->kind, Kind::boolean);
  EXPECT_EQ(constants.items[1]->integer, 1);
  EXPECT_EQ(constants.items[2]->integer, 0);
  ASSERT_EQ(entry(root, "set").items.size(), 1U);
  EXPECT_EQ(entry(root, "set").items[0]->integer, 5);
  EXPECT_EQ(entry(entry(root, "dict"), "a").kind, Kind::dict);
  EXPECT_EQ(root.find("other"), nullptr);
  if (has_large) {  // 2 ** 80
    EXPECT_EQ(entry(root, "large").kind, Kind::large_integer);
    EXPECT_EQ(entry(root, "large").text, std::string(10, '\0') + '\1');
  }
}

TEST(Pickle, IsReadInEveryProtocol) {
  for (const auto& [maker, protocols] : {std::pair{"python2", 3}, {"numpy1", 6}, {"numpy2", 6}}) {
    for (int protocol = 0; protocol < protocols; ++protocol) {
      const std::string name = str(maker, "-", protocol, ".pkl");
      SCOPED_TRACE(name);
      const Bytes bytes = file_of(name);
      const Pickle pickle = read_pickle(bytes, name);
      EXPECT_EQ(pickle.bytes, bytes.size());
      EXPECT_EQ(is_pickle(bytes), protocol >= 2);
      // Python writes large integers as text in protocols 0 and 1.
      expect_everything(*pickle.root, protocol >= 2);
    }
  }
}

TEST(Pickle, TensorsOfPyTorchAreViewsOfStorages) {
  const Pickle pickle = read_pickle(file_of("torch.pkl"), "torch.pkl");
  EXPECT_EQ(entry(*pickle.root, "epoch").integer, 3);
  const PickleValue& state = entry(*pickle.root, "state_dict");
  const PickleValue& weight = entry(state, "fc.weight");
  ASSERT_EQ(weight.kind, Kind::tensor);
  EXPECT_EQ(weight.tensor->shape, (Shape{2, 3}));
  EXPECT_EQ(weight.tensor->strides, (Shape{1, 2}));
  EXPECT_EQ(weight.tensor->offset, 0);
  EXPECT_EQ(weight.tensor->storage.key, "0");
  EXPECT_EQ(weight.tensor->storage.type, "FloatStorage");
  EXPECT_EQ(weight.tensor->storage.elements, 6);
  EXPECT_EQ(entry(state, "fc.bias").tensor->storage.type, "HalfStorage");  // a Parameter
  EXPECT_EQ(entry(state, "steps").tensor->shape, Shape{});
}

TEST(Pickle, SeveralFollowEachOther) {
  const Bytes bytes = file_of("torch-old.pth");
  std::span<const std::uint8_t> rest(bytes);
  std::vector<Pickle> pickles;
  for (int i = 0; i < 5; ++i) {
    pickles.push_back(read_pickle(rest, "torch-old.pth"));
    rest = rest.subspan(pickles.back().bytes);
  }
  EXPECT_EQ(pickles[0].root->kind, Kind::large_integer);
  EXPECT_EQ(pickles[1].root->integer, 1001);
  EXPECT_EQ(entry(*pickles[2].root, "little_endian").integer, 1);
  EXPECT_EQ(entry(*pickles[3].root, "fc.weight").tensor->shape, (Shape{2, 3}));
  EXPECT_EQ(pickles[4].root->items.size(), 3U);
}

TEST(Pickle, NothingIsExecuted) {
  refused("cos\nsystem\n(S'touch /tmp/x'\ntR.", "'os.system'");
  refused("\x80\x04" + std::string("\x8c\x05posix\x8c\x06system\x93\x8c\x01x\x85R."),
          "'posix.system', which is not on Weft's list");
  refused("c__builtin__\neval\n(S'1'\ntR.", "'builtins.eval'");
  refused("cbuiltins\ngetattr\n.", "'builtins.getattr'");
  refused("c__main__\nNet\n)\x81.", "'__main__.Net'");
  refused("(S'x'\nios\nsystem\n.", "old-style class");
  refused("(cnumpy\nndarray\no.", "old-style class");
  refused("\x82\x01.", "copyreg");
  refused("\x97.", "memory outside");
  // A name on the list that is no function, and one that is called with something else.
  refused("ctorch\nFloatStorage\n)R.", "calls torch.FloatStorage");
  refused("cnumpy.core.multiarray\nscalar\n)R.", "other arguments");
  refused("ccopy_reg\n_reconstructor\n(cnumpy\nndarray\nc__builtin__\nobject\nNtR.",
          "other arguments");
  refused("K\x01)R.", "calls an integer");
  refused("K\x01}b.", "sets the state of an integer");
}

TEST(Pickle, DamageIsRefusedWhereverItLies) {
  for (const std::string name : {"numpy2-0.pkl", "numpy2-5.pkl", "python2-2.pkl", "torch.pkl"}) {
    const Bytes bytes = file_of(name);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_TRUE(test::throws(ErrorKind::data, name + ": pickle, at byte ",
                               [&] { read_pickle(std::span(bytes).first(size), name); }));
    }
  }
  refused("zip", "no operation 122: it is no pickle");
  refused("\x80\x06N.", "pickle protocol 6");
  refused(".", "the stack is empty");
  refused("(.", "the stack is empty");
  refused("a.", "the stack is empty");
  refused("u.", "no mark");
  refused("}K\x01" + std::string("a."), "items are added to a dict");
  refused("}(K\x01u.", "a key without a value");
  refused("h\x07.", "value 7 of the memo");
  refused("g-1\n.", "negative number");
  refused("I12a\n.", "an integer of 64 bits");
  refused("F1.5x\n.", "expected a number");
  refused("S'a\\x2'\n.", "a character is written as");
  refused("Snone\n.", "a string in quotes");
  refused("V\\U00110000\n.", "Unicode does not have");
}

TEST(Pickle, AValueNeverHoldsItself) {
  refused("]q\1h\1a.", "a value holds itself");
  refused("}q\1" + text("a") + "h\1s.", "a value holds itself");
  refused("]q\1(]h\1ae.", "a value holds itself");
  // The same value twice is no circle, however often it is shared.
  std::string doubled = "]q\0"s;
  for (int level = 0; level < 60; ++level) doubled += "h\0h\0\x86q\0"s;
  EXPECT_EQ(pickle_of(doubled + ".").root->items.size(), 2U);
}

TEST(Pickle, LimitsHold) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth - 1), '(') + "N" +
           std::string(static_cast<std::size_t>(depth - 1), 't') + ".";
  };
  EXPECT_EQ(pickle_of(nested(kMostPickleDepth)).root->kind, Kind::tuple);
  refused(nested(kMostPickleDepth + 1), "lie within each other");
  std::string many = "(";
  for (std::size_t i = 0; i < kMostPickleValues; ++i) many += ']';
  refused(many + "l.", "more than 4194304 values");
  // A hundred thousand sets of one list of a hundred thousand.
  std::string sets = "c__builtin__\nset\nq\1((" + std::string(100000, 'N') + "ltq\2(";
  for (int i = 0; i < 100000; ++i) sets += "h\1h\2R";
  refused(sets + "l.", "more of its bytes");
}

const std::string kArray = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tS'b'\ntR"s;
std::string dtype(const std::string& name) {
  return "cnumpy\ndtype\n(S'" + name + "'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb";
}

TEST(Pickle, ArraysHaveTheBytesOfTheirShape) {
  const auto array = [](const std::string& shape, const std::string& type,
                        const std::string& values) {
    return kArray + "(I1\n(" + shape + "t" + dtype(type) + "I00\nS'" + values + "'\ntb.";
  };
  EXPECT_EQ(values_of<float>(*pickle_of(array("I1\n", "f4", "\\x00\\x00\\x80?")).root->array),
            std::vector<float>{1});
  refused(array("I2\n", "f4", "1234"), "truncated");
  refused(array("", "f4", "12345"), "trailing bytes");
  refused(array("I-1\n", "f4", ""), "the state of an array has other arguments");
  refused(array("I9223372036854775807\nI9\n", "f8", ""), "2^63 bytes");
  refused(array("I1\n", "O8", "12345678"), "elements of type '<O8'");
  refused(kArray + ".", "an array has no elements");
}

TEST(Pickle, TextOfPython2IsAnyBytes) {
  const Pickle pickle = pickle_of("S\"a\\'\\t\\101\\\\\"\n.");
  EXPECT_EQ(pickle.root->text, "a'\tA\\");
  refused("c_codecs\nencode\n(V\\u0100\nVlatin1\ntR.", "not Latin-1");
  refused("c_codecs\nencode\n(Va\nVrot13\ntR.", "'rot13'");
  EXPECT_EQ(pickle_of("c_codecs\nencode\n(V\xff\nVlatin1\ntR.").root->text, "\xff");
}

}  // namespace
}  // namespace weft::data::pickle_tests
