// SPDX-License-Identifier: MIT
// Pictures and other files in archives, which are read as the folder that they were made of.
#include "data/own_data.h"
#include "tests/data/picture_folder.h"
#include "tests/data/trees/archives.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

class ArchiveTree : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  data::Dataset load(const std::string& name) {
    lines_.clear();
    options_.log = [&](const std::string& line) { lines_ += line + "\n"; };
    return data::load_own_data(path(name), options_);
  }
  void expect_refused(const std::string& name, const Bytes& archive, const std::string& part) {
    SCOPED_TRACE(name);
    write_bytes(path(name), archive);
    expect_error(ErrorKind::data, {name, part}, [&] { load(name); });
  }
  void expect_same(const data::Dataset& found, const data::Dataset& wanted) {
    EXPECT_EQ(found.class_names, wanted.class_names);
    EXPECT_EQ(found.train.images, wanted.train.images);
    EXPECT_EQ(found.train.labels, wanted.train.labels);
    EXPECT_EQ(found.test.images, wanted.test.images);
    EXPECT_EQ(found.test.labels, wanted.test.labels);
  }
  Bytes png(std::uint8_t level) {
    write_flat_png(path("one.png"), {level, level, level});
    return data::read_file(path("one.png"), 1 << 16);
  }
  // Two classes of three pictures, and `more`.
  ArchiveMembers two_classes(ArchiveMembers more = {}) {
    for (int i = 0; i < 3; ++i) {
      more.push_back({"cat/" + std::to_string(i) + ".png", png(static_cast<std::uint8_t>(i))});
      more.push_back({"dog/" + std::to_string(i) + ".png", png(static_cast<std::uint8_t>(99 + i))});
    }
    return more;
  }

  TempFolder folder_;
  data::FolderOptions options_;
  std::string lines_;
};

#ifdef WEFT_WITH_LIBARCHIVE

TEST_F(ArchiveTree, IsReadAsTheFolderThatItWasMadeOf) {
  for (const char* set : {"d/train/", "d/test/"}) {
    write_class(path(std::string(set) + "grün"), 12, 0);
    write_class(path(std::string(set) + "dark blue/deep"), 9, 100);
    write_class(path(std::string(set) + "red"), 9, 200);
  }
  const data::Dataset folder = load("d");
  ArchiveMembers members = members_of(path("d"), "d/");
  for (const ArchiveMember& member : members_of(path("d"), "__MACOSX/d/._")) {
    members.push_back({member.name, text("Mac OS X")});
  }
  members.push_back({"d/.DS_Store", text("x")});
  write_bytes(path("d.zip"), zip_of(members));
  write_bytes(path("d.tar"), tar_of(members));
  write_bytes(path("d.tar.gz"), gzip(tar_of(members)));
  write_bytes(path("D.TGZ"), gzip(tar_of(members)));
  for (const char* name : {"d.zip", "d.tar", "d.tar.gz", "D.TGZ"}) {
    SCOPED_TRACE(name);
    expect_same(load(name), folder);
    EXPECT_NE(lines_.find("passed over the folder __MACOSX"), std::string::npos) << lines_;
    EXPECT_NE(lines_.find("entered d/, the only folder in "), std::string::npos) << lines_;
  }
  for (ArchiveMember& member : members) member.zip_flags = 0x800;
  write_bytes(path("flagged.zip"), zip_of(members));
  expect_same(load("flagged.zip"), folder);
}

TEST_F(ArchiveTree, OtherSpellingsOfPaths) {
  const data::Dataset plain = [&] {
    write_bytes(path("plain.zip"), zip_of(two_classes()));
    return load("plain.zip");
  }();
  ArchiveMembers members = two_classes({{"./"}, {"cat/"}});
  for (ArchiveMember& member : members) member.name = "./" + member.name;
  write_bytes(path("dots.tar"), tar_of(members));
  expect_same(load("dots.tar"), plain);
  members = two_classes();
  for (ArchiveMember& member : members) member.name = "//" + member.name;
  write_bytes(path("absolute.tar"), tar_of(members));
  expect_same(load("absolute.tar"), plain);
  members = two_classes();
  for (ArchiveMember& member : members) member.name[3] = '\\';
  write_bytes(path("windows.zip"), zip_of(members));
  expect_same(load("windows.zip"), plain);
  members = two_classes();
  members.insert(members.begin(), {"cat/0.png", png(77)});  // as `tar -r` updates a file
  write_bytes(path("twice.tar"), tar_of(members));
  expect_same(load("twice.tar"), plain);
}

