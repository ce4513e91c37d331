// SPDX-License-Identifier: MIT
// The names that people give to training and test sets, and the folders around pictures.
#include "data/folder/layout.h"

#include <algorithm>

#include "data/folder/folder.h"
#include "tests/data/picture_folder.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::write_class;
using test::write_flat_png;

TEST(SplitName, IsKnownInAnySpelling) {
  const auto expect = [](Split split, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const std::optional<SplitName> found = split_name(name);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->split, split) << name;
      EXPECT_EQ(found->prefix, "") << name;
    }
  };
  expect(Split::train, {"train", "Train", "TRAIN", "training", "trainingSet", "TrainingSet",
                        "training_set", "Training Set", "train_images", "train-images",
                        "trainImages", "trainset", "traindata", "train_data", "train.images",
                        "train_img", "train2017", "TRAIN_SET", "training_image_set"});
  expect(Split::test, {"test", "Test", "testing", "testSet", "test_set", "test-images",
                       "Testing Data", "test1", "evaluation", "eval"});
  expect(Split::validation, {"val", "Val", "valid", "VALID", "validation", "validation_set", "dev",
                             "Dev", "valSet", "val2017", "dev-images"});
}

TEST(SplitName, OtherNamesAreClasses) {
  for (const char* name :
       {"cat",    "trainer", "restrain",  "latest", "contest", "invalid",  "value",
        "valley", "device",  "testimony", "devil",  "0",       "12",       "set",
        "images", "data",    "",          "_",      "---",     "testtube", "验证"}) {
    EXPECT_FALSE(split_name(name)) << name;
  }
  ASSERT_TRUE(split_name("seg_train"));
  EXPECT_EQ(split_name("seg_train")->prefix, split_name("segTest")->prefix);
  EXPECT_NE(split_name("seg_train")->prefix, split_name("asl_train")->prefix);
}

class Layout : public testing::Test {
 protected:
  fs::path operator/(const std::string& name) const { return folder_.path() / name; }
  void write_classes(const std::string& set, int count = 3) {
    for (const char* name : {"cat", "dog"}) write_class(*this / set / name, count);
  }
  void clear() {
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove_all(entry.path());
  }
  PictureTree list() { return list_pictures(folder_.path()); }
  // Cat and dog, so many pictures in each set.
  void expect_sets(std::size_t train, std::size_t validation, std::size_t test) {
    const PictureTree tree = list();
    EXPECT_EQ(tree.class_names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(tree.train.size(), train);
    EXPECT_EQ(tree.validation.size(), validation);
    EXPECT_EQ(tree.test.size(), test);
  }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_error(ErrorKind::data, parts, [&] { list(); });
  }
  std::vector<std::string> notes() { return list().notes; }

  test::TempFolder folder_;
};

TEST_F(Layout, TheSetsMayHaveAnyOfTheirNames) {
  const std::vector<std::array<std::string, 2>> pairs = {{"Train", "Test"},
                                                         {"training", "testing"},
                                                         {"trainingSet", "testSet"},
                                                         {"train_images", "testing"},
                                                         {"Training", "Validation"},
                                                         {"TRAIN", "VALID"},
                                                         {"train", "dev"},
                                                         {"seg_train", "seg_test"},
                                                         {"train-set", "validation"},
                                                         {"train2017", "val2017"}};
  for (const auto& [train, test] : pairs) {
    SCOPED_TRACE(train + " " + test);
    clear();
    write_classes(train, 5);
    write_classes(test);
    expect_sets(10, 0, 6);
  }
  clear();
  write_classes("Train", 5);
  write_classes("valid", 4);
  write_classes("Testing", 3);
  expect_sets(10, 8, 6);
  clear();
  write_classes("training", 20);  // alone: a tenth is the test set
  expect_sets(36, 0, 4);
}

TEST_F(Layout, TwoFoldersOfOneSetAreRefused) {
  write_classes("train");
  write_classes("val");
  write_classes("valid");
  expect_refused({"val/ and valid/ are both the validation set", "expected one of them"});
  clear();
  write_classes("Train");
  write_classes("train");
  expect_refused({"Train/ and train/ are both the training set"});
}

TEST_F(Layout, SetsWithoutATrainingSetAreNoClasses) {
  write_classes("testing");
  write_classes("validation");
  expect_refused({"holds testing/ with folders, but no train/"});
  write_classes(".");  // the training set lies beside them
  expect_refused({"holds testing/ with folders, but no train/"});
  fs::remove_all(*this / "validation");
  expect_refused({"holds testing/ with folders, but no train/"});
  clear();
  write_class(*this / "train", 3);
  write_class(*this / "test", 3);
  expect_refused({"test/ and train/ look like a split, but hold no folders"});
  write_classes("test");
  expect_refused({"holds test/ with folders, but no train/"});
}

