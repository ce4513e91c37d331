// SPDX-License-Identifier: MIT
// weft nbody: how a run is stopped, killed and resumed, and how ranks share it.
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/device.h"
#include "tests/cli/nbody/nbody_program.h"

namespace weft::test {
namespace {

class NbodyResume : public Nbody {};

TEST_F(NbodyResume, StopAndResumeGiveTheSameBits) {
  ASSERT_EQ(small("whole").exit_code, 0);
  const Outcome half = small("halves", {"--stop-after", "7", "--threads", "1"});
  ASSERT_EQ(half.exit_code, 0) << half.err;
  EXPECT_NE(half.out.find("nbody --resume halves"), std::string::npos) << half.out;
  EXPECT_FALSE(fs::exists(folder() / "halves/final.npy"));
  EXPECT_FALSE(fs::exists(folder() / "halves/frame_0004.png"));
  const Outcome rest = go_on("halves");
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  // Made longer in the middle of its way, a run ends where the longer run does.
  ASSERT_EQ(small("short", {"--steps", "6", "--frames", "3", "--samples", "1"}).exit_code, 0);
  ASSERT_EQ(go_on("short", {"--steps", "12"}).exit_code, 0);
  EXPECT_EQ(files("halves"), kAllFiles);
  for (const std::string& name : kAllFiles) {
    if (name == "checkpoint.safetensors") continue;  // it holds the time taken
    EXPECT_TRUE(read("whole/" + name) == read("halves/" + name)) << name;
  }
  EXPECT_TRUE(read("whole/final.npy") == read("short/final.npy"));
  EXPECT_TRUE(read("whole/frame_0005.png") == read("short/frame_0005.png"));
  ASSERT_EQ(small("other", {"--seed", "2"}).exit_code, 0);
  EXPECT_FALSE(read("whole/final.npy") == read("other/final.npy"));
}

TEST_F(NbodyResume, RanksWriteTheRunOfOneWithTheSameBits) {
  ASSERT_EQ(small("one").exit_code, 0);
  for (const std::string ranks : {"2", "3"}) {
    const Outcome outcome = small("of" + ranks, {"--devices", ranks, "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(without_cores_notice(outcome.err), "");
    EXPECT_EQ(files("of" + ranks), kAllFiles);
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    ASSERT_EQ(events.size(), 6u) << outcome.out;  // of the first rank only
    EXPECT_EQ(events[0].at("ranks"), std::stoi(ranks));
    for (const std::string& name : kAllFiles) {
      // The checkpoint holds the time taken; sums of energies are in other groups.
      if (name == "checkpoint.safetensors" || name == "energy.csv") continue;
      EXPECT_TRUE(read("one/" + name) == read("of" + ranks + "/" + name)) << name;
    }
    const std::vector<std::string> sums = lines_of(read("of" + ranks + "/energy.csv"));
    const std::vector<std::string> expected = lines_of(read("one/energy.csv"));
    ASSERT_EQ(sums.size(), expected.size());
    for (std::size_t i = 1; i < sums.size(); ++i) {
      double time = 0, found[3] = {}, wanted[3] = {};
      for (const auto& [line, energies] :
           {std::pair(sums[i], found), std::pair(expected[i], wanted)}) {
        ASSERT_EQ(std::sscanf(line.c_str(), "%*d,%lf,%lf,%lf,%lf", &time, &energies[0],
                              &energies[1], &energies[2]),
                  4);
      }
      for (int k = 0; k < 3; ++k) EXPECT_NEAR(found[k], wanted[k], 1e-6 * std::abs(wanted[1]));
    }
  }
  const Outcome text = small("text", {"--devices", "2"});
  EXPECT_NE(text.out.find("2 ranks over tcp"), std::string::npos) << text.out;
}

TEST_F(NbodyResume, AnotherNumberOfRanksGoesOn) {
  ASSERT_EQ(small("whole").exit_code, 0);
  ASSERT_EQ(small("parts", {"--devices", "3", "--stop-after", "5"}).exit_code, 0);
  ASSERT_EQ(go_on("parts", {"--stop-after", "8"}).exit_code, 0);
  const Outcome last = go_on("parts", {"--devices", "2"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(read("whole/final.npy") == read("parts/final.npy"));
  EXPECT_TRUE(read("whole/animation.png") == read("parts/animation.png"));
}

TEST_F(NbodyResume, RanksAgreeToStopAndToFail) {
  const Process process =
      start({"nbody", "--bodies", "300", "--steps", "1000000", "--samples", "10000", "--frames",
             "0", "--device", "cpu", "--devices", "2", "--json", "--out", "run"});
  ASSERT_TRUE(process.wait_for("\"step\":200,"));
  kill(process.pid(), SIGINT);  // of the first rank only
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_TRUE(json_lines(outcome.out).back().at("interrupted").get<bool>());
  EXPECT_EQ(files("run"), (std::vector<std::string>{"checkpoint.safetensors", "energy.csv"}));
  expect_error(small("none", {"--devices", "2", "--impl", "naive"}), 2,
               "it does not share its work among 2 ranks; struct_of_arrays can");
  EXPECT_FALSE(fs::exists(folder() / "none"));
  write("fast.csv", "0,0,0,3e38,0,0,1\n1,0,0,-3e38,0,0,1\n");
  expect_error(
      weft({"nbody", "--start", "fast.csv", "--dt", "100", "--steps", "10", "--device", "cpu",
            "--impl", "struct_of_arrays", "--devices", "2", "--frames", "0", "--out", "fast"}),
      1, "diverged");
}

// Two ranks on one GPU, which exchange through the host.
TEST_F(NbodyResume, RanksOnAGpuFollowTheTrajectoryOfOne) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  const auto run = [&](const std::string& name, const std::string& kernel,
                       const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"nbody",    "--bodies", "5000",      "--steps", "40",
                                          "--frames", "0",        "--samples", "2",       "--impl",
                                          kernel,     "--out",    name,        "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json_lines(outcome.out);
  };
  for (const std::string kernel : {"register_tiled", "pair_symmetric"}) {
    const auto one = run("one-" + kernel, kernel, {"--device", "cuda:0"});
    for (const std::string devices : {"0,0", "0,0,0"}) {
      const std::string name = "of-" + devices + kernel;
      const auto several = run(name, kernel, {"--devices", devices});
      ASSERT_EQ(one.size(), several.size());
      for (const char* key : {"kinetic", "potential", "energy"}) {
        const double wanted = one[one.size() - 2].at(key).get<double>();
        EXPECT_NEAR(several[one.size() - 2].at(key).get<double>(), wanted, 1e-5 * std::abs(wanted))
            << name << ' ' << key;
      }
      const std::string a = read("one-" + kernel + "/final.npy"), b = read(name + "/final.npy");
      ASSERT_EQ(a.size(), 128u + 5000 * 7 * 8);
      ASSERT_EQ(a.size(), b.size());
      double largest = 0;
      for (std::size_t at = 128; at < a.size(); at += 8) {
        double x = 0, y = 0;
        std::memcpy(&x, a.data() + at, 8);
        std::memcpy(&y, b.data() + at, 8);
        const double difference = std::abs(x - y);
        if (!(difference <= largest)) largest = difference;  // NaN stays
      }
      EXPECT_LE(largest, 1e-4) << name;  // two kernels of a CPU differ by 6e-6
    }
  }
}

TEST_F(NbodyResume, AnInterruptSavesExits130AndResumes) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string run = "run-" + std::to_string(signal);
    const Process process =
        start({"nbody", "--bodies", "300", "--steps", "1000000", "--samples", "10000", "--frames",
               "0", "--device", "cpu", "--json", "--out", run});
    ASSERT_TRUE(process.wait_for("\"step\":200,"));
    kill(process.pid(), signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_NE(outcome.err.find("weft: stopping, saving; once more quits without\n"),
              std::string::npos)
        << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    ASSERT_FALSE(events.empty());
    EXPECT_TRUE(events.back().at("interrupted").get<bool>());
    const int done = events.back().at("step").get<int>();
    EXPECT_GE(done, 200);
    EXPECT_EQ(files(run), (std::vector<std::string>{"checkpoint.safetensors", "energy.csv"}));
    const Outcome resumed = go_on(run, {"--steps", std::to_string(done + 5), "--json"});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(json_lines(resumed.out).back().at("step"), done + 5);
  }
}

TEST_F(NbodyResume, AKilledRunResumesFromItsLastCheckpoint) {
  const Process process =
      start({"nbody", "--bodies", "300", "--steps", "1000000", "--samples", "10000", "--frames",
             "0", "--checkpoint", "50", "--device", "cpu", "--json", "--out", "run"});
  ASSERT_TRUE(process.wait_for("\"step\":200,"));
  kill(process.pid(), SIGKILL);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  const Outcome resumed = go_on("run", {"--stop-after", "50", "--json"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(json_lines(resumed.out).back().at("step").get<int>() % 50, 0);
  EXPECT_GE(json_lines(resumed.out).back().at("step").get<int>(), 100);
}

TEST_F(NbodyResume, ARunIsNeverOverwrittenAndAFinishedOneSaysSo) {
  ASSERT_EQ(small("run").exit_code, 0);
  const std::string before = read("run/checkpoint.safetensors");
  expect_error(small("run"), 2, "already holds a run");
  // The last files of a finished run are written again, as after a full disk.
  const std::string bodies = read("run/final.npy");
  fs::remove(folder() / "run/final.npy");
  const Outcome again = go_on("run");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("has done all of its 12 steps"), std::string::npos) << again.err;
  EXPECT_TRUE(read("run/final.npy") == bodies);
  expect_error(go_on("run", {"--steps", "5"}), 2, "has done 12 steps already");
  EXPECT_TRUE(before == read("run/checkpoint.safetensors"));
  write("run/checkpoint.safetensors", before.substr(0, before.size() / 2));
  expect_error(go_on("run"), 3, "checkpoint.safetensors");
}

TEST_F(NbodyResume, AFullDiskKeepsTheLastCheckpoint) {
  file_size_limit_ = 5000;  // frames are larger, the checkpoint of 30 bodies is not
  expect_error(
      weft({"nbody", "--bodies", "30", "--device", "cpu", "--out", "run", "--image-size", "256"}),
      3, "frame_0001.png");
  EXPECT_EQ(files("run"), (std::vector<std::string>{"checkpoint.safetensors", "energy.csv"}));
  file_size_limit_ = 0;
  EXPECT_EQ(go_on("run", {"--steps", "4"}).exit_code, 0) << "the first frame comes later";
  EXPECT_TRUE(fs::exists(folder() / "run/frame_0001.png"));
}

}  // namespace
}  // namespace weft::test
