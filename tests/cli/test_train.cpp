// SPDX-License-Identifier: MIT
// weft train: its run directory, its output for people and programs, fallback, resume, signals.
#include <chrono>
#include <thread>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Train : public ProgramTest {
 protected:
  static const nlohmann::json& end_of(const std::vector<nlohmann::json>& events) {
    static const nlohmann::json nothing = nlohmann::json::object();
    return events.empty() ? nothing : events.back();
  }
};

TEST_F(Train, WritesARunThatTheOtherCommandsUnderstand) {
  const Outcome outcome = train_small("my run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* name : {"config.json", "metrics.jsonl", "model.safetensors", "curves.svg",
                           "optimizer.safetensors", "state.json"}) {
    EXPECT_TRUE(fs::exists(folder() / "my run" / name)) << name;
  }
  const std::string svg = read("my run/curves.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder() / "my run/samples"), {}), 8);
  EXPECT_NE(outcome.out.find("worst mistakes"), std::string::npos);
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos) << "colour in a file";

  // The commands it says to try next work as printed.
  std::vector<std::string> commands;
  bool next = false;
  for (const std::string& line : lines_of(outcome.out)) {
    if (next && line.starts_with("  ")) commands.push_back(line);
    next = next || line.starts_with("Next, try");
  }
  ASSERT_EQ(commands.size(), 3u) << outcome.out;
  for (const std::string& command : commands) {
    const Outcome tried = shell(command);
    EXPECT_EQ(tried.exit_code, 0) << command << "\n" << tried.err;
    EXPECT_NE(tried.out, "") << command;
  }
}

