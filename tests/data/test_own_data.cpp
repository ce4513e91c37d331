// SPDX-License-Identifier: MIT
// IDX of any size, CIFAR-10 and CIFAR-100, found by what a folder holds.
#include "data/own_data.h"

#include "tests/data/picture_folder.h"

namespace weft::data {
namespace {

using test::expect_error;
using test::TempFolder;

// `count` records of CIFAR: the labels, then 3072 bytes that tell the record.
Bytes cifar_records(const std::vector<Bytes>& labels) {
  Bytes bytes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    bytes.insert(bytes.end(), labels[i].begin(), labels[i].end());
    bytes.insert(bytes.end(), 3072, static_cast<std::uint8_t>(i + 1));
  }
  return bytes;
}

class OwnDataFiles : public testing::Test {
 protected:
  void write(const std::string& name, const Bytes& bytes) {
    test::write_bytes(folder_.path() / name, bytes);
  }
  void remove(const std::string& name) { std::filesystem::remove(folder_.path() / name); }
  Dataset load(const FolderOptions& options = {}) { return load_own_data(folder_.path(), options); }
  void write_idx(const std::vector<std::uint32_t>& extents, const Bytes& labels) {
    std::size_t pixels = 1;
    for (const std::uint32_t extent : extents) pixels *= extent;
    for (const char* set : {"train", "t10k"}) {
      write(std::string(set) + "-images-idx3-ubyte", test::idx(extents, Bytes(pixels, 7)));
      write(std::string(set) + "-labels-idx1-ubyte",
            test::idx({static_cast<std::uint32_t>(labels.size())}, labels));
    }
  }
  void write_cifar10() {
    for (int i = 1; i <= 5; ++i) {
      write("data_batch_" + std::to_string(i) + ".bin", cifar_records({{3}, {9}}));
    }
    write("test_batch.bin", cifar_records({{0}}));
  }

  TempFolder folder_;
};

TEST_F(OwnDataFiles, IdxHasAnySizeAndItsLargestLabelCountsTheClasses) {
  write_idx({3, 5, 9}, {0, 4, 2});
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.height, 5);
  EXPECT_EQ(dataset.train.width, 9);
  EXPECT_EQ(dataset.class_names.size(), 5u);
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{0, 4, 2}));
  EXPECT_TRUE(dataset.own_data);
  EXPECT_EQ(dataset.name, folder_.path().filename().string());
}

TEST_F(OwnDataFiles, IdxWithFourAxesHasChannels) {
  write_idx({2, 3, 4, 5}, {0, 1});
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.channels, 3);
  EXPECT_EQ(dataset.train.height, 4);
  EXPECT_EQ(dataset.train.width, 5);
  EXPECT_EQ(dataset.mean.size(), 3u);
  for (const char* set : {"train", "t10k"}) {  // the other spelling
    std::filesystem::rename(folder_.path() / (std::string(set) + "-images-idx3-ubyte"),
                            folder_.path() / (std::string(set) + "-images-idx4-ubyte"));
  }
  EXPECT_EQ(load().train.channels, 3);
}

TEST_F(OwnDataFiles, IdxThatIsWrongIsRefused) {
  write_idx({2, 2, 4, 5}, {0, 1});
  expect_error(ErrorKind::data, {"train-images", "2 channels, expected 1 or 3"}, [&] { load(); });
  write_idx({2, 4, 4}, {0, 0});
  expect_error(ErrorKind::data, {"every label is 0"}, [&] { load(); });
  write_idx({2, 4, 4}, {0, 1, 1});
  expect_error(ErrorKind::data, {"2 images, but 3 labels"}, [&] { load(); });
  write_idx({2, 2000, 4}, {0, 1});
  expect_error(ErrorKind::data, {"2000 x 4, expected at most 1024"}, [&] { load(); });
  write_idx({2, 4, 4}, {0, 1});
  write("t10k-images-idx3-ubyte", test::idx({2, 4, 5}, Bytes(40)));
  expect_error(ErrorKind::data, {"1 x 4 x 4", "1 x 4 x 5"}, [&] { load(); });
  remove("t10k-images-idx3-ubyte");
  expect_error(ErrorKind::data, {"no t10k-images-idx3-ubyte"}, [&] { load(); });
}

TEST_F(OwnDataFiles, AnotherShapeThanTheFilesHaveIsUsage) {
  write_idx({2, 4, 4}, {0, 1});
  FolderOptions options;
  options.shape.channels = 3;
  expect_error(ErrorKind::usage, {"1 x 4 x 4"}, [&] { load(options); });
  options.shape = {1, 4, 4, Fit::crop};
  EXPECT_EQ(load(options).fit, Fit::crop);
}

TEST_F(OwnDataFiles, Cifar10) {
  write_cifar10();
  Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 10);
  EXPECT_EQ(dataset.train.channels, 3);
  EXPECT_EQ(dataset.train.height, 32);
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{3, 9, 3, 9, 3, 9, 3, 9, 3, 9}));
  EXPECT_EQ(dataset.train.images[0], 1);
  EXPECT_EQ(dataset.train.images[3072], 2);
  EXPECT_EQ(dataset.test.count, 1);
  EXPECT_EQ(dataset.class_names[9], "9");
  write("batches.meta.txt", test::text("airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\n"
                                       "ship\ntruck\r\n\n"));
  EXPECT_EQ(load().class_names[9], "truck");
}

TEST_F(OwnDataFiles, Cifar100HasItsFineLabels) {
  write("train.bin", cifar_records({{1, 99}, {2, 50}}));
  write("test.bin", test::gzip(cifar_records({{0, 7}})));
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{99, 50}));
  EXPECT_EQ(dataset.test.labels, (std::vector<std::int32_t>{7}));
  EXPECT_EQ(dataset.class_names.size(), 100u);
}

TEST_F(OwnDataFiles, CifarThatIsWrongIsRefused) {
  write_cifar10();
  write("batches.meta.txt", test::text("one\ntwo\n"));
  expect_error(ErrorKind::data, {"batches.meta.txt", "2 names, expected 10"}, [&] { load(); });
  remove("batches.meta.txt");
  write("data_batch_3.bin", Bytes(3072));
  expect_error(ErrorKind::data, {"data_batch_3.bin", "records of 3073"}, [&] { load(); });
  write("data_batch_3.bin", cifar_records({{3}, {10}}));
  expect_error(ErrorKind::data, {"data_batch_3.bin", "label 10 in record 1"}, [&] { load(); });
  remove("data_batch_3.bin");
  expect_error(ErrorKind::data, {"data_batch_3.bin", "no such file"}, [&] { load(); });
}

TEST_F(OwnDataFiles, AFolderThatIsNotThere) {
  expect_error(ErrorKind::data, {"there is no folder"},
               [&] { load_own_data(folder_.path() / "none", {}); });
}

}  // namespace
}  // namespace weft::data
