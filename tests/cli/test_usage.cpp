// SPDX-License-Identifier: MIT
// Help, versions, misspelt words and values that make no sense: what a command line can get wrong.
#include <iterator>
#include <set>
#include <sstream>

#include "tests/cli/manual.h"
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
      {{"train", "--val-split", "0.1", "--calibration-split", "0.1"}, "exclude each other"},
      {{"train", "--log-every", "0"}, "--log-every: expected"},
      {{"train", "--dropout", "1"}, "--dropout: expected"},
      {{"train", "--dropout", "0.5"}, "--dropout is for convnet"},
      {{"train", "--seed", "-1"}, "--seed: expected"},
      {{"train", "--limit-train", "0"}, "--limit-train: expected"},
      {{"train", "--lr-schedule", "onecycle"}, "did you mean 'one-cycle'?"},
      {{"lab", "run"}, "FILE is required"},
      {{"lab", "run", "--frob", "x.cu"}, "unknown option '--frob'"},
      {{"lab", "run", "--schedules", "0", "x.cu"}, "x.cu"},
      {{"train", "--progress", "maybe"}, "--progress: expected one of auto, on, off"},
      {{"train", "--precision", "fp8"}, "--precision: expected one of fp32, tf32, bf16"},
      {{"train", "--impl", "conv=direct,gemm=direct"}, "unknown gemm variant"},
      {{"train", "--device", "cpu", "--precision", "tf32"}, "needs a GPU"},
      {{"train", "--device", "gpu"}, "unknown device 'gpu'; did you mean 'cuda'?"},
      {{"doctor", "--device", "gpu:0"}, "did you mean 'cuda'?"},
      {{"bench", "memory", "--device", "host-cuda"}, "kernel run FAMILY --device host-cuda"},
      {{"completion", "tcsh"}, "expected one of bash, zsh, fish"},
      {{"train", "--device", "cuda:x"}, "unknown device 'cuda:x'"},
      {{"train", "--model", "lenet"}, "did you mean 'lenet5'?"},
      {{"train", "--dataset", "mnst"}, "did you mean 'mnist'?"},
      {{"train", "--impl", "conv=sparse"}, "sparse"},
      {{"train", "--impl", "pool=naive"}, "expected conv=NAME,conv_relu_pool=NAME"},
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

// CLI11 takes whatever follows for the value.
TEST_F(Usage, AFlagWithoutItsValueSaysSo) {
  environment_["GOMP_SPINCOUNT"] = "2000";  // else the program starts itself once more to set it
  int checked = 0;
  for (const ManualFlag& flag : flags_of_manual(weft({"man"}).out)) {
    if (flag.type.empty()) continue;
    std::vector<std::string> words;
    std::istringstream command(flag.command);
    for (std::string word; command >> word;) words.push_back(word);
    SCOPED_TRACE(flag.command + " " + flag.name);
    const auto with = [&](std::vector<std::string> more) {
      std::vector<std::string> all = words;
      all.insert(all.end(), more.begin(), more.end());
      return weft(all);
    };
    const std::string line = flag.name + " needs a value";
    expect_error(with({flag.name, ++checked % 2 == 0 ? "--json" : "-h"}), 2, line + ", found '-");
    const bool is_long = flag.name.starts_with("--");
    expect_error(checked % 2 == 0 && is_long ? with({flag.name + "="}) : with({flag.name, ""}), 2,
                 line);
  }
  EXPECT_GT(checked, 100);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), 2);  // bin and io alone
  expect_error(weft({"train", "--out", "--"}), 2, "--out needs a value, found '--'");
  expect_error(weft({"train", "--epochs=", "3"}), 2, "--epochs needs a value");
  expect_error(weft({"train", "--out", "--x", "--json"}), 2, "--out=--x if that is the value");
  for (const char* command : {"eval", "inspect", "histogram", "scan"}) {
    expect_error(weft({command, ""}), 2, std::string(command) + " expects no empty word");
    expect_error(weft({command, "--", ""}), 2, std::string(command) + " expects no empty word");
  }
  // Values that begin with a dash.
  expect_error(weft({"train", "--epochs", "-3"}), 2, "found '-3'");
  expect_error(weft({"train", "--lr", "-.5"}), 2, "found '-.5'");
  expect_error(weft({"train", "--lr", "-inf"}), 2, "found '-inf'");
  expect_error(weft({"train", "--config=--x"}), 3, "--x");
  expect_error(weft({"train", "--config", "./--x"}), 3, "./--x");
  expect_error(weft({"import", "none.onnx", "--out", "m", "--mean", "-0.5"}), 3, "none.onnx");
}

TEST_F(Usage, DoctorNamesTheLibrariesAndTheirVersions) {
  const Outcome versions = weft({"doctor", "--versions", "--json"});
  ASSERT_EQ(versions.exit_code, 0) << versions.err;
  std::set<std::string> names;
  const nlohmann::json event = nlohmann::json::parse(versions.out);
  EXPECT_EQ("weft " + event.at("weft").get<std::string>() + "\n", weft({"--version"}).out);
  EXPECT_NE(event.at("flags"), "");
  // Both are known where the tree has a history, or none is.
  EXPECT_EQ(event.at("commit") == "", event.at("commit_date") == "");
  for (const auto& library : event.at("libraries")) {
    names.insert(library.at("name").get<std::string>());
    const std::string version =
        library.at("built").get<std::string>() + library.at("running").get<std::string>();
    EXPECT_NE(version.find_first_of("0123456789"), std::string::npos) << library;
  }
  for (const char* name : {"glibc", "fmt", "CLI11", "nlohmann-json", "zlib", "stb_image"}) {
    EXPECT_TRUE(names.contains(name)) << name;
    EXPECT_NE(weft({"doctor", "--versions"}).out.find(name), std::string::npos) << name;
  }
}

