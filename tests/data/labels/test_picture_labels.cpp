// SPDX-License-Identifier: MIT
// Pictures whose labels stand in a table beside them, or in their names.
#include "data/labels/picture_labels.h"

#include "tests/data/picture_folder.h"
#include "tests/data/tables/tables_test.h"

namespace weft::test {
namespace {

using data::Dataset;
using data::label_in_name;
using Names = std::vector<std::string>;

class PictureLabels : public TableFiles {
 protected:
  void pictures(const std::string& before, int count, const std::string& ending = ".png") {
    for (int i = 0; i < count; ++i) {
      const auto level = static_cast<std::uint8_t>(10 * i + 10);
      write_flat_png(path(before + std::to_string(i) + ending), {level, level, level});
    }
  }
  // "id,breed", then "0,a", "1,b", "2,a", ...
  static std::string table(int count, const std::string& header = "id,breed") {
    std::string text = header + "\n";
    for (int i = 0; i < count; ++i) text += std::to_string(i) + (i % 2 == 0 ? ",a\n" : ",b\n");
    return text;
  }
  static std::int64_t all(const Dataset& dataset) {
    return dataset.train.count + dataset.validation.count + dataset.test.count;
  }
  // Each picture of the tables above has its label: an even number of tens has a.
  static void expect_right(const data::ImageSet& set) {
    for (std::int64_t i = 0; i < set.count; ++i) {
      const int number = set.image(i).front() / 10 - 1;
      EXPECT_EQ(set.labels[static_cast<std::size_t>(i)], number % 2) << number;
    }
  }
};

TEST_F(PictureLabels, KagglesTrainAndTestWithoutEndings) {
  pictures("train/", 12);
  pictures("test/", 3);
  write("labels.csv", table(12));
  write("sample_submission.csv", "id,breed\n0,a\n1,a\n2,a\n");
  // 0 to 2 are in both folders, and nothing tells which.
  expect_refused("", "line 2: '0' may be");
  std::filesystem::rename(path("labels.csv"), path("train.csv"));
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (Names{"a", "b"}));
  EXPECT_EQ(all(dataset), 12);
  EXPECT_EQ(dataset.test.count, 2);
  expect_right(dataset.train);
  expect_right(dataset.test);
  EXPECT_TRUE(said("train.csv, column 'breed'")) << lines_;
  EXPECT_TRUE(said("passed over 3 pictures that no table gives a label")) << lines_;
}

TEST_F(PictureLabels, PathsAndSetsAsFastaiHasThem) {
  pictures("images/x", 8, ".jpg.png");
  std::string rows = ",fname,labels,is_valid\n";
  for (int i = 0; i < 8; ++i) {
    rows += std::to_string(i) + ",images/x" + std::to_string(i) + ".jpg.png," +
            (i % 2 == 0 ? "a" : "b") + (i < 2 ? ",True\n" : ",False\n");
  }
  write("labels.csv", rows);
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 6);
  EXPECT_EQ(dataset.test.count, 2);
  expect_right(dataset.train);
  expect_right(dataset.test);
}

TEST_F(PictureLabels, FoldersWithTheNamesOfSetsTellTheSet) {
  pictures("train/a", 6);
  pictures("valid/b", 2);
  std::string rows = "name;label\n";
  for (int i = 0; i < 6; ++i)
    rows += "\"a" + std::to_string(i) + "\";" + std::to_string(i % 2) + "\n";
  write("labels.csv", rows + "b0;0\nb1;1\n");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 6);
  EXPECT_EQ(dataset.test.count, 2);
  expect_right(dataset.train);
}

TEST_F(PictureLabels, PartsOfASetAreNoClasses) {
  pictures("part_1/a", 6);
  pictures("part_2/b", 6);
  std::string rows = "image_id,age,dx\n";
  for (const char* part : {"a", "b"}) {
    for (int i = 0; i < 6; ++i) {
      rows += part + std::to_string(i) + ",40," + (i % 2 == 0 ? "mel" : "nv") + "\n";
    }
  }
  write("meta.csv", rows);
  expect_refused("", "which of its columns is the label? --label NAME says so: age, dx");
  data::FolderOptions options;
  options.label_column = "dx";
  const Dataset dataset = load("", options);
  EXPECT_EQ(dataset.class_names, (Names{"mel", "nv"}));
  expect_right(dataset.train);
  options.label_column = "none";
  expect_error(ErrorKind::usage, {"there is no column 'none'"}, [&] { load("", options); });
}

TEST_F(PictureLabels, FoldersOfClassesBesideATableOfOtherThings) {
  for (const char* set : {"train/", "test/"}) {
    write_class(path(std::string(set) + "cat"), 5, 0);
    write_class(path(std::string(set) + "dog"), 5, 100);
  }
  write("labels.csv", table(5));
  EXPECT_EQ(load().class_names, (Names{"cat", "dog"}));
  std::filesystem::remove_all(path("test"));
  std::filesystem::remove_all(path("train"));
  write_class(path("cat"), 5, 0);
  write_class(path("dog"), 5, 100);
  write("labels.csv", "epoch,loss\n0,1\n1,1\n2,1\n3,1\n");
  EXPECT_EQ(load().class_names, (Names{"cat", "dog"}));
}

