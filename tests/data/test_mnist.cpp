// SPDX-License-Identifier: MIT
// Finding, loading, downloading and verifying data sets, on small files made here and, when
// WEFT_DATA_DIR names them, on the real ones.
#include "data/sets/mnist.h"

#include "data/sets/mnist_files.h"
#include "engine/timer.h"
#include "tests/data/files.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::expect_error;
using test::idx;
using test::ScopedFolder;
using test::ScopedVariable;
using test::TempFolder;
using test::write_bytes;

const char* real_folder() {
  return std::getenv("WEFT_DATA_DIR");
}

FindOptions in_folder(const fs::path& folder) {
  FindOptions options;
  options.data_dir = folder.string();
  return options;
}

// Two training images and one test image, all pixels `value`, under the names of `member`.
void write_small_set(const fs::path& folder, std::string_view member, std::uint8_t value,
                     const std::string& ending = "") {
  const FamilyMember& known = *find_member(member);
  const auto write = [&](FileRole role, const Bytes& bytes) {
    write_bytes(folder / (file_name(known, role) + ending),
                ending.empty() ? bytes : test::gzip(bytes));
  };
  write(FileRole::train_images, idx({2, 28, 28}, Bytes(2 * 784, value)));
  write(FileRole::train_labels, idx({2}, {1, 2}));
  write(FileRole::test_images, idx({1, 28, 28}, Bytes(784, value)));
  write(FileRole::test_labels, idx({1}, {3}));
}

TEST(Datasets, UnknownNamesGetASuggestion) {
  expect_error(ErrorKind::usage, {"'mnits'", "did you mean 'mnist'"},
               [] { find_dataset("mnits", {}); });
  expect_error(ErrorKind::usage, {"did you mean 'fashion-mnist'"},
               [] { check_dataset_name("fashon-mnist"); });
  expect_error(ErrorKind::usage, {"'cifar100'", "known: mnist, "},
               [] { check_dataset_name("cifar100"); });
  for (const std::string_view name : dataset_names()) EXPECT_NO_THROW(check_dataset_name(name));
}

TEST(Datasets, NowhereSaysWhereToPutThem) {
  const TempFolder folder;
  EXPECT_FALSE(find_dataset("kmnist", in_folder(folder.path())).has_value());
  expect_error(ErrorKind::data,
               {"no kmnist", folder.path().string(), "train-images-idx3-ubyte", "rois-codh"},
               [&] { load_dataset("kmnist", in_folder(folder.path())); });
  expect_error(ErrorKind::data, {"cannot be downloaded", "put train-images"},
               [&] { fetch_dataset("kmnist", in_folder(folder.path())); });
}

TEST(Datasets, BothSpellingsPlainAndPacked) {
  const TempFolder folder;
  const Bytes images = idx({1, 28, 28}, Bytes(784, 9)), labels = idx({1}, {5});
  write_bytes(folder.path() / "train-images.idx3-ubyte", images);
  write_bytes(folder.path() / "train-labels-idx1-ubyte.gz", test::gzip(labels));
  write_bytes(folder.path() / "t10k-images-idx3-ubyte", test::gzip(images));
  write_bytes(folder.path() / "t10k-labels.idx1-ubyte.gz", labels);
  const Dataset dataset = load_dataset("fashion-mnist", in_folder(folder.path()));
  EXPECT_EQ(dataset.train.count, 1);
  EXPECT_EQ(dataset.test.labels, (std::vector<std::int32_t>{5}));
  EXPECT_EQ(dataset.class_names.at(9), "Ankle boot");
  EXPECT_EQ(dataset.source, folder.path().string());
}

TEST(Datasets, SearchOrder) {
  const TempFolder given, environment, current;
  write_small_set(given.path(), "kmnist", 10);
  write_small_set(environment.path() / "kmnist", "kmnist", 20, ".gz");
  write_small_set(current.path() / "data" / "kmnist", "kmnist", 30);
  const ScopedFolder here(current.path());
  const ScopedVariable variable("WEFT_DATA_DIR", environment.path().c_str());
  EXPECT_EQ(load_dataset("kmnist", in_folder(given.path())).train.images[0], 10);
  EXPECT_EQ(load_dataset("kmnist", {}).train.images[0], 20);
  {
    const TempFolder empty;
    const ScopedVariable other("WEFT_DATA_DIR", empty.path().c_str());
    EXPECT_EQ(load_dataset("kmnist", {}).train.images[0], 30);
    // A folder that was asked for by name is not silently replaced by another.
    EXPECT_FALSE(find_dataset("kmnist", in_folder(empty.path())).has_value());
  }
  const ScopedVariable unset("WEFT_DATA_DIR", nullptr);
  EXPECT_EQ(load_dataset("kmnist", {}).train.images[0], 30);
}

