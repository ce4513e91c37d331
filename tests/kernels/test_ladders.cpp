// SPDX-License-Identifier: MIT
// What holds for the ladder of every family: names and sentences, files and rows, what `automatic`
// takes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/catalogue.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/automatic.h"
#include "tests/support/device_test.h"
#include "tests/support/folder.h"

namespace weft::test {
namespace {

using namespace weft::kernels;
namespace fs = std::filesystem;

const fs::path kKernels = fs::path(WEFT_SOURCE_DIR) / "kernels";

fs::path rungs_of(const Family& family) {
  return kKernels / family.folder / "rungs";
}

TEST(Ladders, FamiliesAndRungsHaveNamesAndSentences) {
  std::set<std::string_view> families;
  for (const Family& family : catalogue()) {
    EXPECT_TRUE(families.insert(family.name).second) << family.name << " twice";
    EXPECT_FALSE(family.summary.empty()) << family.name;
    EXPECT_EQ(find_family(family.name), &family);
    const Rungs rungs = family.rungs();
    ASSERT_GT(rungs.size(), 0u) << family.name;
    std::set<std::string_view> names;
    for (const Rung& rung : rungs) {
      EXPECT_TRUE(names.insert(rung.name).second) << family.name << "/" << rung.name << " twice";
      EXPECT_FALSE(rung.summary.empty() || rung.prefer.empty()) << family.name << "/" << rung.name;
      EXPECT_TRUE(rung.on_cpu || rung.on_cuda) << family.name << "/" << rung.name;
      EXPECT_EQ(rungs.find(rung.name), &rung);
      EXPECT_EQ(rung_name(family.name, rung.name).data(), rung.name.data());
    }
    EXPECT_EQ(rungs.find("frobnicate"), nullptr);
    EXPECT_EQ(rung_name(family.name, "automatic"), "automatic");
    try {
      static_cast<void>(rung_name(family.name, "frobnicate"));
      ADD_FAILURE() << family.name << " knows frobnicate";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(rungs[0].name), std::string::npos) << error.what();
    }
  }
  EXPECT_GE(families.size(), 19u);
  EXPECT_EQ(find_family("frobnicate"), nullptr);
}

// A family has one operation, or each of its rungs says which one it computes.
TEST(Ladders, RungsOfAFamilyOfSeveralOperationsNameTheirs) {
  std::set<std::string_view> several;
  for (const Family& family : catalogue()) {
    std::set<std::string_view> operations;
    for (const Rung& rung : family.rungs()) operations.insert(rung.operation);
    if (operations == std::set<std::string_view>{""}) continue;
    EXPECT_FALSE(operations.contains("")) << family.name;
    EXPECT_GT(operations.size(), 1u) << family.name;
    several.insert(family.name);
  }
  EXPECT_EQ(several, (std::set<std::string_view>{"fused_cnn", "image", "loss", "memory", "pool"}));
}

// The files below a folder of rungs.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

// The files of a folder without a row, and the rows without a file. NAME.cu and NAME.cuh belong to
// the rung NAME, and lie in a folder `hopper`, which host-cuda leaves out, if that cannot run it.
std::vector<std::string> unmatched(const Family& family, const fs::path& folder) {
  std::vector<std::string> found;
  std::set<std::string> names;
  const Rungs rungs = family.rungs();
  for (const fs::path& path : files_below(folder)) {
    const std::string name = path.filename().string();
    if (!names.insert(name).second) found.push_back("two files " + name);
    const Rung* rung = rungs.find(path.stem().string());
    if (rung == nullptr || !rung->on_cuda) {
      found.push_back("no row for " + name);
    } else if (rung->on_host_cuda() == (path.parent_path().filename() == "hopper")) {
      found.push_back(name + " and its row disagree whether it is for Hopper");
    }
  }
  for (const Rung& rung : rungs) {
    const std::string file = std::string(rung.name) + ".cu";
    if (rung.on_cuda && !names.contains(file)) found.push_back("no file " + file);
  }
  return found;
}

TEST(Ladders, EveryFileOfARungHasARow) {
  std::size_t files = 0;
  for (const Family& family : catalogue()) {
    ASSERT_TRUE(fs::is_directory(rungs_of(family))) << rungs_of(family);
    for (const std::string& problem : unmatched(family, rungs_of(family))) {
      ADD_FAILURE() << family.name << ": " << problem;
    }
    files += files_below(rungs_of(family)).size();
  }
  EXPECT_GT(files, 80u);
}

// A copy of the folder of rungs without one file, or with one more, is found in every family.
TEST(Ladders, EveryFileWithoutARowAndEveryRowWithoutAFileIsFound) {
  for (const Family& family : catalogue()) {
    const TemporaryFolder copy, aside;
    fs::copy(rungs_of(family), copy.path(), fs::copy_options::recursive);
    ASSERT_TRUE(unmatched(family, copy.path()).empty()) << family.name;
    for (const Rung& rung : family.rungs()) {
      // The name of a rung is the beginning of the name of another one in several families.
      const std::string more = std::string(rung.name) + "_scratch.cu";
      std::ofstream(copy.path() / more);
      EXPECT_EQ(unmatched(family, copy.path()), std::vector<std::string>{"no row for " + more});
      fs::remove(copy.path() / more);
    }
    for (const fs::path& path : files_below(copy.path())) {
      if (path.extension() != ".cu") continue;
      const fs::path away = aside.path() / path.filename();
      fs::rename(path, away);
      EXPECT_EQ(unmatched(family, copy.path()),
                std::vector<std::string>{"no file " + path.filename().string()});
      fs::rename(away, path);
    }
  }
}

// On every device that there is, also on a machine without a GPU.
TEST(Ladders, GemmChoosesOnlyWhatTakesTheProblem) {
  const GemmDevice devices[] = {{75, false}, {80, false}, {89, false}, {90, true}, {100, false}};
  int choices = 0;
  for (const GemmDevice& device : devices) {
    for (const std::int64_t m : {1, 64, 512, 4096, 100000}) {
      for (const std::int64_t n : {10, 512, 8192}) {
        for (const std::int64_t k : {0, 64, 784, 9216}) {
          for (int bits = 0; bits < 8; ++bits) {
            for (const ComputeMode mode :
                 {ComputeMode::fp32, ComputeMode::tf32, ComputeMode::bf16}) {
              const GemmStorage storage = (bits & 4) != 0 ? GemmStorage::bf16 : GemmStorage::fp32;
              if (storage == GemmStorage::bf16 && device.compute_capability < 80) continue;
              const GemmDims dims{m, n, k, (bits & 1) != 0, (bits & 2) != 0};
              const Choice choice = gemm_automatic({dims, storage, mode, true}, device);
              const Rung* rung = gemm_rungs().find(choice.rung);
              ASSERT_NE(rung, nullptr) << choice.rung << " is no rung";
              EXPECT_FALSE(choice.reason.empty()) << choice.rung;
              EXPECT_TRUE(rung->arithmetic.in(mode)) << choice.rung;
              EXPECT_LE(rung->compute_capability, device.compute_capability) << choice.rung;
              EXPECT_TRUE(!rung->exactly_sm_90a || device.hopper) << choice.rung;
              // Tensor maps of no columns do not exist.
              EXPECT_TRUE(rung->compute_capability < 90 || k > 0) << choice.rung;
              ++choices;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(choices, 5000);
}

class LaddersHere : public DeviceTest {};

TEST_P(LaddersHere, ConvolutionChoosesWhatTakesTheProblem) {
  for (const std::int64_t n : {0, 1, 64}) {
    for (const std::int64_t c : {1, 6, 64}) {
      for (const std::int64_t oc : {6, 32, 256}) {
        for (const std::int64_t kernel : {1, 3, 5}) {
          for (const std::int64_t stride : {1, 2}) {
            for (const ConvPass pass :
                 {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
              const ConvDims dims{.n = n,
                                  .c = c,
                                  .h = 14,
                                  .w = 14,
                                  .oc = oc,
                                  .kh = kernel,
                                  .kw = kernel,
                                  .stride_h = stride,
                                  .stride_w = stride};
              const ConvProblem problem{pass, dims};
              const Choice choice = conv_choice(problem, device());
              EXPECT_TRUE(conv_takes(choice.rung, problem, device())) << choice.rung;
            }
          }
        }
      }
    }
  }
}

// A rung that was named and cannot take a shape is refused, with the reason and a rung that can.
TEST_P(LaddersHere, ANamedRungIsRefusedWithAReason) {
  const auto message = [&](std::string_view variant, const GemmDims& dims) -> std::string {
    try {
      gemm(static_cast<float*>(nullptr), nullptr, nullptr, nullptr, dims, {.variant = variant},
           stream());
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  };
  const std::string elsewhere = device().is_cpu() ? "tiled" : "packed";
  EXPECT_NE(message(elsewhere, {8, 8, 8}).find("does not run on"), std::string::npos);
  EXPECT_NE(message("fastest", {8, 8, 8}).find("choose from automatic, uncoalesced, naive"),
            std::string::npos);
  if (device().is_cpu()) return;
  const std::string rounded = message("mma_tf32", {8, 8, 8});
  EXPECT_NE(rounded.find("gemm variant mma_tf32 cannot run this: it rounds"), std::string::npos)
      << rounded;
  EXPECT_NE(rounded.find(" can"), std::string::npos) << rounded;
}

WEFT_ON_EACH_DEVICE(LaddersHere);

}  // namespace
}  // namespace weft::test
