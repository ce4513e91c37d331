// SPDX-License-Identifier: MIT
// Networks from a file, from training to predictions, and files that are none.
#include <algorithm>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

constexpr const char* kTiny =
    "conv 8 5x5 stride 2 pad 2\nbatch_norm\nrelu\n"
    "residual {\n  conv 8 3x3 pad 1\n  batch_norm\n  relu\n}\n"
    "max_pool 2\ndropout rate\nlinear classes\n";

class NetworkFiles : public ProgramTest {};

TEST_F(NetworkFiles, TrainEvaluatePredictAndResume) {
  write("nets/tiny.net", kTiny);
  const Outcome trained =
      train_small("run", {"--model", "nets/tiny.net", "--dropout", "0.1", "--stop-after", "1"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  // The run has its own copy.
  fs::rename(folder() / "nets", folder() / "moved");
  EXPECT_EQ(nlohmann::json::parse(read("run/config.json")).at("definition"), kTiny);
  EXPECT_EQ(weft({"train", "--resume", "run", "--device", "cpu"}).exit_code, 0);
  const Outcome evaluated = weft({"eval", "run", "--device", "cpu", "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_GT(json_lines(evaluated.out).at(0).at("accuracy").get<double>(), 0.6);
  const Outcome inspected = weft({"inspect", "run", "--json"});
  const nlohmann::json model = json_lines(inspected.out).at(0);
  EXPECT_EQ(model.at("network"), "tiny.net");
  EXPECT_EQ(model.at("definition"), kTiny);
  EXPECT_EQ(weft({"inspect", "run", "--definition"}).out, kTiny);
  std::vector<std::string> predict = {"predict", "run", "--device", "cpu"};
  for (const auto& entry : fs::directory_iterator(folder() / "run" / "samples")) {
    predict.push_back(entry.path().string());
  }
  const Outcome predicted = weft(predict);
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_EQ(lines_of(predicted.out).size(), predict.size() - 4);

  // A file that says the same may be named with --resume, and another one may not.
  EXPECT_EQ(
      weft({"train", "--resume", "run", "--model", "moved/tiny.net", "--device", "cpu"}).exit_code,
      0);
  write("moved/tiny.net", std::string("tanh\n") + kTiny);
  const std::string before = read("run/optimizer.safetensors");
  expect_error(weft({"train", "--resume", "run", "--model", "moved/tiny.net", "--device", "cpu"}),
               2, "moved/tiny.net differs from the network that the run in run began with");
  expect_error(weft({"train", "--resume", "run", "--model", "lenet5", "--device", "cpu"}), 2,
               "differs from the network");
  EXPECT_TRUE(read("run/optimizer.safetensors") == before);
}

TEST_F(NetworkFiles, GiveTheBitsOfTheBuiltInNetworkThatTheyCopy) {
  const Outcome definition = weft({"inspect", "lenet5", "--definition"});
  ASSERT_EQ(definition.exit_code, 0) << definition.err;
  write("copy.net", "\xef\xbb\xbf" + definition.out);  // as an editor on Windows writes it
  const std::vector<std::string> rest = {"--limit-train", "300",    "--epochs", "1",
                                         "--dataset",     "digits", "--device", "cpu",
                                         "--progress",    "off"};
  for (const std::string model : {"lenet5", "copy.net"}) {
    std::vector<std::string> arguments = {"train", "--model", model, "--out", "run-" + model};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    ASSERT_EQ(weft(arguments).exit_code, 0);
  }
  const auto tensors = [&](const std::string& run) {
    const std::string bytes = read(run + "/model.safetensors");
    std::uint64_t header = 0;
    std::copy_n(bytes.data(), sizeof header, reinterpret_cast<char*>(&header));
    return bytes.substr(sizeof header + header);
  };
  EXPECT_GT(tensors("run-lenet5").size(), 4u * 61706 - 1);
  EXPECT_TRUE(tensors("run-lenet5") == tensors("run-copy.net"));
}

TEST_F(NetworkFiles, AreShownBeforeTraining) {
  write("tiny.net", kTiny);
  const Outcome outcome =
      weft({"inspect", "tiny.net", "--input", "3x32x20", "--classes", "7", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json event = json_lines(outcome.out).at(0);
  // 3 x 25 x 8 + 8, 16, 64 x 9 + 8, 16, and 8 planes of 8 x 5 to 7 classes.
  EXPECT_EQ(event.at("parameters"), 608 + 16 + 584 + 16 + 320 * 7 + 7);
  EXPECT_EQ(event.at("layers").at(0).at("output"), "(8, 16, 10)");
  EXPECT_EQ(event.at("layers").back().at("output"), "(7,)");
  EXPECT_EQ(event.at("channels"), 3);
  EXPECT_EQ(weft({"inspect", "resnet9", "--input", "3x32x32"}).exit_code, 0);
  // The memory of the table is not taken: this network would need more than 4 GB for its weights.
  write("large.net", "linear 32000\nlinear 32000\nlinear classes\n");
  const Outcome large = weft({"inspect", "large.net"});
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_LT(large.peak_bytes, 500'000'000);
  for (const std::string input : {"", "3", "3x", "3x32", "3x32x", "3x32x32x1", "ax32x32", "0x3x3",
                                  "3x32x99999999999999999999", "3x-1x5"}) {
    if (input.empty()) continue;
    EXPECT_EQ(weft({"inspect", "tiny.net", "--input", input}).exit_code, 2) << input;
  }
  EXPECT_EQ(weft({"inspect", "none", "--classes", "3"}).exit_code, 2);
}

TEST_F(NetworkFiles, MistakesAreOneLineAndLeaveNothing) {
  const auto refuses = [&](const std::string& text, const std::string& message) {
    SCOPED_TRACE(text);
    write("bad.net", text);
    expect_error(weft({"train", "--model", "bad.net", "--dataset", "digits", "--limit-train", "100",
                       "--device", "cpu", "--out", "run"}),
                 3, message);
    expect_error(weft({"inspect", "bad.net"}), 3, message);
    EXPECT_FALSE(fs::exists(folder() / "run"));
  };
  refuses("relu\n  conv 3 x\n", "bad.net:2:10: expected a window such as 3x3 or 3");
  refuses("conv 3 31x31\nlinear classes\n", "bad.net:1:1: conv1: Conv2d(1, 3, kernel 31x31)");
  refuses("residual {\nconv 3 3x3\n}\nlinear classes\n", "bad.net:3:1: the residual block gives");
  refuses("", "bad.net:1:1: expected at least one layer");
  expect_error(weft({"train", "--model", "none.net", "--device", "cpu"}), 3, "none.net");
  write("fixed.net", "dropout 0.5\nlinear classes\n");
  expect_error(weft({"train", "--model", "fixed.net", "--dropout", "0.5", "--device", "cpu"}), 2,
               "--dropout is for convnet");
  write("odd name.net", "linear classes\n");
  expect_error(weft({"train", "--model", "odd name.net", "--device", "cpu"}), 2, "named NAME.net");
}

}  // namespace
}  // namespace weft::test
