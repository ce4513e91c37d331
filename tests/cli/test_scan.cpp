// SPDX-License-Identifier: MIT
// weft scan: pipes, files and every mistake.
#include <cstring>

#include "data/arrays/npy.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Scan : public ProgramTest {
 protected:
  template <class T>
  void save(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape,
            const std::vector<T>& values) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    data::write_npy((folder() / name).string(),
                    {dtype, std::move(shape), {bytes.begin(), bytes.end()}});
  }
  template <class T>
  std::vector<T> load(const std::string& name, const std::string& dtype) {
    const data::NpyArray array = data::read_npy((folder() / name).string());
    EXPECT_EQ(array.dtype, dtype) << name;
    std::vector<T> values(array.bytes.size() / sizeof(T));
    EXPECT_EQ(array.shape, std::vector<std::int64_t>{std::ssize(values)}) << name;
    if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
    return values;
  }
  // Standard output of a line whose standard error must stay empty.
  std::string out_of(const std::string& line) {
    const Outcome outcome = shell(line);
    EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << line;
    return outcome.out;
  }
};

TEST_F(Scan, PipesGiveLinesAndNothingElse) {
  EXPECT_EQ(out_of("printf '1\\n2\\n3\\n4\\n' | \"$WEFT\" scan"), "1\n3\n6\n10\n");
  EXPECT_EQ(out_of("printf '1,2,3' | \"$WEFT\" scan - --exclusive"), "0\n1\n3\n");
  EXPECT_EQ(out_of("printf '3 1 4' | \"$WEFT\" scan --op max"), "3\n3\n4\n");
  EXPECT_EQ(out_of("printf '3 1 4' | \"$WEFT\" scan --op min"), "3\n1\n1\n");
  EXPECT_EQ(out_of("printf '2 3 4' | \"$WEFT\" scan --op product --exclusive"), "1\n2\n6\n");
  EXPECT_EQ(out_of("printf '0.5 1 # x' | \"$WEFT\" scan"), "0.5\n1.5\n");
  EXPECT_EQ(out_of("printf '1 2' | \"$WEFT\" scan --type f4"), "1.0\n3.0\n");
  EXPECT_EQ(out_of("printf '1.5 1' | \"$WEFT\" scan --op min --exclusive"), "inf\n1.5\n");
  // Overflow wraps around.
  EXPECT_EQ(out_of("printf '9223372036854775807 1' | \"$WEFT\" scan"),
            "9223372036854775807\n-9223372036854775808\n");
  // An array through a pipe.
  save<std::uint8_t>("a.npy", "u1", {2, 2}, {200, 200, 1, 2});
  EXPECT_EQ(out_of("\"$WEFT\" scan - < a.npy"), "200\n400\n401\n403\n");
  EXPECT_EQ(out_of("cat a.npy | \"$WEFT\" scan"), "200\n400\n401\n403\n");
}

