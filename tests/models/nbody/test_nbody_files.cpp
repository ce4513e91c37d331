// SPDX-License-Identifier: MIT
// Bodies in files: .npy and CSV round trips, the forms of CSV that people write, and bad files.
#include <gtest/gtest.h>

#include <limits>

#include "data/arrays/npy.h"
#include "models/nbody/bodies.h"
#include "models/nbody/bodies_csv.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"

namespace weft::models {
namespace {

using test::TemporaryFolder;
using test::throws;

Bodies random_bodies(std::int64_t n) {
  Bodies bodies(n);
  bodies.position = test::to_double(test::random_floats(4 * n, 1, -1e3f, 1e3f));
  bodies.velocity = test::to_double(test::random_floats(4 * n, 2, -1e-3f, 1e-3f));
  for (double& x : bodies.position) x /= 3;  // more digits than a float has
  for (double& v : bodies.velocity) v /= 3;
  for (std::size_t i = 3; i < bodies.position.size(); i += 4) {
    bodies.position[i] = std::abs(bodies.position[i]);
    bodies.velocity[i] = 0;
  }
  return bodies;
}

data::NpyArray array(const std::string& dtype, const std::vector<std::int64_t>& shape,
                     std::span<const std::byte> bytes) {
  return {dtype, shape, {bytes.begin(), bytes.end()}};
}

template <class T>
data::NpyArray array(const std::string& dtype, const std::vector<std::int64_t>& shape,
                     const std::vector<T>& values) {
  return array(dtype, shape, std::as_bytes(std::span(values)));
}

TEST(NbodyFiles, BothFormatsKeepEveryBit) {
  const TemporaryFolder folder;
  Bodies bodies = random_bodies(37);
  bodies.position[0] = std::numeric_limits<double>::denorm_min();
  bodies.position[1] = double{std::numeric_limits<float>::max()} / 3;
  bodies.position[3] = 0;
  for (const char* name : {"a.npy", "a.csv"}) {
    write_bodies(folder / name, bodies);
    const Bodies read = read_bodies(folder / name);
    EXPECT_EQ(read.position, bodies.position) << name;
    EXPECT_EQ(read.velocity, bodies.velocity) << name;
    EXPECT_EQ(read.count(), 37);
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.csv", "a.npy"}));
  const data::NpyArray stored = data::read_npy((folder / "a.npy").string());
  EXPECT_EQ(stored.dtype, "f8");
  EXPECT_EQ(stored.shape, (std::vector<std::int64_t>{37, 7}));
}

TEST(NbodyFiles, DoublesStayDoublesAndFloatsAreRead) {
  const TemporaryFolder folder;
  data::write_npy((folder / "d.npy").string(),
                  array<double>("f8", {1, 7}, {0.1, 2, 3, 4, 0.7, 6, 7.3}));
  data::write_npy((folder / "f.npy").string(),
                  array<float>("f4", {1, 7}, {0.1f, 2, 3, 4, 0.7f, 6, 7.3f}));
  const Bodies bodies = read_bodies(folder / "d.npy");
  EXPECT_EQ(bodies.position, (std::vector<double>{0.1, 2, 3, 7.3}));
  EXPECT_EQ(bodies.velocity, (std::vector<double>{4, 0.7, 6, 0}));
  EXPECT_EQ(read_bodies(folder / "f.npy").position,
            (std::vector<double>{double{0.1f}, 2, 3, double{7.3f}}));
  EXPECT_EQ(parse_bodies_csv("0.1,2,3,4,0.7,6,7.3", "f").position, bodies.position);
  EXPECT_EQ(parse_bodies_csv("0.1,2,3,4,0.7,6,7.3", "f").velocity, bodies.velocity);
}

TEST(NbodyFiles, CsvIsReadInManyForms) {
  const std::vector<double> position = {1, 2, 3, 7, -1, -2.5, 3e4, 0};
  const std::vector<double> velocity = {4, 5, 6, 0, 0.5, 0, 1, 0};
  for (const char* text :
       {"1,2,3,4,5,6,7\n-1,-2.5,3e4,.5,0,1,0\n",
        "x,y,z,vx,vy,vz,mass\n1,2,3,4,5,6,7\n-1,-2.5,3e4,.5,0,1,0",
        "1 2 3 4 5 6 7\n-1   -2.5\t3e4 0.5 0 1 0\n", "1;2;3;4;5;6;7\r\n-1;-2.5;3E4;.5;0;1;0\r\n",
        "# comment\n\n 1, 2, 3, 4, 5, 6, +7 \n\n-1, -2.5, 30000, 0.5, 0, 1, 0\n#end\n",
        "\xef\xbb\xbfmass,x,y,z,vx,vy,vz\n7,1,2,3,4,5,6\n0,-1,-2.5,3e4,.5,0,1\n"}) {
    const Bodies bodies = parse_bodies_csv(text, "file");
    EXPECT_EQ(bodies.position, position) << text;
    EXPECT_EQ(bodies.velocity, velocity) << text;
  }
}

TEST(NbodyFiles, BadCsvNamesTheLine) {
  const struct {
    const char *text, *part;
  } cases[] = {
      {"", "no bodies"},
      {"# nothing\n\n", "no bodies"},
      {"x,y,z,vx,vy,vz,mass\n", "no bodies"},
      {"1,2,3,4,5,6\n", "line 1: expected 7 numbers (x,y,z,vx,vy,vz,mass), found 6"},
      {"1,2,3,4,5,6,7\n1,2,3,4,5,6,7,8\n", "line 2: expected 7 numbers"},
      {"1,2,3,4,5,6,7\n1,2,3,four,5,6,7\n", "line 2: vx: expected a number, found 'four'"},
      {"1,2,3,4,5,6,7\nx,y,z,vx,vy,vz,mass\n", "line 2: x: expected a number"},
      {"1,2,3,,5,6,7\n", "line 1: vx: expected a number, found ''"},
      {",2,3,4,5,6,7\n", "line 1: x: expected a number, found ''"},
      {"1,2,3,4,5,6,7x\n", "mass: expected a number, found '7x'"},
      {"nan,2,3,4,5,6,7\n", "line 1: x: expected a finite float, found nan"},
      {"1,2,3,4,inf,6,7\n", "vy: expected a finite float, found inf"},
      {"1,1e39,3,4,5,6,7\n", "y: expected a finite float, found 1e+39"},
      {"1,2,3,4,5,6,-7\n", "mass: expected 0 or more, found -7"},
      {"a,b,c\n1,2,3\n", "expected the columns x,y,z,vx,vy,vz,mass, found 'a,b,c'"},
      {"x,y,z,vx,vy,vz,x\n", "expected the columns"},
      {"name,x,y,z,vx,vy,vz,mass\n", "expected the columns"},
      {"\x01\x02garbage\xff\n", "'\\x01\\x02garbage\\xff'"},
  };
  for (const auto& [text, part] : cases) {
    EXPECT_TRUE(throws(ErrorKind::data, part, [&text = text] { parse_bodies_csv(text, "f.csv"); }))
        << text;
  }
}

TEST(NbodyFiles, CsvMayArriveInParts) {
  const std::string text =
      "\xef\xbb\xbf# two bodies\nx,y,z,vx,vy,vz,mass\r\n1,2,3,4,5,6,7\n\n8 9 10 11 12 13 14";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    BodiesCsvReader reader("f.csv");
    for (std::size_t at = 0; at < text.size(); at += size) reader.feed(text.substr(at, size));
    EXPECT_EQ(reader.finish().position, (std::vector<double>{1, 2, 3, 7, 8, 9, 10, 14})) << size;
  }
}

// A line without an end is refused when it is longer than any line of numbers, not when it was
// read.
TEST(NbodyFiles, LongLinesAreRefusedWhereTheyGetLong) {
  BodiesCsvReader reader("f.csv");
  reader.feed("1,2,3,4,5,6,7\n#");
  for (int i = 0; i < 64; ++i) reader.feed(std::string(1023, ','));
  EXPECT_TRUE(throws(ErrorKind::data, "f.csv, line 2: more than 65536 bytes",
                     [&] { reader.feed(std::string(1023, ',')); }));
  const std::string comment = "#" + std::string(65535, '-') + "\n";
  EXPECT_EQ(parse_bodies_csv(comment + "1,2,3,4,5,6,7\n", "f.csv").count(), 1);
}

TEST(NbodyFiles, BadNpyAndMissingFilesAreOneLine) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& name) {
    return [&folder, name] { read_bodies(folder / name); };
  };
  const auto write = [&](const std::string& name, const data::NpyArray& content) {
    data::write_npy((folder / name).string(), content);
  };
  const std::vector<float> row = {1, 2, 3, 4, 5, 6, 7};
  write("wide.npy", array<float>("f4", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  write("flat.npy", array("f4", {7}, row));
  write("ints.npy", array<std::int32_t>("i4", {1, 7}, {1, 2, 3, 4, 5, 6, 7}));
  write("none.npy", array<float>("f4", {0, 7}, std::vector<float>{}));
  std::vector<float> wrong = row;
  wrong[1] = std::numeric_limits<float>::quiet_NaN();
  write("nan.npy", array("f4", {1, 7}, wrong));
  wrong[1] = 0, wrong[6] = -1;
  write("negative.npy", array("f4", {1, 7}, wrong));
  write("good.npy", array("f4", {1, 7}, row));
  const std::string good = test::read_text(folder / "good.npy");
  test::write_text(folder / "cut.npy", good.substr(0, good.size() - 3));
  test::write_text(folder / "other.npy", "1,2,3,4,5,6,7\n");
  test::write_text(folder / "empty.npy", "");
  EXPECT_TRUE(throws(ErrorKind::data, "(n, 7) array of f4 or f8", read("wide.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "found (7,) of f4", read("flat.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "found (1, 7) of i4", read("ints.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "found 0", read("none.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "row 0: y: expected a finite float", read("nan.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "row 0: mass: expected 0 or more", read("negative.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "cut.npy", read("cut.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "not a .npy file", read("other.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "no bodies", read("empty.npy")));
  EXPECT_TRUE(throws(ErrorKind::data, "no such file", read("missing.csv")));
  EXPECT_TRUE(throws(ErrorKind::data, "regular file", [&] { read_bodies(folder.path()); }));
  EXPECT_EQ(read_bodies(folder / "good.npy").count(), 1);
}

TEST(NbodyFiles, CentreRestsAtTheOrigin) {
  Bodies bodies = random_bodies(200);
  centre(bodies);
  const MassSums sums = mass_sums(bodies);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(sums.centre[axis], 0, 1e-4);
    EXPECT_NEAR(sums.velocity[axis], 0, 1e-9);
  }
  EXPECT_GT(sums.inertia, 0);
  // Two masses, by hand: the centre at 3/4 of the way, inertia 1 * 3^2 + 3 * 1^2.
  Bodies two(2);
  two.position = {0, 0, 0, 1, 4, 0, 0, 3};
  const MassSums pair = mass_sums(two);
  EXPECT_EQ(pair.mass, 4);
  EXPECT_EQ(pair.centre[0], 3);
  EXPECT_EQ(pair.inertia, 12);
}

}  // namespace
}  // namespace weft::models
