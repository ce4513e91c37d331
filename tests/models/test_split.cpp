// SPDX-License-Identifier: MIT
// The validation split: a seeded permutation that loses and doubles no image.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/training/runs/fingerprint.h"
#include "models/training/split.h"
#include "tests/models/blocks.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

// 1 x 2 images whose pixels and label tell which image they are.
data::ImageSet numbered(std::int64_t count) {
  data::ImageSet set{.count = count, .height = 1, .width = 2};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::uint8_t>(i);
    set.images.push_back(value);
    set.images.push_back(static_cast<std::uint8_t>(255 - value));
    set.labels.push_back(value);
  }
  return set;
}

TEST(Split, DealsEveryImageOnce) {
  const data::ImageSet all = numbered(101);
  const TrainSplit split = split_images(all, 97, 0.25, 3);
  EXPECT_EQ(split.validation.count, 24);
  EXPECT_EQ(split.train.count, 73);
  std::vector<std::int32_t> seen;
  for (const data::ImageSet* part : {&split.train, &split.validation}) {
    ASSERT_EQ(static_cast<std::int64_t>(part->labels.size()), part->count);
    ASSERT_EQ(static_cast<std::int64_t>(part->images.size()), 2 * part->count);
    for (std::size_t i = 0; i < part->labels.size(); ++i) {
      EXPECT_EQ(part->images[2 * i], part->labels[i]);
      EXPECT_EQ(part->images[2 * i + 1], 255 - part->labels[i]);
      seen.push_back(part->labels[i]);
    }
  }
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), 97u);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<std::int32_t>(i));
}

// Pictures of none of the classes are trained on and never held out, as many as fit the images
// used.
TEST(Split, StrangersAreTrainedOn) {
  data::Dataset dataset;
  dataset.train = numbered(100);
  dataset.strangers = numbered(40);
  TrainConfig config;
  config.validation_split = 0.2;
  for (const std::int64_t used : {100, 50}) {
    config.limit_train = used;
    const std::optional<TrainSplit> split = split_of(dataset, config);
    ASSERT_TRUE(split.has_value());
    EXPECT_EQ(split->validation.count, used / 5);
    EXPECT_EQ(split->train.count, used / 5 * 4 + used * 40 / 100);
    ASSERT_EQ(std::ssize(split->train.images), 2 * split->train.count);
    EXPECT_EQ(split->train.labels.back(), used * 40 / 100 - 1);
  }
  data::Dataset other = dataset;
  other.strangers.images[3] ^= 1;
  EXPECT_NE(fingerprint_of(other), fingerprint_of(dataset));
}

