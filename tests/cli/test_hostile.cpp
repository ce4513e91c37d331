// SPDX-License-Identifier: MIT
// Files made to crash, stall or exhaust their reader: each is one line and exit 3, at little cost,
// and the same answer each time. tests/data/hostile/README.md says what is in them.
#include <algorithm>

#include "data/arrays/npy.h"
#include "tests/cli/program.h"
#include "tests/cli/untrained_model.h"
#include "tests/data/files.h"

namespace weft::test {
namespace {

class Hostile : public ProgramTest {
 protected:
  static std::string hostile(const std::string& name) {
    return (fs::path(WEFT_TESTS_DIR) / "data/hostile" / name).string();
  }

  void expect_cheap_refusal(const Outcome& outcome, const std::string& part) {
    expect_error(outcome, 3, part);
    EXPECT_EQ(outcome.out, "");
#if !defined(__SANITIZE_ADDRESS__)
    EXPECT_LT(outcome.cpu_seconds, 0.5);
    EXPECT_LT(outcome.peak_bytes, 200'000'000);
#endif
  }

  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
    SCOPED_TRACE(arguments[0] + " " + arguments.back());
    const Outcome first = weft(arguments), second = weft(arguments);
    expect_cheap_refusal(first, part);
    EXPECT_EQ(first.err, second.err);
  }
};

TEST_F(Hostile, Pictures) {
  write_untrained_model(folder() / "model.safetensors");
  const std::pair<const char*, const char*> files[] = {
      {"poc_segv_min.jpg", "a Huffman table has 640 codes, expected at most 256"},
      {"ubsan_min.jpg", "a JPEG segment is cut off"},
      {"poc_unscanned.jpg", "component 2 has no scan"},
      {"poc_scans_2000.jpg", "8184 x 6100 pixels do not fit in 22141 bytes"},
      {"poc_palette.png", "a pixel has colour 1 of a palette of 1"},
      {"poc_palette.bmp", "a pixel has colour 1 of a palette of 1"}};
  for (const auto& [name, part] : files) {
    expect_refused({"histogram", hostile(name)}, str(name, ": damaged picture: ", part));
    expect_refused({"predict", "model.safetensors", hostile(name)},
                   str(name, ": damaged picture: ", part));
  }
}

TEST_F(Hostile, ModelsThatClaimToBeLarge) {
  const std::pair<const char*, const char*> files[] = {
      {"poc_big_convnet.safetensors", "tensor conv1.weight is missing"},
      {"poc_big_mlp.safetensors", "tensor fc1.weight is missing, expected shape (512, 1048576)"}};
  for (const auto& [name, part] : files) {
    for (const char* command : {"eval", "inspect"}) {
      expect_refused({command, hostile(name)}, str(name, ": ", part));
    }
    expect_refused({"predict", hostile(name), "none.png"}, str(name, ": ", part));
  }
  expect_refused({"train", "--resume", hostile("poc_big_run")},
                 "tensor parameter.conv1.weight is missing");
}

TEST_F(Hostile, ALineOf150MB) {
  write("commas.csv", std::string(150'000'000, ','));
  expect_refused({"nbody", "--start", "commas.csv"},
                 "commas.csv, line 1: more than 65536 bytes, expected 7 numbers");
}

TEST_F(Hostile, AnArrayThatDoesNotEnd) {
  data::write_npy((folder() / "one.npy").string(), {"f4", {1}, std::vector<std::byte>(4)});
  const Outcome endless = shell("cat one.npy /dev/zero | \"$WEFT\" histogram -");
  expect_cheap_refusal(endless, "the npy header asks for 4 bytes of elements, found more");
  EXPECT_EQ(shell("cat one.npy | \"$WEFT\" histogram -").exit_code, 0);
}

TEST_F(Hostile, AGzipThatClaimsToBeLarge) {
  Bytes packed(15'000'000);  // eight times that would be believed, and is never written
  std::uint32_t state = 1;
  for (std::uint8_t& byte : packed) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  packed = gzip(packed);
  std::fill(packed.end() - 4, packed.end(), std::uint8_t{0xff});  // 4 GiB, it says
  for (const std::string set : {"train", "t10k"}) {
    write_bytes(folder() / ("mnist/" + set + "-images-idx3-ubyte.gz"), packed);
    write_bytes(folder() / ("mnist/" + set + "-labels-idx1-ubyte.gz"), packed);
  }
  expect_refused({"data", "verify", "--data-dir", "mnist"}, "not an IDX file");
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(weft({"data", "verify", "--data-dir", "mnist"}).peak_bytes, 70'000'000);
#endif
}

}  // namespace
}  // namespace weft::test
