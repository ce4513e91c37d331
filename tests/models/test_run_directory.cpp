// SPDX-License-Identifier: MIT
// The run directory: its files, what may be in the way, damage, and kill -9 at any moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/training/runs/run_checks.h"
#include "models/training/runs/run_directory.h"
#include "models/training/trainer.h"
#include "tests/models/blocks.h"
#include "tests/support/folder.h"
#include "tests/support/stranger.h"

namespace weft::models {
namespace {

using test::read_text;
using test::TemporaryFolder;
using test::throws;
using test::write_text;
using J = nlohmann::json;

const std::atomic<bool> kDoNotStop = false;

TrainConfig small_config() {
  TrainConfig config;
  config.network.name = "lenet5";
  config.dataset = "blocks";
  config.epochs = 2;
  config.batch_size = 32;
  config.validation_split = 0.2;
  return config;
}

class RunDirectoryTest : public testing::Test {
 protected:
  std::filesystem::path run() const { return folder_ / "run"; }
  void train(std::optional<int> stop_after = {}) {
    Trainer(config_, dataset_, run(), stream_).run({}, kDoNotStop, stop_after);
  }
  Trainer resume() { return Trainer::resume(run(), dataset_, std::nullopt, stream_); }

  TemporaryFolder folder_;
  Stream stream_{Device::cpu()};
  data::Dataset dataset_ = test::block_dataset(200, 50);
  TrainConfig config_ = small_config();
};

TEST_F(RunDirectoryTest, HoldsItsFilesAndEachParses) {
  train();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"best.safetensors", "config.json", "metrics.csv",
                                             "metrics.jsonl", "model.safetensors",
                                             "optimizer.safetensors", "state.json"}));
  const J config = J::parse(read_text(run() / "config.json"));
  EXPECT_EQ(config.at("network"), "lenet5");
  EXPECT_EQ(config.at("batch_size"), 32);
  std::istringstream lines(read_text(run() / "metrics.jsonl"));
  int epoch = 0;
  for (std::string line; std::getline(lines, line);) {
    const J record = J::parse(line);
    EXPECT_EQ(record.at("epoch"), ++epoch);
    EXPECT_GE(record.at("test").at("accuracy"), 0);
    EXPECT_EQ(record.at("validation").at("images"), 40);
  }
  EXPECT_EQ(epoch, 2);
  const J state = J::parse(read_text(run() / "state.json"));
  EXPECT_EQ(state.at("finished"), true);
  EXPECT_EQ(state.at("epochs_done"), 2);
  EXPECT_EQ(state.at("step"), 10);
  for (const char* file : {"model.safetensors", "best.safetensors"}) {
    const Model model = load_model(run() / file);
    EXPECT_EQ(model.info.network.name, "lenet5");
    EXPECT_EQ(model.info.dataset, "blocks");
    EXPECT_EQ(model.info.mean, dataset_.mean);
    EXPECT_EQ(model.info.test_images, 50);
  }
  EXPECT_EQ(Trainer::config_of(run()).batch_size, 32);
}

TEST_F(RunDirectoryTest, NewRunExistsFromTheStartButHasNoModelYet) {
  { const Trainer trainer(config_, dataset_, run(), stream_); }
  EXPECT_TRUE(resume().history().empty());
  EXPECT_FALSE(std::filesystem::exists(run() / "model.safetensors"));
}

TEST_F(RunDirectoryTest, FolderInUseIsUsageError) {
  train(1);
  EXPECT_TRUE(throws(ErrorKind::usage, "already holds a run", [&] { train(); }));
  EXPECT_EQ(resume().history().size(), 1u) << "the run must be untouched";
  std::filesystem::create_directory(folder_ / "home");
  write_text(folder_ / "home/letter.txt", "dear");
  EXPECT_TRUE(throws(ErrorKind::usage, "found letter.txt",
                     [&] { Trainer(config_, dataset_, folder_ / "home", stream_); }));
  std::filesystem::create_directory(folder_ / "empty");
  write_text(folder_ / "empty/.weft-1-0.tmp", "left by a kill");
  EXPECT_NO_THROW(Trainer(config_, dataset_, folder_ / "empty", stream_));
}

