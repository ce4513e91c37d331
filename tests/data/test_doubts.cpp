// SPDX-License-Identifier: MIT
// Small classes and test images that the training set has, too.
#include "data/sets/doubts.h"

#include <gtest/gtest.h>

namespace weft::data {
namespace {

// `count` images of one row with 2 pixels, the first of which counts from `first`; labels in turn.
ImageSet images(int count, int first, int classes = 2) {
  ImageSet set{.count = count, .height = 1, .width = 2};
  for (int i = 0; i < count; ++i) {
    set.images.insert(set.images.end(), {static_cast<std::uint8_t>(first + i), 0});
    set.labels.push_back(i % classes);
  }
  return set;
}

using Lines = std::vector<std::string>;

TEST(Doubts, NoneAboutAGoodSet) {
  Dataset dataset;
  dataset.class_names = {"a", "b"};
  dataset.train = images(20, 1);
  dataset.test = images(5, 100);
  EXPECT_EQ(doubts_about(dataset), Lines{});
}

TEST(Doubts, SmallClassesAreNamed) {
  Dataset dataset;
  dataset.class_names = {"a", "b", "c"};
  dataset.train = images(19, 1);
  dataset.test = images(1, 100);
  EXPECT_EQ(doubts_about(dataset),
            Lines{"2 of 3 classes have fewer than 10 training images: b 9, c 0"});
}

TEST(Doubts, RepeatedImagesAreCounted) {
  Dataset dataset;
  dataset.class_names = {"a", "b"};
  dataset.train = images(30, 0);  // the first is black
  dataset.test = images(5, 27);
  dataset.validation = images(2, 0);
  EXPECT_EQ(doubts_about(dataset),
            Lines{"1 of 2 validation images and 3 of 5 test images are in the training set, too, "
                  "pixel for pixel"});
}

}  // namespace
}  // namespace weft::data
