// SPDX-License-Identifier: MIT
// Labels of pictures in other tables than a column of them: JSON, a column for each class, tables
// in the folders of the sets, and lists that tell the sets of pictures in folders of classes.
#include "tests/data/picture_folder.h"
#include "tests/data/tables/tables_test.h"

namespace weft::test {
namespace {

using data::Dataset;
using Names = std::vector<std::string>;

class LabelTables : public TableFiles {
 protected:
  void pictures(const std::string& before, int count, int first = 0) {
    for (int i = first; i < first + count; ++i) {
      const auto level = static_cast<std::uint8_t>(10 * i + 10);
      write_flat_png(path(before + std::to_string(i) + ".png"), {level, level, level});
    }
  }
  // Pictures of even numbers have the class 0 of the set, odd ones the class 1.
  static void expect_right(const data::ImageSet& set) {
    for (std::int64_t i = 0; i < set.count; ++i) {
      const int number = set.image(i).front() / 10 - 1;
      EXPECT_EQ(set.labels[static_cast<std::size_t>(i)], number % 2) << number;
    }
  }
  void expect_sets(std::int64_t train, std::int64_t test, const Names& classes) {
    const Dataset dataset = load();
    EXPECT_EQ(dataset.train.count, train);
    EXPECT_EQ(dataset.test.count, test);
    EXPECT_EQ(dataset.class_names, classes);
    expect_right(dataset.train);
    expect_right(dataset.test);
  }
  static std::string lines(int first, int end, const std::function<std::string(int)>& line) {
    std::string text;
    for (int i = first; i < end; ++i) text += line(i) + "\n";
    return text;
  }
  static std::string label(int i) { return i % 2 == 0 ? "cat" : "dog"; }
};

TEST_F(LabelTables, JsonOfNamesAndLabels) {
  pictures("images/", 20);
  std::string object, pairs;
  for (int i = 0; i < 20; ++i) {
    const std::string begin = i == 0 ? "" : ", ", name = "\"" + std::to_string(i) + ".png\"";
    object += begin + name + ": \"" + label(i) + "\"";
    pairs += begin + "[" + name + ", " + std::to_string(i % 2) + "]";
  }
  write("labels.json", "{" + object + "}");
  expect_sets(18, 2, {"cat", "dog"});
  write("labels.json", "{\"labels\": [" + pairs + "]}");
  expect_sets(18, 2, {"0", "1"});
  write("labels.json", "{\"labels\": null}");
  expect_refused("", "one class only, images");
  write("labels.json", "{\"labels\": [[[[[[[[[[");
  expect_refused("", "one class only, images");
}

TEST_F(LabelTables, JsonLinesInTheFoldersOfTheSets) {
  pictures("train/", 8);
  pictures("test/", 4);
  const auto line = [](int i) {
    return "{\"file_name\": \"" + std::to_string(i) + ".png\", \"label\": \"" + label(i) + "\"}";
  };
  write("train/metadata.jsonl", lines(0, 8, line));
  write("test/metadata.jsonl", lines(0, 4, line));
  expect_sets(8, 4, {"cat", "dog"});
  write("test/metadata.jsonl", lines(0, 4, line) + "{\"file_name\": ");
  const Dataset dataset = load();  // what is no JSON tells nothing of the test pictures
  EXPECT_EQ(dataset.train.count + dataset.test.count, 8);
}

TEST_F(LabelTables, JsonThatNamesClassesIsNoTableOfPictures) {
  pictures("train/", 10);
  write("train.csv", "id,label\n" + lines(0, 10, [](int i) {
                       return std::to_string(i) + ".png," + std::to_string(i % 2);
                     }));
  write("names.json", R"({"0": "cat", "1": "dog"})");
  expect_sets(8, 2, {"0", "1"});
}

TEST_F(LabelTables, WebDatasetWithJson) {
  pictures("", 10);
  for (int i = 0; i < 10; ++i) {
    write(std::to_string(i) + ".json",
          "{\"caption\": \"x\", \"label\": " + std::to_string(i % 2) + "}");
  }
  expect_sets(8, 2, {"0", "1"});
}

TEST_F(LabelTables, AColumnForEachClass) {
  for (const char* set : {"train/", "valid/"}) {
    const int count = std::string(set) == "train/" ? 8 : 4;
    pictures(set, count);
    write(std::string(set) + "_classes.csv", "filename, cat, dog\n" + lines(0, count, [](int i) {
                                               return std::to_string(i) + ".png, " +
                                                      (i % 2 == 0 ? "1, 0" : "0, 1");
                                             }));
  }
  expect_sets(8, 4, {"cat", "dog"});
  EXPECT_TRUE(said("2 columns of 0 and 1")) << lines_;
  write("train/_classes.csv", "filename,cat,dog\n0.png,1,1\n1.png,0,1\n");
  expect_refused("", "line 2: the classes 'cat' and 'dog', expected one for each picture");
  write("train/_classes.csv", "filename,cat,dog\n0.png,0,0.0\n1.png,0,1.0\n");
  expect_refused("", "line 2: a picture of no class, expected one");
}

TEST_F(LabelTables, OfTwoColumnsThatTellTheSameTheWords) {
  pictures("", 10);
  write("labels.csv", "file,number,word\n" + lines(0, 10, [](int i) {
                        return std::to_string(i) + ".png," + std::to_string(i % 2) + "," + label(i);
                      }));
  expect_sets(8, 2, {"cat", "dog"});
  write("labels.csv", "file,number,word\n" + lines(0, 10, [](int i) {
                        return std::to_string(i) + ".png," + std::to_string(i % 3) + "," + label(i);
                      }));
  expect_refused("", "which of its columns is the label? --label NAME says so: number, word");
}

TEST_F(LabelTables, ListsTellTheSetsOfPicturesInClasses) {
  for (int i = 0; i < 12; ++i) pictures("data/images/" + label(i) + "/", 1, i);
  // Without an ending, with the class, and with a number behind it.
  write("data/meta/train.txt",
        lines(0, 8, [](int i) { return label(i) + "/" + std::to_string(i); }));
  write("data/meta/test.txt",
        lines(8, 11, [](int i) { return label(i) + "/" + std::to_string(i) + ".png 7"; }));
  write("data/meta/labels.txt", "cat\ndog\n");
  expect_sets(8, 3, {"cat", "dog"});
  EXPECT_TRUE(said("the sets are told by meta/test.txt and meta/train.txt")) << lines_;
  EXPECT_TRUE(said("passed over 1 picture in none of them")) << lines_;
  write("data/meta/test.txt", "cat/99\n");  // a list of something else
  EXPECT_EQ(load().train.count, 10);
}

TEST_F(LabelTables, NumbersOfPicturesTellTheSetsAsInCub) {
  for (int i = 0; i < 12; ++i) pictures("images/" + label(i) + "/", 1, i);
  write("images.txt", lines(0, 12, [](int i) {
          return std::to_string(i + 1) + " " + label(i) + "/" + std::to_string(i) + ".png";
        }));
  write("train_test_split.txt",
        lines(0, 12, [](int i) { return std::to_string(i + 1) + (i < 8 ? " 1" : " 0"); }));
  expect_sets(8, 4, {"cat", "dog"});
}

TEST_F(LabelTables, DataBesideFoldersThatHoldNone) {
  for (int i = 0; i < 10; ++i) pictures("images/" + label(i) + "/", 1, i);
  write("annotations/cat/0.xml", "<x/>");
  expect_sets(8, 2, {"cat", "dog"});
  EXPECT_TRUE(said("entered images/, the only folder with folders of pictures in")) << lines_;
  pictures("unlabelled_test/unlabelled_test/", 3);
  expect_sets(8, 2, {"cat", "dog"});
}

}  // namespace
}  // namespace weft::test