TEST_F(RunDirectoryTest, OneProcessWritesAtATime) {
  const std::string me = "is being written by process " + std::to_string(::getpid()) + " on ";
  {
    const Trainer trainer(config_, dataset_, run(), stream_);
    EXPECT_TRUE(throws(ErrorKind::usage, me, [&] { resume(); }));
    EXPECT_TRUE(throws(ErrorKind::usage, me, [&] { train(); }));
    EXPECT_TRUE(
        throws(ErrorKind::usage, me, [&] { preview_resume(run(), dataset_, std::nullopt); }));
    EXPECT_TRUE(throws(ErrorKind::usage, me, [&] { preview_new_run(config_, dataset_, run()); }));
    EXPECT_EQ(Trainer::config_of(run()).batch_size, 32) << "reading needs no lock";
  }
  EXPECT_FALSE(std::filesystem::exists(run() / RunLock::kFileName));
  write_text(run() / RunLock::kFileName, "process 1 on a host, killed");
  EXPECT_EQ(preview_resume(run(), dataset_, std::nullopt).steps_done, 0);
  EXPECT_TRUE(std::filesystem::exists(run() / RunLock::kFileName)) << "a preview writes nothing";
  EXPECT_NO_THROW(resume());
  EXPECT_FALSE(std::filesystem::exists(run() / RunLock::kFileName));
}

TEST_F(RunDirectoryTest, IsLockedOnceItIsKnownToBeResumable) {
  train(1);
  write_text(run() / RunLock::kFileName, "process 1 on a host, killed");
  RunDirectory directory = RunDirectory::open(run());
  const std::string before = test::state_of(run());
  EXPECT_TRUE(throws(ErrorKind::usage, "ends after epoch 2",
                     [&] { Trainer::resume(run(), dataset_, 5, stream_); }));
  dataset_.train.images[5] ^= 1;
  EXPECT_TRUE(throws(ErrorKind::usage, "was trained on blocks", [&] { resume(); }));
  dataset_.train.images[5] ^= 1;
  EXPECT_EQ(test::state_of(run()), before);

  resume().run({}, kDoNotStop);  // of another process, after this one has read the checkpoint
  const std::string after = test::state_of(run());
  EXPECT_TRUE(throws(ErrorKind::usage, "another process has gone on with this run",
                     [&] { directory.folder().lock(); }));
  directory = {};
  EXPECT_EQ(test::state_of(run()), after);
}

TEST_F(RunDirectoryTest, OfAnotherUserIsNotResumed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  train(1);
  for (const auto& path : {folder_.path(), run()}) ::chmod(path.c_str(), 0777);
  const std::string before = test::state_of(run());
  ASSERT_EQ(::seteuid(65534), 0);
  const auto result = throws(ErrorKind::data, "found one of the user 0", [&] { resume(); });
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_TRUE(result);
  EXPECT_EQ(test::state_of(run()), before);
}

TEST_F(RunDirectoryTest, WhatEndedTheRunIsNotHiddenByAFullDisk) {
  config_.epochs = 200;
  const data::Dataset small = test::block_dataset(40, 10);
  Trainer trainer(config_, small, run(), stream_);
  int committed_epochs = 0, epochs = 0;  // an epoch of less than a quarter of a second waits
  TrainObserver observer;
  observer.committed = [&] { committed_epochs = epochs + 1; };
  observer.epoch_done = [&](const EpochRecord& record) { epochs = record.epoch; };
  observer.progress = [&](int, std::int64_t, std::int64_t) {
    if (committed_epochs >= epochs) return;
    std::filesystem::remove_all(run());
    throw Error(ErrorKind::check_failed, "what ended the run");
  };
  try {
    trainer.run(observer, kDoNotStop);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string line = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::check_failed);
    EXPECT_TRUE(line.starts_with("what ended the run; and epoch ")) << line;
    EXPECT_NE(line.find(" could not be saved: "), std::string::npos) << line;
    EXPECT_NE(line.find("No such file"), std::string::npos) << line;
  }
}

