// SPDX-License-Identifier: MIT
// What weft kernel tells students without a GPU: the lesson of a rung, what fits on an SM, warps
// that diverge, and the parameters that courses vary.
#include <sstream>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

// Words with one space between: what stands in several lines of a table's cell.
std::string words_of(const std::string& text) {
  std::istringstream in(text);
  std::string words;
  for (std::string word; in >> word;) words += word + " ";
  return words;
}

class Lesson : public ProgramTest {
 protected:
  // Lines hold the program's name as it was called; a long path would widen them.
  void SetUp() override {
    ProgramTest::SetUp();
    environment_["WEFT_PROGRAM"] = "weft";
  }

  // The answer of one command as JSON.
  nlohmann::json answer(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "kernel");
    arguments.push_back("--json");
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    EXPECT_EQ(events.size(), 1u) << outcome.out;
    return events.empty() ? nlohmann::json() : events[0];
  }
  // What `show` computes by hand under this name.
  double by_hand(std::vector<std::string> arguments, const std::string& name) {
    arguments.insert(arguments.begin(), "show");
    for (const char* word : {"--gpu", "h200", "--device", "cpu"}) arguments.emplace_back(word);
    const nlohmann::json shown = answer(arguments);
    for (const nlohmann::json& fact : shown["by_hand"]) {
      if (fact["name"] == name) return fact["value"];
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }
};

