// SPDX-License-Identifier: MIT
// The cache of a folder of pictures.
#include "data/folder/cache.h"

#include <chrono>

#include "tests/data/folder_test.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TempFolder;
using test::write_class;
using test::write_flat_png;

class FolderCache : public Folder {
 protected:
  FolderCache() {
    options_.cache_folder = cache_.path() / "weft";
    options_.progress = [this](std::int64_t, std::int64_t) { decoded_ = true; };
  }
  // True when the pictures were decoded and not taken from the cache.
  bool decodes() {
    decoded_ = false;
    last_ = load(options_);
    return decoded_;
  }
  fs::path file() const { return fs::directory_iterator(options_.cache_folder)->path(); }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(options_.cache_folder), {});
  }

  TempFolder cache_;
  FolderOptions options_;
  Dataset last_;
  bool decoded_ = false;
};

TEST_F(FolderCache, IsUsedUntilSomethingChanges) {
  write_two_classes();
  EXPECT_TRUE(decodes());
  const Dataset first = last_;
  EXPECT_FALSE(decodes());
  EXPECT_EQ(last_.train.images, first.train.images);
  EXPECT_EQ(last_.train.labels, first.train.labels);
  EXPECT_EQ(last_.test.images, first.test.images);
  EXPECT_EQ(last_.mean, first.mean);

  write_flat_png(*this / "cat/new.png", {1, 1, 1});
  EXPECT_TRUE(decodes());
  EXPECT_FALSE(decodes());
  fs::remove(*this / "cat/new.png");
  EXPECT_TRUE(decodes());
  const auto time = fs::last_write_time(*this / "dog/0.png");
  fs::last_write_time(*this / "dog/0.png", time + std::chrono::nanoseconds(1));
  EXPECT_TRUE(decodes());
  fs::rename(*this / "dog/0.png", *this / "dog/x.png");
  EXPECT_TRUE(decodes());
  EXPECT_EQ(files(), 1);  // the old ones were replaced
  options_.shape.fit = Fit::crop;
  EXPECT_TRUE(decodes());
  options_.shape.channels = 3;
  EXPECT_TRUE(decodes());
  options_.shape.height = options_.shape.width = 5;
  EXPECT_TRUE(decodes());
  EXPECT_FALSE(decodes());
  EXPECT_EQ(files(), 4);
}

TEST_F(FolderCache, DamagedIsNotUsed) {
  write_two_classes();
  EXPECT_TRUE(decodes());
  const Dataset first = last_;
  const Bytes whole = read_file(file(), 1 << 20);
  for (std::size_t at = 0; at < whole.size(); at += 53) {
    Bytes damaged = whole;
    damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ 1);
    test::write_bytes(file(), damaged);
    EXPECT_TRUE(decodes()) << "byte " << at;
    EXPECT_EQ(last_.train.images, first.train.images);
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, whole.size() - 1}) {
    test::write_bytes(file(), Bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
    EXPECT_TRUE(decodes()) << length << " bytes";
  }
  test::write_bytes(file(), whole);
  EXPECT_FALSE(decodes());
}

TEST_F(FolderCache, FilesThatAreNotUsedGoAway) {
  write_two_classes();
  EXPECT_TRUE(decodes());
  const fs::path first = file();
  const auto age = [](const fs::path& path, int days) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  };
  age(first, 29);
  test::write_bytes(options_.cache_folder / "mine", test::text("not of the cache"));
  age(options_.cache_folder / "mine", 1000);
  options_.shape.fit = Fit::crop;
  EXPECT_TRUE(decodes());
  EXPECT_TRUE(fs::exists(first));
  options_.shape.fit = Fit::letterbox;
  EXPECT_FALSE(decodes());  // a use, so that its 30 days begin anew
  EXPECT_LT(fs::file_time_type::clock::now() - fs::last_write_time(first), std::chrono::hours(1));
  age(first, 31);
  options_.shape.fit = Fit::stretch;
  EXPECT_TRUE(decodes());
  EXPECT_FALSE(fs::exists(first));
  EXPECT_EQ(files(), 3);  // crop, stretch and what is not of the cache
}

TEST_F(FolderCache, RemembersWhatWasLeftOut) {
  write_two_classes();
  test::write_bytes(*this / "cat/text.png", test::text("no picture"));
  options_.skip_broken = true;
  EXPECT_TRUE(decodes());
  EXPECT_FALSE(decodes());
  EXPECT_EQ(log_.size(), 2u);
  options_.skip_broken = false;
  expect_error(ErrorKind::data, {"cat/text.png"}, [&] { decodes(); });
}

TEST_F(FolderCache, HoldsPicturesOfTheGreatestSide) {
  write_class(*this / "cat", 2);
  write_class(*this / "dog", 2, 100);
  options_.shape = {1, kMaxDatasetSide, 4, Fit::stretch};
  EXPECT_TRUE(decodes());
  EXPECT_FALSE(decodes());
  EXPECT_EQ(last_.train.height, kMaxDatasetSide);
  options_.shape = {1, 4, kMaxDatasetSide, Fit::stretch};
  EXPECT_TRUE(decodes());
  EXPECT_FALSE(decodes());
  EXPECT_EQ(last_.train.width, kMaxDatasetSide);
}

// A picture that is away while the others are read is looked for again the next time.
TEST_F(FolderCache, IsNotWrittenWithoutAPictureThatCouldNotBeRead) {
  write_two_classes();
  test::write_bytes(*this / "README.md", test::text("x"));  // logged after the list, before reading
  const fs::path picture = *this / "cat/0.png", elsewhere = cache_.path() / "0.png";
  options_.skip_broken = true;
  FolderOptions options = options_;
  options.log = [&](const std::string& line) {
    if (line.starts_with("passed over")) fs::rename(picture, elsewhere);
  };
  const Dataset without = load_folder(folder_.path(), options);
  EXPECT_EQ(without.train.count + without.test.count, 19);
  fs::rename(elsewhere, picture);
  EXPECT_TRUE(decodes());
  EXPECT_EQ(last_.train.count + last_.test.count, 20);
  EXPECT_FALSE(decodes());
}

TEST_F(FolderCache, AFolderThatCannotBeMadeIsLogged) {
  write_two_classes();
  test::write_bytes(cache_.path() / "weft", test::text("a file in its place"));
  EXPECT_TRUE(decodes());
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("are not kept"), std::string::npos);
}

}  // namespace
}  // namespace weft::data
