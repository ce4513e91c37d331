// SPDX-License-Identifier: MIT
// Arrays in memory and in files, and how much of both there is.
#include "data/files/host_array.h"

#include <sys/resource.h>

#include <csignal>

#include "data/files/host_memory.h"
#include "data/files/scratch_file.h"
#include "tests/data/files.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::ScopedVariable;
using test::TempFolder;

// A soft limit of the process for the life of the object.
class ScopedLimit {
 public:
  ScopedLimit(decltype(RLIMIT_AS) resource, rlim_t bytes) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource_, &before_), 0);
    rlimit smaller = before_;
    smaller.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(resource_, &smaller), 0);
  }
  ScopedLimit(const ScopedLimit&) = delete;
  ScopedLimit& operator=(const ScopedLimit&) = delete;
  ~ScopedLimit() { ::setrlimit(resource_, &before_); }

 private:
  decltype(RLIMIT_AS) resource_;
  rlimit before_{};
};

class HostArrays : public ::testing::TestWithParam<const char*> {
 protected:
  TempFolder folder_;
  ScopedVariable cache_{"XDG_CACHE_HOME", folder_.path().c_str()};
  ScopedVariable limit_{"WEFT_HOST_DATA_LIMIT", GetParam()};
};

// Every function, beside those of std::vector.
TEST_P(HostArrays, DoWhatAVectorDoes) {
  HostArray<std::uint16_t> array;
  std::vector<std::uint16_t> vector;
  const auto same = [&] { return array == vector && array.size() == vector.size(); };
  for (std::uint16_t i = 0; i < 5000; ++i) {
    array.push_back(i);
    vector.push_back(i);
  }
  ASSERT_TRUE(same());
  const bool is_small = std::string_view(GetParam()) == "1K";
  EXPECT_EQ(array.in_file(), is_small);
  array.erase(array.begin() + 10, array.begin() + 30);
  vector.erase(vector.begin() + 10, vector.begin() + 30);
  ASSERT_TRUE(same());
  for (const std::size_t size : {3, 9000, 4000, 20000, 0, 30}) {  // what comes back is zero
    array.resize(size);
    vector.resize(size);
    ASSERT_TRUE(same()) << size;
    std::fill(array.begin(), array.end(), 7);
    std::fill(vector.begin(), vector.end(), 7);
  }
  array.resize(40, 9);
  vector.resize(40, 9);
  ASSERT_TRUE(same());
  array.insert(array.end(), vector.begin(), vector.end());
  vector.insert(vector.end(), array.begin(), array.begin() + 40);
  ASSERT_TRUE(same());
  array.insert(array.begin() + 5, vector.begin(), vector.begin() + 9);
  vector.insert(vector.begin() + 5, array.begin() + 5, array.begin() + 14);
  array.insert(array.begin(), 3, 4);
  vector.insert(vector.begin(), 3, 4);
  array.insert(array.begin() + 1, 8);
  vector.insert(vector.begin() + 1, 8);
  array.insert(array.end(), {1, 2});
  vector.insert(vector.end(), {1, 2});
  ASSERT_TRUE(same());
  HostArray<std::uint16_t> copy = array;
  array.clear();
  EXPECT_TRUE(array.empty());
  EXPECT_TRUE(copy == vector);
  array = std::move(copy);
  EXPECT_TRUE(same());
  copy = array;
  copy.front() = 1;
  EXPECT_TRUE(same());
  EXPECT_FALSE(copy == array);
  EXPECT_EQ(std::count(array.begin(), array.end(), 9), 20);
  EXPECT_EQ(HostArray<std::byte>(5000).in_file(), is_small);
  EXPECT_FALSE(HostArray<std::byte>(4000).in_file()) << "a page is not worth a file";
  const fs::path cache = folder_.path() / "weft";
  EXPECT_TRUE(!fs::exists(cache) || fs::is_empty(cache)) << "a file has a name";
}

INSTANTIATE_TEST_SUITE_P(InMemoryAndInAFile, HostArrays, ::testing::Values("1G", "1K"),
                         [](const auto& test) {
                           return std::string(test.param) == "1G" ? "memory" : "file";
                         });