TEST_F(Lesson, ListSaysWhatEachRungTeachesWithin80Columns) {
  const Outcome list = weft({"kernel", "list"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  for (const std::string& line : lines_of(list.out)) EXPECT_LE(line.size(), 80u) << line;
  const std::string words = words_of(list.out);
  for (const nlohmann::json& event : json_lines(weft({"kernel", "list", "--json"}).out)) {
    EXPECT_NE(words.find(event["summary"].get<std::string>()), std::string::npos) << event["name"];
  }
}

TEST_F(Lesson, ShowIsALesson) {
  const Outcome text = weft({"kernel", "show", "gemm/tiled", "--gpu", "a40"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "") << "nothing runs, so no device is announced";
  for (const char* part :
       {"C tile", "kernels/gemm/rungs/tiled.cu", "rung before", "NVIDIA A40", "runs out first",
        "FLOP per byte", "without caches", "on an H", "measured at commit", "% of the bound"}) {
    EXPECT_NE(words_of(text.out).find(part), std::string::npos) << part << " in\n" << text.out;
  }
  EXPECT_EQ(text.out.find("bound here"), std::string::npos);

  EXPECT_NE(words_of(weft({"kernel", "show", "gemm/register_tiled", "--gpu", "a40"}).out)
                .find("times as fast as tiled"),
            std::string::npos);
  const nlohmann::json naive = answer({"show", "gemm/naive", "--gpu", "h100-pcie"});
  EXPECT_NEAR(naive["roofline"]["share_of_peak_without_caches"].get<double>(), 0.010, 0.0005);
  EXPECT_EQ(naive["source"], "kernels/gemm/rungs/naive.cu");
  EXPECT_EQ(naive["occupancy"]["kernel"], "gemm_naive_kernel");
  EXPECT_GT(naive["measured"]["seconds"].get<double>(), 0);
  EXPECT_FALSE(naive.contains("seconds")) << "nothing was measured here";

  // The comment of a kernel that lies in a header beside its launcher.
  EXPECT_NE(answer({"show", "scan/brent_kung", "--gpu", "t4"})["header"].get<std::string>().find(
                "a tree of sums up"),
            std::string::npos);
  const nlohmann::json wgmma = answer({"show", "gemm/wgmma_tf32", "--gpu", "a100"});
  EXPECT_EQ(wgmma["runs_on_gpu"], false);
  EXPECT_FALSE(wgmma.contains("roofline"));
  expect_error(weft({"kernel", "show", "gemm/tiled", "--gpu", "rtx309"}), 2,
               "did you mean 'rtx3090'?");
  expect_error(weft({"kernel", "show", "gemm", "--gpu", "a40"}), 2, "--gpu: name a rung");
  expect_error(weft({"kernel", "show", "signal", "--mask", "3"}), 2, "--mask: name a rung");
}

TEST_F(Lesson, EveryRungOfAGpuHasALesson) {
  for (const nlohmann::json& event : json_lines(weft({"kernel", "list", "--json"}).out)) {
    if (event["family"] == "fused_cnn" || event["family"] == "fused_mlp" || !event["on_cuda"]) {
      continue;
    }
    // Cheap ones: a problem has to be made for each.
    if (event["family"] != "reduce" && event["family"] != "signal" && event["family"] != "gemm") {
      continue;
    }
    const nlohmann::json shown =
        answer({"show", event["name"], "--size", "64", "--gpu", "h200", "--device", "cpu"});
    EXPECT_FALSE(shown["header"].get<std::string>().empty()) << event["name"];
    const Outcome text =
        weft({"kernel", "show", event["name"], "--size", "64", "--gpu", "h200", "--device", "cpu"});
    for (const std::string& line : lines_of(text.out)) EXPECT_LE(line.size(), 80u) << line;
    // Threads and registers are those that were measured.
    EXPECT_EQ(shown.contains("occupancy"), !shown.at("measured").is_null()) << event["name"];
  }
}

TEST_F(Lesson, TheGpuThatWasAskedForIsTheOneThatWasMeasured) {
  for (const std::string gpu : {"h100", "h200"}) {
    const nlohmann::json shown =
        answer({"show", "gemm/wgmma_tf32x3", "--gpu", gpu, "--size", "64"});
    EXPECT_EQ(shown["gpu"], gpu);
    EXPECT_EQ(shown["measured"]["gpu"], gpu);
    EXPECT_EQ(shown["measured"]["gain_over"], "cluster_tf32x3") << "as accurate, and before it";
    EXPECT_GT(shown["measured"]["gain"].get<double>(), 1);
  }
  // Elsewhere it is told of which GPU the figure is, which is one of the two.
  const std::string other =
      words_of(weft({"kernel", "show", "gemm/naive", "--gpu", "a40", "--size", "64"}).out);
  const bool h100 = other.find("H100") != other.npos, h200 = other.find("H200") != other.npos;
  EXPECT_NE(h100, h200) << other;
  EXPECT_NE(other.find(h100 ? "on an H100 measured at" : "on an H200 measured at"), other.npos);
}

TEST_F(Lesson, ATileThatWasAskedForIsTheOneThatIsToldOf) {
  const Outcome sixteen = weft({"kernel", "show", "gemm/tiled", "--tile", "16", "--gpu", "h100"});
  EXPECT_EQ(sixteen.exit_code, 0) << sixteen.err;
  const std::string words = words_of(sixteen.out);
  EXPECT_NE(words.find("gemm/tiled_16, tiled with this tile"), std::string::npos) << words;
  EXPECT_NE(words.find("tiles of 16 x 16"), std::string::npos) << words;
  EXPECT_NE(words.find("gemm_square_tile_kernel has blocks of 256 threads"), std::string::npos)
      << words;
  EXPECT_EQ(words.find("32 x 32"), std::string::npos) << words;
  EXPECT_EQ(words.find("tiles of 32"), std::string::npos) << words;
  EXPECT_EQ(answer({"show", "gemm/tiled", "--tile", "32", "--gpu", "h100"})["measured"],
            answer({"show", "gemm/tiled", "--gpu", "h100"})["measured"]);

  // Nothing is told of what nobody measured, whatever the flag that asks for it.
  for (const std::vector<std::string>& asked :
       std::vector<std::vector<std::string>>{{"gemm/tiled", "--tile", "8"},
                                             {"signal/tiled", "--tile", "16"},
                                             {"gemm/strip_k4", "--results", "2"},
                                             {"reduce/sequential", "--block", "128"}}) {
    std::vector<std::string> words_asked = {"show", asked[0], asked[1], asked[2], "--size", "64"};
    for (const char* word : {"--gpu", "h100", "--device", "cpu"}) words_asked.emplace_back(word);
    const nlohmann::json shown = answer(words_asked);
    EXPECT_TRUE(shown.at("measured").is_null()) << asked[0];
    EXPECT_FALSE(shown.contains("occupancy")) << asked[0];
  }
}

TEST_F(Lesson, OccupancyInPlainWords) {
  const Outcome text = weft({"kernel", "occupancy", "--threads", "300", "--registers", "40",
                             "--shared", "8K", "--gpu", "a40"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part :
       {"NVIDIA A40, compute capability 8.6, 84 SMs", "An SM holds 4 blocks", "40 of 48 warps",
        "83.3 %", "1200 of 1536 threads", "12 of 32 lanes", "96 threads (3 warps)"}) {
    EXPECT_NE(words_of(text.out).find(part), std::string::npos) << part << " in\n" << text.out;
  }
  for (const std::string& line : lines_of(text.out)) {
    EXPECT_LE(line.size(), 80u * 3) << line;  // a rule has three bytes in each column
  }
  const nlohmann::json k2 =
      answer({"occupancy", "--threads", "224", "--shared", "8K", "--registers-per-block", "6K",
              "--sm-threads", "1024", "--sm-blocks", "8", "--sm-registers", "16K", "--sm-shared",
              "16K", "--on-paper"});
  EXPECT_EQ(k2["warps"], 14);
  EXPECT_DOUBLE_EQ(k2["occupancy"].get<double>(), 0.4375);
  // 65,536 / 200 = 327 threads, 16 % of 2048.
  const Outcome registers =
      weft({"kernel", "occupancy", "--threads", "32", "--registers", "200", "--gpu", "h100"});
  EXPECT_NE(words_of(registers.out).find("327 threads, 16.0 %"), std::string::npos)
      << registers.out;
  EXPECT_EQ(answer({"occupancy", "--threads", "32", "--gpu", "h100"})["occupancy"], 0.5);
  EXPECT_NE(words_of(weft({"kernel", "occupancy", "--threads", "1024", "--registers", "65"}).out)
                .find("Not one block fits on an SM: it has too few registers"),
            std::string::npos);
  EXPECT_NE(
      words_of(
          weft({"kernel", "occupancy", "--threads", "256", "--wait", "50", "--work", "20"}).out)
          .find("a scheduler needs 4"),
      std::string::npos);
  expect_error(weft({"kernel", "occupancy"}), 2, "--threads");
  expect_error(weft({"kernel", "occupancy", "--threads", "2000"}), 2, "--threads: expected");
  expect_error(weft({"kernel", "occupancy", "--threads", "32", "--gpu", "rtx490"}), 2,
               "did you mean 'rtx4090'?");
  expect_error(weft({"kernel", "occupancy", "--threads", "32", "--shared", "8Q"}), 2,
               "--shared: expected");
  expect_error(weft({"kernel", "occupancy", "--threads", "32", "--shared", "99999999999999999999"}),
               2, "--shared: expected");
}

TEST_F(Lesson, WarpsThatDiverge) {
  const nlohmann::json exam =
      answer({"warps", "--size", "176x174", "--block", "16x16", "--branch", "row>col"});
  EXPECT_EQ(exam["warps"], 968);
  EXPECT_EQ(exam["divergent"], 168);
  const Outcome text =
      weft({"kernel", "warps", "--size", "176x174", "--block", "16x16", "--branch", "row>col"});
  EXPECT_NE(text.out.find("168 of 968 warps diverge"), std::string::npos) << text.out;
  expect_error(weft({"kernel", "warps", "--size", "9", "--block", "3x3"}), 2, "the same 1 to 3");
  expect_error(weft({"kernel", "warps", "--size", "9", "--block", "9", "--branch", "even"}), 2,
               "--branch");
}

TEST_F(Lesson, ParametersThatCoursesVary) {
  EXPECT_EQ(by_hand({"memory/copy_by_offset", "--offset", "8"}, "sectors of a warp"), 4);
  EXPECT_EQ(by_hand({"memory/copy_by_offset", "--offset", "3"}, "sectors of a warp"), 5);
  EXPECT_EQ(by_hand({"memory/read_by_stride", "--stride", "4"}, "share of use"), 0.25);
  EXPECT_EQ(by_hand({"memory/shared_by_stride", "--stride", "33"}, "passes over the banks"), 1);
  EXPECT_EQ(by_hand({"signal/tiled", "--mask", "9x9", "--tile", "16"}, "uses of an element"), 36);
  EXPECT_NEAR(
      by_hand({"signal/tiled_halo_internal", "--mask", "5", "--tile", "8"}, "uses of an element"),
      3.3, 0.05);
  EXPECT_DOUBLE_EQ(by_hand({"signal/tiled", "--mask", "5", "--tile", "8"}, "uses at the border"),
                   13.69);
  EXPECT_EQ(by_hand({"scan/brent_kung", "--tile", "2048"}, "additions"), 4083);
  EXPECT_EQ(4 * by_hand({"gemm/tiled", "--size", "80x69x41", "--tile", "16"}, "global loads"),
            122180);
  const double two = by_hand({"gemm/strip_k4", "--results", "2", "--block", "64"}, "global loads");
  const double four = by_hand({"gemm/strip_k4", "--results", "4", "--block", "64"}, "global loads");
  EXPECT_GT(two, four);
  EXPECT_NE(answer({"show", "gemm/naive", "--transpose", "b", "--gpu", "h200"})["problem"]
                .get<std::string>()
                .find("B^T"),
            std::string::npos);
  EXPECT_NE(answer({"show", "signal/tiled", "--size", "5x6x7", "--gpu", "h200"})["problem"]
                .get<std::string>()
                .find("3-D, 5 x 6 x 7, filter 3 x 3 x 3"),
            std::string::npos);

  // They change what runs, and the result is checked.
  for (const std::vector<std::string>& run : std::vector<std::vector<std::string>>{
           {"memory/copy_by_stride", "--stride", "7", "--offset", "3", "--size", "1000"},
           {"memory/read_by_offset", "--offset", "5", "--size", "1000"},
           {"memory/shared_by_stride", "--stride", "5", "--size", "1000"},
           {"signal", "--size", "33x17", "--mask", "7x3"},
           {"signal", "--size", "9x8x7", "--mask", "5"},
           {"gemm/packed", "--size", "33x17x5", "--transpose", "ab"}}) {
    std::vector<std::string> arguments = {"kernel", "run"};
    arguments.insert(arguments.end(), run.begin(), run.end());
    for (const char* word : {"--device", "cpu", "--check", "--iterations", "2"}) {
      arguments.emplace_back(word);
    }
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << run[0] << outcome.err;
  }
  expect_error(weft({"kernel", "run", "gemm", "--stride", "2", "--device", "cpu"}), 2,
               "--stride: gemm has no such parameter");
  expect_error(weft({"kernel", "show", "gemm/naive", "--tile", "16", "--device", "cpu"}), 2,
               "--tile: gemm/naive has no such parameter");
  expect_error(weft({"kernel", "show", "gemm/strip_k3", "--results", "3", "--device", "cpu"}), 2,
               "--results: the strip rungs take 2 or 4, found 3");
  expect_error(weft({"kernel", "show", "signal/tiled", "--size", "9x9", "--mask", "3x3x3",
                     "--device", "cpu"}),
               2, "--mask: expected as many extents as --size has");
  expect_error(weft({"kernel", "run", "signal", "--mask", "99x99x99", "--device", "cpu"}), 2,
               "--mask: expected at most");
  expect_error(
      weft({"kernel", "run", "memory/copy_by_stride", "--stride", "1000000", "--device", "cpu"}), 2,
      "take a smaller --size");
}

}  // namespace
}  // namespace weft::test
