// SPDX-License-Identifier: MIT
// weft train over ranks: --devices, mpirun, --rank; the same training, and ends that are told.
#include <sched.h>

#include <algorithm>

#include "engine/device.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class RanksTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    environment_["OMP_NUM_THREADS"] = "1";
  }

  static std::vector<std::string> words(const std::string& name, int epochs = 2) {
    return {"train",
            "--dataset",
            "digits",
            "--limit-train",
            "3000",
            "--epochs",
            std::to_string(epochs),
            "--batch-size",
            "32",
            "--device",
            "cpu",
            "--progress",
            "off",
            "--json",
            "--out",
            name};
  }
  Outcome train(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = words(name);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  }

  // The last "epoch" and the "end" that were printed.
  static nlohmann::json last(const Outcome& outcome, const std::string& event) {
    nlohmann::json found;
    for (const nlohmann::json& line : json_lines(outcome.out)) {
      if (line["event"] == event) found = line;
    }
    EXPECT_FALSE(found.is_null()) << event << "\n" << outcome.out << outcome.err;
    return found;
  }
  static double loss_of(const Outcome& outcome) { return last(outcome, "epoch")["train"]["loss"]; }

  bool use_mpirun() {
    const char* const mpirun = "/usr/bin/mpirun";
    if (!fs::exists(mpirun) ||
        !fs::exists(fs::path(WEFT_BINARY).parent_path() / "libweft_mpi.so")) {
      return false;
    }
    environment_["PATH"] += ":/usr/bin:/bin";
    environment_["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    environment_["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    environment_["OMPI_MCA_rmaps_base_oversubscribe"] = "1";
    environment_["OMPI_MCA_btl"] = "self,vader,tcp";
    environment_["OMPI_MCA_plm_rsh_agent"] = "true";  // no machine without ssh asks for it
    environment_["ASAN_OPTIONS"] = "detect_leaks=0";  // Open MPI keeps some memory to the end
    return true;
  }

  // The process of rank `rank` of a run that this process started: /proc knows its words.
  static pid_t process_of(int rank, pid_t parent) {
    for (int tenth = 0; tenth < 100; ++tenth) {
      for (const auto& entry : fs::directory_iterator("/proc")) {
        if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
          continue;
        }
        std::string words = read_file(entry.path() / "cmdline");
        std::replace(words.begin(), words.end(), '\0', ' ');
        const std::string stat = read_file(entry.path() / "stat");
        const std::size_t after = stat.rfind(')');
        if (after == std::string::npos) continue;
        std::istringstream fields(stat.substr(after + 1));
        std::string state;
        pid_t of = 0;
        fields >> state >> of;
        if (of == parent &&
            words.find("--rank " + std::to_string(rank) + " ") != std::string::npos) {
          return std::stoi(entry.path().filename());
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return 0;
  }
};

TEST_F(RanksTest, DevicesFollowOneRank) {
  // At the default learning rate a difference in rounding may grow to a tenth of the loss.
  const Outcome one = train("one", {"--lr", "0.01"});
  const Outcome two = train("two", {"--lr", "0.01", "--devices", "2"});
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(last(two, "start")["ranks"], 2);
  EXPECT_NEAR(loss_of(two), loss_of(one), 0.001 * loss_of(one));
  EXPECT_NEAR(last(two, "end")["test_accuracy"].get<double>(),
              last(one, "end")["test_accuracy"].get<double>(), 0.002);
  EXPECT_EQ(two.err, one.err) << "other ranks say nothing";
  for (const char* file : {"config.json", "metrics.jsonl", "model.safetensors", "report.html"}) {
    EXPECT_TRUE(fs::exists(folder() / "two" / file)) << file;
  }
}

TEST_F(RanksTest, MoreProcessesThanCoresAreWarnedOf) {
  const auto notices = [&](const std::string& devices) {
    const Outcome outcome =
        weft({"train", "--dataset", "digits", "--limit-train", "500", "--device", "cpu",
              "--devices", devices, "--rank-timeout", "30", "--dry-run"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return lines_of(outcome.err);
  };
  cpu_set_t cores;
  ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  const int here = CPU_COUNT(&cores);
  if (here <= 16) {  // processes are started, each with its own data
    const std::string more = std::to_string(here + 1);
    const std::vector<std::string> lines = notices(more);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0], "weft: --devices " + more + ": this machine has " + std::to_string(here) +
                            (here == 1 ? " core" : " cores") + ", which the processes share");
  }
  EXPECT_TRUE(notices(std::to_string(std::min(here, 2))).empty());
}

TEST_F(RanksTest, MoreGpusThanThereAreAreRefused) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  for (const char* device : {"auto", "cuda"}) {
    expect_error(weft({"train", "--dataset", "digits", "--limit-train", "500", "--device", device,
                       "--devices", "99", "--dry-run"}),
                 2, "--devices 99: there ");
  }
}

// Whoever reaches the rendezvous could join: a token, or the word that there is none, is asked for.
TEST_F(RanksTest, ARendezvousOnANetworkNeedsARunToken) {
  const auto rank = [&](const std::string& rendezvous, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", "--dataset",    "digits",   "--device",
                                          "cpu",   "--rank",       "0",        "--world-size",
                                          "2",     "--rendezvous", rendezvous, "--rank-timeout",
                                          "1",     "--out",        "run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  };
  write("short", "fifteen letters\n");
  write("token", "a text of more than sixteen characters\n");
  expect_error(rank("0.0.0.0:0", {}), 2, "--run-token-file");
  expect_error(rank("0.0.0.0:0", {"--run-token-file", "short"}), 2, "at least 16 characters");
  expect_error(rank("0.0.0.0:0", {"--run-token-file", "absent"}), 3, "absent");
  expect_error(rank("0.0.0.0:0", {"--run-token-file", "token", "--no-token"}), 2, "contradict");
  for (const char* more : {"--run-token-file=token", "--no-token"}) {
    const Outcome open = rank("0.0.0.0:0", {more});
    EXPECT_EQ(open.exit_code, 4) << open.err;
    EXPECT_NE(open.err.find("listens at every address"), std::string::npos) << open.err;
  }
  const Outcome loopback = rank("127.0.0.1:0", {});
  EXPECT_EQ(loopback.exit_code, 4) << "nobody comes";
  EXPECT_EQ(loopback.err.find("every address"), std::string::npos) << loopback.err;
  environment_["WEFT_RUN_TOKEN"] = "short";
  expect_error(rank("127.0.0.1:0", {}), 2, "at least 16 characters");
}

TEST_F(RanksTest, MpirunTrainsTheSameBitsAsTcp) {
  if (!use_mpirun()) GTEST_SKIP() << "no mpirun here, or built without MPI";
  const Outcome over_tcp = train("tcp", {"--devices", "3"});
  const Outcome over_mpi = shell(
      "mpirun -np 3 $WEFT train --dataset digits --limit-train 3000 --epochs 2 --batch-size 32 "
      "--device cpu --progress off --json --out mpi");
  ASSERT_EQ(over_mpi.exit_code, 0) << over_mpi.err;
  EXPECT_EQ(loss_of(over_mpi), loss_of(over_tcp));
  EXPECT_EQ(last(over_mpi, "end")["test_accuracy"], last(over_tcp, "end")["test_accuracy"]);
}

// A copy of the program in another folder has no module for MPI beside it.
TEST_F(RanksTest, WithoutMpiMpirunIsToldSo) {
  fs::copy_file(WEFT_BINARY, folder() / "weft-alone");
  const auto run = [&](const std::string& variables) {
    return shell(variables + " ./weft-alone train --dataset digits --limit-train 100 --epochs 1 " +
                 "--device cpu --progress off --json --out run");
  };
  expect_error(run("OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0"), 2, "built without MPI");
  expect_error(run("PMI_SIZE=2 PMI_RANK=1"), 2, "--devices N");
  EXPECT_FALSE(fs::exists(folder() / "run"));
  const Outcome doctor = shell("./weft-alone doctor --json");
  EXPECT_EQ(nlohmann::json::parse(doctor.out).at("mpi"), "");
  EXPECT_NE(doctor.out.find("built without MPI"), std::string::npos) << doctor.out;
  const Outcome one = run("OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0");
  EXPECT_EQ(one.exit_code, 0) << one.err;
}

TEST_F(RanksTest, ResumesWithOtherNumbersOfRanks) {
  ASSERT_EQ(train("run", {"--devices", "2", "--stop-after", "1", "--epochs", "3"}).exit_code, 0);
  const auto resume = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", "--resume", "run", "--device", "cpu", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  };
  const Outcome second = resume({"--stop-after", "2"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const Outcome third = resume({"--devices", "3"});
  ASSERT_EQ(third.exit_code, 0) << third.err;
  EXPECT_EQ(last(third, "end")["epochs"], 3);
  EXPECT_EQ(lines_of(read("run/metrics.jsonl")).size(), 3u);
}

// The other ranks end within seconds, with one line, and the run can go on.
TEST_F(RanksTest, ARankThatIsKilledEndsTheRun) {
  for (const int victim : {0, 1, 2}) {
    const std::string name = "run" + std::to_string(victim);
    std::vector<std::string> arguments = words(name, 2000);
    arguments.insert(arguments.end(), {"--devices", "3"});
    const Process run = start(arguments);
    ASSERT_TRUE(run.wait_for("\"event\":\"epoch\""));
    const pid_t rank = victim == 0 ? run.pid() : process_of(victim, run.pid());
    ASSERT_GT(rank, 0);
    const pid_t other = process_of(victim == 1 ? 2 : 1, run.pid());
    kill(rank, SIGKILL);
    const auto begin = std::chrono::steady_clock::now();
    Outcome outcome = run.wait();
    outcome.err = without_cores_notice(outcome.err);
    while (other > 0 && kill(other, 0) == 0 &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    if (victim > 0) {
      expect_error(outcome, 4, "rank " + std::to_string(victim));
    } else {  // rank 1 tells
      const auto said = [&] { return lines_of(without_cores_notice(read_file(run.err_path()))); };
      for (int tenth = 0; tenth < 50 && said().empty(); ++tenth) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      ASSERT_EQ(said().size(), 1u) << outcome.err;
      EXPECT_NE(said()[0].find("rank 0"), std::string::npos) << said()[0];
    }
    const Outcome go_on = weft({"train", "--resume", name, "--device", "cpu", "--stop-after", "1"});
    EXPECT_EQ(go_on.exit_code, 0) << go_on.err;
  }
}

TEST_F(RanksTest, AnInterruptEndsAllWithOneCheckpoint) {
  std::vector<std::string> arguments = words("run", 2000);
  arguments.insert(arguments.end(), {"--devices", "2"});
  const Process run = start(arguments);
  ASSERT_TRUE(run.wait_for("\"event\":\"epoch\""));
  kill(run.pid(), SIGINT);  // rank 0 alone: it tells the others
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(outcome.err, "weft: stopping, saving; once more quits without\n");
  EXPECT_TRUE(fs::exists(folder() / "run" / "optimizer.safetensors"));
}

TEST_F(RanksTest, ARankWithOtherSettingsIsRefused) {
  std::vector<std::string> first = words("run");
  first.insert(first.end(),
               {"--rank", "0", "--world-size", "2", "--rendezvous", "127.0.0.1:29671"});
  std::vector<std::string> second = words("other");
  second.insert(second.end(), {"--rank", "1", "--world-size", "2", "--rendezvous",
                               "127.0.0.1:29671", "--batch-size", "64"});
  const Process other = start(second), run = start(first);
  expect_error(run.wait(), 2, "rank 1 differs from rank 0 in batch_size: 64 instead of 32");
  const Outcome outcome = other.wait();
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "") << "rank 0 says it";
  EXPECT_FALSE(fs::exists(folder() / "run"));
}

TEST_F(RanksTest, WhoDoesNotComeIsNamed) {
  std::vector<std::string> arguments = words("run");
  arguments.insert(arguments.end(), {"--rank", "0", "--world-size", "3", "--rendezvous",
                                     "127.0.0.1:29672", "--rank-timeout", "1"});
  expect_error(weft(arguments), 4, "no word from ranks 1, 2");
  arguments = words("run");
  arguments.insert(arguments.end(), {"--rank", "1", "--world-size", "3", "--rendezvous",
                                     "127.0.0.1:29672", "--rank-timeout", "1"});
  expect_error(weft(arguments), 4, "could not reach 127.0.0.1:29672");
  EXPECT_FALSE(fs::exists(folder() / "run"));
}

// As when rank 0 is killed before the ranks have met: the one that it started does not wait.
TEST_F(RanksTest, ARankWhoseStarterIsGoneEndsAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = shell(
      "WEFT_RUN_TOKEN=1 WEFT_RUN_PARENT=1 $WEFT train --dataset digits --limit-train 100 --rank 1 "
      "--world-size 2 --rendezvous 127.0.0.1:29673 --rank-timeout 60 --device cpu --out run");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(RanksTest, BenchLinksTimesSumsOfEverySize) {
  const Outcome outcome = weft({"bench", "links", "--device", "cpu", "--devices", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> lines = json_lines(outcome.out);
  ASSERT_GE(lines.size(), 5u);
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line["event"], "all_reduce");
    EXPECT_EQ(line["ranks"], 2);
    EXPECT_GT(line["seconds"].get<double>(), 0);
  }
  expect_error(weft({"bench", "links", "--device", "cpu"}), 2, "needs several ranks");
}

TEST_F(RanksTest, FlagsThatDoNotGoTogether) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> arguments = {"train", "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_error(weft(arguments), 2, part);
  };
  refused({"--rank", "1"}, "--rank, --world-size and --rendezvous belong together");
  refused({"--devices", "0"}, "expected 1 to 1024 devices");
  refused({"--devices", "two"}, "expected a number of devices, or GPUs as in 0,2");
  refused({"--devices", "0,1"}, "--devices 0,1 names GPUs, but --device is cpu");
  refused({"--devices", "2", "--rank", "0", "--world-size", "2", "--rendezvous", "localhost:1"},
          "leave --rank");
  refused({"--rank", "3", "--world-size", "2", "--rendezvous", "localhost:1"}, "from 0 to 1");
  refused({"--rank", "0", "--world-size", "2", "--rendezvous", "nowhere"}, "HOST:PORT");
  refused({"--reduction", "ring"}, "ring");
  for (const char* way : {"nccl", "one-shot"}) {
    refused({"--devices", "2", "--reduction", way, "--dataset", "digits", "--limit-train", "100"},
            "are for GPUs, not for the CPU");
  }
  environment_["OMPI_COMM_WORLD_SIZE"] = "2";
  refused({"--devices", "2"}, "mpirun has started this process as one of several");
}

}  // namespace
}  // namespace weft::test
