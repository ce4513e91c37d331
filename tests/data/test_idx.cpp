// SPDX-License-Identifier: MIT
// IDX: good files, and every way for one to be wrong.
#include "data/sets/idx.h"

#include <sys/resource.h>

#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::expect_error;
using test::idx;

TEST(Idx, ReadsImagesAndLabels) {
  const IdxArray images = parse_idx(idx({2, 1, 3}, {1, 2, 3, 4, 5, 6}), 3, "images");
  EXPECT_EQ(images.extents, (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_EQ(images.values, (Bytes{1, 2, 3, 4, 5, 6}));
  const IdxArray labels = parse_idx(idx({2}, {7, 9}), 1, "labels");
  const ImageSet set = join_images_and_labels(images, labels, 10);
  EXPECT_EQ(set.count, 2);
  EXPECT_EQ(set.height, 1);
  EXPECT_EQ(set.width, 3);
  EXPECT_EQ(set.labels, (std::vector<std::int32_t>{7, 9}));
}

TEST(Idx, ReadsPackedFiles) {
  const test::TempFolder folder;
  test::write_bytes(folder.path() / "labels", test::gzip(idx({3}, {0, 1, 2})));
  EXPECT_EQ(read_idx(folder.path() / "labels", 1).values, (Bytes{0, 1, 2}));
}

// QMNIST has eight numbers for each image, of which the first is the label.
TEST(Idx, ReadsLabelsThatAreTheFirstOfSeveralNumbers) {
  const test::TempFolder folder;
  const auto path = folder.path() / "qmnist-train-labels-idx2-int";
  Bytes bytes = {0, 0, 12, 2, 0, 0, 0, 2, 0, 0, 0, 3};
  for (const std::uint8_t number : Bytes{7, 1, 200, 4, 0, 9}) {
    bytes.insert(bytes.end(), {0, 0, 0, number});
  }
  for (const Bytes& file : {bytes, test::gzip(bytes)}) {
    test::write_bytes(path, file);
    const IdxArray labels = read_idx_labels(path);
    EXPECT_EQ(labels.extents, (std::vector<std::int64_t>{2}));
    EXPECT_EQ(labels.values, (Bytes{7, 4}));
  }
  test::write_bytes(path, idx({2}, {3, 4}));
  EXPECT_EQ(read_idx_labels(path).values, (Bytes{3, 4}));
  bytes[24] = 1;  // the first number of the second row is 2^24 + 4
  test::write_bytes(path, bytes);
  expect_error(ErrorKind::data, {"label 16777220 at index 1"}, [&] { read_idx_labels(path); });
  bytes.pop_back();
  for (const Bytes& file : {bytes, test::gzip(bytes)}) {
    test::write_bytes(path, file);
    expect_error(ErrorKind::data, {"asks for 2 x 3 numbers of 4 bytes, found 23 bytes"},
                 [&] { read_idx_labels(path); });
  }
  bytes[8] = 255, bytes[4] = 255;  // more than can be multiplied
  test::write_bytes(path, bytes);
  expect_error(ErrorKind::data, {"IDX extents ask for more than"}, [&] { read_idx_labels(path); });
}

// The largest memory that this process has had so far, in MiB.
double peak_memory() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

TEST(Idx, AGzipIsInflatedNoFurtherThanTheHeaderSays) {
  const test::TempFolder folder;
  const auto path = folder.path() / "images";
  const Bytes whole = idx({1, 2, 2}, {1, 2, 3, 4});
  const Bytes member = test::gzip(Bytes(std::size_t{16} << 20));
  Bytes bomb = test::gzip(whole);  // members are put together: 768 MiB of zeros follow
  for (int i = 0; i < 48; ++i) bomb.insert(bomb.end(), member.begin(), member.end());
  const Bytes longer = [&] {
    Bytes bytes = whole;
    bytes.push_back(0);
    return test::gzip(bytes);
  }();
  const double before = peak_memory();
  for (const int rank : {3, kImageRank}) {
    for (const Bytes& bytes : {bomb, longer}) {
      test::write_bytes(path, bytes);
      expect_error(ErrorKind::data, {"images", "asks for 4 bytes", "found more"},
                   [&] { read_idx(path, rank); });
    }
    test::write_bytes(path, test::gzip(whole));
    EXPECT_EQ(read_idx(path, rank).values, (Bytes{1, 2, 3, 4}));
  }
  bomb = test::gzip(Bytes{0, 0, 12, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5});  // a label
  for (int i = 0; i < 48; ++i) bomb.insert(bomb.end(), member.begin(), member.end());
  test::write_bytes(path, bomb);
  expect_error(ErrorKind::data, {"asks for 1 x 1 numbers", "found more"},
               [&] { read_idx_labels(path); });
  bomb = test::gzip(Bytes(4, 'x'));  // what is no IDX file at all
  for (int i = 0; i < 48; ++i) bomb.insert(bomb.end(), member.begin(), member.end());
  test::write_bytes(path, bomb);
  expect_error(ErrorKind::data, {"not an IDX file"}, [&] { read_idx(path, 3); });
  EXPECT_LT(peak_memory(), before + 32) << "MiB";
  const Bytes four = idx({1, 1, 2, 2}, {1, 2, 3, 4});
  test::write_bytes(path, test::gzip(four));
  EXPECT_EQ(read_idx(path, kImageRank).extents, (std::vector<std::int64_t>{1, 1, 2, 2}));
  expect_error(ErrorKind::data, {"expected 3 (images), found 4"}, [&] { read_idx(path, 3); });
  for (std::size_t n = 0; n < four.size(); ++n) {
    test::write_bytes(path, test::gzip(std::span(four).first(n)));
    expect_error(ErrorKind::data, {"images"}, [&] { read_idx(path, kImageRank); });
  }
}

TEST(Idx, WrongMagicTypeAndRank) {
  Bytes bytes = idx({2}, {7, 9});
  bytes[0] = 1;
  expect_error(ErrorKind::data, {"f", "two zero bytes", "1 and 0"},
               [&] { parse_idx(bytes, 1, "f"); });
  bytes = idx({2}, {7, 9});
  bytes[2] = 0x0d;
  expect_error(ErrorKind::data, {"f", "type", "found 13"}, [&] { parse_idx(bytes, 1, "f"); });
  expect_error(ErrorKind::data, {"f", "rank", "expected 3", "found 1"}, [&] {
    parse_idx(idx({2}, {7, 9}), 3, "f");
  });
  expect_error(ErrorKind::data, {"f", "two zero bytes"}, [&] {
    parse_idx(Bytes{'h', 'e', 'l', 'l', 'o'}, 1, "f");
  });
}

TEST(Idx, EveryPrefixAndOneByteMoreIsRefused) {
  const Bytes whole = idx({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    expect_error(ErrorKind::data, {"f"}, [&] { parse_idx(prefix, 3, "f"); });
  }
  Bytes longer = whole;
  longer.push_back(0);
  expect_error(ErrorKind::data, {"f", "asks for 8", "found 9"}, [&] { parse_idx(longer, 3, "f"); });
  EXPECT_NO_THROW(parse_idx(whole, 3, "f"));
}

TEST(Idx, HugeExtentsDoNotOverflow) {
  for (const std::vector<std::uint32_t>& extents :
       {std::vector<std::uint32_t>{0xffffffff, 0xffffffff, 0xffffffff},
        std::vector<std::uint32_t>{0x80000000, 0x80000000, 4},
        std::vector<std::uint32_t>{1 << 16, 1 << 16, 1 << 16}}) {
    expect_error(ErrorKind::data, {"f", "more than"}, [&] { parse_idx(idx(extents, {}), 3, "f"); });
  }
}

TEST(Idx, CountsMustAgree) {
  expect_error(ErrorKind::data, {"i", "2 images", "3 labels", "l"}, [] {
    join_images_and_labels(parse_idx(idx({2, 1, 1}, {1, 2}), 3, "i"),
                           parse_idx(idx({3}, {1, 2, 3}), 1, "l"), 10);
  });
}

TEST(Idx, LabelsMustBeInRange) {
  expect_error(ErrorKind::data, {"l", "label 10", "index 1", "0 to 9"}, [] {
    join_images_and_labels(parse_idx(idx({2, 1, 1}, {1, 2}), 3, "i"),
                           parse_idx(idx({2}, {9, 10}), 1, "l"), 10);
  });
}

TEST(Idx, NoPixelsIsRefused) {
  for (const std::vector<std::uint32_t>& extents :
       {std::vector<std::uint32_t>{0, 28, 28}, std::vector<std::uint32_t>{2, 0, 28}}) {
    expect_error(ErrorKind::data, {"no pixels"}, [&] {
      join_images_and_labels(parse_idx(idx(extents, {}), 3, "i"),
                             parse_idx(idx({extents[0]}, Bytes(extents[0])), 1, "l"), 10);
    });
  }
}

TEST(Idx, TransposeSwapsRowsAndColumns) {
  ImageSet set{.count = 2,
               .height = 2,
               .width = 3,
               .images = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16},
               .labels = {0, 0}};
  transpose_images(set);
  EXPECT_EQ(set.height, 3);
  EXPECT_EQ(set.width, 2);
  EXPECT_EQ(set.images, (Bytes{1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16}));
}

}  // namespace
}  // namespace weft::data
