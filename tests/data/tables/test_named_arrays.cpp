// SPDX-License-Identifier: MIT
// .npy and .npz files by the names that Keras, PyTorch, MedMNIST and scikit-learn give their
// arrays.
#include <cmath>

#include "data/arrays/npz.h"
#include "data/files/archive.h"
#include "tests/data/tables/tables_test.h"

namespace weft::data {
namespace {

class NamedArrays : public test::TableFiles {
 protected:
  using Shape = std::vector<std::int64_t>;

  template <class Values>
  static NpyArray array(const std::string& dtype, const Shape& shape, const Values& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {dtype, shape, {bytes.begin(), bytes.end()}};
  }
  template <class Values>
  void npy(const std::string& name, const std::string& dtype, const Shape& shape,
           const Values& values) {
    write_npy(path(name), array(dtype, shape, values));
  }
  // 0, 1, 2, ... as bytes
  static Bytes counted(int count) {
    Bytes bytes;
    for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
    return bytes;
  }
};

TEST_F(NamedArrays, PairsOfFiles) {
  npy("X_train.npy", "u1", {4, 2, 3}, counted(24));
  npy("y_train.npy", "i8", {4}, std::vector<std::int64_t>{1, 0, 1, 0});
  npy("X_test.npy", "u1", {1, 2, 3}, counted(6));
  npy("y_test.npy", "f4", {1, 2}, std::vector<float>{0, 1});  // one-hot
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.height, 2);
  EXPECT_EQ(dataset.train.width, 3);
  EXPECT_EQ(dataset.train.images, counted(24));
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(dataset.test.labels, std::vector<std::int32_t>{1});
}

TEST_F(NamedArrays, ChannelsStandFirstOrLast) {
  npy("train_images.npy", "u1", {2, 2, 2, 3}, counted(24));
  npy("train_labels.npy", "u1", {2, 1}, Bytes{5, 7});
  npy("test_images.npy", "u1", {2, 3, 2, 2}, counted(24));
  npy("test_labels.npy", "u1", {2}, Bytes{5, 7});
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"5", "7"}));
  EXPECT_EQ(dataset.train.channels, 3);
  EXPECT_EQ(Bytes(dataset.train.images.begin(), dataset.train.images.begin() + 5),
            (Bytes{0, 3, 6, 9, 1}));
  EXPECT_EQ(dataset.test.images, counted(24));
}

TEST_F(NamedArrays, FlatImagesInFloatsAndASetAlone) {
  npy("data.npy", "f8", {10, 4}, std::vector<double>(40, 0.5));
  npy("target.npy", "i4", {10}, std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 8);
  EXPECT_EQ(dataset.test.count, 2);
  EXPECT_EQ(dataset.test.images, Bytes(8, 128));
}

TEST_F(NamedArrays, WhatIsWrongIsToldWithItsFile) {
  npy("x.npy", "u1", {2, 2, 2}, counted(8));
  expect_refused("", "x.npy: images without labels beside them");
  npy("y.npy", "u1", {3}, counted(3));
  expect_refused("", "x.npy: 2 images, but 3 labels in");
  npy("y.npy", "f4", {2}, std::vector<float>{0, 0.5f});
  expect_refused("", "label 0.5 at index 1, expected a whole number");
  npy("y.npy", "f4", {2, 2}, std::vector<float>{0, 1, 1, 1});
  expect_refused("", "row 1 of the labels is not a single 1 among zeros");
  npy("y.npy", "u1", {2, 2, 2}, counted(8));
  expect_refused("", "labels of the shape (2, 2, 2)");
  npy("y.npy", "u1", {2}, counted(2));
  npy("images.npy", "u1", {2, 2, 2}, counted(8));
  expect_refused("", "are both the images of one set");
  std::filesystem::remove(path("images.npy"));
  npy("x.npy", "u1", {2, 2, 2, 2}, counted(16));
  expect_refused("", "images of the shape (2, 2, 2, 2), expected (n, h, w)");
  npy("x.npy", "u1", {2, 5}, counted(10));
  expect_refused("", "5 values of an image are no square");
  npy("x.npy", "f4", {2, 2, 2}, std::vector<float>(8, NAN));
  expect_refused("", "x.npy: a value is not finite");
  std::filesystem::remove(path("x.npy"));
  expect_refused("", "labels without images beside them");
  write("z.npy", "no array");
  expect_refused("", "not an .npy file");
}