TEST(Datasets, EmnistIsTransposedOnLoad) {
  const TempFolder folder;
  write_small_set(folder.path(), "emnist-digits", 0);
  Bytes pixels(784);
  pixels[28 * 3 + 5] = 200;  // row 3, column 5 as stored
  write_bytes(folder.path() / "emnist-digits-test-images-idx3-ubyte", idx({1, 28, 28}, pixels));
  const Dataset dataset = load_dataset("emnist-digits", in_folder(folder.path()));
  EXPECT_EQ(dataset.test.images[28 * 5 + 3], 200);
  EXPECT_EQ(dataset.test.images[28 * 3 + 5], 0);
}

TEST(Datasets, StatisticsComeFromTheTrainingImages) {
  const TempFolder folder;
  write_small_set(folder.path(), "kmnist", 0);
  Bytes pixels(2 * 784, 0);
  for (std::size_t i = 0; i < 784; ++i) pixels[i] = 255;
  write_bytes(folder.path() / "train-images-idx3-ubyte", idx({2, 28, 28}, pixels));
  const Dataset dataset = load_dataset("kmnist", in_folder(folder.path()));
  EXPECT_FLOAT_EQ(dataset.mean.front(), 0.5f);
  EXPECT_FLOAT_EQ(dataset.stddev.front(), 0.5f);
}

TEST(Datasets, BadFilesAreRefused) {
  const TempFolder folder;
  const FindOptions options = in_folder(folder.path());
  const fs::path images = folder.path() / "train-images-idx3-ubyte";
  const Bytes good = idx({2, 28, 28}, Bytes(2 * 784));
  write_small_set(folder.path(), "kmnist", 1);
  const auto expect_refused = [&](const Bytes& bytes, const std::vector<std::string>& parts) {
    write_bytes(images, bytes);
    expect_error(ErrorKind::data, parts, [&] { find_dataset("kmnist", options); });
  };
  expect_refused(Bytes(good.begin(), good.end() - 1), {"train-images", "found 1567"});
  Bytes longer = good;
  longer.push_back(0);
  expect_refused(longer, {"train-images", "found 1569"});
  expect_refused({}, {"train-images", "too short"});
  expect_refused({'t', 'e', 'x', 't', '\n'}, {"train-images", "not an IDX file"});
  expect_refused(idx({2, 14, 14}, Bytes(392)), {"28 x 28", "14 x 14"});
  expect_refused(idx({3, 28, 28}, Bytes(3 * 784)), {"3 images", "2 labels"});
  Bytes packed = test::gzip(good);
  packed.resize(packed.size() / 2);
  expect_refused(packed, {"train-images", "truncated"});
  fs::remove(images);
  expect_error(ErrorKind::data, {"incomplete kmnist", "train-images-idx3-ubyte"},
               [&] { find_dataset("kmnist", options); });
  fs::create_directory(images);
  expect_error(ErrorKind::data, {"train-images", "regular file"},
               [&] { find_dataset("kmnist", options); });
}

TEST(Datasets, TheTestImagesAloneCanBeRead) {
  const TempFolder folder;
  write_small_set(folder.path(), "kmnist", 7);
  write_bytes(folder.path() / "train-images-idx3-ubyte", Bytes{1, 2, 3});
  FindOptions options = in_folder(folder.path());
  expect_error(ErrorKind::data, {"train-images-idx3-ubyte"},
               [&] { load_dataset("kmnist", options); });
  options.test_only = true;
  const Dataset dataset = load_dataset("kmnist", options);
  EXPECT_EQ(dataset.train.count, 0);
  EXPECT_EQ(dataset.test.count, 1);
  EXPECT_EQ(dataset.test.images, Bytes(784, 7));
  EXPECT_EQ(dataset.test.labels, std::vector<std::int32_t>{3});
  EXPECT_EQ(dataset.class_names.size(), 10u);
}

TEST(Mnist, WrongChecksumNamesFileAndBothHashes) {
  const TempFolder folder;
  write_small_set(folder.path(), "mnist", 1);
  expect_error(ErrorKind::data, {"train-images-idx3-ubyte", "expected ba891046e6505d7a", "found "},
               [&] { load_dataset("mnist", in_folder(folder.path())); });
  const std::vector<FileCheck> checks = verify_dataset("mnist", in_folder(folder.path()));
  ASSERT_EQ(checks.size(), 4u);
  for (const FileCheck& check : checks) EXPECT_FALSE(check.ok());
}

