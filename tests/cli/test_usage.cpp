// SPDX-License-Identifier: MIT
// Help, versions, misspelt words and values that make no sense: what a command line can get wrong.
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Usage : public ProgramTest {};

TEST_F(Usage, NoArgumentsShowTheFirstCommands) {
  const Outcome outcome = weft({});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* word : {" train", " predict", " doctor", "--help"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
  }
}

TEST_F(Usage, HelpAndVersionGoToStdout) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"help"}, {"train", "--help"}, {"help", "train"}, {"data", "fetch", "-h"}}) {
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments.front();
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("Usage: "), std::string::npos) << outcome.out;
  }
  const Outcome version = weft({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.out.starts_with("weft ")) << version.out;
  EXPECT_EQ(lines_of(version.out).size(), 1u);
  EXPECT_EQ(weft({"help", "train"}).out, weft({"train", "--help"}).out);
}

struct Mistake {
  std::vector<std::string> arguments;
  std::string part;  // of the one line on stderr
};

TEST_F(Usage, MistakesAreOneLineAndExitTwo) {
  const std::vector<Mistake> mistakes = {
      {{"trian"}, "did you mean 'train'?"},
      {{"evaluate", "x"}, "did you mean 'eval'?"},
      {{"frobnicate"}, "unknown command 'frobnicate'"},
      {{"--verison"}, "did you mean '--version'?"},
      {{"train", "--epoch", "3"}, "did you mean '--epochs'?"},
      {{"train", "--learning-rate", "3"}, "unknown option '--learning-rate'"},
      {{"train", "extra"}, "unexpected argument 'extra'"},
      {{"train", "--epochs"}, "--epochs needs a value"},
      {{"train", "--epochs", "0"}, "--epochs: expected a whole number from 1"},
      {{"train", "--epochs", "-1"}, "found '-1'"},
      {{"train", "--epochs", "1000000000"}, "found '1000000000'"},
      {{"train", "--epochs", "99999999999999999999"}, "--epochs: expected"},
      {{"train", "--epochs", "3x"}, "found '3x'"},
      {{"train", "--epochs", ""}, "--epochs"},
      {{"train", "--batch-size", "0"}, "--batch-size: expected"},
      {{"train", "--batch-size", "2000000"}, "--batch-size: expected"},
      {{"train", "--lr", "nan"}, "--lr: expected a number"},
      {{"train", "--lr", "inf"}, "--lr: expected a number"},
      {{"train", "--lr", "-0.1"}, "--lr: expected a number"},
      {{"train", "--lr", "1e30"}, "--lr: expected a number"},
      {{"train", "--momentum", "1"}, "--momentum: expected"},
      {{"train", "--weight-decay", "-1"}, "--weight-decay: expected"},
      {{"train", "--threads", "0"}, "--threads: expected"},
      {{"train", "--val-split", "1.5"}, "--val-split: expected"},
      {{"train", "--dropout", "1"}, "--dropout: expected"},
      {{"train", "--dropout", "0.5"}, "--dropout is for convnet"},
      {{"train", "--seed", "-1"}, "--seed: expected"},
      {{"train", "--limit-train", "0"}, "--limit-train: expected"},
      {{"train", "--lr-schedule", "onecycle"}, "did you mean 'one-cycle'?"},
      {{"train", "--progress", "maybe"}, "--progress: expected one of auto, on, off"},
      {{"train", "--precision", "fp8"}, "--precision: expected one of fp32, tf32, bf16"},
      {{"train", "--impl", "conv=direct,gemm=direct"}, "unknown gemm variant"},
      {{"train", "--device", "cpu", "--precision", "tf32"}, "needs a GPU"},
      {{"train", "--device", "gpu"}, "unknown device 'gpu'"},
      {{"train", "--device", "cuda:x"}, "unknown device 'cuda:x'"},
      {{"train", "--model", "lenet"}, "did you mean 'lenet5'?"},
      {{"train", "--dataset", "mnst"}, "did you mean 'mnist'?"},
      {{"train", "--impl", "conv=sparse"}, "sparse"},
      {{"train", "--impl", "pool=naive"}, "expected conv=NAME,gemm=NAME"},
      {{"train", "--momentum", "0", "--nesterov"}, "--nesterov needs"},
      {{"train", "--resume", "run", "--lr", "0.1"}, "--lr cannot be combined with --resume"},
      {{"train", "--out", ""}, "--out needs"},
      {{"eval"}, "MODEL"},
      {{"predict"}, "MODEL"},
      {{"predict", "model"}, "IMAGE"},
      {{"predict", "model", "a.png", "--top-k", "0"}, "--top-k: expected"},
      {{"predict", "model", "a.png", "--preprocess", "magic"}, "--preprocess: expected one of"},
      {{"predict", "model", "a.png", "--invert", "perhaps"}, "--invert: expected one of"},
      {{"data"}, "fetch, verify, info"},
      {{"data", "fetsh"}, "did you mean 'fetch'?"},
      {{"data", "info", "--dataset", "imagenet"}, "unknown data set 'imagenet'"},
  };
  for (const Mistake& mistake : mistakes) {
    std::string line = "weft";
    for (const std::string& argument : mistake.arguments) line += " '" + argument + "'";
    SCOPED_TRACE(line);
    const Outcome outcome = weft(mistake.arguments);
    expect_error(outcome, 2, mistake.part);
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_FALSE(fs::exists(folder() / "runs"));
}

TEST_F(Usage, AMissingGpuIsADeviceError) {
  const Outcome doctor = weft({"doctor", "--json"});
  ASSERT_EQ(doctor.exit_code, 0) << doctor.err;
  const std::vector<nlohmann::json> events = json_lines(doctor.out);
  ASSERT_EQ(events.size(), 1u);
  if (!events[0].at("gpus").empty()) GTEST_SKIP() << "this machine has a GPU";
  expect_error(weft({"train", "--dataset", "digits", "--device", "cuda"}), 4, "no usable GPU");
}

TEST_F(Usage, DoctorTellsWhatWillRun) {
  const Outcome outcome = weft({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* word : {"GPU", "CPU", "threads", "mnist"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << "\n" << outcome.out;
  }
}

TEST_F(Usage, AClosedPipeIsQuiet) {
  const Outcome outcome = shell("\"$WEFT\" --help | true; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(outcome.out, "0\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Usage, AFullDiskBehindStdoutIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Outcome outcome = shell("\"$WEFT\" --help > /dev/full");
  expect_error(outcome, 3, "cannot write to standard output");
}

TEST_F(Usage, CommandsToTypeUseTheNameThatThePersonTyped) {
  environment_["WEFT_PROGRAM"] = "./run";
  EXPECT_NE(weft({}).out.find("./run train"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
