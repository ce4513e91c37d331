// SPDX-License-Identifier: MIT
// .npy files: exact bytes written, every version, byte and axis order read, hostile headers
// refused.
#include "data/arrays/npy.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "data/arrays/half.h"
#include "tests/data/files.h"
#include "tests/support/folder.h"

namespace weft::data {
namespace {

using test::expect_error;
using test::values_of;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// A file with this dictionary and these bytes of elements.
std::string npy(const std::string& dictionary, const std::string& elements, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  }
  return file + dictionary + elements;
}

NpyArray parse(const std::string& file) {
  return parse_npy(as_bytes(file), "x.npy");
}

void refused(const std::string& file, const std::vector<std::string>& parts) {
  std::vector<std::string> all = {"x.npy"};
  all.insert(all.end(), parts.begin(), parts.end());
  expect_error(ErrorKind::data, all, [&] { parse(file); });
}

TEST(Npy, WritesWhatNumPyWrites) {
  // As numpy.save() writes numpy.array([1, 2], '<i2'): 128 bytes of header, then the elements.
  std::string expected("\x93NUMPY\1\0\x76\0", 10);
  expected += "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  expected.resize(127, ' ');
  expected += '\n';
  expected += std::string("\1\0\2\0", 4);

  const test::TemporaryFolder folder;
  const std::string path = (folder / "a.npy").string();
  write_npy(path, {"i2", {2}, bytes_of<std::int16_t>({1, 2})});
  EXPECT_EQ(test::read_text(path), expected);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.npy"});
  EXPECT_NE(npy_header("u1", {}).find("'descr': '|u1', 'fortran_order': False, 'shape': (), }"),
            std::string::npos);
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{}, {7}, {1, 2, 3}, {1LL << 62, 0, 5, 1LL << 62}}) {
    EXPECT_EQ(npy_header("f8", shape).size() % 64, 0u);
  }
}

TEST(Npy, ReadsBackEveryTypeAndShape) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a.npy").string();
  for (const std::string dtype : {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"}) {
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{}, {0}, {5}, {2, 3}, {4, 0, 2}, {2, 1, 3, 2}}) {
      NpyArray array{dtype, shape, {}};
      std::size_t size = npy_element_bytes(dtype);
      for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
      for (std::size_t i = 0; i < size; ++i) array.bytes.push_back(std::byte(37 * i + 11));
      write_npy(path, array);
      const NpyArray back = read_npy(path);
      EXPECT_EQ(back.dtype, dtype);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.bytes, array.bytes);
      EXPECT_EQ(back.elements(), static_cast<std::int64_t>(size / npy_element_bytes(dtype)));
    }
  }
}

TEST(Npy, ReadsAllVersionsAndSpellings) {
  const std::string elements("\1\0\0\0\2\0\0\0", 8);
  for (const int version : {1, 2, 3}) {
    for (const std::string dictionary :
         {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }   \n",
          "{\"shape\":(2L,),\"descr\":\"=i4\",\"fortran_order\":False}",
          " {'fortran_order' : True , 'shape' : ( 2 , ) , 'descr' : 'i4'}\n"}) {
      const NpyArray array = parse(npy(dictionary, elements, version));
      EXPECT_EQ(array.dtype, "i4") << dictionary;
      EXPECT_EQ(values_of<std::int32_t>(array), (std::vector<std::int32_t>{1, 2})) << dictionary;
    }
  }
  const NpyArray flags = parse(
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", std::string("\1\0", 2)));
  EXPECT_EQ(flags.dtype, "u1");
  EXPECT_EQ(values_of<std::uint8_t>(flags), (std::vector<std::uint8_t>{1, 0}));
}