// The device fails while the second epoch runs: the first one is saved, and can be resumed.
TEST_F(RunDirectoryTest, ADeviceThatIsLostLeavesTheLastEpoch) {
  TrainObserver observer;
  observer.progress = [](int epoch, std::int64_t, std::int64_t) {
    if (epoch == 2) throw Error(ErrorKind::device, "finish work on the GPU: GPU is lost");
  };
  EXPECT_TRUE(throws(ErrorKind::device, "GPU is lost", [&] {
    Trainer(config_, dataset_, run(), stream_).run(observer, kDoNotStop);
  }));
  EXPECT_EQ(resume().history().size(), 1u);
}

TEST_F(RunDirectoryTest, FolderThatCannotBeMadeIsDataError) {
  write_text(folder_ / "file", "x");
  EXPECT_TRUE(throws(ErrorKind::data, (folder_ / "file").string(),
                     [&] { Trainer(config_, dataset_, folder_ / "file", stream_); }));
  EXPECT_TRUE(throws(ErrorKind::data, "could not create the folder",
                     [&] { Trainer(config_, dataset_, folder_ / "file/run", stream_); }));
  EXPECT_TRUE(throws(ErrorKind::data, "could not",
                     [&] { Trainer(config_, dataset_, "/proc/run", stream_); }));
}

TEST_F(RunDirectoryTest, OtherFilesFollowFromTheCheckpoint) {
  train(1);
  const std::string model = read_text(run() / "model.safetensors");
  const std::string metrics = read_text(run() / "metrics.jsonl");
  const std::string best = read_text(run() / "best.safetensors");
  write_text(run() / "model.safetensors", "half a mod");
  write_text(run() / "metrics.jsonl", "{");
  for (const char* file : {"config.json", "state.json", "best.safetensors"}) {
    std::filesystem::remove(run() / file);
  }
  resume();
  EXPECT_EQ(read_text(run() / "model.safetensors"), model);
  EXPECT_EQ(read_text(run() / "metrics.jsonl"), metrics);
  EXPECT_EQ(read_text(run() / "best.safetensors"), best);
  EXPECT_TRUE(std::filesystem::exists(run() / "config.json"));
  EXPECT_TRUE(std::filesystem::exists(run() / "state.json"));
}

