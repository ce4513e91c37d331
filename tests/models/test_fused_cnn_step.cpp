// SPDX-License-Identifier: MIT
// The CNN's own kernel in training: the recipe fast is trained by it, as by its layers one by one.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "models/networks/fused_cnn.h"
#include "models/networks/networks.h"
#include "models/training/recipes.h"
#include "models/training/trainer.h"
#include "tests/models/blocks.h"
#include "tests/support/device_test.h"

namespace weft::models {
namespace {

class FusedCnnStep : public test::DeviceTest {};

TEST_P(FusedCnnStep, TrainsTheRecipeFastAsItsLayersDo) {
  const data::Dataset dataset = test::block_dataset(330, 100);
  TrainConfig config = recipe_config("fast");
  config.dataset = dataset.name;
  config.batch_size = 100;
  EXPECT_GT(config.label_smoothing, 0);
  if (!fused_cnn_dims(*make_network(config.network), config.kernels, device())) {
    EXPECT_EQ(Trainer(config, dataset, {}, stream()).step(), "layers");
    return;
  }
  const std::atomic<bool> never = false;
  Trainer fused(config, dataset, {}, stream());
  config.kernels.fuse = false;
  Trainer apart(config, dataset, {}, stream());
  EXPECT_EQ(fused.step(), "fused_cnn");
  EXPECT_EQ(apart.step(), "layers");
  fused.run({}, never);
  apart.run({}, never);
  for (std::size_t i = 0; i < fused.history().size(); ++i) {
    const double found = fused.history()[i].train.loss, expected = apart.history()[i].train.loss;
    EXPECT_TRUE(std::fabs(found - expected) <= 1e-3 * expected) << found << " and " << expected;
  }
}

WEFT_ON_EACH_DEVICE(FusedCnnStep);

}  // namespace
}  // namespace weft::models
