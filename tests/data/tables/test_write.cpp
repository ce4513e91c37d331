// SPDX-License-Identifier: MIT
// What is written in one format is read back as the same data set.
#include "data/tables/write.h"

#include "tests/data/tables/tables_test.h"

namespace weft::data {
namespace {

class Convert : public test::TableFiles {
 protected:
  static Dataset dataset(std::int64_t channels, bool validates) {
    Dataset made;
    made.class_names = {"0", "1"};
    const auto fill = [&](ImageSet& set, std::int64_t count, int first) {
      set = {.count = count, .channels = channels, .height = 2, .width = 3};
      for (std::int64_t i = 0; i < count * set.pixels(); ++i) {
        set.images.push_back(static_cast<std::uint8_t>(first + 7 * i));
      }
      for (std::int64_t i = 0; i < count; ++i) {
        set.labels.push_back(static_cast<std::int32_t>(i % 2));
      }
    };
    fill(made.train, 4, 30);
    fill(made.test, 2, 90);
    if (validates) fill(made.validation, 2, 120);
    return made;
  }
  void expect_same(const ImageSet& found, const ImageSet& expected) {
    EXPECT_EQ(found.channels, expected.channels);
    EXPECT_EQ(found.height, expected.height);
    EXPECT_EQ(found.images, expected.images);
    EXPECT_EQ(found.labels, expected.labels);
  }
  void expect_same(const Dataset& found, const Dataset& expected) {
    EXPECT_EQ(found.class_names, expected.class_names);
    expect_same(found.train, expected.train);
    expect_same(found.test, expected.test);
    EXPECT_EQ(found.validation.count, expected.validation.count);
    if (expected.validation.count > 0) expect_same(found.validation, expected.validation);
  }
};

TEST_F(Convert, EveryFormatKeepsPixelsAndLabels) {
  for (const std::int64_t channels : {1, 3}) {
    for (const bool validates : {false, true}) {
      const Dataset made = dataset(channels, validates);
      const std::string which = std::to_string(channels) + (validates ? "v" : "");
      FolderOptions options;
      options.shape = {.channels = channels, .height = 2, .width = 3};
      write_csv(made, path("csv" + which));
      expect_same(load("csv" + which, options), made);
      if (!validates) {
        write_idx(made, path("idx" + which));
        expect_same(load("idx" + which), made);
      }
#ifdef WEFT_WITH_LIBARCHIVE
      write_npz(made, path("made" + which + ".npz"));
      expect_same(load("made" + which + ".npz"), made);
#endif
    }
  }
}

TEST_F(Convert, WhatAFormatCannotHoldIsRefused) {
  Dataset made = dataset(1, true);
  test::expect_error(ErrorKind::data, {"no name for a validation set"},
                     [&] { write_idx(made, path("idx")); });
  made.class_names[1] = "a\"b";
  test::expect_error(ErrorKind::data, {"cannot be written into a CSV file"},
                     [&] { write_csv(made, path("csv")); });
  made.class_names[1] = "b";
  write_csv(made, path("csv"));
  test::expect_error(ErrorKind::data, {"it exists already"}, [&] { write_csv(made, path("csv")); });
  EXPECT_FALSE(std::filesystem::exists(path("idx")));
}

}  // namespace
}  // namespace weft::data
