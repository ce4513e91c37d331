// SPDX-License-Identifier: MIT
// Members of ZIP files by their place.
#include "data/files/zip_index.h"

#include "data/files/archive.h"
#include "tests/data/trees/archives.h"

namespace weft::test {
namespace {

using data::ZipIndex;

// As Python's zipfile compresses it (../tables/files/make.py).
const std::filesystem::path kZip =
    std::filesystem::path(WEFT_TESTS_DIR) / "data/tables/files/tables.zip";

using Members = std::vector<std::pair<std::string, Bytes>>;

// Nothing where the file is refused.
std::optional<Members> members_of_zip(const std::filesystem::path& file) {
  try {
    const std::optional<ZipIndex> zip = ZipIndex::open(file);
    if (!zip) return std::nullopt;
    Members members;
    for (std::size_t i = 0; i < zip->size(); ++i) {
      members.emplace_back(zip->name(i), zip->read(i, std::size_t{1} << 20));
    }
    return members;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return std::nullopt;
  }
}

class ZipMembers : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<Members> members = members_of_zip(kZip);
    if (!members) GTEST_SKIP() << "Weft was built without libdeflate";
    members_ = *members;
    whole_ = data::read_file(kZip, 1 << 20);
  }
  std::optional<Members> of(const Bytes& bytes) const {
    const std::filesystem::path file = folder_.path() / "a.zip";
    write_bytes(file, bytes);
    return members_of_zip(file);
  }

  TempFolder folder_;
  Members members_;
  Bytes whole_;
};

#ifdef WEFT_WITH_LIBARCHIVE
TEST_F(ZipMembers, AreThoseThatLibarchiveReads) {
  data::ArchiveReader reader(kZip);
  for (const auto& [name, bytes] : members_) {
    const std::optional<data::ArchiveEntry> entry = reader.next();
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->name, name);
    EXPECT_EQ(reader.read(1 << 20), bytes);
  }
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(members_.size(), 4u);
}

TEST_F(ZipMembers, AreRefusedAboveTheLimit) {
  const std::optional<ZipIndex> zip = ZipIndex::open(kZip);
  const std::size_t bytes = members_[0].second.size();
  EXPECT_EQ(zip->read(0, bytes), members_[0].second);
  expect_error(ErrorKind::data, {"tables.zip/", "at most"}, [&] { zip->read(0, bytes - 1); });
}
#endif

// A byte that is changed gives the same members, where nobody reads it, or none.
TEST_F(ZipMembers, AreRightOrRefused) {
  ASSERT_EQ(of(whole_), members_);
  int refused = 0;
  for (std::size_t at = 0; at < whole_.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      Bytes changed = whole_;
      changed[at] = static_cast<std::uint8_t>(changed[at] ^ 1 << bit);
      const std::optional<Members> found = of(changed);
      refused += !found;
      if (!found) continue;
      for (std::size_t i = 0; i < members_.size() && i < found->size(); ++i) {
        EXPECT_EQ((*found)[i].second, members_[i].second) << at;
      }
    }
  }
  EXPECT_GT(refused, static_cast<int>(whole_.size()));
  for (std::size_t size = 0; size < whole_.size(); ++size) {
    Bytes cut = whole_;
    cut.resize(size);
    EXPECT_FALSE(of(cut)) << size;
  }
}

}  // namespace
}  // namespace weft::test
