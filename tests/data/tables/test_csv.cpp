// SPDX-License-Identifier: MIT
// CSV files of images as Kaggle, OpenML and UCI keep them.
#include <memory>

#include "data/tables/table_text.h"
#include "tests/data/tables/tables_test.h"

namespace weft::data {
namespace {

using Csv = test::TableFiles;

TEST_F(Csv, NamesOfFilesTellTheSets) {
  write("mnist_train.csv", rows(6));
  write("mnist_test.csv", rows(3, 6));
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(dataset.train.height, 2);
  EXPECT_EQ(dataset.train.width, 2);
  EXPECT_EQ(Bytes(dataset.train.images.begin() + 4, dataset.train.images.begin() + 8),
            (Bytes{10, 11, 12, 0}));
  EXPECT_EQ(dataset.test.count, 3);
  EXPECT_EQ(dataset.test.images[10], 82);
  EXPECT_TRUE(said("6 images of 3 classes, 0 to 2, 2 x 2 grey, values 0 to 52")) << lines_;
  EXPECT_EQ(dataset.validation.count, 0);
}

// Kaggle's digit recogniser: a header, test images without labels, and a table of answers.
TEST_F(Csv, KagglesTestSetHasNoLabels) {
  write("train.csv", "label,pixel0,pixel1,pixel2,pixel3\n" + rows(60));
  write("test.csv", "pixel0,pixel1,pixel2,pixel3\n1,2,3,4\n");
  write("sample_submission.csv", "ImageId,Label\n1,0\n2,0\n");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 54);
  EXPECT_EQ(dataset.test.count, 6) << "a tenth of each class";
  EXPECT_TRUE(said("test.csv, which has no labels")) << lines_;
  EXPECT_TRUE(said("sample_submission.csv, which holds no images")) << lines_;
  // The rows that are held out do not change with rows behind them.
  const Bytes held = dataset.test.images;
  EXPECT_EQ(load().test.images, held);
  FolderOptions all;
  all.holding = Holding::nothing;
  EXPECT_EQ(load("", all).test.count, 60);
}

TEST_F(Csv, TheLabelMayStandLastOrAnywhereInAHeader) {
  write("last.csv", "0,1,2,33,cat\n0,5,6,7,dog\n0,9,8,7,cat\n0,4,4,4,dog\n");
  const Dataset last = load("last.csv");
  EXPECT_EQ(last.class_names, (std::vector<std::string>{"cat", "dog"}));
  write("named.csv", "id,a,b,Class,c,d\n1,0,1,x,2,3\n2,0,5,y,6,7\n3,0,1,x,2,4\n4,0,5,y,6,8\n");
  const Dataset named = load("named.csv");
  EXPECT_EQ(named.class_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(named.train.width, 2) << "the column id is no pixel";

  FolderOptions options;
  options.label_column = "last";
  write("open.csv", "1,2,3,40,0\n2,3,4,5,1\n1,2,3,9,0\n2,3,4,7,1\n");
  expect_refused("open.csv", "which of its 5 columns is the label? --label first, --label last");
  EXPECT_EQ(load("open.csv", options).class_names, (std::vector<std::string>{"0", "1"}));
  options.label_column = "kind";
  test::expect_error(ErrorKind::usage, {"there is no column 'kind'", "first or last"},
                     [&] { load("open.csv", options); });
}

// DataFrame.to_csv() with its defaults: a header of numbers, and the numbers of the rows in front.
// NumPy's savetxt writes whole numbers so.
TEST_F(Csv, LabelsInScientificNotation) {
  std::string rows;
  for (int i = 0; i < 20; ++i) {
    rows += "0.000e+00,5.000e+00,1.500e+00,0.000e+00," + std::to_string(i % 2 + 1) + ".000e+00\n";
  }
  write("digits.csv", rows);
  const Dataset dataset = load("digits.csv");
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(dataset.train.height, 2);
}

TEST_F(Csv, PandasWritesNumbersAboveAndBeside) {
  std::string plain = "0,1,2,3,4\n", numbered = ",0,1,2,3,4\n";
  for (int i = 0; i < 12; ++i) {
    plain += row(i + 2, std::to_string(i % 3));
    numbered += std::to_string(i) + "," + row(i + 2, std::to_string(i % 3));
  }
  write("plain.csv", plain);
  write("numbered.csv", numbered);
  for (const char* name : {"plain.csv", "numbered.csv"}) {
    const Dataset dataset = load(name);
    EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"0", "1", "2"})) << name;
    EXPECT_EQ(dataset.train.count + dataset.test.count, 12) << name;
    EXPECT_EQ(dataset.train.pixels(), 4) << name;
    EXPECT_TRUE(said("values 0 to 132")) << lines_;
  }
}

