// SPDX-License-Identifier: MIT
// The MLP's own kernels in training: chosen where they should be, as good as its layers one by one,
// and resumed bit for bit.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "models/networks/fused_mlp.h"
#include "models/networks/networks.h"
#include "models/training/trainer.h"
#include "tests/models/blocks.h"
#include "tests/support/device_test.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using kernels::ComputeMode;

std::unique_ptr<layers::Sequential> network(const std::string& name) {
  NetworkOptions config;
  config.name = name;
  return make_network(config);
}

class FusedMlpStep : public test::DeviceTest {
 protected:
  FusedMlpStep() {
    config_.network.name = "mlp";
    config_.dataset = dataset_.name;
    config_.epochs = 4;
    config_.batch_size = 100;
    config_.schedule.peak = 0.05f;
    config_.label_smoothing = 0.1f;
  }
  void SetUp() override {
    test::DeviceTest::SetUp();
    if (IsSkipped()) return;
    if (!fused_mlp_dims(*network("mlp"), config_.kernels, device())) {
      GTEST_SKIP() << "the kernels of fused_mlp do not run here";
    }
  }

  std::vector<EpochRecord> history(kernels::ComputeMode mode, bool fuse) {
    TrainConfig config = config_;
    config.kernels.mode = mode;
    config.kernels.fuse = fuse;
    const std::atomic<bool> never = false;
    Trainer trainer(config, dataset_, {}, stream());
    trainer.run({}, never);
    return trainer.history();
  }

  data::Dataset dataset_ = test::block_dataset(330, 100);  // 3 full batches and a tail of 30
  TrainConfig config_;
};

TEST_P(FusedMlpStep, LearnsAsTheLayersDo) {
  for (const ComputeMode mode : {ComputeMode::bf16, ComputeMode::fp32}) {
    const std::vector<EpochRecord> fused = history(mode, true), apart = history(mode, false);
    const double bound = mode == ComputeMode::bf16 ? 0.01 : 1e-4;
    ASSERT_EQ(fused.size(), apart.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      const double found = fused[i].train.loss, expected = apart[i].train.loss;
      EXPECT_TRUE(std::fabs(found - expected) <= bound * expected + 0.1 * bound)
          << "epoch " << i + 1 << ": " << found << " and " << expected;
      EXPECT_NEAR(fused[i].test.accuracy, apart[i].test.accuracy, 0.02) << "epoch " << i + 1;
    }
    EXPECT_LT(fused.back().train.loss, 0.5 * fused.front().train.loss);
  }
}

TEST_P(FusedMlpStep, ResumesBitForBit) {
  const std::atomic<bool> never = false;
  for (const ComputeMode mode : {ComputeMode::bf16, ComputeMode::fp32}) {
    config_.kernels.mode = mode;
    const test::TemporaryFolder folder;
    Trainer straight(config_, dataset_, {}, stream());
    straight.run({}, never);
    {
      Trainer first(config_, dataset_, folder / "run", stream());
      first.run({}, never, 2);
    }
    Trainer second = Trainer::resume(folder / "run", dataset_, std::nullopt, stream());
    second.run({}, never);
    EXPECT_TRUE(straight.model().parameters == second.model().parameters);
  }
}

WEFT_ON_EACH_DEVICE(FusedMlpStep);

TEST(FusedMlpDims, OnlyTheMlpOnAGpu) {
  EXPECT_FALSE(fused_mlp_dims(*network("mlp"), {}, Device::cpu()));
  if (cuda_status().device_count == 0) return;
  EXPECT_FALSE(fused_mlp_dims(*network("lenet5"), {}, Device::cuda()));
  layers::KernelChoice off;
  off.fuse = false;
  EXPECT_FALSE(fused_mlp_dims(*network("mlp"), off, Device::cuda()));
}

}  // namespace
}  // namespace weft::models
