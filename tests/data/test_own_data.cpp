// SPDX-License-Identifier: MIT
// IDX of any size, CIFAR-10 and CIFAR-100, found by what a folder holds.
#include "data/own_data.h"

#include <algorithm>

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

// Images of the second come behind those of the first, with the classes of the first.
TEST(JoinedData, SetsAndClassesAreJoined) {
  const test::TempFolder folder;
  const auto write = [&](const std::string& name, const std::vector<std::string>& labels) {
    std::string rows = "label,a,b,c,d\n";
    for (std::size_t i = 0; i < labels.size(); ++i) {
      rows += labels[i] + "," + std::to_string(i) + ",2,3,4\n";
    }
    test::write_bytes(folder.path() / name, test::text(rows));
    return (folder.path() / name).string();
  };
  const std::string first = write("first.csv", {"a", "b", "a", "b", "a", "b"});
  const std::string second = write("second.csv", {"b", "c", "c", "b"});
  const Dataset both = load_own_data(first + "\n" + second, {});
  EXPECT_EQ(both.name, "first+second");
  EXPECT_EQ(both.class_names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(both.train.count + both.test.count, 10);
  std::vector<std::int32_t> held_out = both.test.labels;  // one of each class in each file
  std::sort(held_out.begin(), held_out.end());
  EXPECT_EQ(held_out, (std::vector<std::int32_t>{0, 1, 1, 2}));
  EXPECT_EQ(std::ssize(both.train.images), 4 * both.train.count);
  const std::string wide = (folder.path() / "wide.csv").string();
  test::write_bytes(wide,
                    test::text("label,a,b,c,d,e,f,g,h,i\n0,1,2,3,4,5,6,7,8,9\n1,1,2,3,4,5,6,7,8,9\n"
                               "0,1,2,3,4,5,6,7,8,9\n1,1,2,3,4,5,6,7,8,9\n"));
  FolderOptions options;
  test::expect_error(ErrorKind::usage, {"wide.csv"},
                     [&] { load_own_data(first + "\n" + wide, options); });
  test::expect_error(ErrorKind::data, {"there is no folder nowhere"},
                     [&] { load_own_data(first + "\nnowhere", options); });
}

TEST_F(OwnDataFiles, IdxHasAnySizeAndItsLargestLabelCountsTheClasses) {
  write_idx({4, 5, 9}, {0, 3, 1, 2});
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.height, 5);
  EXPECT_EQ(dataset.train.width, 9);
  EXPECT_EQ(dataset.class_names.size(), 4u);
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{0, 3, 1, 2}));
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
  // An empty class, as a folder of a class without pictures is.
  write_idx({3, 4, 4}, {0, 3, 1});
  expect_error(ErrorKind::data,
               {"train-labels", "no training image has label 2", "largest label, 3"},
               [&] { load(); });
  write_idx({2, 4, 4}, {1, 2});
  expect_error(ErrorKind::data, {"no training image has label 0"}, [&] { load(); });
  write_idx({2, 4, 4}, {0, 1});
  write("t10k-labels-idx1-ubyte", test::idx({2}, {0, 2}));  // that training never showed
  expect_error(ErrorKind::data, {"no training image has label 2"}, [&] { load(); });
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

// What an archive unpacks into: the folders around the data, in a zip made on macOS.
TEST_F(OwnDataFiles, AWrappingFolderIsEntered) {
  std::vector<std::string> log;
  FolderOptions options;
  options.log = [&](const std::string& line) { log.push_back(line); };
  for (const char* name : {"archive/dataset/train/cat", "archive/dataset/train/dog",
                           "archive/dataset/test/cat", "archive/dataset/test/dog"}) {
    test::write_class(folder_.path() / name, 3);
  }
  write("__MACOSX/archive/._0.png", {1});
  write("README.txt", test::text("x"));
  const Dataset dataset = load(options);
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(dataset.train.count, 6);
  EXPECT_EQ(dataset.test.count, 6);
  EXPECT_EQ(dataset.name, folder_.path().filename().string());
  const std::string place = folder_.path().string();
  EXPECT_EQ(log, (std::vector<std::string>{
                     "passed over the folder __MACOSX, which is hidden or a program's own",
                     "entered archive/, the only folder in " + place,
                     "entered dataset/, the only folder in " + place + "/archive"}));
  // A picture beside the folder says that it is more than a wrapping.
  test::write_flat_png(folder_.path() / "1.png", {1, 1, 1});
  expect_error(ErrorKind::data, {"one class only, archive"}, [&] { load(); });
}

