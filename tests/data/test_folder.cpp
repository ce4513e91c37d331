// SPDX-License-Identifier: MIT
// Folders of pictures: what counts as a class and a picture, shapes, and splits.
#include "data/folder/folder.h"

#include <algorithm>
#include <map>

#include "data/sets/digits.h"
#include "tests/data/folder_test.h"
#include "tests/data/picture/pictures.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TempFolder;
using test::write_class;
using test::write_flat_png;

std::vector<std::string> paths_of(const std::vector<PictureFile>& files) {
  std::vector<std::string> paths;
  for (const PictureFile& file : files) paths.push_back(file.path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST_F(Folder, SplitsAreFoldersOfFolders) {
  write_class(*this / "train/b", 3);
  write_class(*this / "train/a", 2);
  write_class(*this / "test/b", 1);
  write_class(*this / "val/a", 1);
  const PictureTree tree = list_pictures(folder_.path());
  EXPECT_EQ(tree.class_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(paths_of(tree.train),
            (std::vector<std::string>{"train/a/0.png", "train/a/1.png", "train/b/0.png",
                                      "train/b/1.png", "train/b/2.png"}));
  ASSERT_EQ(tree.test.size(), 1u);
  EXPECT_EQ(tree.test[0].label, 1);
  ASSERT_EQ(tree.validation.size(), 1u);
  EXPECT_EQ(tree.validation[0].label, 0);
  EXPECT_FALSE(tree.held_out);
  // Without test/, val/ is the test set.
  fs::remove_all(*this / "test");
  const PictureTree without = list_pictures(folder_.path());
  EXPECT_EQ(paths_of(without.test), (std::vector<std::string>{"val/a/0.png"}));
  EXPECT_TRUE(without.validation.empty());
}

TEST_F(Folder, ATenthOfEachClassIsHeldOutAndStaysTheSame) {
  write_class(*this / "cat", 30);
  write_class(*this / "dog", 4);
  write_class(*this / "eel", 1);
  const PictureTree tree = list_pictures(folder_.path());
  std::map<std::int32_t, int> held;
  for (const PictureFile& file : tree.test) ++held[file.label];
  EXPECT_EQ(held, (std::map<std::int32_t, int>{{0, 3}, {1, 1}}));
  EXPECT_EQ(tree.train.size(), 31u);
  EXPECT_TRUE(tree.held_out);
  const std::vector<std::string> before = paths_of(tree.test);
  write_class(*this / "fox", 20);  // another class moves none of them
  const std::vector<std::string> after = paths_of(list_pictures(folder_.path()).test);
  EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
  const PictureTree all = list_pictures(folder_.path(), Holding::nothing);
  EXPECT_EQ(all.test.size(), 55u);
  EXPECT_TRUE(all.train.empty());
}

TEST_F(Folder, TheOrderMixesTheClasses) {
  write_class(*this / "train/a", 40);
  write_class(*this / "train/b", 40);
  const PictureTree tree = list_pictures(folder_.path());
  const auto of_first_half = std::count_if(tree.train.begin(), tree.train.begin() + 30,
                                           [](const PictureFile& file) { return file.label == 0; });
  EXPECT_GT(of_first_half, 5);
  EXPECT_LT(of_first_half, 25);
}

TEST_F(Folder, WhatIsNoPictureIsPassedOver) {
  write_two_classes();
  test::write_bytes(*this / "cat/notes.txt", test::text("a note"));
  test::write_bytes(*this / "cat/.hidden.png", test::text("not a picture"));
  test::write_bytes(*this / ".git/HEAD", test::text("x"));
  test::write_bytes(*this / "README.md", test::text("x"));
  write_flat_png(*this / "dog/more/deep/1.PNG", {9, 9, 9});
  EXPECT_NO_THROW(load());
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_EQ(log_[0], "passed over the folder .git, which is hidden or a program's own");
  EXPECT_EQ(log_[1], "passed over README.md and 1 more, which are no picture of a class");
  const PictureTree tree = list_pictures(folder_.path());
  EXPECT_EQ(tree.train.size() + tree.test.size(), 21u);
}

TEST_F(Folder, NamesMayHoldSpacesAndUtf8) {
  write_class(*this / "Käfer grün", 5);
  write_class(*this / "猫", 5);
  EXPECT_EQ(load().class_names, (std::vector<std::string>{"Käfer grün", "猫"}));
  write_class(*this / "\xff\xfe", 2);
  expect_error(ErrorKind::data, {"the name of a class is not UTF-8"}, [&] { load(); });
}

TEST_F(Folder, SymbolicLinksAreFollowedOnce) {
  write_two_classes();
  TempFolder elsewhere;
  write_class(elsewhere.path() / "pictures", 3);
  fs::create_directory_symlink(elsewhere.path() / "pictures", *this / "eel");
  fs::create_directory_symlink("..", *this / "cat/up");  // to cat, dog, eel and cat again
  fs::create_directory_symlink("loop", *this / "dog/loop");
  fs::create_symlink(elsewhere.path() / "pictures/0.png", *this / "dog/linked.png");
  const PictureTree tree = list_pictures(folder_.path());
  std::map<std::int32_t, int> counts;
  for (const auto* files : {&tree.train, &tree.test}) {
    for (const PictureFile& file : *files) ++counts[file.label];
  }
  EXPECT_EQ(counts[1], 11);
  EXPECT_EQ(counts[2], 3);
  EXPECT_EQ(counts[0], 10 + 11 + 3);  // by way of cat/up, and its own pictures once
}

TEST_F(Folder, ClassesThatCannotBeTrainedAreRefused) {
  expect_error(ErrorKind::data, {"no folders in it"}, [&] { load(); });
  write_class(*this / "cat", 3);
  expect_error(ErrorKind::data, {"one class only, cat"}, [&] { load(); });
  fs::create_directory(*this / "dog");
  expect_error(ErrorKind::data, {"dog", "no pictures"}, [&] { load(); });
  write_class(*this / "dog", 1);
  EXPECT_NO_THROW(load());
  fs::rename(*this / "dog", *this / "test");
  fs::create_directory(*this / "test/x");
  expect_error(ErrorKind::data, {"holds test/", "no train/"}, [&] { load(); });
}

TEST_F(Folder, MoreClassesThanAModelMayHaveAreRefusedAtOnce) {
  for (int i = 0; i < 20'000; ++i) fs::create_directory(*this / ("c" + std::to_string(i)));
  expect_error(ErrorKind::data, {"more than 4096 folders"}, [&] { load(); });
}

TEST_F(Folder, AClassThatTrainingLacksIsRefused) {
  write_class(*this / "train/a", 2);
  write_class(*this / "train/b", 2);
  write_class(*this / "test/c", 2);
  expect_error(ErrorKind::data, {"test/c", "there is no class c in train/"}, [&] { load(); });
  fs::remove_all(*this / "test");
  fs::create_directories(*this / "test/a");
  expect_error(ErrorKind::data, {"test", "no pictures in it"}, [&] { load(); });
}

TEST_F(Folder, TheShapeFollowsThePictures) {
  write_two_classes();
  Dataset dataset = load();
  EXPECT_EQ(dataset.train.channels, 1);
  EXPECT_EQ(dataset.train.height, 4);  // the common size
  EXPECT_EQ(dataset.train.width, 4);
  write_flat_png(*this / "cat/wide.png", {5, 5, 5}, 9, 4);
  dataset = load();
  EXPECT_EQ(dataset.train.height, 28);
  // A colour in the last of many pictures decides, though the first look missed it.
  write_class(*this / "cat", 60);
  write_class(*this / "dog", 60);
  write_flat_png(*this / "cat/red.png", {255, 0, 0}, 9, 4);
  const PictureTree tree = list_pictures(folder_.path());
  const auto trains = [&](const char* path) {
    const std::vector<std::string> paths = paths_of(tree.train);
    return std::count(paths.begin(), paths.end(), path) == 1;
  };
  ASSERT_TRUE(trains("cat/red.png"));
  dataset = load();
  EXPECT_EQ(dataset.train.channels, 3);
  EXPECT_EQ(dataset.train.height, 32);
  EXPECT_EQ(std::ssize(dataset.train.images), dataset.train.count * 3 * 32 * 32);
  EXPECT_EQ(dataset.mean.size(), 3u);
  FolderOptions grey;
  grey.shape = {1, 6, 8, Fit::stretch};
  dataset = load(grey);
  EXPECT_EQ(dataset.train.channels, 1);
  EXPECT_EQ(dataset.train.height, 6);
  EXPECT_EQ(dataset.train.width, 8);
  EXPECT_EQ(dataset.mean.size(), 1u);
}

TEST_F(Folder, PicturesGreyByTheirPixelsAreGrey) {
  const Bytes grey_in_rgb(4 * 4 * 3, 77);
  for (const char* name : {"cat", "dog"}) {
    fs::create_directories(*this / name);
    for (const char* file : {"0.png", "1.png"})
      write_png(*this / name / file, grey_in_rgb, 4, 4, 3);
  }
  EXPECT_EQ(load().train.channels, 1);
}

TEST_F(Folder, BrokenPicturesAreAnErrorOrLeftOut) {
  write_two_classes();
  test::write_bytes(*this / "cat/text.png", test::text("no picture"));
  expect_error(ErrorKind::data, {"cat/text.png", "not a picture"}, [&] { load(); });
  fs::create_symlink("nowhere", *this / "dog/gone.jpg");
  fs::create_symlink("self.png", *this / "dog/self.png");
  expect_error(ErrorKind::data, {"3 pictures cannot be read", "--skip-broken"}, [&] { load(); });
  ASSERT_EQ(log_.size(), 3u);
  FolderOptions options;
  options.skip_broken = true;
  const Dataset dataset = load(options);
  EXPECT_EQ(dataset.train.count + dataset.test.count, 20);
  EXPECT_EQ(std::ssize(dataset.train.labels), dataset.train.count);
  EXPECT_EQ(std::ssize(dataset.train.images), dataset.train.count * 16);
  ASSERT_EQ(log_.size(), 4u);
  EXPECT_NE(log_[0].find("text.png"), std::string::npos);
  EXPECT_EQ(log_[3], "left out 3 pictures that cannot be read");
}

TEST_F(Folder, NothingLeftIsAnError) {
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) {
    test::write_bytes(*this / name, test::text("no picture"));
  }
  FolderOptions options;
  options.skip_broken = true;
  expect_error(ErrorKind::data, {"no training picture can be read"}, [&] { load(options); });
}

TEST_F(Folder, MemoryIsPlannedBeforeItIsTaken) {
  write_two_classes();
  FolderOptions options;
  options.shape.channels = 3;
  options.shape.height = options.shape.width = 1000;
  options.memory = 20 * 3'000'000 * 3 - 1;
  expect_error(ErrorKind::data, {"20 pictures of 3 x 1000 x 1000", "57 MiB", "171 MiB"},
               [&] { load(options); });
  options.memory += 1;
  EXPECT_EQ(load(options).train.height, 1000);
}

// The decoded pixels of a data set, each with its class, without their order.
std::vector<std::pair<std::string, Bytes>> sorted_pixels(const Dataset& dataset,
                                                         const ImageSet& set) {
  std::vector<std::pair<std::string, Bytes>> pixels;
  for (std::int64_t i = 0; i < set.count; ++i) {
    const auto first = set.images.begin() + i * set.pixels();
    const auto label = static_cast<std::size_t>(set.labels[static_cast<std::size_t>(i)]);
    pixels.emplace_back(dataset.class_names[label], Bytes(first, first + set.pixels()));
  }
  std::sort(pixels.begin(), pixels.end());
  return pixels;
}

TEST_F(Folder, WhatIsWrittenIsReadAgain) {
  const Dataset digits = generate_digits({.train = 120, .test = 40});
  write_folder(digits, *this / "digits");
  const Dataset read = load_folder(*this / "digits", {});
  EXPECT_EQ(read.class_names, digits.class_names);
  EXPECT_EQ(sorted_pixels(read, read.train), sorted_pixels(digits, digits.train));
  EXPECT_EQ(sorted_pixels(read, read.test), sorted_pixels(digits, digits.test));
  EXPECT_EQ(read.mean, digits.mean);
  expect_error(ErrorKind::data, {"digits", "it exists already"},
               [&] { write_folder(digits, *this / "digits"); });
  Dataset odd = digits;
  odd.class_names[3] = "T-shirt/top";
  expect_error(ErrorKind::data, {"T-shirt/top"}, [&] { write_folder(odd, *this / "odd"); });
  EXPECT_FALSE(fs::exists(*this / "odd"));
}

// A grey PNG of 4 x 4 and 16 bits a sample.
void write_deep_png(const fs::path& path, int sample) {
  test::PngParts parts{.width = 4, .height = 4, .depth = 16};
  for (int y = 0; y < 4; ++y) {
    parts.rows.push_back(0);
    for (int x = 0; x < 4; ++x) {
      test::append(parts.rows,
                   {static_cast<std::uint8_t>(sample >> 8), static_cast<std::uint8_t>(sample)});
    }
  }
  test::write_bytes(path, test::make_png(parts));
}

// All pictures have one white: a dark one of 12 bits is no bright one of 10.
TEST_F(Folder, SamplesOf16BitsAreScaledAlikeInAllPictures) {
  for (int i = 0; i < 40; ++i) {
    write_deep_png(*this / "train/dark" / (std::to_string(i) + ".png"), 160);
    write_deep_png(*this / "train/light" / (std::to_string(i) + ".png"), i == 39 ? 4000 : 900);
  }
  for (const char* name : {"test/dark/0.png", "test/light/0.png"})
    write_deep_png(*this / name, 160);
  write_deep_png(*this / "test/light/full.png", 0xff00);  // it is no picture of 12 bits
  FolderOptions options;
  TempFolder cache;
  options.cache_folder = cache.path();
  for (const char* time : {"decoded", "from the cache"}) {
    SCOPED_TRACE(time);
    const Dataset dataset = load(options);
    EXPECT_EQ(dataset.sample_bits, 12);
    const auto count = [&](const ImageSet& set, int pixel) {
      return std::count(set.images.begin(), set.images.end(), pixel);
    };
    EXPECT_EQ(count(dataset.train, 160 >> 4), 40 * 16);
    EXPECT_EQ(count(dataset.train, 900 >> 4), 39 * 16);
    EXPECT_EQ(count(dataset.train, 4000 >> 4), 16);
    EXPECT_EQ(count(dataset.test, 160 >> 4), 2 * 16);
    EXPECT_EQ(count(dataset.test, 255), 16);
    EXPECT_EQ(log_, std::vector<std::string>{
                        "82 PNGs have samples of 16 bits, and none in training is above 4095, "
                        "which is taken for white; --sample-bits says otherwise"});
  }
  options.shape.sample_bits = 16;
  const Dataset as_they_are = load(options);
  EXPECT_EQ(as_they_are.sample_bits, 16);
  EXPECT_EQ(*std::max_element(as_they_are.train.images.begin(), as_they_are.train.images.end()),
            4000 >> 8);
}

}  // namespace
}  // namespace weft::data