TEST_F(Usage, AMissingGpuIsADeviceError) {
  const Outcome doctor = weft({"doctor", "--json"});
  ASSERT_EQ(doctor.exit_code, 0) << doctor.err;
  const std::vector<nlohmann::json> events = json_lines(doctor.out);
  ASSERT_EQ(events.size(), 1u);
  if (!events[0].at("gpus").empty()) GTEST_SKIP() << "this machine has a GPU";
  expect_error(weft({"train", "--dataset", "digits", "--device", "cuda"}), 4, "no usable GPU");
  expect_error(weft({"doctor", "--device", "cuda"}), 4, "no usable GPU");
}

TEST_F(Usage, DoctorTellsWhatWillRun) {
  EXPECT_NE(weft({"doctor", "--device", "cpu"}).out.find("runs on    cpu\n"), std::string::npos);
  const Outcome outcome = weft({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* word :
       {"GPU", "CPU", "threads", "mnist", "WebP", "TIFF", "HEIC", "MPI", "NCCL"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << "\n" << outcome.out;
  }
}

// MPI and NCCL are there, or the reason is.
TEST_F(Usage, DoctorTellsWhatCarriesDataBetweenRanks) {
  const Outcome json = weft({"doctor", "--json"}), text = weft({"doctor"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const nlohmann::json event = nlohmann::json::parse(json.out);
  for (const std::string name : {"mpi", "nccl"}) {
    const std::string found = event.at(name), reason = event.at("no_" + name + "_because");
    EXPECT_NE(found.empty(), reason.empty()) << json.out;
    const std::string said = found.empty() ? "none: " + reason : found;
    EXPECT_NE(text.out.find(said.substr(0, 40)), std::string::npos) << said << "\n" << text.out;
  }
  const bool has_module = fs::exists(fs::path(WEFT_BINARY).parent_path() / "libweft_mpi.so");
  EXPECT_EQ(event.at("mpi").get<std::string>().empty(), !has_module) << json.out;
}

TEST_F(Usage, EveryHelpEndsWithTheExitCodes) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"train", "--help"}, {"scan", "--help"}, {"data", "fetch", "--help"}}) {
    const std::string help = weft(arguments).out;
    EXPECT_TRUE(help.ends_with("130 interrupted after writing a checkpoint.\n")) << help;
    EXPECT_NE(help.find("\nExit codes: 0 ok,"), std::string::npos);
  }
  EXPECT_EQ(weft({"bench", "--help"}).out.find("host-cuda"), std::string::npos);
}

TEST_F(Usage, HelpOfNothingIsAnError) {
  expect_error(weft({"help", "trian"}), 2, "unknown command 'trian'; did you mean 'train'?");
  expect_error(weft({"nosuch", "--help"}), 2, "unknown command 'nosuch'; known: train");
  expect_error(weft({"help", "kernel", "shwo"}), 2, "unknown command 'shwo'; did you mean 'show'?");
  expect_error(weft({"data", "nosuch", "-h"}), 2, "unknown command 'nosuch'");
}

TEST_F(Usage, ARequiredChoiceNamesItsWords) {
  expect_error(weft({"completion"}), 2, "SHELL is required, one of bash, zsh, fish");
}

TEST_F(Usage, BenchSaysAtOnceThatItCannotWrite) {
  for (const std::string flag : {"--report", "--json"}) {
    const Outcome outcome = weft({"bench", "scan", flag, "nowhere/x", "--device", "cpu"});
    expect_error(outcome, 3, flag + ": there is no folder nowhere");
    EXPECT_EQ(outcome.out, "");
  }
  if (!permissions_can_be_obeyed()) GTEST_SKIP() << "root may write anywhere";
  obey_permissions_ = true;
  fs::create_directory(folder() / "locked");
  fs::permissions(folder() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(weft({"bench", "scan", "--report", "locked/x.html"}), 3,
               "--report: cannot write to locked: Permission denied");
}

TEST_F(Usage, TheLabSaysAtOnceWhatIsMissing) {
  write("empty.cu", "int main() {}\n");
  expect_error(weft({"lab", "run", "--watch", "nowhere/p.html", "empty.cu"}), 3,
               "--watch: there is no folder nowhere");
  if (weft({"lab", "run", "empty.cu"}).err.find("built without the lab") != std::string::npos) {
    GTEST_SKIP() << "built without the lab";
  }
  // Neither nvidia-smi nor a compiler is on this PATH.
  expect_error(weft({"lab", "run", "--device", "cuda", "empty.cu"}), 4, "needs a GPU");
  expect_error(weft({"lab", "run", "gone.cu", "more.cpp", "--", "word"}), 3, "gone.cu");
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