TEST(Npy, HalfPrecisionBecomesFloats) {
  const auto halves = [](const std::string& type, const std::string& elements) {
    const NpyArray array =
        parse(npy("{'descr': '" + type + "', 'fortran_order': True, 'shape': (2, 2), }", elements));
    EXPECT_EQ(array.dtype, "f4");
    return values_of<float>(array);
  };
  // 1, -2, the largest number, and the least above 0, column by column.
  const std::vector<float> expected = {1, 65504, -2, 5.9604644775390625e-8f};
  EXPECT_EQ(halves("<f2", std::string("\x00\x3c\x00\xc0\xff\x7b\x01\x00", 8)), expected);
  EXPECT_EQ(halves(">f2", std::string("\x3c\x00\xc0\x00\x7b\xff\x00\x01", 8)), expected);
  const std::vector<float> special =
      halves("<f2", std::string("\x00\x7c\x00\xfc\x01\x7e\x00\x80", 8));
  EXPECT_EQ(special[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(special[1]));
  EXPECT_EQ(special[2], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(special[3] == 0 && std::signbit(special[3]));
}

TEST(Npy, ReadsBigEndian) {
  const auto read = [](const std::string& type, const std::string& elements) {
    return parse(
        npy("{'descr': '>" + type + "', 'fortran_order': False, 'shape': (2,), }", elements));
  };
  EXPECT_EQ(values_of<std::int16_t>(read("i2", std::string("\1\2\xff\xfe", 4))),
            (std::vector<std::int16_t>{0x102, -2}));
  EXPECT_EQ(values_of<float>(read("f4", std::string("\x3f\x80\0\0\xc0\0\0\0", 8))),
            (std::vector<float>{1.0f, -2.0f}));
  EXPECT_EQ(
      values_of<std::uint64_t>(read("u8", std::string("\0\0\0\0\0\0\0\1\1\2\3\4\5\6\7\x8", 16))),
      (std::vector<std::uint64_t>{1, 0x102030405060708u}));
}

TEST(Npy, ConvertsFortranOrder) {
  // a[i][j][k] = 100 i + 10 j + k of shape (2, 3, 4), first axis fastest; twice as wide in u2.
  std::string bytes, words;
  std::vector<std::uint8_t> expected;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) {
        bytes += static_cast<char>(100 * i + 10 * j + k);
        words += {static_cast<char>(100 * i + 10 * j + k), '\0'};
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k)
        expected.push_back(static_cast<std::uint8_t>(100 * i + 10 * j + k));
    }
  }
  const NpyArray array =
      parse(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", bytes));
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(values_of<std::uint8_t>(array), expected);
  const NpyArray wide =
      parse(npy("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 4), }", words));
  EXPECT_EQ(values_of<std::uint16_t>(wide),
            std::vector<std::uint16_t>(expected.begin(), expected.end()));
  // An axis of 1 moves nothing, wherever it is.
  const NpyArray row =
      parse(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1, 3, 1), }", "abc"));
  EXPECT_EQ(values_of<char>(row), (std::vector<char>{'a', 'b', 'c'}));
}

