// SPDX-License-Identifier: MIT
// weft kernel list, show and run, and weft bench, on the CPU.
#include <set>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Kernel : public ProgramTest {};

TEST_F(Kernel, ListNamesEveryVariant) {
  const Outcome text = weft({"kernel", "list"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_NE(text.out.find("register_tiled"), std::string::npos);

  const Outcome json = weft({"kernel", "list", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  std::set<std::string> names;
  for (const nlohmann::json& event : json_lines(json.out)) {
    EXPECT_EQ(event["event"], "kernel");
    EXPECT_NE(event["summary"], "");
    EXPECT_TRUE(event["on_cpu"].get<bool>() || event["on_cuda"].get<bool>());
    names.insert(event["name"]);
  }
  EXPECT_GE(names.size(), 20u);
  for (const char* name : {"gemm/naive", "gemm/mma_tf32", "conv/im2col_gemm", "pool/gather"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(Kernel, ShowTellsWhatAVariantDoes) {
  const Outcome family = weft({"kernel", "show", "gemm"});
  EXPECT_EQ(family.exit_code, 0) << family.err;
  EXPECT_NE(family.out.find("--size counts"), std::string::npos) << family.out;

  const Outcome variant = weft({"kernel", "show", "softmax/three_pass", "--device", "cpu"});
  EXPECT_EQ(variant.exit_code, 0) << variant.err;
  for (const char* word : {"this rung", "intensity", "bound here", "the result is right"}) {
    EXPECT_NE(variant.out.find(word), std::string::npos) << word << " in " << variant.out;
  }

  const Outcome json = weft({"kernel", "show", "gemm/tiled", "--device", "cpu", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const std::vector<nlohmann::json> events = json_lines(json.out);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["variant"], "tiled");
  EXPECT_EQ(events[0]["on_cpu"], false);
  EXPECT_GT(events[0]["flops_per_byte"].get<double>(), 1);
  EXPECT_FALSE(events[0].contains("seconds")) << "it does not run on a CPU";
  EXPECT_FALSE(events[0].contains("bound_seconds")) << "nor is it bound by one";
  ASSERT_FALSE(events[0]["by_hand"].empty());
  EXPECT_EQ(events[0]["by_hand"][0]["name"], "global loads");

  const Outcome block = weft(
      {"kernel", "show", "reduce/sequential", "--block", "1024", "--size", "5", "--device", "cpu"});
  EXPECT_EQ(block.exit_code, 0) << block.err;
  EXPECT_NE(block.out.find("0 0 0 0 0 1 1 1 1 1 in the steps of a block of 1024 threads"),
            std::string::npos)
      << block.out;
}

TEST_F(Kernel, RunChecksEveryFamilyOnTheCpu) {
  const std::vector<std::vector<std::string>> runs = {
      {"gemm", "65"},       {"conv", "1"},          {"pool", "2"},          {"softmax", "7"},
      {"nbody", "100"},     {"histogram", "1001"},  {"reduce", "1000"},     {"scan", "1000"},
      {"signal", "999"},    {"memory", "33"},       {"activation", "99"},   {"batch_norm", "1"},
      {"dropout", "101"},   {"loss", "3"},          {"image", "35"},        {"batch", "2"},
      {"optimizer", "103"}, {"fused_cnn", "3"},     {"fused_mlp", "3"},     {"conv_relu_pool", "1"},
      {"transpose", "67"},  {"divergence", "1001"}, {"all_reduce", "1001"},
  };
  std::set<std::string> families;
  for (const std::vector<std::string>& run : runs) families.insert(run[0]);
  for (const nlohmann::json& event : json_lines(weft({"kernel", "list", "--json"}).out)) {
    EXPECT_TRUE(families.contains(event["family"])) << event["family"];
  }
  for (const std::vector<std::string>& run : runs) {
    const Outcome outcome = weft({"kernel", "run", run[0], "--size", run[1], "--check", "--device",
                                  "cpu", "--iterations", "3", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << run[0] << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    EXPECT_FALSE(events.empty()) << run[0];
    std::set<std::string> variants;
    for (const nlohmann::json& event : events) variants.insert(event["variant"]);
    EXPECT_EQ(variants.size(), events.size()) << run[0] << ": a variant ran twice";
    for (const nlohmann::json& event : events) {
      EXPECT_EQ(event["family"], run[0]);
      EXPECT_EQ(event["ok"], true) << event;
      EXPECT_EQ(event["device"], "cpu");
      EXPECT_GT(event["compared"].get<int>(), 0);
      EXPECT_GE(event["samples"].get<int>(), 3);
      EXPECT_GT(event["seconds"].get<double>(), 0);
      EXPECT_LE(event["seconds_p10"].get<double>(), event["seconds"].get<double>());
      EXPECT_LE(event["seconds"].get<double>(), event["seconds_p90"].get<double>());
    }
  }
}

TEST_F(Kernel, FamiliesOfSeveralOperationsRunEachByName) {
  for (const char* name : {"memory/read_by_stride", "memory/pinned_transfer", "loss/block",
                           "pool/fused_bias_sigmoid", "image/box_blur_running_sums"}) {
    const Outcome outcome = weft({"kernel", "run", name, "--size", "33", "--iterations", "2",
                                  "--device", "cpu", "--check", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
    EXPECT_EQ(json_lines(outcome.out).size(), 1u) << outcome.out;
  }
}

TEST_F(Kernel, RunOfOneVariantPrintsOneRow) {
  const Outcome outcome = weft({"kernel", "run", "gemm/packed", "--size", "33", "--iterations", "2",
                                "--device", "cpu", "--check"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(lines_of(outcome.out).size(), 4u) << outcome.out;
}

TEST_F(Kernel, ShowSaysWhatAutomaticTakesAndWhy) {
  const Outcome gemm = weft({"kernel", "show", "gemm", "--size", "256x512x784", "--device", "cpu"});
  EXPECT_EQ(gemm.exit_code, 0) << gemm.err;
  for (const char* part : {"gemm 256 x 512 x 784 on cpu", "packed", "tf32, on an H200",
                           "cluster_tf32", "blocks help each other"}) {
    EXPECT_NE(gemm.out.find(part), std::string::npos) << part << "\n" << gemm.out;
  }
  const std::vector<std::vector<std::string>> problems = {
      {"gemm", "8192"},          {"scan", "1000"}, {"softmax", "100x10"},         {"nbody", "99"},
      {"histogram", "70000000"}, {"conv", "2"},    {"conv", "64x256x14x14x256x3"}};
  for (const std::vector<std::string>& problem : problems) {
    const Outcome outcome =
        weft({"kernel", "show", problem[0], "--size", problem[1], "--json", "--device", "cpu"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    EXPECT_FALSE(events.empty()) << problem[0];
    for (const nlohmann::json& event : events) {
      EXPECT_EQ(event["event"], "choice");
      EXPECT_FALSE(event["variant"].get<std::string>().empty()) << outcome.out;
      EXPECT_FALSE(event["reason"].get<std::string>().empty()) << outcome.out;
    }
  }
  EXPECT_EQ(weft({"kernel", "run", "gemm/packed", "--size", "7x5x3", "--iterations", "1",
                  "--device", "cpu", "--check"})
                .exit_code,
            0);
  expect_error(weft({"kernel", "show", "gemm", "--size", "2x3"}), 2,
               "--size: gemm takes one number or 3 joined by x, found 2");
  expect_error(weft({"kernel", "run", "scan", "--size", "3x3"}), 2,
               "--size: scan takes one number, found 2");
  expect_error(weft({"kernel", "show", "reduce", "--size", "5"}), 2,
               "reduce has no choice to explain");
  expect_error(weft({"kernel", "show", "conv", "--size", "1x1x1x1x1x4"}), 2,
               "the kernel is larger than the padded image");
  expect_error(
      weft({"kernel", "run", "conv", "--size", "65536x65536x65536x65536x1x1", "--device", "cpu"}),
      2, "does not fit in memory");
  for (const char* size : {"3x", "x3", "0", "1x0x1", "2 x 2", "1e3", "99999999999999999999"}) {
    expect_error(weft({"kernel", "show", "gemm", "--size", size}), 2, "--size: expected");
  }
  expect_error(weft({"kernel", "show", "gemm", "--size", ""}), 2, "--size needs a value");
}

TEST_F(Kernel, MistakesAreOneLineAndExitTwo) {
  expect_error(weft({"kernel"}), 2, "list, show, run");
  expect_error(weft({"kernel", "lst"}), 2, "did you mean 'list'?");
  expect_error(weft({"kernel", "show", "gem"}), 2, "did you mean 'gemm'?");
  expect_error(weft({"kernel", "show", "gemm/tilde"}), 2, "did you mean 'tiled'?");
  expect_error(weft({"kernel", "show", "gemm/"}), 2, "unknown variant of gemm");
  expect_error(weft({"kernel", "run", "frobnicate"}), 2, "unknown kernel family 'frobnicate'");
  expect_error(weft({"kernel", "run", "gemm", "--size", "0"}), 2, "--size: expected");
  expect_error(weft({"kernel", "run", "gemm", "--size", "99999999"}), 2,
               "--size: expected at most");
  expect_error(weft({"kernel", "run", "gemm", "--iterations", "-1"}), 2, "--iterations: expected");
  expect_error(weft({"kernel", "run", "gemm/tiled", "--device", "cpu"}), 2,
               "runs on a GPU only; --device host-cuda runs");
  expect_error(weft({"kernel", "run", "gemm", "--block", "64", "--device", "cpu"}), 2,
               "--block: kernel family gemm takes no block size on cpu");
  expect_error(weft({"bench"}), 2, "FAMILY");
  expect_error(weft({"bench", "gem", "--device", "cpu"}), 2, "did you mean 'gemm'?");
  expect_error(weft({"bench", "pool/gathr", "--device", "cpu"}), 2, "did you mean 'gather'?");
  expect_error(weft({"bench", "gemm:layers/tild", "--device", "cpu"}), 2, "did you mean 'tiled'?");
  expect_error(weft({"bench", "all/gather", "--device", "cpu"}), 2, "unknown kernel family 'all'");
  expect_error(weft({"bench", "gemm", "--seconds", "0"}), 2, "--seconds: expected");
  expect_error(weft({"bench", "train", "--seeds", "0"}), 2, "--seeds: expected");
  expect_error(weft({"bench", "train", "--json", "missing/t.json"}), 3, "no folder missing");
  // The tests' PATH has no Python.
  expect_error(weft({"bench", "train", "--device", "cpu"}), 2, "cannot start python3");
}

TEST_F(Kernel, BenchWritesJsonAndReport) {
  const Outcome outcome = weft({"bench", "pool", "--device", "cpu", "--seconds", "0.001", "--json",
                                "b.jsonl", "--report", "b.html"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("gather"), std::string::npos) << outcome.out;
  const std::vector<nlohmann::json> events = json_lines(read("b.jsonl"));
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events[0]["event"], "machine");
  EXPECT_GT(events[0]["peak_bytes_per_second"].get<double>(), 0);
  EXPECT_EQ(events[1]["event"], "measurement");
  EXPECT_EQ(events[1]["ok"], true);
  const std::string page = read("b.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  for (const char* part : {"<svg", "Roofline", "gather", "of bound"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* foreign : {"<script", "src=", "://", "nan", "inf\""}) {
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  }
  expect_error(
      weft({"bench", "pool", "--device", "cpu", "--seconds", "0.001", "--json", "missing/b.jsonl"}),
      3, "no folder missing");
}

TEST_F(Kernel, BenchMeasuresOneRung) {
  const Outcome outcome =
      weft({"bench", "pool/gather", "--device", "cpu", "--seconds", "0.001", "--json", "b.jsonl"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::string> names;
  for (const nlohmann::json& event : json_lines(read("b.jsonl"))) {
    if (event["event"] == "measurement") names.insert(event["variant"].get<std::string>());
  }
  EXPECT_EQ(names, std::set<std::string>{"gather"});
  EXPECT_NE(outcome.out.find("of problem and variant were not taken: gather 1\n"),
            std::string::npos)
      << outcome.out;
  expect_error(weft({"bench", "pool/vectorized", "--device", "cpu", "--seconds", "0.001", "--json",
                     "none.jsonl"}),
               2, "no problem that is measured of pool is one that 'vectorized' takes on cpu");
  EXPECT_FALSE(fs::exists(folder() / "none.jsonl")) << "a file without a measurement";
}

}  // namespace
}  // namespace weft::test