TEST_F(Scan, FilesInAndOut) {
  save<float>("f4.npy", "f4", {2, 3}, {1, 2, 3, 4, 5, 6});
  const Outcome outcome = weft({"scan", "f4.npy", "--out", "s.npy", "--device", "cpu"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"2 x 3 float32", "inclusive sum", "21.0", "s.npy"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  EXPECT_EQ(load<float>("s.npy", "f4"), (std::vector<float>{1, 3, 6, 10, 15, 21}));

  ASSERT_EQ(weft({"scan", "f4.npy", "--out", "s.txt"}).exit_code, 0);
  EXPECT_EQ(read("s.txt"), "1.0\n3.0\n6.0\n10.0\n15.0\n21.0\n");
  ASSERT_EQ(weft({"scan", "s.txt", "--out", "s.npy"}).exit_code, 0);
  EXPECT_EQ(load<double>("s.npy", "f8"), (std::vector<double>{1, 4, 10, 20, 35, 56}));
  save<float>("none.npy", "f4", {0, 3}, {});
  ASSERT_EQ(weft({"scan", "none.npy", "--out", "s.npy"}).exit_code, 0);
  EXPECT_TRUE(load<float>("s.npy", "f4").empty());
}

TEST_F(Scan, TypesAreThoseOfNumPy) {
  save<std::int32_t>("i4.npy", "i4", {2}, {2000000000, 2000000000});
  const auto scan_to = [&](const std::string& input, std::vector<std::string> more) {
    more.insert(more.begin(), {"scan", input, "--out", "s.npy", "--device", "cpu"});
    EXPECT_EQ(weft(more).exit_code, 0);
  };
  scan_to("i4.npy", {});
  EXPECT_EQ(load<std::int64_t>("s.npy", "i8"), (std::vector<std::int64_t>{2000000000, 4000000000}));
  scan_to("i4.npy", {"--op", "max"});
  EXPECT_EQ(load<std::int32_t>("s.npy", "i4"), (std::vector<std::int32_t>{2000000000, 2000000000}));
  scan_to("i4.npy", {"--type", "i4"});
  EXPECT_EQ(load<std::int32_t>("s.npy", "i4"), (std::vector<std::int32_t>{2000000000, -294967296}));
  save<std::int8_t>("i1.npy", "i1", {3}, {-100, -100, 100});
  scan_to("i1.npy", {});
  EXPECT_EQ(load<std::int64_t>("s.npy", "i8"), (std::vector<std::int64_t>{-100, -200, -100}));
  save<std::uint16_t>("u2.npy", "u2", {2}, {65535, 1});
  scan_to("u2.npy", {"--op", "min"});
  EXPECT_EQ(load<std::uint16_t>("s.npy", "u2"), (std::vector<std::uint16_t>{65535, 1}));
  scan_to("u2.npy", {});
  EXPECT_EQ(load<std::uint64_t>("s.npy", "u8"), (std::vector<std::uint64_t>{65535, 65536}));
  // The identity of an exclusive scan is that of the type.
  scan_to("i1.npy", {"--op", "min", "--exclusive"});
  EXPECT_EQ(load<std::int8_t>("s.npy", "i1"), (std::vector<std::int8_t>{127, -100, -100}));
  scan_to("i1.npy", {"--op", "max", "--exclusive"});
  EXPECT_EQ(load<std::int8_t>("s.npy", "i1"), (std::vector<std::int8_t>{-128, -100, -100}));
  scan_to("u2.npy", {"--op", "max", "--exclusive"});
  EXPECT_EQ(load<std::uint16_t>("s.npy", "u2"), (std::vector<std::uint16_t>{0, 65535}));
}

TEST_F(Scan, UnsignedNumbersUseAllOfTheirBits) {
  constexpr std::uint64_t kHigh = std::uint64_t{1} << 63;
  using Values = std::vector<std::uint64_t>;
  const Values values = {5, kHigh + 1, kHigh, UINT64_MAX, 0, 3};
  save("u8.npy", "u8", {6}, values);
  const auto scan_to = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"scan", "u8.npy", "--out", "s.npy", "--device", "cpu"});
    EXPECT_EQ(weft(more).exit_code, 0);
    return load<std::uint64_t>("s.npy", "u8");
  };
  EXPECT_EQ(scan_to({}), (Values{5, kHigh + 6, 6, 5, 5, 8}));  // sums wrap around
  EXPECT_EQ(scan_to({"--op", "product"}), (Values{5, kHigh + 5, kHigh, kHigh, 0, 0}));
  EXPECT_EQ(scan_to({"--op", "max"}),
            (Values{5, kHigh + 1, kHigh + 1, UINT64_MAX, UINT64_MAX, UINT64_MAX}));
  EXPECT_EQ(scan_to({"--op", "min"}), (Values{5, 5, 5, 5, 0, 0}));
  EXPECT_EQ(scan_to({"--op", "min", "--exclusive"}), (Values{UINT64_MAX, 5, 5, 5, 5, 0}));
  EXPECT_EQ(scan_to({"--op", "max", "--exclusive"})[0], 0u);
  EXPECT_EQ(json_lines(weft({"scan", "u8.npy", "--op", "max", "--json"}).out).at(0).at("last"),
            UINT64_MAX);
  expect_error(weft({"scan", "u8.npy", "--type", "i8"}), 3,
               "9223372036854775809 does not fit int64; --type u8 does");
  save<std::uint32_t>("u4.npy", "u4", {3}, {7, 3'000'000'000, 1});
  ASSERT_EQ(weft({"scan", "u4.npy", "--op", "max", "--out", "s.npy"}).exit_code, 0);
  EXPECT_EQ(load<std::uint32_t>("s.npy", "u4"),
            (std::vector<std::uint32_t>{7, 3'000'000'000, 3'000'000'000}));
  EXPECT_EQ(shell("printf '5 18446744073709551615 7' | \"$WEFT\" scan --op max").out,
            "5\n18446744073709551615\n18446744073709551615\n");
  expect_error(shell("printf '1 -1' | \"$WEFT\" scan --type u8"), 3, "-1 does not fit uint64");
}

TEST_F(Scan, HalfPrecisionIsReadAsFloats) {
  // 1, -2, the largest, the least above 0 (subnormal), -0.
  save<std::uint16_t>("half.npy", "u2", {5}, {0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000});
  std::string bytes = read("half.npy");
  bytes.replace(bytes.find("<u2"), 3, "<f2");
  write("half.npy", bytes);
  ASSERT_EQ(weft({"scan", "half.npy", "--op", "max", "--out", "s.npy"}).exit_code, 0);
  EXPECT_EQ(load<float>("s.npy", "f4"), (std::vector<float>{1, 1, 65504, 65504, 65504}));
  EXPECT_EQ(out_of("\"$WEFT\" scan half.npy --exclusive"), "0.0\n1.0\n-1.0\n65503.0\n65503.0\n");
}

TEST_F(Scan, SpreadsheetsAndTheirEmptyCells) {
  EXPECT_EQ(out_of("printf '\\xef\\xbb\\xbf1,2\\n3,4\\n' | \"$WEFT\" scan --column all"),
            "1\n3\n6\n10\n");
  expect_error(shell("printf '1,,2' | \"$WEFT\" scan"), 3, "line 1: no number before a comma");
}

TEST_F(Scan, LongInputsAgreeWithALoop) {
  std::vector<std::int64_t> values, sums;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < 300'007; ++i) {
    values.push_back(i * 7919 % 1013 - 400);
    sums.push_back(sum += values.back());
  }
  save("long.npy", "i8", {std::ssize(values)}, values);
  for (const std::string variant : {"automatic", "sequential", "threaded"}) {
    ASSERT_EQ(weft({"scan", "long.npy", "--out", "s.npy", "--device", "cpu", "--impl", variant})
                  .exit_code,
              0);
    EXPECT_EQ(load<std::int64_t>("s.npy", "i8"), sums) << variant;
  }
  const Outcome text = weft({"scan", "long.npy", "--device", "cpu"});
  const std::vector<std::string> lines = lines_of(text.out);
  ASSERT_EQ(lines.size(), sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(lines[i], std::to_string(sums[i])) << i;
}

TEST_F(Scan, Json) {
  const Outcome outcome = shell("printf '1 2 3' | \"$WEFT\" scan --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("event"), "scan");
  EXPECT_EQ(events[0].at("elements"), 3);
  EXPECT_EQ(events[0].at("type"), "int64");
  EXPECT_EQ(events[0].at("last"), 6);
  EXPECT_EQ(events[0].at("kind"), "inclusive");
  EXPECT_EQ(events[0].at("values"), (std::vector<int>{1, 3, 6}));
  const Outcome filed = shell("printf '1 2 3' | \"$WEFT\" scan --json --exclusive --out s.npy");
  const nlohmann::json event = json_lines(filed.out).at(0);
  EXPECT_EQ(event.at("kind"), "exclusive");
  EXPECT_EQ(event.at("last"), 3);
  EXPECT_EQ(event.at("out"), "s.npy");
  EXPECT_FALSE(event.contains("values"));
  EXPECT_EQ(filed.err, "");
}

TEST_F(Scan, AColumnOfATable) {
  write("prices.csv", "day,close,volume\nMon,1.5,2\nTue,2.5,3\n");
  const Outcome by_name = weft({"scan", "prices.csv", "--column", "close", "--device", "cpu"});
  EXPECT_EQ(by_name.out, "1.5\n4.0\n");
  EXPECT_EQ(by_name.err, "weft: prices.csv: line 1 is a header: 'day,close,volume'\n");
  EXPECT_EQ(weft({"scan", "prices.csv", "--column", "3", "--device", "cpu"}).out, "2\n5\n");
  expect_error(weft({"scan", "prices.csv"}), 3,
               "line 2: 'Mon' is not a number; --column takes one");
  expect_error(weft({"scan", "prices.csv", "--column", "clos"}), 2, "did you mean 'close'?");
  write("matrix.txt", "1 2\n3 4\n");
  expect_error(weft({"scan", "matrix.txt"}), 3, "a table of 2 columns: --column N takes one");
  EXPECT_EQ(weft({"scan", "matrix.txt", "--column", "all", "--device", "cpu"}).out,
            "1\n3\n6\n10\n");
  EXPECT_EQ(weft({"scan", "matrix.txt", "--skip", "1", "--device", "cpu"}).out, "3\n7\n");
  const Outcome decimal = shell("printf '1,5 2,5' | \"$WEFT\" scan --delimiter blank --device cpu");
  EXPECT_EQ(decimal.out, "1.5\n4.0\n");
  EXPECT_NE(decimal.err.find("took '1,5' for 1.5"), std::string::npos) << decimal.err;
  expect_error(shell("printf '1,5 2,5' | \"$WEFT\" scan"), 3,
               "both commas and blanks part numbers");
  expect_error(weft({"scan", "matrix.txt", "--delimiter", "x"}), 2, "--delimiter: expected");
  save<float>("data.npy", "f4", {2}, {1, 2});
  expect_error(weft({"scan", "data.npy", "--column", "1"}), 2, "--column is for text");
}

TEST_F(Scan, MistakesAreOneLineAndLeaveNothing) {
  save<float>("data.npy", "f4", {2}, {1, 2});
  write("complex.npy", std::string("\x93NUMPY\1\0\x34\0", 10) +
                           "{'descr': '<c8', 'fortran_order': False, 'shape': ()}");
  write("cut.npy", read("data.npy").substr(0, 131));
  write("bad.txt", "1\n2\nthree\n");
  write("empty.txt", "");
  write("picture.ppm", "P6 1 1 255\nabc");
  write("arrays.npz", std::string("PK\3\4", 4) + std::string(30, '\0'));
  std::string many;
  for (int i = 0; i < 1'000'001; ++i) many += "1 ";
  write("many.txt", many);
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>> mistakes = {
      {{"missing.npy"}, 3, "missing.npy: no such file"},
      {{"dta.npy"}, 3, "did you mean 'data.npy'?"},
      {{"complex.npy"}, 3, "f2, f4 or f8"},
      {{"cut.npy"}, 3, "truncated"},
      {{"bad.txt"}, 3, "bad.txt: line 3: 'three' is not a number"},
      {{"empty.txt"}, 3, "holds no numbers"},
      {{"picture.ppm"}, 3, "a picture, expected numbers"},
      {{"arrays.npz"}, 3, "a zip archive (.npz?), expected one array"},
      {{"many.txt", "--json"}, 2, "add --out"},
      {{"."}, 3, "regular file"},
      {{"-"}, 3, "standard input: holds no numbers"},
      {{"data.npy", "--out", "s.csv"}, 2, ".npy, .txt"},
      {{"data.npy", "--out", "s"}, 2, ".npy, .txt"},
      {{"data.npy", "--out", "nowhere/s.npy"}, 3, "no folder nowhere"},
      {{"data.npy", "--op", "maximum"}, 2, "sum, min, max, product"},
      {{"data.npy", "--impl", "magic"}, 2, "unknown scan variant 'magic'"},
      {{"data.npy", "--impl", "grid_sync", "--device", "cpu"}, 2, "does not run on cpu"},
      {{"data.npy", "--type", "i4"}, 2, "not scanned as integers"},
      {{"data.npy", "--exclusiv"}, 2, "did you mean '--exclusive'?"},
  };
  for (const auto& [arguments, code, part] : mistakes) {
    std::vector<std::string> all = {"scan"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    SCOPED_TRACE(part);
    const Outcome outcome = weft(all);
    expect_error(outcome, code, part);
    EXPECT_EQ(outcome.out, "");
  }
  for (const auto& entry : fs::directory_iterator(folder())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("s.")) << entry.path();
  }
}

}  // namespace
}  // namespace weft::test