TEST_F(Train, JsonLinesHoldEverythingAndStdoutNothingElse) {
  const Outcome outcome = train_small("run", {"--json", "--val-split", "0.1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  ASSERT_EQ(events.size(), 4u) << outcome.out;
  EXPECT_EQ(events[0].at("event"), "start");
  EXPECT_EQ(events[1].at("event"), "epoch");
  EXPECT_EQ(events[2].at("event"), "epoch");
  const nlohmann::json& end = events[3];
  EXPECT_EQ(end.at("event"), "end");
  EXPECT_GT(end.at("test_accuracy").get<double>(), 0.5);
  EXPECT_LE(end.at("test_accuracy").get<double>(), 1.0);
  EXPECT_GT(end.at("seconds").get<double>(), 0.0);
  EXPECT_EQ(end.at("epochs"), 2);
  EXPECT_EQ(end.at("device"), "cpu");
  EXPECT_TRUE(fs::exists(folder() / end.at("model_path").get<std::string>()));
  EXPECT_TRUE(fs::exists(folder() / "run/best.safetensors"));
}

TEST_F(Train, SameFlagsSameBits) {
  ASSERT_EQ(train_small("a", {"--deterministic"}).exit_code, 0);
  ASSERT_EQ(train_small("b", {"--deterministic", "--threads", "1"}).exit_code, 0);
  const std::string a = read("a/model.safetensors");
  EXPECT_FALSE(a.empty());
  EXPECT_TRUE(a == read("b/model.safetensors"));
  ASSERT_EQ(train_small("c", {"--seed", "2"}).exit_code, 0);
  EXPECT_FALSE(a == read("c/model.safetensors"));
}

TEST_F(Train, StopAndResumeGiveTheSameBits) {
  ASSERT_EQ(train_small("whole").exit_code, 0);
  const Outcome half = train_small("halves", {"--stop-after", "1"});
  ASSERT_EQ(half.exit_code, 0) << half.err;
  EXPECT_NE(half.out.find("train --resume halves"), std::string::npos) << half.out;
  EXPECT_FALSE(read("whole/model.safetensors") == read("halves/model.safetensors"));
  const Outcome rest = weft({"train", "--resume", "halves", "--device", "cpu"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(read("whole/model.safetensors") == read("halves/model.safetensors"));
}

TEST_F(Train, AnInterruptSavesExits130AndResumes) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string run = signal == SIGINT ? "int" : "term";
    const Process process =
        start({"train", "--dataset", "digits", "--limit-train", "3000", "--epochs", "60",
               "--lr-schedule", "constant", "--device", "cpu", "--json", "--out", run});
    ASSERT_TRUE(process.wait_for("\"event\":\"epoch\""));
    kill(process.pid(), signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    const nlohmann::json& end = end_of(events);
    EXPECT_EQ(end.at("event"), "end");
    EXPECT_TRUE(end.at("interrupted").get<bool>());
    const int done = end.at("epochs").get<int>();
    EXPECT_GE(done, 1);
    EXPECT_LT(done, 60);
    const Outcome resumed = weft({"train", "--resume", run, "--device", "cpu", "--epochs",
                                  std::to_string(done + 1), "--json"});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(end_of(json_lines(resumed.out)).at("epochs"), done + 1);
  }
}

TEST_F(Train, AKilledRunResumesFromItsLastCheckpoint) {
  const Process process =
      start({"train", "--dataset", "digits", "--limit-train", "3000", "--epochs", "60",
             "--lr-schedule", "constant", "--device", "cpu", "--json", "--out", "run"});
  ASSERT_TRUE(process.wait_for("\"epoch\":2"));
  // Short epochs are written several at a time.
  for (int i = 0; i < 200 && !fs::exists(folder() / "run/model.safetensors"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(process.pid(), SIGKILL);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  EXPECT_EQ(weft({"inspect", "run"}).exit_code, 0);
  const Outcome resumed =
      weft({"train", "--resume", "run", "--device", "cpu", "--stop-after", "3", "--json"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_GE(end_of(json_lines(resumed.out)).at("epochs").get<int>(), 2);
}

TEST_F(Train, WithoutDataAndNetworkItSaysSoAndUsesTheBuiltInDigits) {
  const Outcome outcome = weft(
      {"train", "--limit-train", "2000", "--epochs", "1", "--device", "cpu", "--progress", "off"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_FALSE(outcome.err.empty());
  EXPECT_NE(lines_of(outcome.err).back().find("built-in digits"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::exists(folder() / "runs/lenet5-digits-1/model.safetensors"));
  // The next run does not overwrite it.
  ASSERT_EQ(weft({"train", "--dataset", "digits", "--limit-train", "2000", "--epochs", "1",
                  "--device", "cpu", "--progress", "off"})
                .exit_code,
            0);
  EXPECT_TRUE(fs::exists(folder() / "runs/lenet5-digits-2/model.safetensors"));
}

TEST_F(Train, DryRunWritesNothing) {
  const Outcome outcome = weft({"train", "--dataset", "digits", "--device", "cpu", "--dry-run"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("938"), std::string::npos) << outcome.out;  // ceil(60000 / 64)
  EXPECT_FALSE(fs::exists(folder() / "runs"));
  const Outcome json =
      weft({"train", "--dataset", "digits", "--device", "cpu", "--dry-run", "--json"});
  ASSERT_EQ(json_lines(json.out).size(), 1u);
  EXPECT_EQ(json_lines(json.out)[0].at("steps_per_epoch"), 938);
}

TEST_F(Train, ProgressGoesToStderrOnly) {
  const Outcome shown = train_small("a", {"--progress", "on", "--epochs", "1"});
  EXPECT_NE(shown.err.find("images/s"), std::string::npos) << shown.err;
  EXPECT_EQ(shown.out.find('\r'), std::string::npos);
}

TEST_F(Train, EveryNetworkTrains) {
  for (const char* model : {"mlp", "lenet5-classic", "convnet", "convnet-bn"}) {
    const Outcome outcome =
        weft({"train", "--model", model, "--dataset", "digits", "--limit-train", "256", "--epochs",
              "1", "--device", "cpu", "--out", model, "--augment", "--json", "--progress", "off"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(end_of(json_lines(outcome.out)).at("event"), "end");
  }
}

TEST_F(Train, ARecipeSetsEverythingAndFlagsChangeSingleSettings) {
  const auto plan_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", "--dataset", "digits", "--device",
                                          "cpu",   "--dry-run", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json_lines(outcome.out).at(0);
  };
  const nlohmann::json accurate = plan_of({"--recipe", "accurate"});
  EXPECT_EQ(accurate.at("model"), "convnet-bn");
  EXPECT_EQ(accurate.at("epochs"), 24);
  EXPECT_GT(accurate.at("ema_decay").get<double>(), 0.9);
  const nlohmann::json changed =
      plan_of({"--recipe", "accurate", "--epochs", "2", "--batch-size", "100", "--ema", "0"});
  EXPECT_EQ(changed.at("model"), "convnet-bn");
  EXPECT_EQ(changed.at("epochs"), 2);
  EXPECT_EQ(changed.at("steps_per_epoch"), 600);
  EXPECT_EQ(changed.at("ema_decay"), 0);
  EXPECT_EQ(plan_of({"--recipe", "fast"}).at("model"), "lenet5");
  expect_error(weft({"train", "--recipe", "accurat"}), 2, "did you mean 'accurate'");
  expect_error(weft({"train", "--recipe", "fast", "--augment", "--no-augment"}), 2, "exclude");
  expect_error(weft({"train", "--resume", "run", "--recipe", "fast"}), 2, "--recipe");
}

TEST_F(Train, AveragedWeightsWithSmoothedLabelsAreWhatEvalSees) {
  const Outcome outcome =
      train_small("run", {"--ema", "0.9", "--label-smoothing", "0.1", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Outcome eval = weft({"eval", "run", "--dataset", "digits", "--device", "cpu", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(end_of(json_lines(eval.out)).at("accuracy"),
            end_of(json_lines(outcome.out)).at("test_accuracy"));
}

TEST_F(Train, ARunIsNeverOverwritten) {
  ASSERT_EQ(train_small("run").exit_code, 0);
  const std::string before = read("run/model.safetensors");
  expect_error(train_small("run"), 2, "run");
  EXPECT_TRUE(before == read("run/model.safetensors"));
}

TEST_F(Train, ARunDirectoryThatCannotBeWrittenIsOneLine) {
  write("file", "x");
  expect_error(train_small("file/run"), 3, "file");
  if (geteuid() != 0) {
    fs::create_directory(folder() / "locked");
    fs::permissions(folder() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
    expect_error(train_small("locked/run"), 3, "locked");
  }
}

TEST_F(Train, AFullDiskKeepsTheLastCheckpoint) {
  file_size_limit_ = 100 * 1024;  // model and optimizer files are larger
  expect_error(train_small("run"), 3, "run");
  file_size_limit_ = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder() / "run")) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(Train, ADivergedLossNamesALayerAndExitsOne) {
  expect_error(
      train_small("run", {"--lr", "1000", "--momentum", "0.99", "--lr-schedule", "constant"}), 1,
      "not finite");
  EXPECT_TRUE(fs::exists(folder() / "run/optimizer.safetensors"));  // the last good checkpoint
}

}  // namespace
}  // namespace weft::test
