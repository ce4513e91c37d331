// SPDX-License-Identifier: MIT
// lenet5 trains end to end on host-cuda, with the product's own kernels forward and backward: the
// losses are those of the CPU back end. With fuse=on the network is one kernel, with fuse=off there
// are kernels for each layer.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "models/networks/fused_cnn.h"
#include "models/training/trainer.h"
#include "tests/models/blocks.h"

namespace weft::models {
namespace {

// One epoch is one step, so that its loss is that of the batch.
std::vector<EpochRecord> history_on(Device device, int steps, bool fuse,
                                    const Optimizer* optimizer = &optimizers().front(),
                                    float clip_norm = 0) {
  const data::Dataset dataset = test::block_dataset(16, 16);
  TrainConfig config;
  config.network.name = "lenet5";
  config.dataset = dataset.name;
  config.epochs = steps;
  config.batch_size = 16;
  config.schedule.peak = 0.05f;
  config.optimizer = optimizer;
  if (optimizer == optimizer_named("adamw")) config.schedule.peak = 1e-3f;
  config.clip_norm = clip_norm;
  config.kernels.fuse = fuse;
  const std::atomic<bool> never = false;
  Trainer trainer(config, dataset, {}, Stream(device));
  trainer.run({}, never);
  return trainer.history();
}

void expect_near(const std::vector<EpochRecord>& cuda, const std::vector<EpochRecord>& cpu) {
  ASSERT_EQ(cuda.size(), cpu.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_TRUE(std::fabs(cuda[i].train.loss - cpu[i].train.loss) <= 1e-4)
        << "step " << i << ": " << cuda[i].train.loss << " and " << cpu[i].train.loss;
    EXPECT_TRUE(std::fabs(cuda[i].test.loss - cpu[i].test.loss) <= 1e-4)
        << "after step " << i << ": " << cuda[i].test.loss << " and " << cpu[i].test.loss;
  }
  EXPECT_LT(cpu.back().train.loss, cpu.front().train.loss);
}

class TrainingOnHostCuda : public testing::TestWithParam<bool> {};

TEST_P(TrainingOnHostCuda, LossesOfLenet5AreThoseOfTheCpu) {
  constexpr int kSteps = 8;
  const bool fuse = GetParam();
  layers::KernelChoice kernels;
  kernels.fuse = fuse;
  const auto one_kernel = fused_cnn_dims(*make_network({}), kernels, Device::cuda());
  ASSERT_EQ(one_kernel.has_value(), fuse);
  const std::vector<EpochRecord> cpu = history_on(Device::cpu(), kSteps, fuse);
  const std::vector<EpochRecord> cuda = history_on(Device::cuda(), kSteps, fuse);
  ASSERT_EQ(cpu.size(), static_cast<std::size_t>(kSteps));
  expect_near(cuda, cpu);
}

// The one kernel knows neither AdamW nor clipping. So the layers are trained, although it is
// allowed: it would end at other losses.
TEST(TrainingOnHostCudaByLayers, AdamwAndClippingAreThoseOfTheCpu) {
  constexpr int kSteps = 6;
  const std::vector<EpochRecord> plain = history_on(Device::cpu(), kSteps, true);
  for (const Optimizer& row : optimizers()) {
    const Optimizer* const optimizer = &row;
    const std::vector<EpochRecord> cpu = history_on(Device::cpu(), kSteps, true, optimizer, 0.5f);
    expect_near(history_on(Device::cuda(), kSteps, true, optimizer, 0.5f), cpu);
    EXPECT_GT(std::fabs(cpu.back().train.loss - plain.back().train.loss), 1e-3);
  }
}

// A full batch and a tail, from host memory: every copy and every read of staged rows is checked.
TEST(TrainingOnHostCudaByLayers, StreamedImagesGiveTheSameBits) {
  const data::Dataset dataset = test::block_dataset(20, 12);
  TrainConfig config;
  config.network.name = "lenet5";
  config.dataset = dataset.name;
  config.epochs = 2;
  config.batch_size = 8;
  config.augmentation.shift = 1;
  config.augmentation.flip = true;
  config.kernels.fuse = false;
  const std::atomic<bool> never = false;
  Trainer whole(config, dataset, {}, Stream(Device::cuda()));
  Trainer streamed(config, dataset, {}, Stream(Device::cuda()), 1);
  ASSERT_TRUE(streamed.streams() && !whole.streams());
  whole.run({}, never);
  streamed.run({}, never);
  EXPECT_TRUE(whole.model().parameters == streamed.model().parameters) << "weights differ";
  EXPECT_EQ(whole.history().back().test.loss, streamed.history().back().test.loss);
}

INSTANTIATE_TEST_SUITE_P(Fuse, TrainingOnHostCuda, testing::Bool(),
                         [](const auto& fuse) { return std::string(fuse.param ? "On" : "Off"); });

}  // namespace
}  // namespace weft::models
