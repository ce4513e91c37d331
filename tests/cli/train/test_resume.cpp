// SPDX-License-Identifier: MIT
// weft train: runs that were stopped, killed or cut short by a full disk, and how they go on.
#include <chrono>
#include <set>
#include <thread>

#include "tests/cli/manual.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Resume : public ProgramTest {};

TEST_F(Resume, StopAndResumeGiveTheSameBits) {
  ASSERT_EQ(train_small("whole").exit_code, 0);
  const Outcome half = train_small("halves", {"--stop-after", "1"});
  ASSERT_EQ(half.exit_code, 0) << half.err;
  EXPECT_NE(half.out.find("train --resume halves"), std::string::npos) << half.out;
  EXPECT_FALSE(read("whole/model.safetensors") == read("halves/model.safetensors"));
  const Outcome rest = weft({"train", "--resume", "halves", "--device", "cpu"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(read("whole/model.safetensors") == read("halves/model.safetensors"));
}

TEST_F(Resume, AnInterruptSavesExits130AndResumes) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string run = "run-" + std::to_string(signal);
    const Process process =
        start({"train", "--dataset", "digits", "--limit-train", "3000", "--epochs", "60",
               "--lr-schedule", "constant", "--device", "cpu", "--json", "--out", run});
    ASSERT_TRUE(process.wait_for("\"event\":\"epoch\""));
    kill(process.pid(), signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_NE(outcome.err.find("weft: stopping, saving; once more quits without\n"),
              std::string::npos)
        << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    const nlohmann::json end = end_of(events);
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

TEST_F(Resume, AKilledRunResumesFromItsLastCheckpoint) {
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

TEST_F(Resume, AFinishedRunSaysSoAndShowsNoEmptyTable) {
  ASSERT_EQ(train_small("run", {"--epochs", "1"}).exit_code, 0);
  const Outcome again = weft({"train", "--resume", "run", "--device", "cpu"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("run, finished: nothing is left to train after 1 epoch"),
            std::string::npos)
      << again.out;
  EXPECT_EQ(again.out.find("images/s"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("wrong, after 1 epoch.\n"), std::string::npos) << again.out;
  EXPECT_NE(weft({"inspect", "run"}).out.find("1 epoch, test accuracy"), std::string::npos);
}

TEST_F(Resume, AResumeInAnEpochSaysWhereItGoesOn) {
  const auto images_done = [&] {
    return nlohmann::json::parse(read("run/state.json")).at("images_of_next_epoch_done");
  };
  // Runs until `text` is printed, and `delay` longer.
  const auto interrupted = [&](std::vector<std::string> arguments, const std::string& text,
                               int delay) {
    arguments.insert(arguments.begin(), {"train", "--device", "cpu", "--progress", "off"});
    const Process process = start(arguments);
    EXPECT_TRUE(process.wait_for(text));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    kill(process.pid(), SIGINT);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    return outcome.out;
  };
  std::string out = interrupted({"--dataset", "digits", "--limit-train", "20000", "--epochs", "99",
                                 "--lr-schedule", "constant", "--out", "run"},
                                "images/s", 100);
  for (int i = 2; images_done() == 0 && i < 20; ++i) {  // between two epochs
    out = interrupted({"--resume", "run"}, "images/s", 100 * i);
  }
  const nlohmann::json images = images_done();
  ASSERT_GT(images, 0);
  EXPECT_NE(out.find(" of 99 epochs done and "), std::string::npos) << out;
  const std::vector<nlohmann::json> events =
      json_lines(interrupted({"--resume", "run", "--json"}, "\"event\":\"start\"", 0));
  EXPECT_EQ(events.at(0).at("images_before"), images);
  if (images_done() > 0) interrupted({"--resume", "run"}, "run, goes on in epoch ", 0);
}

// A new flag is refused until it is known to leave the run's settings alone.
TEST_F(Resume, OnlyAFewFlagsGoWithIt) {
  const std::set<std::string> may_change = {
      "--resume",     "--model",      "--epochs",        "--stop-after",     "--dry-run",
      "--data-dir",   "--data",       "--skip-broken",   "--no-cache",       "--device",
      "--threads",    "--timings",    "--deterministic", "--devices",        "--rank",
      "--world-size", "--rendezvous", "--rank-timeout",  "--reduction",      "--device-data-limit",
      "--progress",   "--json",       "--help",          "--run-token-file", "--no-token",
      "--no-links"};
  environment_["GOMP_SPINCOUNT"] = "2000";  // else the program starts itself once more to set it
  int refused = 0;
  for (const ManualFlag& flag : flags_of_manual(weft({"man"}).out)) {
    if (flag.command != "train" || may_change.contains(flag.name)) continue;
    std::vector<std::string> words = {"train", "--resume", "run", flag.name};
    if (!flag.type.empty()) words.push_back(flag.value());
    expect_error(weft(words), 2, flag.name + " cannot be combined with --resume");
    ++refused;
  }
  EXPECT_GE(refused, 39);
}

TEST_F(Resume, AFullDiskKeepsTheLastCheckpoint) {
  file_size_limit_ = 100 * 1024;  // model and optimizer files are larger
  expect_error(train_small("run"), 3, "run");
  file_size_limit_ = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder() / "run")) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace weft::test
