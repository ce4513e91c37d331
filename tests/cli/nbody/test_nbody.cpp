// SPDX-License-Identifier: MIT
// weft nbody: its run directory, files in and out, and mistakes.
#include <cmath>

#include "tests/cli/nbody/nbody_program.h"

namespace weft::test {
namespace {

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
            (std::vector<std::string>{"checkpoint.safetensors", "energy.csv", "final.npy",
                                      "orbits.csv"}));
  EXPECT_TRUE(read("next.npy") == read("runs/nbody-final-1/final.npy"));
  EXPECT_EQ(read("next.npy").size(), 128u + 2 * 7 * 8);
}

TEST_F(Nbody, UnitsOrbitsAndSnapshotsAreThoseOfAstronomers) {
  // The earth and Jupiter around the sun.
  write("sun.csv",
        "id,x,y,z,vx,vy,vz,mass\n0,0,0,0,0,0,0,1\n1,1,0,0,0,6.2831,0,3e-06\n"
        "2,0,5.2044,0,-2.7546,0,0,0.000955\n");
  const std::vector<std::string> common = {
      "nbody", "--start",      "sun.csv", "--units", "astronomical", "--softening", "1e-6",
      "--dt",  "0.002",        "--steps", "100",     "--device",     "cpu",         "--frames",
      "3",     "--image-size", "64"};
  std::vector<std::string> text = common, json = common;
  text.insert(text.end(), {"--snapshots", "3", "--out", "run"});
  json.insert(json.end(), {"--json", "--out", "json"});
  const Outcome outcome = weft(text);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"Orbits around body 0", "0.002 years", "semi-major axis", "G = 39.4769",
                           "snapshots", "snapshot_*", "3, run/frame_*.png"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  for (const char* name :
       {"snapshot_0001.csv", "snapshot_0002.npy", "snapshot_0003.csv", "orbits.csv"}) {
    EXPECT_TRUE(fs::exists(folder() / "run" / name)) << name;
  }
  EXPECT_FALSE(fs::exists(folder() / "run/snapshot_0004.csv"));
  EXPECT_EQ(read("run/snapshot_0001.csv"), read("sun.csv"));
  EXPECT_TRUE(read("run/snapshot_0003.npy") == read("run/final.npy"));
  const nlohmann::json end = json_lines(weft(json).out).back();
  ASSERT_EQ(end.at("orbits").size(), 2u);
  EXPECT_NEAR(end.at("orbits")[0].at("semi_major").get<double>(), 1, 1e-3);
  EXPECT_NEAR(end.at("orbits")[0].at("period").get<double>(), 1, 2e-3);
  EXPECT_NEAR(end.at("orbits")[1].at("semi_major").get<double>(), 5.2, 0.1);
  EXPECT_EQ(end.at("frames"), 3);

  // A snapshot goes on as the run does.
  const Outcome rest = weft({"nbody", "--start", "run/snapshot_0002.csv", "--units", "astronomical",
                             "--softening", "1e-6", "--dt", "0.002", "--steps", "50", "--device",
                             "cpu", "--frames", "0", "--out", "rest"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(read("rest/final.npy") == read("run/final.npy"));

  // In the wrong units it says so.
  std::vector<std::string> wrong = common;
  wrong[4] = "si";
  wrong.insert(wrong.end(), {"--out", "wrong"});
  const Outcome doubt = weft(wrong);
  EXPECT_NE(doubt.err.find(
                "gravity is too weak to matter to these bodies (--units astronomical would fit)"),
            std::string::npos)
      << doubt.err;
  expect_error(weft({"nbody", "--units", "si", "--gravity", "2"}), 2,
               "--units and --gravity: either says the constant of gravity");
  expect_error(weft({"nbody", "--units", "miles"}), 2, "astronomical");
}

TEST_F(Nbody, AResumedRunCountsItsFramesAndShowsItsEnd) {
  ASSERT_EQ(small("run", {"--json"}).exit_code, 0);
  const Outcome longer = go_on("run", {"--steps", "13", "--json"});
  ASSERT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_EQ(json_lines(longer.out).back().at("frames"), 5);  // the next one would be at step 15
  const Outcome shown = go_on("run", {"--steps", "14"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("5, run/frame_*.png"), std::string::npos) << shown.out;
  // Its end is drawn, although it has no frame: blocks of the picture for the terminal.
  EXPECT_GT(lines_of(shown.out).size(), 30u) << shown.out;
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
