// SPDX-License-Identifier: MIT
// Recipes and defaults are settings that a run accepts.
#include "models/training/recipes.h"

#include <gtest/gtest.h>

#include "models/networks/networks.h"
#include "models/training/settings.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

TEST(Recipes, AreValidAndNameTheirNetwork) {
  ASSERT_FALSE(recipes().empty());
  for (const RecipeInfo& info : recipes()) {
    EXPECT_FALSE(info.summary.empty()) << info.name;
    TrainConfig config = recipe_config(info.name);
    EXPECT_NO_THROW(validate(config)) << info.name;
    EXPECT_GT(make_network(config.network)->parameter_count(), 0) << info.name;
    EXPECT_FALSE(config.limit_train) << info.name;
  }
  EXPECT_TRUE(
      test::throws(ErrorKind::usage,
                   "unknown recipe 'slow'; known: fast, accurate, photographs, small-98, small-99",
                   [] { recipe_config("slow"); }));
}

// models/README.md has what they reached together; neither gains alone.
TEST(Recipes, AccurateDecaysWeightsAndSmoothsLabels) {
  const TrainConfig accurate = recipe_config("accurate");
  EXPECT_EQ(accurate.weight_decay, 1e-3f);
  EXPECT_EQ(accurate.label_smoothing, 0.05f);
}

TEST(Recipes, EveryNetworkHasDefaults) {
  for (const NetworkInfo& info : networks()) {
    const TrainConfig config = default_config(info.name);
    EXPECT_EQ(config.network.name, info.name);
    EXPECT_NO_THROW(validate(config)) << info.name;
    EXPECT_EQ(config.ema_decay, 0) << info.name;
    EXPECT_FALSE(config.augmentation.any()) << info.name;
  }
}

}  // namespace
}  // namespace weft::models
