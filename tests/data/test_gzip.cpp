// SPDX-License-Identifier: MIT
// Reading and inflating files: whole, damaged, and larger than allowed.
#include "data/files/gzip.h"

#include "tests/data/files.h"

namespace weft::data {
namespace {

using test::expect_error;
using test::TempFolder;
using test::write_bytes;

constexpr std::size_t kLimit = 1 << 20;

Bytes some_bytes(std::size_t n) {
  Bytes bytes(n);
  std::uint32_t x = 1;
  for (std::uint8_t& byte : bytes) {
    x = x * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(x >> 28);
  }
  return bytes;
}

TEST(Gzip, TheFrontIsInflatedAlone) {
  Bytes bytes(5000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * i);
  Bytes packed = test::gzip(bytes);
  for (const std::size_t n : {0u, 1u, 1023u, 1024u, 1025u, 4999u, 5000u}) {
    const Bytes front(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(inflate_gzip_front(packed, n, "x"), front) << n;
  }
  EXPECT_EQ(inflate_gzip_front(packed, 9999, "x"), bytes);
  packed.resize(packed.size() - 8);  // the check and the length at its end
  EXPECT_EQ(inflate_gzip_front(packed, 100, "x").size(), 100u);
  expect_error(ErrorKind::data, {"x", "truncated"}, [&] { inflate_gzip_front(packed, 9999, "x"); });
}

TEST(Gzip, RoundTripOfManySizes) {
  for (const std::size_t n : {0, 1, 2, 1023, 1024, 1025, 100000}) {
    const Bytes bytes = some_bytes(n);
    EXPECT_EQ(inflate_gzip(test::gzip(bytes), kLimit, "x"), bytes) << n;
  }
}

TEST(Gzip, SeveralMembers) {
  const Bytes first = some_bytes(5000), second = some_bytes(70);
  Bytes joined = test::gzip(first), more = test::gzip(second), expected = first;
  joined.insert(joined.end(), more.begin(), more.end());
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(inflate_gzip(joined, kLimit, "x"), expected);
}

TEST(Gzip, LimitIsExact) {
  const Bytes packed = test::gzip(some_bytes(3000));
  EXPECT_EQ(inflate_gzip(packed, 3000, "x").size(), 3000u);
  expect_error(ErrorKind::data, {"big.gz", "more than 2999"},
               [&] { inflate_gzip(packed, 2999, "big.gz"); });
}

TEST(Gzip, BombStopsAtTheLimit) {
  const Bytes bomb = test::gzip(Bytes(50'000'000, 0));
  ASSERT_LT(bomb.size(), 100'000u);
  expect_error(ErrorKind::data, {"more than 1048576"}, [&] { inflate_gzip(bomb, kLimit, "bomb"); });
}

TEST(Gzip, SizeFieldIsNotTrusted) {
  Bytes packed = test::gzip(some_bytes(1000));
  for (std::size_t i = packed.size() - 4; i < packed.size(); ++i) packed[i] = 0xff;
  expect_error(ErrorKind::data, {"x", "damaged"}, [&] { inflate_gzip(packed, kLimit, "x"); });
}

TEST(Gzip, EveryTruncationIsRefused) {
  const Bytes packed = test::gzip(some_bytes(300));
  for (std::size_t n = 2; n < packed.size(); ++n) {
    expect_error(ErrorKind::data, {"cut.gz", "truncated"},
                 [&] { inflate_gzip(std::span(packed).first(n), kLimit, "cut.gz"); });
  }
}

// A few bits mean nothing (an unused code length, the padding before the checksum): then the right
// bytes come out. Wrong bytes never do.
TEST(Gzip, DamageIsRefusedOrHarmless) {
  const Bytes bytes = some_bytes(300), packed = test::gzip(bytes);
  constexpr std::size_t kHeader = 10;  // holds a time and flags that may be anything
  std::size_t refused = 0;
  for (std::size_t i = kHeader; i < packed.size(); ++i) {
    Bytes damaged = packed;
    damaged[i] ^= 0x10;
    try {
      EXPECT_EQ(inflate_gzip(damaged, kLimit, "bad.gz"), bytes) << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      ++refused;
    }
  }
  EXPECT_GT(refused, (packed.size() - kHeader) * 9 / 10);
}

TEST(Gzip, TrailingGarbageIsRefused) {
  Bytes packed = test::gzip(some_bytes(300));
  packed.insert(packed.end(), {1, 2, 3});
  expect_error(ErrorKind::data, {"3 bytes of garbage"}, [&] { inflate_gzip(packed, kLimit, "x"); });
}

TEST(ReadFile, PlainAndPackedGiveTheSame) {
  const TempFolder folder;
  const Bytes bytes = some_bytes(4321);
  write_bytes(folder.path() / "plain", bytes);
  write_bytes(folder.path() / "packed", test::gzip(bytes));  // told by magic, not by name
  write_bytes(folder.path() / "empty", {});
  EXPECT_EQ(read_file_inflated(folder.path() / "plain", kLimit), bytes);
  EXPECT_EQ(read_file_inflated(folder.path() / "packed", kLimit), bytes);
  EXPECT_TRUE(read_file_inflated(folder.path() / "empty", kLimit).empty());
}

TEST(ReadFile, MissingFolderAndTooLarge) {
  const TempFolder folder;
  write_bytes(folder.path() / "ten", Bytes(10));
  expect_error(ErrorKind::data, {"nowhere", "no such file"},
               [&] { read_file(folder.path() / "nowhere", kLimit); });
  expect_error(ErrorKind::data, {"regular file"}, [&] { read_file(folder.path(), kLimit); });
  expect_error(ErrorKind::data, {"ten", "10 bytes", "at most 9"},
               [&] { read_file(folder.path() / "ten", 9); });
  EXPECT_EQ(read_file(folder.path() / "ten", 10).size(), 10u);
}

TEST(ReadFile, WithoutPermission) {
  constexpr uid_t kNobody = 65534;
  const TempFolder folder;
  write_bytes(folder.path() / "secret", Bytes(10));
  using std::filesystem::perms;
  std::filesystem::permissions(folder.path(),
                               perms::owner_all | perms::group_exec | perms::others_exec);
  std::filesystem::permissions(folder.path() / "secret", perms::none);
  const bool is_root = geteuid() == 0;  // who may read everything
  if (is_root && seteuid(kNobody) != 0) GTEST_SKIP() << "root cannot become another user here";
  expect_error(ErrorKind::data, {"secret", "could not open", "ermission"},
               [&] { read_file(folder.path() / "secret", kLimit); });
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
}

}  // namespace
}  // namespace weft::data
