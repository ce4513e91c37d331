// SPDX-License-Identifier: MIT
// weft train on a device whose memory runs out, and on one that is lost, as host-cuda simulates
// them.
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class DeviceFailures : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!has_host_cuda()) GTEST_SKIP() << "this program was built without host-cuda";
    const Outcome tried = weft({"kernel", "run", "reduce", "--size", "8", "--device", "host-cuda"});
    ASSERT_EQ(tried.exit_code, 0) << tried.err;
    ASSERT_EQ(weft({"data", "export", "digits", "--limit", "20", "--out", "drawn"}).exit_code, 0);
    write("tiny.net", "conv 4 5x5 stride 4\nrelu\nflatten\nlinear classes\n");
  }

  // Twelve steps in three epochs.
  Outcome train(const std::string& run) {
    return weft({"train", "--data", "drawn", "--model", "tiny.net", "--epochs", "3", "--batch-size",
                 "5", "--device", "host-cuda", "--out", run});
  }
};

TEST_F(DeviceFailures, MemoryThatRunsOutIsAnErrorWithThePlan) {
  environment_["WEFT_HOST_CUDA_MEMORY"] = "1";
  const Outcome outcome = weft(
      {"train", "--data", "drawn", "--model", "lenet5", "--device", "host-cuda", "--out", "run"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.out;
  EXPECT_EQ(lines_of(outcome.err).size(), 2u) << "small classes, the error: " << outcome.err;
  for (const char* part : {"out of memory: could not allocate ", " on host-cuda; training takes ",
                           "weights ", "activations ", " at --batch-size ", "images "}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
  }
  EXPECT_TRUE(!fs::exists(folder() / "run") || fs::is_empty(folder() / "run"));
}

TEST_F(DeviceFailures, ALostDeviceLeavesTheLastCheckpointWhole) {
  ASSERT_EQ(train("whole").exit_code, 0);
  int resumed = 0;
  for (const int kernels : {40, 100, 160}) {
    const std::string run = "run-" + std::to_string(kernels);
    environment_["WEFT_HOST_CUDA_LOST_AFTER"] = std::to_string(kernels);
    const Outcome lost = train(run);
    environment_.erase("WEFT_HOST_CUDA_LOST_AFTER");
    EXPECT_EQ(lost.exit_code, 4) << kernels << lost.out;
    EXPECT_NE(lost.err.find("unspecified launch failure"), std::string::npos) << lost.err;
    if (!fs::exists(folder() / run / "state.json")) continue;
    const Outcome rest = weft({"train", "--resume", run, "--device", "host-cuda"});
    EXPECT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(read(run + "/model.safetensors"), read("whole/model.safetensors")) << kernels;
    ++resumed;
  }
  EXPECT_GE(resumed, 1);
}

}  // namespace
}  // namespace weft::test