TEST(Mnist, DownloadThatFailsLeavesNothingBehind) {
  const TempFolder folder, mirror;
  write_small_set(mirror.path(), "mnist", 1, ".gz");  // well-formed, but not MNIST
  FindOptions options = in_folder(folder.path() / "new");
  options.allow_download = true;
  options.mirrors = {"file://" + (mirror.path() / "nowhere").string() + "/",
                     "file://" + mirror.path().string() + "/"};
  std::string log;
  options.log = [&](const std::string& line) { log += line + "\n"; };
  EXPECT_FALSE(find_dataset("mnist", options).has_value());
  EXPECT_NE(log.find("downloading file://"), std::string::npos) << log;
  expect_error(ErrorKind::data, {"no download", "nowhere/train-images-idx3-ubyte.gz"},
               [&] { fetch_dataset("mnist", options); });
  EXPECT_FALSE(fs::exists(folder.path() / "new"));
}

TEST(Mnist, DownloadCompletesAFolder) {
  if (real_folder() == nullptr) GTEST_SKIP() << "WEFT_DATA_DIR is not set";
  const std::optional<Located> real = look_in(*find_member("mnist"), real_folder());
  if (!real->complete() || real->files[0].extension() != ".gz") {
    GTEST_SKIP() << "WEFT_DATA_DIR holds no packed MNIST to serve as a mirror";
  }
  const TempFolder folder;
  fs::copy(real->files[1], folder.path() / real->files[1].filename());
  FindOptions options = in_folder(folder.path());
  expect_error(ErrorKind::data, {"incomplete mnist"}, [&] { find_dataset("mnist", options); });
  options.allow_download = true;
  options.mirrors = {str("file://", fs::absolute(real_folder()).string(), "/")};
  EXPECT_EQ(fetch_dataset("mnist", options), folder.path());
  options.mirrors = {"file:///nowhere/"};
  EXPECT_EQ(load_dataset("mnist", options).train.count, 60000);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().extension(), ".gz") << entry.path();
  }
  for (const FileCheck& check : verify_dataset("mnist", options)) EXPECT_TRUE(check.ok());
}

TEST(Mnist, LoadsTheRealFiles) {
  if (real_folder() == nullptr) GTEST_SKIP() << "WEFT_DATA_DIR is not set";
  const Timer timer;
  const Dataset dataset = load_dataset("mnist", {});
  RecordProperty("seconds", std::to_string(timer.seconds()));
  EXPECT_EQ(dataset.train.count, 60000);
  EXPECT_EQ(dataset.test.count, 10000);
  EXPECT_EQ(dataset.train.images.size(), 60000u * 784);
  EXPECT_EQ(dataset.train.labels[0], 5);
  EXPECT_EQ(dataset.test.labels[0], 7);
  EXPECT_FLOAT_EQ(dataset.mean.front(), 0.1307f);
  EXPECT_FLOAT_EQ(dataset.stddev.front(), 0.3081f);
}

TEST(Mnist, IsNotTakenForAReplacementOfTheSameFileNames) {
  if (real_folder() == nullptr) GTEST_SKIP() << "WEFT_DATA_DIR is not set";
  EXPECT_TRUE(describe_dataset("mnist", in_folder(real_folder())).folder.has_value());
  EXPECT_FALSE(describe_dataset("kmnist", in_folder(real_folder())).folder.has_value());
  EXPECT_FALSE(find_dataset("fashion-mnist", in_folder(real_folder())).has_value());
}

TEST(Datasets, Descriptions) {
  const TempFolder folder;
  write_small_set(folder.path() / "kmnist", "kmnist", 1);
  const DatasetInfo info = describe_dataset("kmnist", in_folder(folder.path()));
  ASSERT_TRUE(info.folder.has_value());
  EXPECT_EQ(*info.folder, folder.path() / "kmnist");
  EXPECT_EQ(info.files.size(), 4u);
  EXPECT_FALSE(info.downloadable);
  EXPECT_TRUE(describe_dataset("digits", {}).generated);
  EXPECT_TRUE(describe_dataset("mnist", in_folder(folder.path())).downloadable);
  expect_error(ErrorKind::usage, {"digits has no files"}, [] { verify_dataset("digits", {}); });
}

}  // namespace
}  // namespace weft::data