TEST(Npy, RefusesBadFilesInOneLine) {
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  ASSERT_EQ(parse(npy(good, "abc")).shape, std::vector<std::int64_t>{3});
  refused("", {"not an .npy file"});
  refused("PK\3\4 an archive", {"not an .npy file"});
  refused("\x93NUMPY", {"cut off"});
  refused(npy(good, "abc").substr(0, 9), {"cut off"});
  refused(npy(good, "abc", 2).substr(0, 11), {"cut off"});
  refused(npy(good, "").substr(0, 40), {"cut off"});
  refused(npy(good, "abc", 4), {"version", "4"});
  refused(npy(good, "abc", 0), {"version", "0"});
  refused(npy(good, "ab"), {"truncated", "3 bytes", "found 2"});
  refused(npy(good, "abcd"), {"trailing", "3 bytes", "found 4"});
  std::string huge = npy(good, "abc", 2);
  huge[11] = '\x7f';
  refused(huge, {"at most 1048576"});

  const auto header = [](const std::string& dictionary, const std::vector<std::string>& parts) {
    SCOPED_TRACE(dictionary);
    refused(npy(dictionary, "abc"), parts);
  };
  header("", {"expected '{'", "its end"});
  header("[]", {"expected '{'", "[]"});
  header("{'descr': '|u1', 'fortran_order': False}", {"not all there"});
  header("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", {"twice"});
  header(good.substr(0, good.size() - 1), {"expected a string"});
  header(good + " x", {"text after"});
  header("{'descr': '|u1', 'fortran_order': 0, 'shape': (3,)}", {"True or False"});
  header("{'descr': '|u1', 'order': False, 'shape': (3,)}", {"unknown key 'order'"});
  header("{'descr: 1}", {"does not end"});
  header("{'descr': '|u1', 'fortran_order': False, 'shape': (-3,)}", {"extent"});
  header("{'descr': '|u1', 'fortran_order': False, 'shape': (3.0,)}", {"expected ')'"});
  header("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}", {"extent"});
  header("{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", {"2^63"});
  header("{'descr': '<i8', 'fortran_order': False, 'shape': (1152921504606846975,)}",
         {"truncated"});
  std::string deep = "{'descr': '|u1', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; ++i) deep += "1,";
  header(deep + ")}", {"64 dimensions"});
  for (const std::string type : {"<c8", "|O", "<U4", "<M8[s]", "<f16", "<i3", "", "<"}) {
    header("{'descr': '" + type + "', 'fortran_order': False, 'shape': (3,)}",
           {"not supported", "'" + type + "'"});
  }
  header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", {"records"});
  header("{'\33[2J\n': 1}", {R"(unknown key '\x1b[2J\n')"});
}

TEST(Npy, EveryPrefixOfAFileIsRefused) {
  const std::string file =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n", std::string(8, 'x'), 3);
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_THROW(parse(file.substr(0, length)), Error) << length;
  }
  EXPECT_EQ(parse(file).elements(), 2);
}

TEST(Npy, ReadsFilesAsItParsesBytes) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a.npy").string();
  const std::string good = npy("{'descr': '>i2', 'fortran_order': True, 'shape': (1, 2), }",
                               std::string("\0\1\0\2", 4), 2);
  test::write_text(path, good);
  EXPECT_EQ(values_of<std::int16_t>(read_npy(path)), (std::vector<std::int16_t>{1, 2}));
  for (const std::string& bad : {std::string(), good.substr(0, 5), good.substr(0, 30),
                                 good.substr(0, good.size() - 1), good + "x"}) {
    test::write_text(path, bad);
    expect_error(ErrorKind::data, {path}, [&] { read_npy(path); });
  }
  expect_error(ErrorKind::data, {"missing.npy", "No such file"},
               [&] { read_npy((folder / "missing.npy").string()); });
  expect_error(ErrorKind::data, {"regular file"}, [&] { read_npy(folder.path().string()); });
}

// Between two halves lies the even one of them; a float that is a half is that half.
TEST(Half, IsTheNearestOne) {
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_half(half);
    ASSERT_EQ(to_half(value), half);
    ASSERT_EQ(to_half(-value), half | 0x8000);
    if (bits + 1 == 0x7c00) continue;
    const float next = from_half(static_cast<std::uint16_t>(bits + 1));
    const float middle = (value + next) / 2;
    ASSERT_EQ(to_half(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, next)), bits + 1) << bits;
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  for (const float large : {65520.0f, 1e9f, infinity}) EXPECT_EQ(to_half(large), 0x7c00) << large;
  EXPECT_TRUE(std::isnan(from_half(to_half(std::nanf("")))));
}

TEST(Npy, WritingRefusesBytesThatDoNotFillTheShape) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "a.npy").string();
  for (const NpyArray& array :
       {NpyArray{"f4", {3}, std::vector<std::byte>(11)}, NpyArray{"f4", {-3}, {}},
        NpyArray{"f8", {1LL << 61, 8}, {}}, NpyArray{"f2", {1}, std::vector<std::byte>(2)}}) {
    EXPECT_THROW(write_npy(path, array), Error);
  }
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace weft::data