TEST_F(ArchiveTree, IdxAndCifarAndTables) {
  const Bytes images = idx({2, 4, 4}, Bytes(32, 1)), labels = idx({2}, {0, 1});
  write_bytes(path("mnist.tar.gz"), gzip(tar_of({{"MNIST/raw/train-images-idx3-ubyte", images},
                                                 {"MNIST/raw/train-labels-idx1-ubyte", labels},
                                                 {"MNIST/raw/t10k-images-idx3-ubyte", images},
                                                 {"MNIST/raw/t10k-labels-idx1-ubyte", labels}})));
  EXPECT_EQ(load("mnist.tar.gz").train.count, 2);
  ArchiveMembers batches = {{"cifar-10-batches-bin/test_batch.bin", Bytes(3073)}};
  for (int i = 1; i <= 5; ++i) {
    batches.push_back(
        {"cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin", Bytes(3073)});
  }
  write_bytes(path("cifar-10-binary.tar.gz"), gzip(tar_of(batches)));
  EXPECT_EQ(load("cifar-10-binary.tar.gz").train.count, 5);
  write_bytes(path("t.zip"),
              zip_of({{"in/a_train.csv", text("label,a,b,c,d\n0,2,3,4,0\n1,6,7,8,1\n")},
                      {"in/a_test.csv", text("label,a,b,c,d\n0,2,3,4,0\n1,6,7,8,1\n")}}));
  EXPECT_EQ(load("t.zip").test.count, 2);
}

TEST_F(ArchiveTree, TheCacheIsUsedUntilTheArchiveChanges) {
  TempFolder cache;
  options_.cache_folder = cache.path();
  bool decodes = false;
  options_.progress = [&](std::int64_t, std::int64_t) { decodes = true; };
  write_bytes(path("a.zip"), zip_of(two_classes()));
  load("a.zip");
  EXPECT_TRUE(std::exchange(decodes, false));
  load("a.zip");
  EXPECT_FALSE(decodes);
  ArchiveMembers members = two_classes();
  members.back().bytes = png(7);
  write_bytes(path("b.zip"), zip_of(members));
  fs::rename(path("b.zip"), path("a.zip"));
  const data::Dataset changed = load("a.zip");
  EXPECT_TRUE(decodes);
  options_.cache_folder.clear();
  expect_same(load("a.zip"), changed);
}

TEST_F(ArchiveTree, BrokenPicturesAreNamedOrLeftOut) {
  write_bytes(path("a.zip"), zip_of(two_classes({{"cat/broken.png", text("no picture")}})));
  expect_error(ErrorKind::data, {"a.zip/cat/broken.png", "not a picture"}, [&] { load("a.zip"); });
  options_.skip_broken = true;
  EXPECT_EQ(load("a.zip").train.count + load("a.zip").test.count, 6);
}

TEST_F(ArchiveTree, LinksAreNotFollowed) {
  write_bytes(path("a.tar"), tar_of(two_classes({{"cat/link.png", {}, '2'}})));
  EXPECT_EQ(load("a.tar").train.count + load("a.tar").test.count, 6);
}

TEST_F(ArchiveTree, OddArchivesAreRefusedInOneLine) {
  expect_refused("out.tar", tar_of(two_classes({{"../../cat/a.png"}})), "leads out of the archive");
  expect_refused("out.zip", zip_of(two_classes({{"cat/../../x"}})), "leads out of the archive");
  expect_refused("locked.zip", zip_of(two_classes({{"cat/a.png", Bytes(40), '0', 1}})),
                 "encrypted");
  expect_refused("empty.zip", zip_of({}), "no folders in it");
  expect_refused("empty.tar", tar_of({}), "empty.tar");
  expect_refused("nested.zip", zip_of({{"train.zip", zip_of(two_classes())}}),
                 "nested.zip/train.zip: an archive in another one");
  expect_refused("text.zip", text("hello"), "the archive cannot be read");
  expect_refused("one.zip", zip_of({{"cat/a.png", png(1)}}), "one class only, cat");
  expect_refused("lines.tar", tar_of({{"a\nb/a.png", png(1)}}), "one class only, a\\nb");
  expect_refused("more.tar", tar_of({{"a\nb/a.png", text("x")}, {"c/a.png", png(1)}}), "");
  std::string deep;
  for (int i = 0; i < 49; ++i) deep += "d/";
  expect_refused("deep.zip", zip_of(two_classes({{deep + deep + "a.png"}})),
                 "folders in each other");
  Bytes cut = zip_of(two_classes());
  cut.resize(cut.size() / 2);
  expect_refused("cut.zip", cut, "cannot be read");
  Bytes tar = tar_of(two_classes());
  tar.resize(1500);
  expect_refused("cut.tar", tar, "cannot be read");
  Bytes zipped = gzip(tar_of(two_classes()));
  zipped.resize(zipped.size() - 20);
  expect_refused("cut.tgz", zipped, "cut.tgz");
}

TEST_F(ArchiveTree, WhatItClaimsToHoldIsBounded) {
  ArchiveMembers members = two_classes({{"cat/huge.png", Bytes(10)}});
  Bytes tar = tar_of(members);
  const std::string huge = "77777777777";  // 8 GiB in octal
  std::copy(huge.begin(), huge.end(), tar.begin() + 124);
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0 : tar[i];
  for (std::size_t i = 6; i-- > 0; sum /= 8)
    tar[148 + i] = static_cast<std::uint8_t>('0' + sum % 8);
  expect_refused("huge.tar", tar, "");
}

#else

TEST_F(ArchiveTree, IsRefusedWithoutLibarchive) {
  expect_refused("a.zip", zip_of({{"a/b.png"}}), "built without libarchive");
}

#endif

}  // namespace
}  // namespace weft::test