TEST_F(OwnDataFiles, AWrappingFolderMayHoldIdxOrCifar) {
  write_idx({2, 4, 4}, {0, 1});
  std::filesystem::create_directories(folder_.path() / "MNIST/raw");
  for (const char* set : {"train", "t10k"}) {
    for (const char* what : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
      const std::string name = std::string(set) + what;
      std::filesystem::rename(folder_.path() / name, folder_.path() / "MNIST/raw" / name);
    }
  }
  EXPECT_EQ(load().train.count, 2);
  std::filesystem::remove_all(folder_.path() / "MNIST");
  write("cifar-100-binary/train.bin", cifar_records({{1, 99}, {2, 50}}));
  write("cifar-100-binary/test.bin", cifar_records({{0, 7}}));
  EXPECT_EQ(load().train.labels, (std::vector<std::int32_t>{99, 50}));
}

TEST_F(OwnDataFiles, LinksThatWrapThemselvesEnd) {
  std::filesystem::create_directory_symlink(".", folder_.path() / "again");
  expect_error(ErrorKind::data, {"one class only, again"}, [&] { load(); });
}

TEST_F(OwnDataFiles, LinksThatLeadOutAreCountedOrRefused) {
  namespace fs = std::filesystem;
  const TempFolder elsewhere;
  test::write_class(folder_.path() / "cat", 4, 0, 6, 6);
  test::write_class(folder_.path() / "dog", 4, 200, 6, 6);
  test::write_class(elsewhere.path() / "eel", 4, 90, 6, 6);
  std::vector<std::string> said;
  FolderOptions options;
  options.log = [&](const std::string& line) { said.push_back(line); };
  const auto lines_about_links = [&] {
    said.clear();
    load(options);
    std::erase_if(
        said, [](const std::string& line) { return line.find("--no-links") == std::string::npos; });
    return said;
  };
  // Within the folder, to nothing, by a long way, and from above: none leads out.
  fs::create_symlink("0.png", folder_.path() / "cat/again.png");
  fs::create_symlink("../../" + folder_.path().filename().string() + "/cat/0.png",
                     folder_.path() / "dog/of_a_cat.png");
  fs::create_directory_symlink("../cat", folder_.path() / "dog/cats");
  EXPECT_EQ(lines_about_links(), std::vector<std::string>{});
  const fs::path name = elsewhere.path() / "link";
  fs::create_directory_symlink(folder_.path(), name);
  options.links = Links::refused;
  EXPECT_EQ(load_own_data(name, options).train.channels, 1);
  options.links = Links::followed;
  // A file, and a folder with four of them, which are not counted one by one.
  fs::create_symlink(elsewhere.path() / "eel/0.png", folder_.path() / "cat/foreign.png");
  EXPECT_EQ(lines_about_links(),
            std::vector{folder_.path().string() + ": 1 link leads out of this folder, "
                                                  "cat/foreign.png; --no-links refuses it"});
  fs::create_directory_symlink(elsewhere.path() / "eel", folder_.path() / "eel");
  EXPECT_EQ(lines_about_links(),
            std::vector{folder_.path().string() + ": 2 links lead out of this folder, such as "
                                                  "cat/foreign.png; --no-links refuses them"});
  EXPECT_EQ(load(options).class_names.size(), 3u) << "they are followed all the same";
  options.links = Links::refused;
  expect_error(ErrorKind::data, {"2 links lead out", "--no-links refuses them"},
               [&] { load(options); });
}

TEST_F(OwnDataFiles, LinksToIdxFilesAreCountedToo) {
  const TempFolder elsewhere;
  write_idx({2, 5, 5}, {0, 1});
  std::filesystem::rename(folder_.path() / "t10k-labels-idx1-ubyte", elsewhere.path() / "labels");
  std::filesystem::create_symlink(elsewhere.path() / "labels",
                                  folder_.path() / "t10k-labels-idx1-ubyte");
  EXPECT_EQ(load().test.count, 2);
  FolderOptions options;
  options.links = Links::refused;
  expect_error(ErrorKind::data, {"1 link leads out", "t10k-labels-idx1-ubyte"},
               [&] { load(options); });
}

TEST_F(OwnDataFiles, AFolderThatIsNotThere) {
  expect_error(ErrorKind::data, {"there is no folder"},
               [&] { load_own_data(folder_.path() / "none", {}); });
}

}  // namespace
}  // namespace weft::data
