// SPDX-License-Identifier: MIT
// Arrays of words and of Python's objects, arrays that are a class each, tables with other endings
// and in UTF-16.
#include "data/arrays/npy_text.h"
#include "tests/data/tables/tables_test.h"

namespace weft::test {
namespace {

using data::Dataset;
using Names = std::vector<std::string>;

class Words : public TableFiles {
 protected:
  void npy(const std::string& name, const std::string& descr, const std::string& shape,
           const std::string& elements) {
    std::string header =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
    header.resize(117, ' ');
    header += '\n';
    write(name, std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header +
                    elements);
  }
  // `count` images of 2 x 2.
  void images(const std::string& name, int count) {
    std::string bytes;
    for (int i = 0; i < 4 * count; ++i) bytes += static_cast<char>(i);
    npy(name, "|u1", "(" + std::to_string(count) + ", 2, 2)", bytes);
  }
  static std::string wide(const Names& words, std::size_t width) {
    std::string bytes;
    for (const std::string& word : words) {
      for (std::size_t i = 0; i < width; ++i) {
        bytes += i < word.size() ? word[i] : '\0';
        bytes += std::string(3, '\0');
      }
    }
    return bytes;
  }
};

TEST_F(Words, AreLabels) {
  images("X.npy", 4);
  npy("y.npy", "<U3", "(4,)", wide({"dog", "ox", "dog", "ox"}, 3));
  EXPECT_EQ(load().class_names, (Names{"dog", "ox"}));
  npy("y.npy", "|S3", "(4, 1)", std::string("dogox\0dogox\0", 12));
  EXPECT_EQ(load().class_names, (Names{"dog", "ox"}));
  npy("y.npy", "|S3", "(4,)", "dog");
  expect_refused("", "words of 3 bytes do not fill 3 bytes");
  npy("y.npy", "<U1", "(4,)", std::string(16, '\xff'));
  expect_refused("", "no character: 4294967295");
  npy("y.npy", "|S0", "(4,)", "");
  expect_refused("", "words of 0 bytes do not fill 0 bytes");
}

TEST_F(Words, NameTheClasses) {
  images("X.npy", 4);
  npy("y.npy", "|u1", "(4,)", std::string("\0\1\0\1", 4));
  npy("classes.npy", ">U3", "(2,)", std::string("\0\0\0o\0\0\0x\0\0\0\0\0\0\0d\0\0\0o\0\0\0g", 24));
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (Names{"dog", "ox"}));
  EXPECT_EQ(dataset.train.count + dataset.test.count, 4);
  EXPECT_EQ(dataset.train.labels.front(), 1);  // of the first image, which is an ox
}

TEST_F(Words, TextTypesOfNumPy) {
  EXPECT_EQ(data::text_type("<U3")->bytes(), 12u);
  EXPECT_TRUE(data::text_type(">U3")->big_endian);
  EXPECT_EQ(data::text_type("|S16")->bytes(), 16u);
  for (const char* descr : {"<u4", "U", "<Ux", "|S999999", "|O", "", "<U-1"}) {
    EXPECT_FALSE(data::text_type(descr)) << descr;
  }
}

TEST_F(Words, AClassInEachArray) {
  images("full_numpy_bitmap_cat.npy", 10);
  images("full_numpy_bitmap_car.npy", 20);
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (Names{"car", "cat"}));
  EXPECT_EQ(dataset.train.count, 27);
  EXPECT_EQ(dataset.test.count, 3);
  images("x_test.npy", 10);  // a name that says what it is
  expect_refused("", "are both the images of one set");
}

// As NumPy 2 writes them (files/make.py).
TEST_F(Words, InFilesOfNumPyAndInPickles) {
  const std::filesystem::path files(WEFT_TESTS_DIR "/data/tables/files");
  for (const char* name : {"dict.npy", "objects.npz", "names.npz", "words.pkl"}) {
    SCOPED_TRACE(name);
    data::FolderOptions options;
    options.holding = data::Holding::nothing;
    const Dataset dataset = data::load_own_data(files / name, options);
    EXPECT_EQ(dataset.class_names, (Names{"cat", "dog", "owl"}));
    EXPECT_EQ(dataset.test.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
    ASSERT_EQ(dataset.test.images.size(), 24u);
    EXPECT_EQ(dataset.test.images.back(), 23);
  }
}

TEST_F(Words, PicklesOfPairsOfImageAndLabel) {
  const std::filesystem::path files(WEFT_TESTS_DIR "/data/tables/files");
  const Dataset sets = data::load_own_data(files / "pairs.pkl", {});
  EXPECT_EQ(sets.class_names, (Names{"cat", "dog", "owl"}));
  EXPECT_EQ(sets.train.count, 6);
  EXPECT_EQ(sets.train.images.back(), 23);
  EXPECT_EQ(sets.test.labels, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(sets.test.images.back(), 11);
  data::FolderOptions all;
  all.holding = data::Holding::nothing;
  const Dataset dicts = data::load_own_data(files / "pair_dicts.pkl", all);
  EXPECT_EQ(dicts.class_names, (Names{"0", "1", "2"}));
  EXPECT_EQ(dicts.test.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(dicts.test.images.back(), 23);
}

TEST_F(Words, TablesOfOtherEndings) {
  const auto rows = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += std::to_string(i % 2) + ".0000";
      for (int k = 0; k < 9; ++k) text += i % 2 == 0 ? " -1.000" : " 0.500";
      text += " \n";
    }
    return text;
  };
  write("zip.train", rows(10));
  write("zip.test", rows(4));
  Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 10);
  EXPECT_EQ(dataset.test.count, 4);
  std::filesystem::remove(path("zip.train"));
  std::filesystem::rename(path("zip.test"), path("digits.tes"));
  write("digits.tra", rows(6));
  write("digits.names", "what it is");
  dataset = load();
  EXPECT_EQ(dataset.train.count, 6);
  EXPECT_EQ(dataset.test.count, 4);
}

TEST_F(Words, Utf16AsExcelSavesIt) {
  const std::string text =
      "label\ta\tb\tc\td\r\ncat\t1\t2\t3\t0\r\ndog\t4\t5\t6\t0\r\ncat\t1\t2\t3\t0\r\ndog\t4\t5\t6\t"
      "0\r\n";
  std::string little = "\xff\xfe", big = "\xfe\xff";
  for (const char c : text) {
    little += std::string{c, '\0'};
    big += std::string{'\0', c};
  }
  for (const std::string& file : {little, big, little + "x"}) {
    write("data.csv", file);
    EXPECT_EQ(load("data.csv").class_names, (Names{"cat", "dog"}));
  }
}

}  // namespace
}  // namespace weft::test