// Made by numpy.savez_compressed() and by a zip program: see make.py there.
const std::filesystem::path kFiles = std::filesystem::path(WEFT_TESTS_DIR) / "data/tables/files";

TEST_F(NamedArrays, PicklesOfArrays) {
  const Dataset mnist = load_own_data(kFiles / "mnist.pkl.gz", {});
  EXPECT_EQ(mnist.name, "mnist");
  EXPECT_EQ(mnist.train.count, 6);
  EXPECT_EQ(mnist.validation.count, 3);
  EXPECT_EQ(mnist.test.count, 3);
  EXPECT_EQ(mnist.train.images[23], 255);
  EXPECT_EQ(mnist.train.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
  std::filesystem::copy(kFiles / "signs.p", path("train.p"));
  std::filesystem::copy(kFiles / "signs.p", path("test.p"));
  EXPECT_EQ(load().test.images, counted(24));
  write("cut.pkl", std::string("\x80\x04", 2));
  expect_refused("cut.pkl", "cut.pkl");
  write("none.pkl", std::string("\x80\x02]q\0.", 6));
  expect_refused("none.pkl", "no arrays in it");
}

#ifdef WEFT_WITH_LIBARCHIVE

TEST_F(NamedArrays, KerasFile) {
  const Dataset dataset = load_own_data(kFiles / "keras.npz", {});
  EXPECT_EQ(dataset.name, "keras");
  EXPECT_EQ(dataset.train.count, 6);
  EXPECT_EQ(dataset.test.count, 2);
  EXPECT_EQ(dataset.train.images, counted(24));
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
}

TEST_F(NamedArrays, EachFileMayHoldASet) {
  std::filesystem::copy(kFiles / "xy.npz", path("train.npz"));
  std::filesystem::copy(kFiles / "xy.npz", path("test.npz"));
  EXPECT_EQ(load().test.images, counted(24));
}

TEST_F(NamedArrays, AnArchiveOfTablesIsReadAsItIs) {
  for (const char* name : {"tables.zip", "tables.tar.gz"}) {
    const Dataset dataset = load_own_data(kFiles / name, {});
    EXPECT_EQ(dataset.train.count, 3) << name;
    EXPECT_EQ(dataset.test.count, 3) << name;
  }
}

TEST_F(NamedArrays, CifarsPythonBatchesInTheirArchive) {
  const Dataset dataset = load_own_data(kFiles / "cifar-10-python.tar.gz", {});
  EXPECT_EQ(dataset.class_names.at(3), "class 3");
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{0, 9, 1, 8, 2, 7, 3, 6, 4, 5}));
  EXPECT_EQ(dataset.test.labels, (std::vector<std::int32_t>{5, 4}));
  EXPECT_EQ(dataset.test.images[0], 50);
  EXPECT_EQ(dataset.test.images[1024], 1);
  EXPECT_EQ(dataset.test.images[2048], 2);
}

// As `data convert IN OUT --as npz` writes it where OUT has no ending.
TEST_F(NamedArrays, FilesWithoutAnEndingAreWhatTheyHold) {
  test::write_bytes(path("arrays"), read_file(kFiles / "keras.npz", 1 << 20));
  EXPECT_EQ(load("arrays").train.count, 6);
  test::write_bytes(path("dict"), read_file(kFiles / "dict.npy", 1 << 20));
  EXPECT_EQ(load("dict").class_names.size(), 3u);
}

TEST_F(NamedArrays, DamagedArchivesAreRefused) {
  Bytes bytes = read_file(kFiles / "keras.npz", 1 << 20);
  test::write_bytes(path("cut.npz"), Bytes(bytes.begin(), bytes.begin() + 200));
  expect_refused("cut.npz", "cut.npz");
  bytes[60] ^= 0x55;
  test::write_bytes(path("changed.npz"), bytes);
  expect_refused("changed.npz", "changed.npz");
  write("text.npz", "hello");
  expect_refused("text.npz", "the archive cannot be read");
  const auto all = [](const std::string&) { return true; };
  const Bytes whole = read_file(kFiles / "keras.npz", 1 << 20);
  test::expect_error(ErrorKind::data, {"larger than allowed"},
                     [&] { read_archive(whole, 300, all, "bomb"); });
}

#endif

}  // namespace
}  // namespace weft::data