TEST_F(PictureLabels, WrongRowsAreNamed) {
  pictures("images/", 8);
  write("labels.csv", table(9));
  expect_refused("", "line 10: there is no picture '8'");
  data::FolderOptions options;
  options.skip_broken = true;
  EXPECT_EQ(all(load("", options)), 8);
  write("labels.csv", table(8) + "3,a\n");
  expect_refused("", "line 10: '3' has the label 'a' here, and 'b' in another row");
  write("labels.csv", table(8) + "3,b\n");
  EXPECT_EQ(all(load()), 8);
  write("labels.csv", table(8) + "4\n");
  expect_refused("", "line 10: 1 fields, too few");
  write("labels.csv", table(8) + "4,,\n");
  expect_refused("", "line 10: an empty label");
  write("labels.csv", "id,label\n0,a\n1,a\n2,a\n3,a\n4,a\n5,a\n");
  expect_refused("", "1 different labels of training pictures");
}

TEST(LabelInName, Patterns) {
  EXPECT_EQ(label_in_name("cat.0.jpg", "LABEL.#.*"), "cat");
  EXPECT_EQ(label_in_name("7_00012.png", "LABEL_*"), "7");
  EXPECT_EQ(label_in_name("great_pyrenees_12.jpg", "LABEL_#.jpg"), "great_pyrenees");
  EXPECT_EQ(label_in_name("img_0012_label7.png", "*_labelLABEL.*"), "7");
  EXPECT_EQ(label_in_name("12.jpg", "LABEL.#.*"), std::nullopt);
  EXPECT_EQ(label_in_name(".0.jpg", "LABEL.#.*"), std::nullopt);
  EXPECT_EQ(label_in_name("", "LABEL"), std::nullopt);
  for (const char* pattern : {"", "*", "LABELLABEL", "a/LABEL", "*LABEL***"}) {
    expect_error(ErrorKind::usage, {"--label-pattern"},
                 [&] { data::check_label_pattern(pattern); });
  }
}

TEST_F(PictureLabels, NamesHoldTheLabels) {
  pictures("train/cat.", 9);
  pictures("train/dog.", 9);
  pictures("test1/", 4);
  data::FolderOptions options;
  options.label_pattern = "LABEL.#.*";
  const Dataset dataset = load("", options);
  EXPECT_EQ(dataset.class_names, (Names{"cat", "dog"}));
  EXPECT_EQ(dataset.train.count, 16);
  EXPECT_EQ(dataset.test.count, 2);
  EXPECT_TRUE(said("passed over test1/0.png and 3 more, whose names do not fit 'LABEL.#.*'"))
      << lines_;
  options.label_pattern = "LABEL_#";
  expect_refused("", "no name of a picture fits 'LABEL_#', such as ", options);
}

// Lists as Caffe has them: a path and a label in each line, without a header.
TEST_F(PictureLabels, ListsOfPathsAndLabels) {
  pictures("images/", 8);
  std::string train, test;
  for (int i = 0; i < 8; ++i) {
    (i < 6 ? train : test) +=
        "images/" + std::to_string(i) + ".png " + (i % 2 == 0 ? "a" : "b") + "\n";
  }
  write("train.txt", train);
  write("test.txt", test);
  write("README.txt", "Pictures of two kinds.\n");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 6);
  EXPECT_EQ(dataset.test.count, 2);
  expect_right(dataset.train);
  expect_right(dataset.test);
}

TEST_F(PictureLabels, AListOfNumbersAndPathsIsNoTableOfLabels) {
  pictures("images/1.a/", 6);
  pictures("images/2.b/", 6);
  write("images.txt", "1 1.a/0.png\n2 1.a/1.png\n3 2.b/0.png\n");
  EXPECT_EQ(load().class_names, (Names{"1.a", "2.b"}));
}

// Folders tell the classes of the training set, and a table those of the others.
TEST_F(PictureLabels, ATableForTheSetWithoutFolders) {
  for (const std::string table : {"Test.csv", "Test/labels.txt"}) {
    for (int i = 0; i < 8; ++i) {
      const auto level = static_cast<std::uint8_t>(10 * i + 10);
      const std::string name = std::to_string(i) + ".png";
      write_flat_png(path((i % 2 == 0 ? "Train/a/" : "Train/b/") + name), {level, level, level});
    }
    pictures("Test/x", 4);
    std::string rows = table == "Test.csv" ? "Width,Path,Kind\n" : "";
    for (int i = 0; i < 4; ++i) {
      rows += "16,Test/x" + std::to_string(i) + ".png," + (i % 2 == 0 ? "a\n" : "b\n");
    }
    write(table, rows);
    const Dataset dataset = load();
    EXPECT_EQ(dataset.class_names, (Names{"a", "b"}));
    EXPECT_EQ(dataset.train.count, 8);
    EXPECT_EQ(dataset.test.count, 4);
    expect_right(dataset.train);
    expect_right(dataset.test);
    std::filesystem::remove_all(path("Test"));
    std::filesystem::remove_all(path("Train"));
    std::filesystem::remove(path("Test.csv"));
  }
}

TEST_F(PictureLabels, LabelsInFilesOfTheirOwn) {
  pictures("00", 8, ".jpg.png");
  for (int i = 0; i < 8; ++i) write("00" + std::to_string(i) + ".cls", i % 2 == 0 ? "a\n" : "b");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (Names{"a", "b"}));
  EXPECT_EQ(all(dataset), 8);
  expect_right(dataset.train);
  write("003.cls", "\n");
  expect_refused("", "003.cls: an empty label");
}

}  // namespace
}  // namespace weft::test