TEST_F(RunDirectoryTest, DamagedCheckpointIsDataError) {
  EXPECT_TRUE(throws(ErrorKind::data, "holds no run to resume", [&] { resume(); }));
  EXPECT_TRUE(throws(ErrorKind::data, "holds no run", [&] { Trainer::config_of({}); }));
  train(1);
  const std::filesystem::path file = run() / "optimizer.safetensors";
  const SafeTensors good = read_safetensors(file);
  const auto refuses = [&](const std::string& text, const SafeTensors& content) {
    write_safetensors(file, content);
    return throws(ErrorKind::data, text, [&] { resume(); });
  };
  const auto with_state = [&](const auto& change) {
    SafeTensors content = good;
    J state = J::parse(content.metadata.at("weft_run"));
    change(state);
    content.metadata["weft_run"] = state.dump();
    return content;
  };
  SafeTensors bad = good;
  bad.metadata.clear();
  EXPECT_TRUE(refuses("expected the state of a training run", bad));
  bad = good;
  bad.tensors.pop_back();
  EXPECT_TRUE(refuses("is missing", bad));
  EXPECT_TRUE(throws(ErrorKind::data, "is missing", [&] { Trainer::config_of(run()); }));
  bad = good;
  bad.tensors[0].values[0] = NAN;
  EXPECT_TRUE(refuses("not finite", bad));
  bad = good;
  bad.tensors.push_back({"stranger", Shape{1}, {1}});
  EXPECT_TRUE(refuses("unexpected tensor \"stranger\"", bad));
  EXPECT_TRUE(refuses("does not follow", with_state([](J& j) { j["step"] = 3; })));
  EXPECT_TRUE(refuses("does not follow", with_state([](J& j) { j["step"] = 99; })));
  EXPECT_TRUE(refuses("does not follow", with_state([](J& j) { j["totals"]["rows"] = 1; })));
  // A step of an epoch behind the last one.
  EXPECT_TRUE(refuses("does not follow", with_state([](J& j) {
                        j["config"]["epochs"] = 1;
                        j["step"] = j["step"].get<int>() + 1;
                        j["totals"]["rows"] = 32;
                      })));
  EXPECT_TRUE(refuses("not 1, 2, 3", with_state([](J& j) { j["history"][0]["epoch"] = 2; })));
  const std::string bytes = read_text(file);
  write_text(file, bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(throws(ErrorKind::data, file.string(), [&] { resume(); }));
}

TEST_F(RunDirectoryTest, OtherDataIsUsageError) {
  train(1);
  dataset_.train.images[5] ^= 1;
  EXPECT_TRUE(throws(ErrorKind::usage, "was trained on blocks", [&] { resume(); }));
  dataset_.train.images[5] ^= 1;
  EXPECT_NO_THROW(resume());
  dataset_.name = "mnist";
  EXPECT_TRUE(throws(ErrorKind::usage, "found mnist", [&] { resume(); }));
}

TEST_F(RunDirectoryTest, FixedSchedulesRefuseAnotherLength) {
  train(1);
  EXPECT_TRUE(throws(ErrorKind::usage, "one-cycle schedule of this run ends after epoch 2",
                     [&] { Trainer::resume(run(), dataset_, 5, stream_); }));
  EXPECT_NO_THROW(Trainer::resume(run(), dataset_, 2, stream_));
}

// The part of the kill test that runs in a process of its own; see below.
TEST(KilledTraining, DISABLED_Child) {
  const char* run_dir = std::getenv("WEFT_TEST_RUN_DIR");
  ASSERT_NE(run_dir, nullptr);
  TrainConfig config = small_config();
  config.epochs = 20;
  const Stream stream(Device::cpu());
  const data::Dataset dataset = test::block_dataset(200, 50);
  const bool exists =
      std::filesystem::exists(std::filesystem::path(run_dir) / "optimizer.safetensors");
  Trainer trainer = exists ? Trainer::resume(run_dir, dataset, std::nullopt, stream)
                           : Trainer(config, dataset, run_dir, stream);
  trainer.run({}, kDoNotStop);
}

// Runs the child in run_dir and kills it after so many milliseconds; true when it finished first.
bool child_finished(const std::filesystem::path& run_dir, int milliseconds) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("WEFT_TEST_RUN_DIR", run_dir.c_str(), 1);
    ::setenv("OMP_NUM_THREADS", "1", 1);  // the work is small, the machine may be shared
    ::execl("/proc/self/exe", "models_tests", "--gtest_also_run_disabled_tests",
            "--gtest_filter=KilledTraining.DISABLED_Child", "--gtest_brief=1", nullptr);
    ::_exit(127);
  }
  for (int waited = 0; waited < milliseconds; waited += 2) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child failed: " << status;
      return true;
    }
    ::usleep(2000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return false;
}

TEST(KilledTraining, ResumesWithTheSameBits) {
  const TemporaryFolder folder;
  ASSERT_TRUE(child_finished(folder / "whole", 120'000));
  bool finished = false;
  int kills = 0;
  for (int round = 0; round < 500 && !finished; ++round) {
    finished = child_finished(folder / "killed", 40 + 37 * (round % 11) + 2 * round);
    kills += finished ? 0 : 1;
    if (finished || !std::filesystem::exists(folder / "killed/optimizer.safetensors")) continue;
    EXPECT_NO_THROW(Trainer::config_of(folder / "killed"));
  }
  EXPECT_TRUE(finished);
  EXPECT_GT(kills, 0);
  const SafeTensors whole = read_safetensors(folder / "whole/optimizer.safetensors");
  const SafeTensors killed = read_safetensors(folder / "killed/optimizer.safetensors");
  ASSERT_EQ(whole.tensors.size(), killed.tensors.size());
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    EXPECT_TRUE(whole.tensors[i].values == killed.tensors[i].values) << whole.tensors[i].name;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder / "killed")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".weft-")) << entry.path();
  }
}

}  // namespace
}  // namespace weft::models
