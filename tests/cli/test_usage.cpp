// SPDX-License-Identifier: MIT
// Help, versions, misspelt words and values that make no sense: what a command line can get wrong.
#include <regex>
#include <set>

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

TEST_F(Usage, DoctorNamesTheLibrariesAndTheirVersions) {
  const Outcome versions = weft({"doctor", "--versions", "--json"});
  ASSERT_EQ(versions.exit_code, 0) << versions.err;
  std::set<std::string> names;
  const nlohmann::json event = nlohmann::json::parse(versions.out);
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
  for (const char* word : {"GPU", "CPU", "threads", "mnist", "WebP", "MPI", "NCCL"}) {
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

// What bash offers after `words`, the last of which is begun.
class Completion : public ProgramTest {
 protected:
  std::vector<std::string> offered(const std::string& words) {
    const Outcome outcome = shell("source <(\"$WEFT\" completion bash); COMP_WORDS=(weft " + words +
                                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _weft; printf '%s\\n' "
                                  "\"${COMPREPLY[@]}\"");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return lines_of(outcome.out);
  }
};

TEST_F(Completion, BashOffersCommandsFlagsAndChoices) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered("tr"), Words{"train"});
  EXPECT_EQ(offered("kernel sh"), Words{"show"});
  EXPECT_EQ(offered("train --weight"), Words{"--weight-decay"});
  EXPECT_EQ(offered("train --lr-schedule co"), (Words{"constant", "cosine"}));
  EXPECT_EQ(offered("train --lr-schedule = co"), (Words{"constant", "cosine"}));
  EXPECT_EQ(offered("train --lr-schedule ="), (Words{"constant", "step", "cosine", "one-cycle"}));
  EXPECT_EQ(offered("bench train --see"), Words{"--seeds"});  // not those of weft train
  EXPECT_EQ(offered("bench train --epo"), Words{""});
  EXPECT_EQ(offered("train --json --weight"), Words{"--weight-decay"});  // a flag takes no value
  EXPECT_EQ(offered("train --config a"), Words{""});                     // then bash offers files
}

TEST_F(Completion, OtherShellsAcceptTheirScripts) {
  write("show.zsh",
        "compdef() { :; }; source <($WEFT completion zsh); _arguments() { print -rl -- $@; }\n"
        "words=(show); _weft_kernel_show; print $+functions[_weft_bench_train]\n");
  write("show.fish",
        "$WEFT completion fish | source; complete -C 'weft kernel sh'\n"
        "complete -C 'weft train --lr-schedule co'\n"
        "complete -C 'weft bench train --se'\n");
  bool tried = false;
  for (const std::string name : {"zsh", "fish"}) {
    const std::string program = "/usr/bin/" + name;
    if (!fs::exists(program)) continue;
    tried = true;
    const Outcome outcome =
        shell(program + (name == "zsh" ? " -f" : " --no-config") + " show." + name);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    const std::vector<std::string> parts =
        name == "zsh" ? std::vector<std::string>{"--size=[size of the problem", "1\n"}
                      : std::vector<std::string>{"show\t", "constant\t", "cosine\t", "--seeds\t"};
    for (const std::string& part : parts) {
      EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
    }
  }
  if (!tried) GTEST_SKIP() << "neither zsh nor fish is installed";
}

// What zsh and fish themselves would read, where they are not installed too.
TEST_F(Completion, EveryShellHearsOfEveryCommandAndItsFlags) {
  const std::string zsh = weft({"completion", "zsh"}).out, fish = weft({"completion", "fish"}).out;
  for (const char* part :
       {"#compdef weft\n", "_weft_kernel_show() {\n", "'--lr-schedule=[", ":value:(constant step ",
        "'--config=[", ":value:_files'", "'scan:", "compdef _weft weft\n"}) {
    EXPECT_NE(zsh.find(part), std::string::npos) << part;
  }
  for (const char* part :
       {"complete -c weft -n \"__weft_at ' kernel'\" -f -a show -d '",
        " -l lr-schedule -x -a 'constant step ", " -l config -r -d '", "and set path"}) {
    EXPECT_NE(fish.find(part), std::string::npos) << part;
  }
}

TEST_F(Completion, TheManualPageTellsEveryCommandAndFlag) {
  const Outcome page = weft({"man"});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  for (const char* part : {".TH WEFT 1", ".SS \"weft\\& kernel show\"", "\\-\\-val\\-split",
                           ".SH EXIT STATUS", "weft scan lengths.npy"}) {
    EXPECT_NE(page.out.find(part), std::string::npos) << part;
  }
  if (!fs::exists("/usr/bin/groff")) GTEST_SKIP() << "groff is not installed";
  write("weft.1", page.out);
  const Outcome shown = shell("PATH=/usr/bin:/bin groff -ww -k -man -Tutf8 weft.1");
  EXPECT_EQ(shown.err, "");
  const std::string words = std::regex_replace(shown.out, std::regex("\\s+"), " ");
  EXPECT_NE(words.find("passes over the data"), std::string::npos);
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
