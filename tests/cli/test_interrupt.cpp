// SPDX-License-Identifier: MIT
// The signals that end a program: what is saved, what a second one does, and what stays behind.
// test_resume.cpp and test_nbody.cpp have the runs that are saved by the first one.
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

class Interrupt : public ProgramTest {
 protected:
  // A pipe that is full: a program that writes to it waits for ever.
  void SetUp() override {
    ProgramTest::SetUp();
    ASSERT_EQ(mkfifo((folder() / "full").c_str(), 0600), 0);
    pipe_ = open((folder() / "full").c_str(), O_RDWR | O_NONBLOCK);
    const std::string page(4096, 'x');
    while (::write(pipe_, page.data(), page.size()) > 0) {
    }
  }
  void TearDown() override {
    close(pipe_);
    ProgramTest::TearDown();
  }

  bool wait_for_file(const std::string& part) const {
    for (int i = 0; i < 3000; ++i, sleep_ms(10)) {
      if (!files_with(part).empty()) return true;
    }
    return false;
  }
  std::vector<std::string> files_with(const std::string& part) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      const std::string name = fs::relative(entry.path(), folder()).string();
      if (name.find(part) != std::string::npos) found.push_back(name);
    }
    return found;
  }

 private:
  int pipe_ = -1;
};

constexpr const char* kTrain =
    "$WEFT train --dataset digits --limit-train 1000 --epochs 2 --device cpu --progress off --json "
    "--out "
    "run";
constexpr const char* kFirst = "weft: stopping, saving; once more quits without\n";

TEST_F(Interrupt, ASecondSignalWithinASecondStillSaves) {
  const Process process =
      start({"train", "--dataset", "digits", "--limit-train", "3000", "--epochs", "600",
             "--lr-schedule", "constant", "--device", "cpu", "--json", "--out", "run"});
  ASSERT_TRUE(process.wait_for("\"event\":\"epoch\""));
  for (const int signal : {SIGINT, SIGINT, SIGTERM, SIGHUP, SIGINT}) {
    kill(process.pid(), signal);
    sleep_ms(1);
  }
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.err, kFirst);
  EXPECT_EQ(weft({"inspect", "run"}).exit_code, 0);
  EXPECT_EQ(files_with("run/.weft-").size(), files_with("run/.weft-lock").size());
}

TEST_F(Interrupt, ALaterSecondSignalQuitsAtOnce) {
  const Process process = start_shell(std::string("exec ") + kTrain + " > full");
  ASSERT_TRUE(wait_for_file("run/state.json"));
  sleep_ms(50);
  kill(process.pid(), SIGINT);
  sleep_ms(1100);
  const auto begin = Clock::now();
  kill(process.pid(), SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM);
  EXPECT_EQ(outcome.err, kFirst);
}

TEST_F(Interrupt, WhatWasIgnoredAtTheStartStaysIgnored) {
  const Process process = start_shell(std::string("trap '' INT TERM HUP; exec ") + kTrain);
  ASSERT_TRUE(wait_for_file("run/state.json"));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) kill(process.pid(), signal);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_FALSE(end_of(json_lines(outcome.out)).at("interrupted").get<bool>());
}

TEST_F(Interrupt, WithNothingToSaveItEndsByTheSignalAndNoTemporaryStays) {
  ASSERT_EQ(train_small("run", {"--epochs", "1"}).exit_code, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Process process =
        start_shell("exec $WEFT predict run run/samples/0-*.png --csv a.csv > full");
    ASSERT_TRUE(wait_for_file(".tmp"));
    sleep_ms(50);
    kill(process.pid(), signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(files_with(".tmp").empty()) << files_with(".tmp").front();
    EXPECT_TRUE(files_with("a.csv").empty());
  }
}

// At any moment: a whole run or none, and nothing half-written.
TEST_F(Interrupt, AtAnyMomentNothingIsHalfWritten) {
  for (const int delay : {1, 10, 20, 30, 45, 60, 80, 110, 150, 200, 260, 330, 500, 800}) {
    const std::string run = "run-" + std::to_string(delay);
    const Process process = start({"train", "--dataset", "digits", "--limit-train", "1500",
                                   "--epochs", "2", "--device", "cpu", "--out", run});
    sleep_ms(delay);
    kill(process.pid(), delay % 20 == 0 ? SIGTERM : SIGINT);
    const int code = process.wait().exit_code;
    EXPECT_TRUE(files_with(".tmp").empty()) << files_with(".tmp").front();
    const bool is_saved = fs::exists(folder() / run / "optimizer.safetensors");
    if (code == 0) {
      EXPECT_TRUE(fs::exists(folder() / run / "report.html")) << delay;
    } else if (code == 130 && is_saved) {
      const Outcome resumed = weft({"train", "--resume", run, "--device", "cpu", "--json"});
      EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    } else {  // by the signal itself, before there was anything to save
      EXPECT_TRUE(code == 128 + SIGINT || code == 128 + SIGTERM) << delay << ": " << code;
    }
  }
}

TEST_F(Interrupt, HostCudaGivesUpAnEvaluation) {
  if (!has_host_cuda()) GTEST_SKIP() << "this program was built without host-cuda";
  const Process process =
      start({"train", "--dataset", "digits", "--limit-train", "16", "--epochs", "1", "--model",
             "mlp", "--device", "host-cuda", "--json", "--out", "run"});
  const auto said = [&](const char* text) {
    return read_file(process.err_path()).find(text) != std::string::npos;
  };
  for (int i = 0; i < 6000 && !said("on host-cuda, after each epoch"); ++i) {
    sleep_ms(10);
  }
  EXPECT_TRUE(said("evaluating 10 000 test images will take about ")) << "the estimate is missing";
  EXPECT_TRUE(said("; --limit-test N takes fewer"));
  sleep_ms(500);
  kill(process.pid(), SIGINT);
  const auto begin = Clock::now();
  const Outcome outcome = process.wait();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_TRUE(fs::exists(folder() / "run/optimizer.safetensors"));
}

TEST_F(Interrupt, LimitTestTakesFewerImages) {
  ASSERT_EQ(
      train_small("run", {"--epochs", "2", "--stop-after", "1", "--limit-test", "120"}).exit_code,
      0);
  const Outcome outcome = weft({"train", "--resume", "run", "--device", "cpu", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  EXPECT_EQ(events.front().at("test_images"), 120);
  EXPECT_NE(read("run/report.html").find(" of 120"), std::string::npos);
  const auto images = [&](const std::string& limit) {
    const Outcome eval = weft({"eval", "run", "--limit-test", limit, "--device", "cpu", "--json"});
    EXPECT_EQ(eval.exit_code, 0) << eval.err;
    return std::pair(end_of(json_lines(eval.out)).at("images").get<int>(), eval.err);
  };
  EXPECT_EQ(images("120").first, 120);
  const auto [all, notice] = images("20000");
  EXPECT_EQ(all, 10'000);
  EXPECT_NE(notice.find("--limit-test 20000: digits has 10000 test images"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
