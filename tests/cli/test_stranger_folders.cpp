// SPDX-License-Identifier: MIT
// Folders of runs that come from strangers, whose files are links, pipes, devices or other users':
// a command that is refused changes nothing, and nothing outside the folder changes ever.
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/cli/program.h"
#include "tests/support/stranger.h"

namespace weft::test {
namespace {

class StrangerFolders : public ProgramTest {
 protected:
  // A finished run, which more epochs may follow.
  void make_run() {
    const Outcome made = weft({"train", "--dataset", "digits", "--limit-train", "64",
                               "--limit-test", "40", "--batch-size", "32", "--epochs", "1",
                               "--lr-schedule", "constant", "--device", "cpu", "--out", "run"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  void make_simulation() {
    const Outcome made = weft({"nbody", "--bodies", "16", "--steps", "2", "--frames", "2",
                               "--image-size", "32", "--device", "cpu", "--out", "run"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  fs::path outside() const { return folder() / "outside"; }
  std::string state() const { return state_of(folder() / "run") + state_of(outside()); }

  // Each kind of thing in the place of each of these files: one line, exit code 3, and no change.
  void expect_refusals(const std::vector<std::string>& names,
                       const std::vector<std::string>& command) {
    fs::create_directory(outside());
    fs::rename(folder() / "run", folder() / "good");
    for (const Planted& planted : what_strangers_plant()) {
      for (const std::string& name : names) {
        SCOPED_TRACE(planted.kind + " called " + name);
        fs::remove_all(folder() / "run");
        fs::copy(folder() / "good", folder() / "run", fs::copy_options::recursive);
        planted.plant(folder() / "run" / name, outside() / "victim");
        if (planted.kind == "a folder" && name == "samples") continue;
        const std::string before = state();
        expect_error(weft(command), 3, "run/" + name + ": expected a ");
        EXPECT_EQ(state(), before);
      }
    }
    fs::remove_all(folder() / "run");
    fs::rename(folder() / "good", folder() / "run");
  }
};

TEST_F(StrangerFolders, ATrainingIsNotResumedThere) {
  make_run();
  expect_refusals({".weft-lock", "optimizer.safetensors", "config.json", "state.json",
                   "metrics.jsonl", "metrics.csv", "model.safetensors", "best.safetensors",
                   "curves.svg", "report.html", "samples", "samples/0-0.png"},
                  {"train", "--resume", "run", "--epochs", "2", "--device", "cpu"});
  const Outcome good = weft({"train", "--resume", "run", "--epochs", "2", "--device", "cpu"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
}

TEST_F(StrangerFolders, ASimulationIsNotResumedThere) {
  make_simulation();
  expect_refusals({".weft-lock", "checkpoint.safetensors", "energy.csv", "final.npy",
                   "animation.png", "frame_0001.png", "frame_0002.png"},
                  {"nbody", "--resume", "run", "--steps", "4", "--device", "cpu"});
  const Outcome good = weft({"nbody", "--resume", "run", "--steps", "4", "--device", "cpu"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
}

TEST_F(StrangerFolders, NoRunBeginsThere) {
  make_run();
  const std::vector<std::vector<std::string>> commands = {
      {"train", "--dataset", "digits", "--limit-train", "64", "--limit-test", "40", "--epochs", "1",
       "--device", "cpu", "--out", "new"},
      {"nbody", "--bodies", "16", "--steps", "2", "--device", "cpu", "--out", "new"},
      {"import", "run/model.safetensors", "--out", "new"}};
  fs::create_directory(outside());
  for (const Planted& planted : what_strangers_plant()) {
    for (const std::vector<std::string>& command : commands) {
      SCOPED_TRACE(command[0] + ", " + planted.kind);
      fs::create_directory(folder() / "new");
      planted.plant(folder() / "new/.weft-lock", outside() / "victim");
      const std::string before = state_of(folder() / "new") + state_of(outside());
      expect_error(weft(command), 3, "new/.weft-lock: expected a file of this user");
      EXPECT_EQ(state_of(folder() / "new") + state_of(outside()), before);
      fs::remove_all(folder() / "new");
    }
  }
}

// The file that was not named on the command line.
TEST_F(StrangerFolders, NoModelIsExportedOntoAStrangersFile) {
  make_run();
  expect_refusals({"model.npz"}, {"export", "run", "--format", "npz"});
  EXPECT_EQ(weft({"export", "run", "--format", "npz"}).exit_code, 0);
  EXPECT_TRUE(fs::is_regular_file(folder() / "run/model.npz"));
}

// Commands that are refused for another reason leave no lock and touch none.
TEST_F(StrangerFolders, ARefusedCommandChangesNoByte) {
  make_run();
  fs::create_directory(outside());
  write("letters/letter.txt", "dear");
  write("run/.weft-lock", "process 1 on a host, killed");
  const std::string before = state() + state_of(folder() / "letters");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"train", "--resume", "run", "--epochs", "2", "--dataset", "mnist"},
           {"train", "--resume", "run", "--device", "cpu", "--data", "letters"},
           {"train", "--resume", "letters", "--device", "cpu"},
           {"train", "--dataset", "digits", "--limit-train", "64", "--device", "cpu", "--out",
            "letters"},
           {"train", "--dataset", "digits", "--limit-train", "64", "--device", "cpu", "--out",
            "run"},
           {"nbody", "--resume", "letters", "--device", "cpu"},
           {"nbody", "--resume", "run", "--device", "cpu"},
           {"nbody", "--bodies", "16", "--device", "cpu", "--out", "letters"},
           {"import", "run/model.safetensors", "--out", "letters"}}) {
    SCOPED_TRACE(command[0] + " " + command.back());
    const Outcome outcome = weft(command);
    EXPECT_TRUE(outcome.exit_code == 2 || outcome.exit_code == 3) << outcome.err;
    EXPECT_EQ(state() + state_of(folder() / "letters"), before);
  }
}

// A user's own link to a folder on another disk.
TEST_F(StrangerFolders, LinksInThePathToAFolderAreFollowed) {
  fs::create_directories(folder() / "disk/run");
  fs::create_directory_symlink("disk/run", folder() / "run");
  make_run();
  EXPECT_TRUE(fs::is_symlink(folder() / "run"));
  EXPECT_TRUE(fs::exists(folder() / "disk/run/model.safetensors"));
  const Outcome more = weft({"train", "--resume", "run", "--epochs", "2", "--device", "cpu"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
}

// The system gives the lock up with its process, whatever the file says and whoever wrote it.
TEST_F(StrangerFolders, TheLockIsTheSystems) {
  make_run();
  write("run/.weft-lock", "process 999999999 on another-container\n");
  const int held = open((folder() / "run/.weft-lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const std::vector<std::string> resume = {"train", "--resume", "run", "--epochs",
                                           "2",     "--device", "cpu"};
  expect_error(weft(resume), 2, "is being written by process 999999999 on another-container");
  close(held);
  EXPECT_EQ(weft(resume).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder() / "run/.weft-lock"));
}

// What each writer of files says when a file may not have a byte: one line, and nothing is left.
TEST_F(StrangerFolders, AFileThatMayNotGrowIsOneLineAndLeavesNothing) {
  make_run();
  write("numbers.txt", "1\n2\n3\n");
  const std::string train =
      "train --dataset digits --limit-train 64 --limit-test 40 --epochs 1 --device cpu";
  std::vector<std::pair<std::string, std::string>> writers = {
      {train + " --out out", "out/.weft-lock"},
      {"nbody --bodies 16 --steps 2 --device cpu --out out", "out/.weft-lock"},
      {"export run --format npz --out out.npz", "out.npz"},
      {"export run --format safetensors --out out.safetensors", "out.safetensors"},
      {"import run/model.safetensors --out out.safetensors", "out.safetensors"},
      {"data export digits --limit 3 --out out", "out/"},
      {"scan numbers.txt --device cpu --out out.npy", "out.npy"},
      {"scan numbers.txt --device cpu --out out.txt", "out.txt"},
      {"histogram numbers.txt --device cpu --out out.csv", "out.csv"},
      {"histogram numbers.txt --device cpu --out out.svg", "out.svg"},
      {"histogram numbers.txt --device cpu --out out.png", "out.png"},
      {"predict run run/samples --device cpu --csv out.csv", "out.csv"},
      {"bench pool --seconds 0.001 --device cpu --json out.json", "out.json"},
      {"bench pool --seconds 0.001 --device cpu --report out.html", "out.html"}};
  if (has_host_cuda()) {
    writers.emplace_back("kernel watch reduce/interleaved_divergent --size 64 --out out.html",
                         "out.html");
  }
  for (const auto& [words, file] : writers) {
    SCOPED_TRACE(words);
    const bool is_new_folder = file.find('/') != std::string::npos;
    if (!is_new_folder) write(file, "old content");
    // Lines go through pipes, which have no limit.
    const Outcome outcome = shell("{ (ulimit -f 0; \"$WEFT\" " + words +
                                  "; echo $? >&2) 2>&1 >&3 | cat >&2; } 3>&1 | cat");
    const std::vector<std::string> lines = lines_of(outcome.err);
    ASSERT_GE(lines.size(), 2u) << outcome.err;
    EXPECT_EQ(lines.back(), "3") << outcome.err;
    const std::string& error = lines[lines.size() - 2];
    EXPECT_TRUE(error.starts_with("weft: error: could not ")) << error;
    EXPECT_NE(error.find(" " + file), std::string::npos) << error;
    EXPECT_TRUE(error.ends_with(": File too large")) << error;
    if (!is_new_folder) {
      EXPECT_EQ(read(file), "old content");
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".weft-")) << entry.path();
    }
    fs::remove_all(folder() / "out");
  }
}

// The next command of the same user removes what a killed one has left.
TEST_F(StrangerFolders, AKilledWriterLeavesTheOldContentAndNothingElse) {
  const std::vector<std::string> drawing = {"data", "export", "digits", "--limit",
                                            "3000", "--out",  "drawn"};
  const Process process = start(drawing);
  const auto parts = [&] {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder())) {
      count += entry.path().filename().string().starts_with(".weft-") ? 1 : 0;
    }
    return count;
  };
  for (int i = 0; i < 6000 && parts() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(parts(), 1);
  kill(process.pid(), SIGKILL);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(folder() / "drawn"));
  EXPECT_EQ(parts(), 1) << "nobody could remove it";
  EXPECT_EQ(weft({"data", "export", "shapes", "--limit", "3", "--out", "drawn"}).exit_code, 0);
  EXPECT_EQ(parts(), 0);
  EXPECT_TRUE(fs::exists(folder() / "drawn/train"));
}

// The user names a pipe or a descriptor: it is written into.
TEST_F(StrangerFolders, WhatTheUserNamesMayBeAPipe) {
  const std::string bench = "\"$WEFT\" bench pool --seconds 0.001 --device cpu";
  const Outcome piped = shell(bench + " --json >(cat >got.json) >/dev/null; wait $!");
  ASSERT_EQ(piped.exit_code, 0) << piped.err;
  int machines = 0, rows = 0;
  for (const nlohmann::json& event : json_lines(read("got.json"))) {
    (event.at("event") == "machine" ? machines : rows) += 1;
  }
  EXPECT_EQ(machines, 1);
  EXPECT_GT(rows, 1);
  const Outcome out = shell(bench + " --json /dev/stdout --report /dev/null");
  ASSERT_EQ(out.exit_code, 0) << out.err;
  EXPECT_NE(out.out.find("{\""), std::string::npos) << out.out;
  EXPECT_NE(out.out.find("variant"), std::string::npos) << "the table is there too: " << out.out;
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace weft::test
