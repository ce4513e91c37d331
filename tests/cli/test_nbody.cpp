// SPDX-License-Identifier: MIT
// weft nbody: its run directory, resume, signals, files in and out, and mistakes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/device.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Nbody : public ProgramTest {
 protected:
  // Few bodies on the CPU in folder()/name.
  Outcome small(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "nbody", "--bodies",     "200", "--steps",  "12",  "--frames",
        "5",     "--image-size", "64",  "--device", "cpu", "--progress",
        "off",   "--samples",    "3",   "--out",    name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  }
  Outcome go_on(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"nbody", "--resume", name, "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  }
  std::vector<std::string> files(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder() / name)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

const std::vector<std::string> kAllFiles = {
    "animation.png",  "checkpoint.safetensors", "energy.csv",     "final.npy",     "frame_0001.png",
    "frame_0002.png", "frame_0003.png",         "frame_0004.png", "frame_0005.png"};

TEST_F(Nbody, WritesARunAndSaysWhatToTryNext) {
  const Outcome outcome = small("my run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(files("my run"), kAllFiles);
  EXPECT_TRUE(read("my run/frame_0001.png").starts_with("\x89PNG"));
  EXPECT_NE(read("my run/animation.png").find("acTL"), std::string::npos);
  EXPECT_EQ(lines_of(read("my run/energy.csv")).size(), 5u);  // heading, step 0 and 3 samples
  EXPECT_NE(outcome.out.find("20 operations each"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos) << "colour in a file";
  int tried = 0;
  for (const std::string& line : lines_of(outcome.out)) {
    if (line.find(" nbody --resume") == std::string::npos) continue;
    const Outcome next = shell(line + " --device cpu");
    EXPECT_EQ(next.exit_code, 0) << line << next.err;
    ++tried;
  }
  EXPECT_EQ(tried, 1);
  EXPECT_TRUE(fs::exists(folder() / "my run/frame_0009.png"));  // the numbers go on
  EXPECT_FALSE(fs::exists(folder() / "my run/frame_0010.png"));
}

TEST_F(Nbody, JsonLinesHoldEverythingAndStdoutNothingElse) {
  const Outcome outcome = small("run", {"--json", "--start", "plummer"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  ASSERT_EQ(events.size(), 6u) << outcome.out;
  EXPECT_EQ(events[0].at("event"), "start");
  EXPECT_EQ(events[0].at("bodies"), 200);
  EXPECT_EQ(events[0].at("arithmetic"), "fp32");
  for (std::size_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(events[i].at("event"), "sample");
    EXPECT_EQ(events[i].at("step"), 4 * (i - 1));
    EXPECT_LT(std::abs(events[i].at("energy_drift").get<double>()), 1e-2);
    EXPECT_LT(events[i].at("momentum_drift").get<double>(), 1e-6);
    EXPECT_LT(events[i].at("centre_of_mass_off").get<double>(), 1e-6);
  }
  const nlohmann::json& end = events.back();
  EXPECT_EQ(end.at("event"), "end");
  EXPECT_TRUE(end.at("finished").get<bool>());
  EXPECT_FALSE(end.at("interrupted").get<bool>());
  EXPECT_EQ(end.at("step"), 12);
  EXPECT_EQ(end.at("flops_per_interaction"), 20);
  EXPECT_NEAR(end.at("virial_ratio").get<double>(), 1, 0.3);
  EXPECT_GT(end.at("interactions_per_second").get<double>(), 0);
  EXPECT_TRUE(fs::exists(folder() / end.at("final").get<std::string>()));
  EXPECT_TRUE(fs::exists(folder() / end.at("animation").get<std::string>()));
}

TEST_F(Nbody, StopAndResumeGiveTheSameBits) {
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

TEST_F(Nbody, RanksWriteTheRunOfOneWithTheSameBits) {
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

TEST_F(Nbody, AnotherNumberOfRanksGoesOn) {
  ASSERT_EQ(small("whole").exit_code, 0);
  ASSERT_EQ(small("parts", {"--devices", "3", "--stop-after", "5"}).exit_code, 0);
  ASSERT_EQ(go_on("parts", {"--stop-after", "8"}).exit_code, 0);
  const Outcome last = go_on("parts", {"--devices", "2"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(read("whole/final.npy") == read("parts/final.npy"));
  EXPECT_TRUE(read("whole/animation.png") == read("parts/animation.png"));
}

TEST_F(Nbody, RanksAgreeToStopAndToFail) {
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
TEST_F(Nbody, RanksOnAGpuFollowTheTrajectoryOfOne) {
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

TEST_F(Nbody, AnInterruptSavesExits130AndResumes) {
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

TEST_F(Nbody, AKilledRunResumesFromItsLastCheckpoint) {
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

TEST_F(Nbody, ReadsAndWritesFiles) {
  // The earth around the sun, in astronomical units, years and solar masses.
  write("sun.csv", "x,y,z,vx,vy,vz,mass\n0,0,0,0,0,0,1\n1,0,0,0,6.2831853,0,3e-6\n");
  const Outcome year =
      weft({"nbody",     "--start", "sun.csv", "--gravity", "39.478418", "--softening",  "1e-4",
            "--dt",      "0.001",   "--steps", "1000",      "--device",  "cpu",          "--save",
            "later.csv", "--out",   "year",    "--frames",  "3",         "--image-size", "64"});
  ASSERT_EQ(year.exit_code, 0) << year.err;
  const std::vector<std::string> rows = lines_of(read("later.csv"));
  ASSERT_EQ(rows.size(), 3u);
  double x = 0, y = 0;
  ASSERT_EQ(std::sscanf(rows[2].c_str(), "%lf,%lf", &x, &y), 2);
  EXPECT_NEAR(x, 1, 1e-3);
  EXPECT_NEAR(y, 0, 1e-3);
  const Outcome next = weft({"nbody", "--start", "year/final.npy", "--steps", "2", "--device",
                             "cpu", "--frames", "0", "--save", "next.npy"});
  ASSERT_EQ(next.exit_code, 0) << next.err;
  EXPECT_EQ(files("runs/nbody-final-1"),
            (std::vector<std::string>{"checkpoint.safetensors", "energy.csv", "final.npy"}));
  EXPECT_TRUE(read("next.npy") == read("runs/nbody-final-1/final.npy"));
  EXPECT_EQ(read("next.npy").size(), 128u + 2 * 7 * 8);
}

// A million short steps: the body is where its speed leads it, the time is that of the steps, and
// the line of the drifts says how far the centre of mass went.
TEST_F(Nbody, AFreeBodyGoesFarInShortSteps) {
  write("one.csv", "0,0,0,1,0,0,1\n");
  const std::vector<std::string> arguments = {
      "nbody",    "--start", "one.csv",   "--dt", "0.001",    "--steps", "1000000",
      "--frames", "0",       "--samples", "2",    "--device", "cpu"};
  std::vector<std::string> text = arguments, json = arguments;
  text.insert(text.end(), {"--save", "s.csv", "--out", "text"});
  json.insert(json.end(), {"--json", "--out", "json"});
  const Outcome outcome = weft(text);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  double x = 0;
  ASSERT_EQ(std::sscanf(lines_of(read("s.csv"))[1].c_str(), "%lf,", &x), 1);
  EXPECT_NEAR(x, 1000, 1e-6);
  EXPECT_NE(outcome.out.find("the centre of mass moved by 1000, "), std::string::npos)
      << outcome.out;
  const std::vector<nlohmann::json> events = json_lines(weft(json).out);
  ASSERT_EQ(events.size(), 5u);
  const nlohmann::json& last = events[3];
  EXPECT_EQ(last.at("time"), 1000);
  EXPECT_NEAR(last.at("centre_of_mass")[0].get<double>(), x, 0);
  EXPECT_NEAR(last.at("centre_of_mass_moved").get<double>(), 1000, 1e-6);
  EXPECT_LE(last.at("centre_of_mass_off").get<double>(), 1e-6);
}

TEST_F(Nbody, BodiesKeepEveryDigitInFilesAndOverAResume) {
  const std::string row = "0.1,-0.30000000000000004,1e-20,123456.78901234567,0,-2.5e-07,0.7";
  write("start.csv", "x,y,z,vx,vy,vz,mass\n" + row + "\n" + row + "\n0,0,0,0,0,0,1\n");
  const auto run = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "nbody", "--start",  "start.csv", "--dt",      "0.1", "--out",  out,         "--frames",
        "0",     "--device", "cpu",       "--samples", "1",   "--save", out + ".csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments).exit_code;
  };
  ASSERT_EQ(run("still", {"--steps", "0"}), 0);
  EXPECT_EQ(read("still.csv"), read("start.csv"));
  for (const std::string kernel : {"automatic", "naive"}) {
    ASSERT_EQ(run("whole-" + kernel, {"--steps", "20", "--impl", kernel}), 0);
    ASSERT_EQ(run("half-" + kernel, {"--steps", "20", "--impl", kernel, "--stop-after", "7"}), 0);
    ASSERT_EQ(go_on("half-" + kernel, {"--save", "half.csv"}).exit_code, 0);
    EXPECT_EQ(read("whole-" + kernel + ".csv"), read("half.csv")) << kernel;
    EXPECT_NE(read("half.csv"), read("start.csv"));
  }
  // What was saved starts the next run with the same bits, in either format.
  ASSERT_EQ(weft({"nbody", "--start", "whole-naive/final.npy", "--steps", "0", "--device", "cpu",
                  "--frames", "0", "--save", "again.csv"})
                .exit_code,
            0);
  EXPECT_EQ(read("again.csv"), read("whole-naive.csv"));
}

TEST_F(Nbody, NoStepsShowTheStart) {
  const Outcome still = weft({"nbody", "--bodies", "100", "--steps", "0", "--device", "cpu",
                              "--image-size", "64", "--out", "still"});
  ASSERT_EQ(still.exit_code, 0) << still.err;
  EXPECT_EQ(files("still"),
            (std::vector<std::string>{"animation.png", "checkpoint.safetensors", "energy.csv",
                                      "final.npy", "frame_0001.png"}));
}

struct NbodyMistake {
  std::vector<std::string> arguments;
  int exit_code;
  std::string part;
};

TEST_F(Nbody, MistakesAreOneLineAndLeaveNothing) {
  write("nan.csv", "1,2,nan,0,0,0,1\n");
  write("negative.csv", "1,2,3,0,0,0,-1\n");
  write("short.csv", "1,2,3\n");
  write("empty.npy", "");
  write("cut.npy", std::string("\x93NUMPY\x01\x00\x76\x00{'descr'", 18));
  write("file", "x");
  write("taken/other", "x");
  const std::vector<NbodyMistake> mistakes = {
      {{"--bodies", "0"}, 2, "--bodies: expected a whole number from 1"},
      {{"--bodies", "99999999999"}, 2, "--bodies: expected"},
      {{"--steps", "-1"}, 2, "--steps: expected"},
      {{"--dt", "0"}, 2, "--dt: expected a number"},
      {{"--dt", "nan"}, 2, "--dt: expected a number"},
      {{"--softening", "0"}, 2, "--softening: expected a number"},
      {{"--gravity", "-1"}, 2, "--gravity: expected a number"},
      {{"--frames", "1"}, 2, "--frames: expected 0 or 2"},
      {{"--frames", "50", "--steps", "10"}, 2, "--frames: expected at most 11 for 10 steps"},
      {{"--samples", "50", "--steps", "10"}, 2, "--samples: expected at most 10 for 10 steps"},
      {{"--image-size", "1"}, 2, "--image-size: expected"},
      {{"--start", "plumer"}, 2, "did you mean 'plummer'?"},
      {{"--start", "sphere"}, 2, "unknown start 'sphere'"},
      {{"--step", "3"}, 2, "did you mean '--steps'?"},
      {{"--impl", "fast"}, 2, "unknown nbody variant 'fast'"},
      {{"--impl", "pair_symmetric"}, 2, "does not run on cpu"},
      {{"--colour", "mass"}, 2, "--colour: expected one of speed, galaxy"},
      {{"--start", "nan.csv", "--bodies", "3"}, 2, "--bodies is for"},
      {{"--resume", "x", "--dt", "1"}, 2, "--dt cannot be combined with --resume"},
      {{"--resume", ""}, 2, "--resume needs"},
      {{"--out", ""}, 2, "--out needs"},
      {{"--out", "taken"}, 2, "expected an empty folder"},
      {{"--save", "state.txt"}, 2, "--save: expected FILE.npy or FILE.csv"},
      {{"--softening", "1e-12", "--bodies", "2", "--gravity", "1000"}, 2, "too small"},
      {{"--save", "no/such/x.npy"}, 3, "could not write no/such/x.npy"},
      {{"--out", "file/run"}, 3, "file/run"},
      {{"--start", "nan.csv"}, 3, "nan.csv, line 1: z: expected a finite float"},
      {{"--start", "negative.csv"}, 3, "mass: expected 0 or more"},
      {{"--start", "short.csv"}, 3, "expected 7 numbers"},
      {{"--start", "empty.npy"}, 3, "empty.npy"},
      {{"--start", "cut.npy"}, 3, "cut.npy"},
      {{"--start", "missing.csv"}, 3, "missing.csv: no such file"},
      {{"--start", "./"}, 3, "regular file"},
      {{"--resume", "taken"}, 3, "no n-body run to resume"},
  };
  for (const NbodyMistake& mistake : mistakes) {
    std::vector<std::string> arguments = {"nbody", "--device", "cpu"};
    arguments.insert(arguments.end(), mistake.arguments.begin(), mistake.arguments.end());
    SCOPED_TRACE(testing::PrintToString(mistake.arguments));
    expect_error(weft(arguments), mistake.exit_code, mistake.part);
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder())) {
    const std::string name = entry.path().filename().string();
    EXPECT_FALSE(name.starts_with("frame") || name.starts_with("checkpoint")) << name;
  }
}

TEST_F(Nbody, ARunIsNeverOverwrittenAndAFinishedOneSaysSo) {
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

TEST_F(Nbody, AFullDiskKeepsTheLastCheckpoint) {
  file_size_limit_ = 5000;  // frames are larger, the checkpoint of 30 bodies is not
  expect_error(
      weft({"nbody", "--bodies", "30", "--device", "cpu", "--out", "run", "--image-size", "256"}),
      3, "frame_0001.png");
  EXPECT_EQ(files("run"), (std::vector<std::string>{"checkpoint.safetensors", "energy.csv"}));
  file_size_limit_ = 0;
  EXPECT_EQ(go_on("run", {"--steps", "4"}).exit_code, 0) << "the first frame comes later";
  EXPECT_TRUE(fs::exists(folder() / "run/frame_0001.png"));
}

TEST_F(Nbody, ADivergedRunExitsOne) {
  write("fast.csv", "0,0,0,3e38,0,0,1\n1,0,0,-3e38,0,0,1\n");
  expect_error(weft({"nbody", "--start", "fast.csv", "--dt", "100", "--steps", "10", "--device",
                     "cpu", "--impl", "naive", "--frames", "0", "--out", "run"}),
               1, "diverged");
}

TEST_F(Nbody, EnergyFromNowhereIsToldAndExitsOne) {
  const Outcome wrong = small("wrong", {"--dt", "100"});
  EXPECT_EQ(wrong.exit_code, 1) << wrong.out;
  expect_error(wrong, 1, "times what the bodies had, so their paths are wrong; a smaller --dt");
  EXPECT_EQ(files("wrong"), kAllFiles);
  EXPECT_EQ(small("right").err, "");
}

TEST_F(Nbody, TheTimeOfTheStepsIsToldApart) {
  const Outcome outcome = small("run");
  EXPECT_NE(outcome.out.find("Done: 12 steps in "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(". The steps alone took "), std::string::npos) << outcome.out;
}

TEST_F(Nbody, ProgressGoesToStderrOnly) {
  const Outcome shown = small("run", {"--progress", "on", "--bodies", "4000", "--steps", "40"});
  EXPECT_NE(shown.err.find("interactions/s"), std::string::npos) << shown.err;
  EXPECT_EQ(shown.out.find('\r'), std::string::npos);
}

}  // namespace
}  // namespace weft::test