// Comments above and between the rows, and the header that numpy.savetxt() writes. A label that
// begins with # is one.
TEST_F(Csv, LinesThatBeginWithHashAreComments) {
  const std::string plain = "label,a,b,c,d\n" + rows(40);
  write("plain.csv", plain);
  const Dataset expected = load("plain.csv");
  std::string between;
  for (const char c : rows(40)) {
    between += c;
    if (c == '\n') between += "# a remark, or two\n";
  }
  const std::pair<const char*, std::string> tables[] = {
      {"above.csv", "# made by hand\n#\n\n# 40 rows\n" + plain},
      {"savetxt.csv", "# label,a,b,c,d\n" + rows(40)},
      {"taken_out.csv", "label,a,b,c,d\n# no row\n" + rows(40)},
      {"between.csv", "label,a,b,c,d\n" + between},
      {"row.csv", "# 9,1,2,3,4\nlabel,a,b,c,d\n" + rows(40)}};
  for (const auto& [name, text] : tables) {
    SCOPED_TRACE(name);
    write(name, text);
    const Dataset found = load(name);
    EXPECT_EQ(found.train.images, expected.train.images);
    EXPECT_EQ(found.test.labels, expected.test.labels);
    EXPECT_EQ(found.class_names, expected.class_names);
  }
  write("tags.csv", "#cat,1,2,3,4\n#dog,5,6,7,8\n#cat,1,2,3,5\n#dog,5,6,7,9\n");
  EXPECT_EQ(load("tags.csv").class_names, (std::vector<std::string>{"#cat", "#dog"}));
  write("only.csv", "# nothing\n# at all\n");
  EXPECT_THROW(load("only.csv"), Error);
}

TEST_F(Csv, LabelsAreSortedAsNumbersAndMayHaveGaps) {
  std::string text;
  for (int i = 0; i < 24; ++i) text += row(i, std::to_string(i % 3 == 0 ? 10 : i % 3));
  write("gaps.csv", text);
  EXPECT_EQ(load("gaps.csv").class_names, (std::vector<std::string>{"1", "2", "10"}));
}

TEST_F(Csv, ValuesAreScaledAlikeToBytes) {
  const auto pixels = [&](const std::string& text) {
    write("scaled_train.csv", text);
    write("scaled_test.csv", "1,0,0,0,1\n");
    return load().train.images;
  };
  EXPECT_EQ(pixels("1,0.5,1,0,0\n2,0,0.2,1e-1,0\n"), (Bytes{128, 255, 0, 0, 0, 51, 26, 0}));
  EXPECT_TRUE(said("values 0 to 1, where 0 is black and 1 is white")) << lines_;
  EXPECT_EQ(pixels("1,16,8,0,0\n2,0,4,1,0\n"), (Bytes{255, 128, 0, 0, 0, 64, 16, 0}))
      << "scikit-learn's digits";
  EXPECT_EQ(pixels("1,-1,1,0,0\n2,-1,-1,1,0\n"), (Bytes{0, 255, 128, 128, 0, 0, 255, 128}));
  EXPECT_EQ(pixels("1,0,65535,0,0\n2,0,0,257,0\n"), (Bytes{0, 255, 0, 0, 0, 0, 1, 0}));
}

TEST_F(Csv, OtherDelimitersQuotesAndLineEndings) {
  write("a_train.csv",
        "\xef\xbb\xbf\"label\";\"p0\";\"p1\";\"p2\";\"p3\"\r\n\"a b\";0;1;2;33\r\n"
        "c;\"4\"; 5 ;6;7\r\n\r\n");
  write("a_test.csv", "\"a b\";1;1;1;1\r\n");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"a b", "c"}));
  EXPECT_EQ(dataset.train.images, (Bytes{0, 1, 2, 33, 4, 5, 6, 7}));
  write("optdigits.tra", "0 1 2 33 7\n0 1 2 4 8\n0 1 2 5 7\n 0  1 2 6 8 \n");
  EXPECT_EQ(load("optdigits.tra").class_names, (std::vector<std::string>{"7", "8"}));
}

// FER2013: a column of pixels, and one that tells the set.
TEST_F(Csv, PixelsInOneColumnAndSetsInAnother) {
  write("fer2013.csv",
        "emotion,pixels,Usage\n0,1 2 3 44,Training\n1,5 6 7 8,Training\n0,9 9 9 9,PublicTest\n");
  const Dataset dataset = load("fer2013.csv");
  EXPECT_EQ(dataset.train.count, 2);
  EXPECT_EQ(dataset.test.images, (Bytes{9, 9, 9, 9}));
}