// "Train" and "valid" are good names for what a picture shows.
TEST_F(Layout, ClassesMayHaveTheNamesOfSets) {
  const auto classes = [&] { return list().class_names; };
  write_class(*this / "train", 3);
  write_class(*this / "car", 3);
  EXPECT_EQ(classes(), (std::vector<std::string>{"car", "train"}));
  EXPECT_EQ(notes(), std::vector<std::string>());
  write_flat_png(*this / "train/.ipynb_checkpoints/1.png", {1, 1, 1});
  EXPECT_EQ(classes(), (std::vector<std::string>{"car", "train"}));
  clear();
  write_class(*this / "Train/steam", 3);
  write_class(*this / "Train/diesel", 3);
  write_class(*this / "Car", 3);
  EXPECT_EQ(classes(), (std::vector<std::string>{"Car", "Train"}));
  ASSERT_EQ(notes().size(), 1u);
  EXPECT_TRUE(notes()[0].starts_with("took Train/ for a class")) << notes()[0];
  clear();
  for (const char* name : {"valid/a", "valid/b", "invalid/a", "invalid/b"}) {
    write_class(*this / name, 3);
  }
  EXPECT_EQ(classes(), (std::vector<std::string>{"invalid", "valid"}));
  clear();
  for (const char* name : {"freight train", "passenger train"}) write_class(*this / name, 3);
  EXPECT_EQ(classes().size(), 2u);
}

TEST_F(Layout, PicturesWithoutClassesAreNoTestSet) {
  write_classes("train", 20);
  for (const char* folder : {"test", "test/test"}) {
    fs::remove_all(*this / "test");
    write_class(*this / folder, 5);
    expect_sets(36, 0, 4);
    ASSERT_EQ(notes().size(), 1u);
    EXPECT_TRUE(notes()[0].starts_with("passed over test/: its pictures lie in no folder"));
  }
  write_classes("valid", 2);
  expect_sets(40, 0, 4);
}

TEST_F(Layout, AFolderThatWrapsASetIsEntered) {
  write_classes("seg_train/seg_train", 5);
  write_classes("seg_test/seg_test");
  expect_sets(10, 0, 6);
  EXPECT_EQ(notes(),
            (std::vector<std::string>{"entered seg_train/seg_train/, the only folder in seg_train/",
                                      "entered seg_test/seg_test/, the only folder in seg_test/"}));
  // A test set of one class, whose pictures lie deeper.
  clear();
  write_classes("train", 5);
  write_class(*this / "test/cat/young", 3);
  expect_sets(10, 0, 3);
  EXPECT_EQ(notes(), std::vector<std::string>());
}

TEST_F(Layout, SetsInTheFoldersOfClassesAreSets) {
  for (const char* name : {"cat/train", "cat/test", "dog/train", "dog/test"}) {
    write_class(*this / name, 10);
  }
  expect_sets(20, 0, 20);
  EXPECT_EQ(notes(),
            std::vector<std::string>{"the sets lie in the classes, as cat/test/ and cat/train/"});
  write_class(*this / "dog/more", 10);  // not what cat holds
  expect_sets(45, 0, 5);
  ASSERT_EQ(notes().size(), 1u);
  EXPECT_TRUE(
      notes()[0].starts_with("all pictures of a class are one set, those in cat/test/ and "
                             "cat/train/ as well"))
      << notes()[0];
}

TEST_F(Layout, ClassesOnceMoreAmongTheClasses) {
  write_classes(".", 10);
  write_classes("animals", 10);
  expect_sets(18, 0, 2);
  EXPECT_EQ(notes(), std::vector<std::string>{
                         "passed over animals/, which holds the folders beside it once more"});
}

TEST_F(Layout, MasksAreNoPicturesOfAClass) {
  for (const char* name : {"cat/images", "dog/images", "cat/masks", "dog/masks"}) {
    write_class(*this / name, 10);
  }
  expect_sets(18, 0, 2);
  EXPECT_EQ(notes(),
            std::vector<std::string>{"passed over masks/ in each class, which holds masks"});
  clear();
  for (const char* name : {"images", "masks"}) write_class(*this / name, 10);
  expect_refused({"images/ and masks/ are pictures and masks of them"});
}

TEST_F(Layout, TheSameFoldersInEachClass) {
  for (const char* of : {"color", "grayscale"}) write_classes(of);
  expect_refused({"color/ and grayscale/ hold the same folders, which are the classes then"});
  clear();
  for (const char* of : {"fold1", "fold2"}) write_classes(of);
  expect_refused({"fold1/ and fold2/ hold the same folders"});
  clear();
  for (const char* name : {"cat/left", "cat/right", "dog/left", "dog/right"}) {
    write_class(*this / name, 5);
  }
  expect_sets(18, 0, 2);
  EXPECT_EQ(notes(), std::vector<std::string>{"each class holds the same folders, left/ and "
                                              "right/: all pictures in them are of this class"});
}

TEST_F(Layout, WhatProgramsLeaveIsPassedOver) {
  write_classes(".", 10);
  write_flat_png(*this / "__MACOSX/cat/._0.png", {1, 1, 1});
  write_flat_png(*this / ".ipynb_checkpoints/0.png", {1, 1, 1});
  write_flat_png(*this / "cat/.ipynb_checkpoints/0.png", {1, 1, 1});
  write_flat_png(*this / "dog/@eaDir/0.png", {1, 1, 1});
  for (const char* name : {"Thumbs.db", "cat/Thumbs.db", "dog/desktop.ini", ".DS_Store"}) {
    test::write_bytes(*this / name, test::text("x"));
  }
  std::vector<std::string> log;
  FolderOptions options;
  options.log = [&](const std::string& line) { log.push_back(line); };
  const Dataset dataset = load_folder(folder_.path(), options);
  EXPECT_EQ(dataset.train.count + dataset.test.count, 20);
  EXPECT_EQ(log, (std::vector<std::string>{"passed over the folder .ipynb_checkpoints and 3 more, "
                                           "which are hidden or a program's own"}));
  EXPECT_EQ(list().left_out, std::vector<std::string>());
}

}  // namespace
}  // namespace weft::data