// Labels may exceed a byte, and every plane of an image moves with it.
TEST(Split, KeepsColoursAndLargeLabels) {
  data::ImageSet all{.count = 10, .channels = 3, .height = 1, .width = 2};
  for (std::int32_t i = 0; i < 10; ++i) {
    all.images.insert(all.images.end(), 6, static_cast<std::uint8_t>(i));
    all.labels.push_back(20'000 + i);
  }
  const TrainSplit split = split_images(all, 10, 0.3, 3);
  for (const data::ImageSet* part : {&split.train, &split.validation}) {
    EXPECT_EQ(part->channels, 3);
    ASSERT_EQ(static_cast<std::int64_t>(part->images.size()), 6 * part->count);
    for (std::size_t i = 0; i < part->images.size(); ++i) {
      EXPECT_EQ(20'000 + part->images[i], part->labels[i / 6]);
    }
  }
}

TEST(Split, DependsOnTheSeedAlone) {
  const data::ImageSet all = numbered(100);
  EXPECT_EQ(split_images(all, 100, 0.1, 3).validation.labels,
            split_images(all, 100, 0.1, 3).validation.labels);
  EXPECT_NE(split_images(all, 100, 0.1, 3).validation.labels,
            split_images(all, 100, 0.1, 4).validation.labels);
}

// 70 images of class 0, 20 of class 5 and 10 of class 9.
data::ImageSet uneven() {
  data::ImageSet set = numbered(100);
  for (std::size_t i = 0; i < 100; ++i) set.labels[i] = i < 70 ? 0 : i < 90 ? 5 : 9;
  return set;
}

std::map<std::int32_t, int> counts_of(const data::ImageSet& set) {
  std::map<std::int32_t, int> counts;
  for (const std::int32_t label : set.labels) ++counts[label];
  return counts;
}

using Counts = std::map<std::int32_t, int>;

TEST(Split, TakesTheSameShareOfEachClass) {
  const TrainSplit tenth = split_images(uneven(), 100, 0.1, 3, true);
  EXPECT_EQ(counts_of(tenth.validation), (Counts{{0, 7}, {5, 2}, {9, 1}}));
  EXPECT_EQ(counts_of(tenth.train), (Counts{{0, 63}, {5, 18}, {9, 9}}));
  const TrainSplit odd = split_images(uneven(), 100, 0.25, 3, true);  // 17.5, 5 and 2.5 images
  EXPECT_EQ(odd.validation.count, 25);
  const Counts counts = counts_of(odd.validation);
  EXPECT_TRUE(counts == (Counts{{0, 18}, {5, 5}, {9, 2}}) ||
              counts == (Counts{{0, 17}, {5, 5}, {9, 3}}));
  EXPECT_NE(odd.validation.images, split_images(uneven(), 100, 0.25, 4, true).validation.images);
}

TEST(Split, BalancedClassesHaveAsManyImagesAsTheLargest) {
  data::Dataset dataset;
  dataset.train = uneven();
  TrainConfig config;
  config.balance = true;
  const std::optional<TrainSplit> whole = split_of(dataset, config);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->validation.count, 0);
  EXPECT_EQ(counts_of(whole->train), (Counts{{0, 70}, {5, 70}, {9, 70}}));
  ASSERT_EQ(std::ssize(whole->train.images), 2 * whole->train.count);
  for (std::int64_t i = 0; i < whole->train.count; ++i) {  // an image keeps its label
    const int number = whole->train.image(i).front();
    EXPECT_EQ(whole->train.labels[static_cast<std::size_t>(i)], number < 70   ? 0
                                                                : number < 90 ? 5
                                                                              : 9);
  }
  config.validation_split = 0.1;
  dataset.own_data = true;
  const std::optional<TrainSplit> split = split_of(dataset, config);
  EXPECT_EQ(counts_of(split->train), (Counts{{0, 63}, {5, 63}, {9, 63}}));
  EXPECT_EQ(counts_of(split->validation), (Counts{{0, 7}, {5, 2}, {9, 1}}));
}

TEST(Split, EmptyPartIsUsageError) {
  EXPECT_TRUE(
      test::throws(ErrorKind::usage, "empty", [] { split_images(numbered(3), 3, 0.1, 1); }));
  EXPECT_TRUE(
      test::throws(ErrorKind::usage, "empty", [] { split_images(numbered(1), 1, 0.9, 1); }));
}

TEST(Fingerprint, SeesEveryByteAndTheOrder) {
  const data::Dataset dataset = test::block_dataset(20, 10);
  const DataFingerprint original = fingerprint_of(dataset);
  EXPECT_EQ(fingerprint_of(dataset), original);
  for (const std::size_t byte :
       {std::size_t{0}, std::size_t{1003}, dataset.train.images.size() - 1}) {
    data::Dataset changed = dataset;
    changed.train.images[byte] ^= 0x80;
    EXPECT_NE(fingerprint_of(changed), original) << "byte " << byte;
  }
  data::Dataset relabelled = dataset;
  relabelled.test.labels.back() ^= 1;
  EXPECT_NE(fingerprint_of(relabelled), original);
  data::Dataset wide = dataset;
  wide.test.labels.back() += 256;
  EXPECT_NE(fingerprint_of(wide), original);
  data::Dataset swapped = dataset;
  std::swap_ranges(swapped.train.images.begin(), swapped.train.images.begin() + 784,
                   swapped.train.images.begin() + 784);
  EXPECT_NE(fingerprint_of(swapped), original);
}

}  // namespace
}  // namespace weft::models