TEST_F(Csv, EmnistIsTurnedUprightAndItsLettersHaveNames) {
  write("emnist-letters-train.csv", "1,50,1,2,0\n2,0,5,6,0\n26,0,5,6,0\n");
  write("emnist-letters-test.csv", "26,0,1,2,0\n");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"A", "B", "Z"}));
  EXPECT_EQ(Bytes(dataset.train.images.begin(), dataset.train.images.begin() + 4),
            (Bytes{50, 2, 1, 0}));
  EXPECT_TRUE(said("is EMNIST by its name: rows and columns are exchanged")) << lines_;
}

TEST_F(Csv, ColoursStandTogether) {
  std::string text = "1", other = "2";
  for (int i = 0; i < 12; ++i) text += "," + std::to_string(i), other += i == 11 ? ",11" : ",200";
  write("rgb_train.csv", text + "\n" + other + "\n");
  write("rgb_test.csv", text + "\n");
  FolderOptions options;
  options.shape.channels = 3;
  const Dataset dataset = load("", options);
  EXPECT_EQ(dataset.train.channels, 3);
  EXPECT_EQ(dataset.test.images, (Bytes{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
}

TEST_F(Csv, WhatIsWrongIsToldWithItsLine) {
  const auto refused = [&](const std::string& text, const std::string& part) {
    write("bad.csv", text);
    expect_refused("bad.csv", part);
  };
  refused(rows(5) + "1,0,2,0\n", "line 6: expected 5 fields as in the first line, found 4");
  refused(rows(5) + "1,0,2,3,0,0\n", "line 6: expected 5 fields as in the first line, found 6");
  refused(rows(5) + "1,0,x,3,0\n", "line 6: column 3: expected a number, found 'x'");
  refused("label,a,b,c,d\n" + rows(3) + "1,0,,3,4\n", "line 5: column 3: expected a number");
  refused(rows(5) + "1,0,nan,3,0\n", "a value is not finite");
  refused(rows(5) + "1,0,-7,3,0\n", "values from -7 to");
  refused(rows(5) + "1,0,70000,3,0\n", "values from 0 to 70000");
  refused("", "an empty table");
  refused("label,a,b,c,d\n", "no rows below the header");
  refused("label,a,b,c\n1,2,3,4\n", "it holds no labelled images");
  refused("label,a,b,c,d,e\n1,0,2,3,4,5\n2,0,2,3,4,5\n", "5 values of an image are no square");
  refused("1,0,1,2,3\n2,0,1,2,4\n", "which of its 5 columns");
  refused("label,a,b,c,d\n1,0,1,2,3\n1,0,1,2,4\n", "every label is 1, expected at least 2");
  refused("label,a,b,c,d\n1,0,1,2,3\n2,0,1,2,4\n", "one image in each class");
  refused("label,a,b,c,d\n1,0,1,2,3\n1,0,\"1,2,3\n", "line 3: a double quote has no end");
  refused("label,a,b,c,d\n\xff,0,1,2,3\n2,0,1,2,3\n", "a label is not UTF-8");
  write("one_train.csv", rows(6));
  write("one_test.csv", "7,0,1,2,3\n");
  std::filesystem::remove(path("bad.csv"));
  expect_refused("", "image 1 has the label '7', which no training image has");
  write("one_test.csv", "1,0,1,2,3,4,5,6,7,8\n");
  expect_refused("", "images of 3 x 3 grey, but those in");
  write("two_train.csv", rows(6));
  std::filesystem::remove(path("one_test.csv"));
  expect_refused("", "would both be the training set: --data with one of them says which");
}

TEST_F(Csv, AFolderOfPicturesKeepsItsTables) {
  write("labels.csv", rows(6));
  std::filesystem::create_directories(path("cat"));
  std::filesystem::create_directories(path("dog"));
  for (const char* name : {"cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"}) {
    write(name, "no picture");
  }
  expect_refused("", "pictures cannot be read");
}

TEST_F(Csv, OtherFilesAreNamed) {
  write("train.parquet", "PAR1");
  expect_refused("", "reads no Parquet files, but weft.train() in Python does");
  expect_refused("train.parquet", "reads no Parquet files");
  std::filesystem::remove(path("train.parquet"));
  write("train.h5", "HDF");
  expect_refused("", "Weft reads no HDF5 files; save the images and labels with numpy.savez");
  std::filesystem::remove(path("train.h5"));
  write("notes.txt", "hello");
  expect_refused("", "holds notes.txt alone: expected a folder of pictures for each class, CSV");
}

// A file is read in pieces, so that its text needs no memory: what needs three times as much as is
// free, as text, has the same bits as with all memory.
TEST_F(Csv, ATextThatDoesNotFitIsReadInPieces) {
  std::string text = "label";
  for (int pixel = 0; pixel < 784; ++pixel) text += ",p" + std::to_string(pixel);
  text += "\r\n";
  for (int i = 0; i < 1500; ++i) {
    text += i < 750 ? "cat" : "dog";
    for (int pixel = 0; pixel < 784; ++pixel) text += "," + std::to_string((i + 7 * pixel) % 256);
    text += "\r\n";
  }
  ASSERT_GT(text.size(), 4 * TableText::kPiece);
  write("large.csv", text);
  const Dataset whole = load("large.csv");
  FolderOptions little;
  little.memory = text.size() * 16 / 10;
  const Dataset pieces = load("large.csv", little);
  EXPECT_EQ(pieces.train.images, whole.train.images);
  EXPECT_EQ(pieces.train.labels, whole.train.labels);
  EXPECT_EQ(pieces.test.images, whole.test.images);
  EXPECT_EQ(whole.train.count, 1350);
  // The label is found although 750 rows of one class come first, and so are lines that two pieces
  // share: each value is the one that was written.
  test::write_bytes(path("large.csv.gz"), test::gzip(Bytes(text.begin(), text.end())));
  const Dataset inflated = load("large.csv.gz");
  EXPECT_EQ(inflated.train.images, whole.train.images);
  EXPECT_EQ(inflated.test.labels, whole.test.labels);
  little.memory = text.size();
  expect_refused("large.csv", "the values in ", little);
  expect_refused("large.csv.gz", "MiB of memory are free", little);
}

TEST_F(Csv, LinesOfATextInMemoryAndInAFile) {
  const std::string text = "a\r\n\n" + std::string(3 * TableText::kPiece, 'b') + "\nc";
  write("lines", text);
  TableText memory{std::string_view(text)};
  TableText file(std::make_unique<InputFile>(path("lines")));
  for (TableText* lines : {&memory, &file}) {
    EXPECT_EQ(lines->bytes(), text.size());
    EXPECT_EQ(lines->next(), "a");
    const std::vector<std::string> sample = lines->sample();
    EXPECT_EQ(sample.back(), "c");
    EXPECT_EQ(lines->next(), "");
    EXPECT_EQ(lines->next()->size(), 3 * TableText::kPiece);
    EXPECT_EQ(lines->next(), "c");
    EXPECT_EQ(lines->next(), std::nullopt);
    EXPECT_EQ(lines->next(), std::nullopt);
  }
  TableText changes(std::make_unique<InputFile>(path("lines")));
  EXPECT_EQ(changes.next(), "a");
  std::filesystem::resize_file(path("lines"), 100);
  test::expect_error(ErrorKind::data, {"lines"}, [&] {
    while (changes.next()) {
    }
  });
}

TEST_F(Csv, LabelsInATableOfTheirOwn) {
  write("X_train.csv", "a,b,c,d\n1,2,3,4\n5,6,7,8\n1,2,3,9\n");
  write("y_train.csv", "label\n7\n5\n7\n");
  write("X_test.csv", "a,b,c,d\n5,6,7,9\n");
  write("y_test.csv", "label\n5\n");
  EXPECT_EQ(load().train.labels.size(), 3u);
  EXPECT_EQ(load().test.labels, std::vector<std::int32_t>{0});
  write("X_test.csv", "a,b,c,d\n5,6,7,9\n1,2,3,8\n");
  write("y_test.csv", "label\n5\n7\n");
  const Dataset dataset = load();
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"5", "7"}));
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(dataset.test.labels, (std::vector<std::int32_t>{0, 1}));
  write("y_train.csv", "7\n5\n");  // fewer than images, and without a header
  expect_refused("", "a test set without a training set");
}

TEST_F(Csv, TablesInTheFoldersOfTheSets) {
  std::filesystem::create_directories(path("train"));
  std::filesystem::create_directories(path("test"));
  write("train/digits.csv", rows(6));
  write("test/digits.csv", rows(3, 6));
  const Dataset dataset = load();
  EXPECT_EQ(dataset.train.count, 6);
  EXPECT_EQ(dataset.test.count, 3);
}

}  // namespace
}  // namespace weft::data
