// SPDX-License-Identifier: MIT
// weft data, and what every command says about data that is missing or damaged.
#include "tests/cli/program.h"

namespace weft::test {
namespace {

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string idx_header(std::uint32_t magic, const std::vector<std::uint32_t>& extents,
                       std::size_t payload) {
  std::string bytes = big_endian(magic);
  for (const std::uint32_t extent : extents) bytes += big_endian(extent);
  return bytes + std::string(payload, '\1');
}

constexpr std::uint32_t kImages = 0x803, kLabels = 0x801;

class Data : public ProgramTest {
 protected:
  // Ten well-formed images, which are not MNIST's.
  void write_files(const std::string& name) {
    for (const std::string part : {"train", "t10k"}) {
      write(name + "/" + part + "-images-idx3-ubyte", idx_header(kImages, {10, 28, 28}, 7840));
      write(name + "/" + part + "-labels-idx1-ubyte", idx_header(kLabels, {10}, 10));
    }
  }
  void expect_refused(const std::string& name, const std::string& part) {
    SCOPED_TRACE(name);
    expect_error(weft({"train", "--data-dir", name, "--device", "cpu"}), 3, part);
    EXPECT_FALSE(fs::exists(folder() / "runs"));
  }
};

TEST_F(Data, DamagedFilesAreRefusedInOneLine) {
  write_files("checksum");
  expect_refused("checksum", "SHA-256");

  write_files("magic");
  write("magic/train-images-idx3-ubyte", idx_header(0x1234, {10, 28, 28}, 7840));
  expect_refused("magic", "train-images-idx3-ubyte");

  write_files("truncated");
  write("truncated/train-images-idx3-ubyte", idx_header(kImages, {10, 28, 28}, 7839));
  expect_refused("truncated", "train-images-idx3-ubyte");

  write_files("oversized");
  write("oversized/train-images-idx3-ubyte", idx_header(kImages, {10, 28, 28}, 7841));
  expect_refused("oversized", "train-images-idx3-ubyte");

  write_files("absurd");
  write("absurd/train-images-idx3-ubyte",
        idx_header(kImages, {0xffffffff, 0xffffffff, 0xffffffff}, 7840));
  expect_refused("absurd", "train-images-idx3-ubyte");

  write_files("empty-file");
  write("empty-file/train-images-idx3-ubyte", "");
  expect_refused("empty-file", "train-images-idx3-ubyte");

  write_files("incomplete");
  fs::remove(folder() / "incomplete/t10k-labels-idx1-ubyte");
  const Outcome outcome = weft({"train", "--data-dir", "incomplete", "--device", "cpu"});
  EXPECT_EQ(outcome.exit_code, 3);  // after trying to download the missing file
  EXPECT_TRUE(lines_of(outcome.err).back().starts_with("weft: error: incomplete"));
}

TEST_F(Data, WhatWasAskedForIsNeverReplacedByTheBuiltInDigits) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"train", "--dataset", "mnist", "--device", "cpu"},
           {"train", "--dataset", "kmnist", "--device", "cpu"},
           {"train", "--data-dir", "nowhere", "--device", "cpu"}}) {
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.out << outcome.err;
    ASSERT_FALSE(outcome.err.empty());
    EXPECT_TRUE(lines_of(outcome.err).back().starts_with("weft: error: no ")) << outcome.err;
  }
  // A folder that was asked for is not made, and one made for a download that failed is not left.
  EXPECT_FALSE(fs::exists(folder() / "nowhere"));
  EXPECT_FALSE(fs::exists(folder() / "data"));
  expect_error(weft({"train", "--data-dir", "nowhere", "--device", "cpu"}), 3,
               "no folder nowhere; ");
  expect_error(weft({"train", "--dataset", "digits", "--data-dir", "."}), 2,
               "--data-dir: the data set digits is drawn by the program");
  // Nor are damaged files in a place that is searched by default.
  write_files("data/mnist");
  expect_error(weft({"train", "--device", "cpu"}), 3, "SHA-256");
}

TEST_F(Data, InfoListsEveryDataSet) {
  write_files("data/mnist");
  const Outcome text = weft({"data", "info"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* name :
       {"mnist", "mnist-hands", "fashion-mnist", "kmnist", "emnist-digits", "digits", "shapes"}) {
    EXPECT_NE(text.out.find(name), std::string::npos) << name;
  }
  const std::vector<nlohmann::json> events = json_lines(weft({"data", "info", "--json"}).out);
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0].at("dataset"), "mnist");
  EXPECT_TRUE(events[0].at("complete").get<bool>());
}

TEST_F(Data, VerifyTellsWrongFilesAndExitsThree) {
  write_files("data/mnist");
  const Outcome outcome = weft({"data", "verify"});
  expect_error(outcome, 3, "SHA-256");
  EXPECT_NE(outcome.out.find("WRONG"), std::string::npos);
  expect_error(weft({"data", "verify", "--data-dir", "nowhere"}), 3, "no mnist in");
  expect_error(weft({"data", "verify", "--dataset", "digits"}), 2, "digits");
}

TEST_F(Data, ConvertWritesWhatInfoReads) {
  ASSERT_EQ(weft({"data", "export", "digits", "--limit", "200", "--out", "drawn"}).exit_code, 0);
  std::string from = "drawn";
  for (const std::string format : {"csv", "folders", "idx"}) {
    const Outcome converted = weft({"data", "convert", from, format, "--as", format});
    ASSERT_EQ(converted.exit_code, 0) << converted.err;
    EXPECT_NE(converted.out.find("200 training, 0 validation and 200 test images are in " + format),
              std::string::npos)
        << converted.out;
    from = format;
  }
  const Outcome info = weft({"data", "info", "--data", "idx", "--json"});
  EXPECT_EQ(json_lines(info.out).at(0).at("train_images"), 200);
  expect_error(weft({"data", "convert", "idx", "csv", "--as", "csv"}), 3, "it exists already");
  expect_error(weft({"data", "convert", "gone", "new"}), 3, "there is no folder gone");
  expect_error(weft({"data", "convert", "idx", "new", "--as", "tar"}), 2, "--as");
}

TEST_F(Data, VerifyAndEvalOnRealMnist) {
  const char* folder_of_mnist = std::getenv("WEFT_DATA_DIR");
  if (folder_of_mnist == nullptr) GTEST_SKIP() << "WEFT_DATA_DIR is not set";
  environment_["WEFT_DATA_DIR"] = folder_of_mnist;
  const Outcome verified = weft({"data", "verify", "--json"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(json_lines(verified.out).size(), 4u);
  EXPECT_NE(weft({"doctor"}).out.find("verified"), std::string::npos);

  // A model trained on the built-in digits says how to try it on the real ones, and it reads them.
  ASSERT_EQ(train_small("run").exit_code, 0);
  const Outcome hint = weft({"eval", "run", "--device", "cpu"});
  EXPECT_NE(hint.err.find("--dataset mnist"), std::string::npos) << hint.err;
  const Outcome real = weft({"eval", "run", "--dataset", "mnist", "--json", "--device", "cpu"});
  EXPECT_GT(json_lines(real.out).at(0).at("accuracy").get<double>(), 0.5);
}

TEST_F(Data, FetchWithoutNetworkSaysWhy) {
  const Outcome outcome = weft({"data", "fetch"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_TRUE(lines_of(outcome.err).back().starts_with("weft: error: no download: "))
      << outcome.err;
}

}  // namespace
}  // namespace weft::test