class HostRoomTest : public ::testing::Test {
 protected:
  TempFolder folder_;
  ScopedVariable cache_{"XDG_CACHE_HOME", folder_.path().c_str()};
  ScopedVariable limit_{"WEFT_HOST_DATA_LIMIT", "1K"};
};

// A limit on the size of files stands in for a small disk.
TEST_F(HostRoomTest, WhereTheDiskHasNoRoomTheNumbersAreSaid) {
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  {
    const ScopedLimit limit(RLIMIT_FSIZE, std::uint64_t{3} << 20);
    EXPECT_EQ(scratch_room(), std::uint64_t{3} << 20);
    HostArray<std::uint8_t> fits(std::size_t{2} << 20, 1);
    EXPECT_TRUE(fits.in_file());
    expect_error(ErrorKind::data, {"5 MiB of data do not fit into memory", "3 MiB", "ulimit -f"},
                 [&] { fits.reserve(std::size_t{5} << 20); });
    EXPECT_EQ(std::count(fits.begin(), fits.end(), 1), 2 << 20);
    expect_error(ErrorKind::data, {"all of it take 4 MiB", "2 times", "MiB of memory are free"},
                 [] {
                   require_room("all of it", 4 << 20, 2, {4 << 20, 3 << 20}, "less");
                 });
    EXPECT_NO_THROW(require_room("all of it", 4 << 20, 2, {4 << 20, 4 << 20}, "less"));
  }
  ::signal(SIGXFSZ, old_handler);
}

TEST_F(HostRoomTest, AFolderInMemoryIsNoDisk) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const ScopedVariable memory("XDG_CACHE_HOME", "/dev/shm/weft-no-disk");
  EXPECT_EQ(scratch_room(), 0u);
  expect_error(ErrorKind::data, {"/dev/shm/weft-no-disk/weft", "is in memory, too"},
               [] { HostArray<std::uint8_t>(std::size_t{1} << 20); });
  std::error_code ignored;
  fs::remove_all("/dev/shm/weft-no-disk", ignored);
}

TEST_F(HostRoomTest, WithoutAFolderThatIsSaid) {
  const ScopedVariable cache("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
  EXPECT_EQ(scratch_room(), 0u);
  expect_error(ErrorKind::data, {"no folder for them on disk", "XDG_CACHE_HOME"},
               [] { HostArray<std::uint8_t>(std::size_t{1} << 20); });
}

TEST_F(HostRoomTest, TheLimitIsASizeOrAShare) {
  EXPECT_EQ(host_data_limit(5000), 1024u);
  for (const char* wrong : {"", "x", "0", "-1", "1 G", "1KB", "9999999T"}) {
    const ScopedVariable limit("WEFT_HOST_DATA_LIMIT", wrong);
    expect_error(ErrorKind::usage, {"WEFT_HOST_DATA_LIMIT", "K, M, G or T"},
                 [] { host_data_limit(5000); });
  }
  const ScopedVariable none("WEFT_HOST_DATA_LIMIT", nullptr);
  const std::uint64_t before = available_memory();
  const std::uint64_t limit = host_data_limit(std::uint64_t{1} << 40);
  EXPECT_NEAR(static_cast<double>(limit), static_cast<double>(before) / 8,
              0.1 * static_cast<double>(before));
  EXPECT_GT(host_data_limit(1), std::uint64_t{1} << 50) << "what is small needs no look";
}

// What the sanitizers reserve is no address space that a limit could be compared with.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(HostRoomTest, LimitsOfTheProcessCount) {
  ASSERT_GT(available_memory(), std::uint64_t{64} << 20) << "too little to try";
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    const ScopedLimit limit(resource, std::uint64_t{16} << 30);
    const std::uint64_t large = available_memory();
    const ScopedLimit small(resource, std::uint64_t{1} << 20);  // less than there is already
    EXPECT_EQ(available_memory(), 1u);
    EXPECT_LE(large, std::uint64_t{16} << 30);
  }
}
#endif

}  // namespace
}  // namespace weft::data
