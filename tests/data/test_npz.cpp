// SPDX-License-Identifier: MIT
// What is written as .npz, byte by byte. tests/interop/onnx_interop.py lets NumPy read it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "data/arrays/npy.h"
#include "data/arrays/npz.h"
#include "tests/data/files.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TempFolder;

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint32_t number(const std::string& bytes, std::size_t at, int size) {
  std::uint32_t value = 0;
  for (int i = 0; i < size; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes.at(at + i))) << (8 * i);
  }
  return value;
}

// The members of an archive by way of its directory, each checked against its local header and its
// checksum.
std::vector<std::pair<std::string, std::string>> members_of(const std::string& zip) {
  const std::size_t end = zip.size() - 22;
  EXPECT_EQ(zip.substr(end, 4), "PK\5\6");
  std::vector<std::pair<std::string, std::string>> members;
  std::size_t row = number(zip, end + 16, 4);
  EXPECT_EQ(row + number(zip, end + 12, 4), end);
  for (std::uint32_t i = 0; i < number(zip, end + 10, 2); ++i) {
    EXPECT_EQ(zip.substr(row, 4), "PK\1\2");
    const std::uint32_t name_size = number(zip, row + 28, 2), size = number(zip, row + 24, 4);
    const std::size_t local = number(zip, row + 42, 4);
    const std::string name = zip.substr(row + 46, name_size);
    EXPECT_EQ(zip.substr(local, 4), "PK\3\4");
    EXPECT_EQ(zip.substr(local + 4, 26), zip.substr(row + 6, 26)) << "the headers differ";
    EXPECT_EQ(zip.substr(local + 30, name_size), name);
    const std::string content = zip.substr(local + 30 + name_size, size);
    EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(content.data()), size),
              number(zip, row + 16, 4));
    members.emplace_back(name, content);
    row += 46 + name_size;
  }
  EXPECT_EQ(row, end);
  return members;
}

TEST(Npz, HoldsEachArrayAsANpyFile) {
  const TempFolder folder;
  const std::vector<float> a = {1, -2, 3.5f, 1e-40f, 0, -0.0f}, b = {7}, none;
  const std::vector<NpzArray> arrays = {
      {"conv1.weight", {2, 3}, a}, {"scalar", {}, b}, {"empty", {0, 4}, none}};
  write_npz(folder.path() / "m.npz", arrays);
  const auto members = members_of(content_of(folder.path() / "m.npz"));
  ASSERT_EQ(members.size(), 3u);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(members[i].first, arrays[i].name + ".npy");
    const NpyArray array = parse_npy(std::as_bytes(std::span(members[i].second)), "member");
    EXPECT_EQ(array.dtype, "f4");
    EXPECT_EQ(array.shape, arrays[i].shape);
    ASSERT_EQ(array.bytes.size(), arrays[i].bytes.size());
    EXPECT_TRUE(std::ranges::equal(array.bytes, arrays[i].bytes));
  }
}

TEST(Npz, GivesTheSameBytesForTheSameArrays) {
  const TempFolder folder;
  const std::vector<float> values = {1, 2};
  const std::vector<NpzArray> arrays = {{"x", {2}, values}};
  write_npz(folder.path() / "1.npz", arrays);
  write_npz(folder.path() / "2.npz", arrays);
  EXPECT_EQ(content_of(folder.path() / "1.npz"), content_of(folder.path() / "2.npz"));
}

TEST(Npz, NoArraysAreAnEmptyArchive) {
  const TempFolder folder;
  write_npz(folder.path() / "m.npz", {});
  EXPECT_TRUE(members_of(content_of(folder.path() / "m.npz")).empty());
}

TEST(Npz, RefusesWhatCannotBeReadBackAndLeavesNothing) {
  const TempFolder folder;
  const std::vector<float> values = {1, 2};
  const auto write = [&](const std::vector<NpzArray>& arrays) {
    return [&, arrays] { write_npz(folder.path() / "m.npz", arrays); };
  };
  expect_error(ErrorKind::usage, {"m.npz", "two arrays are named 'x'"},
               write({{"x", {2}, values}, {"x", {2}, values}}));
  expect_error(ErrorKind::usage, {"2 values do not fill", "'x'"}, write({{"x", {3}, values}}));
  expect_error(ErrorKind::usage, {"2 values"}, write({{"x", {INT64_MAX, INT64_MAX, 2}, values}}));
  expect_error(ErrorKind::usage, {"2 values"}, write({{"x", {-1, -2}, values}}));
  expect_error(ErrorKind::usage, {"4 GiB"}, write({{std::string(70000, 'x'), {2}, values}}));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace weft::data
