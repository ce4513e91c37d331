// SPDX-License-Identifier: MIT
// Trainer with AdamW and with clipped gradients: it learns, steps by its settings, resumes bit for
// bit, and refuses the states of another optimizer.
#include <algorithm>
#include <cmath>

#include "models/networks/networks.h"
#include "tests/models/trainer_test.h"

namespace weft::models::trainer_tests {
namespace {

class TrainerOptimizers : public TrainerTest {};

TEST_P(TrainerOptimizers, AdamwLearnsAndAllocatesNothingInAStep) {
  config_.optimizer = optimizer_named("adamw");
  config_.schedule.peak = 2e-3f;
  config_.weight_decay = 0.01f;
  config_.clip_norm = 1;
  Trainer trainer = start({});
  const std::size_t bytes = trainer.device_bytes();
  EXPECT_EQ(trainer.run({}, kNeverStop), TrainEnd::finished);
  EXPECT_LT(trainer.history().back().train.loss, 0.5 * trainer.history().front().train.loss);
  EXPECT_GT(trainer.history().back().test.accuracy, 0.9);
  EXPECT_EQ(trainer.device_bytes(), bytes) << "a step allocated memory";
}

// With one step per epoch the checkpoints hold what follows each step. The gradient is not in them,
// but the moments are, and the weights follow from the moments and the number of the step.
TEST_P(TrainerOptimizers, AdamwStepsByItsSettingsAndCountsItsSteps) {
  dataset_ = test::block_dataset(32, 20);
  config_.epochs = 4;
  config_.schedule = {schedule_named("constant"), 0.01f, 0, 1, 1};
  config_.optimizer = optimizer_named("adamw");
  config_.weight_decay = 0.5f;
  config_.beta1 = 0.8;
  config_.beta2 = 0.95;
  config_.epsilon = 1e-5;
  const TemporaryFolder folder;
  start(folder / "run");
  const auto net = make_network(config_.network);
  std::vector<float> before = net->initial_parameters(config_.seed);
  for (int t = 1; t <= config_.epochs; ++t) {
    resumed(folder / "run").run({}, kNeverStop, t);
    const Checkpoint now =
        checkpoint_of(read_safetensors(folder / "run" / "optimizer.safetensors"), *net, "run");
    ASSERT_EQ(now.states.size(), 2u);
    const std::vector<float>& weights = now.weights.parameters;
    double worst = 0, moved = 0, worst_square = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double first = now.states[0][i], second = now.states[1][i], old = before[i];
      const double root = std::sqrt(second / (1 - std::pow(0.95, t))) + 1e-5;
      const double expected = old - 0.01 * 0.5 * old - 0.01 / (1 - std::pow(0.8, t)) * first / root;
      worst = std::max(worst, std::fabs(expected - weights[i]));
      moved = std::max(moved, std::fabs(old - weights[i]));
      const double gradient = first / 0.2;  // of the first step
      if (t > 1 || std::fabs(gradient) < 1e-6) continue;
      worst_square = std::max(worst_square, std::fabs(second / (0.05 * gradient * gradient) - 1));
    }
    EXPECT_LT(worst, 1e-6) << "step " << t;
    EXPECT_GT(moved, 1e-3) << "step " << t;
    EXPECT_LT(worst_square, 1e-5);
    before = weights;
  }
}

TEST_P(TrainerOptimizers, AdamwRunsResumeToTheBit) {
  dataset_ = test::block_dataset(40, 20);
  config_.network.name = "convnet-bn";
  config_.batch_size = 16;
  config_.epochs = 3;
  config_.optimizer = optimizer_named("adamw");
  config_.schedule.peak = 1e-3f;
  config_.clip_norm = 0.5f;
  config_.ema_decay = 0.5f;
  const TemporaryFolder folder;
  Trainer whole = start(folder / "whole");
  whole.run({}, kNeverStop);
  start(folder / "parts").run({}, kNeverStop, 1);
  for (TrainEnd end = TrainEnd::interrupted; end == TrainEnd::interrupted;) {
    std::atomic<bool> stop = false;  // after the first look at the totals: within an epoch
    const TrainObserver observer{[&](int, std::int64_t, std::int64_t) { stop = true; }, {}};
    end = resumed(folder / "parts").run(observer, stop);
  }
  expect_same_run(whole, resumed(folder / "parts"));
  for (const char* file : {"optimizer.safetensors", "model.safetensors"}) {
    expect_same_tensors(folder / "whole" / file, folder / "parts" / file);
  }
  const Trainer again = resumed(folder / "parts");
  EXPECT_EQ(again.config().optimizer, optimizer_named("adamw"));
  EXPECT_EQ(again.config().clip_norm, 0.5f);
}

TEST_P(TrainerOptimizers, ClippingLimitsTheStepOfSgd) {
  dataset_ = test::block_dataset(32, 20);
  config_.epochs = 1;
  config_.momentum = 0;
  config_.nesterov = false;
  config_.weight_decay = 0;
  config_.schedule = {schedule_named("constant"), 0.1f, 0, 1, 1};
  const std::vector<float> before = start({}).model().parameters;
  const auto length = [&](float clip_norm) {
    config_.clip_norm = clip_norm;
    Trainer trainer = start({});
    trainer.run({}, kNeverStop);
    double squares = 0;
    const std::vector<float> after = trainer.model().parameters;
    for (std::size_t i = 0; i < after.size(); ++i) {
      squares += std::pow(static_cast<double>(after[i]) - before[i], 2);
    }
    return std::sqrt(squares);
  };
  EXPECT_GT(length(0), 1e-3) << "the norm is above 0.01";
  EXPECT_NEAR(length(0.01f), 1e-3, 2e-5);  // a rate of 0.1 times a norm of 0.01, but for roundings
  EXPECT_NEAR(length(1e6f), length(0), 1e-6);
}

TEST_P(TrainerOptimizers, AnotherOptimizersStatesAreRefused) {
  config_.epochs = 2;
  for (const Optimizer& row : optimizers()) {
    const Optimizer* const written = &row;
    const TemporaryFolder folder;
    config_.optimizer = written;
    start(folder / "run").run({}, kNeverStop, 1);
    const std::filesystem::path file = folder / "run" / "optimizer.safetensors";
    const SafeTensors good = read_safetensors(file);
    const auto refused = [&](const char* text, const SafeTensors& content) {
      write_safetensors(file, content);
      return throws(ErrorKind::data, text, [&] { resumed(folder / "run"); });
    };
    SafeTensors other = good;
    nlohmann::json state = nlohmann::json::parse(good.metadata.at("weft_run"));
    const bool sgd = written == optimizer_named("sgd");
    state["config"]["optimizer"] = sgd ? "adamw" : "sgd";
    other.metadata["weft_run"] = state.dump();
    EXPECT_TRUE(refused(sgd ? "was written by sgd" : "was written by adamw", other));
    state["config"]["optimizer"] = "adam";
    other.metadata["weft_run"] = state.dump();
    EXPECT_TRUE(refused("unknown optimizer 'adam'", other));
    other = good;
    std::erase_if(other.tensors, [](const NamedTensor& tensor) {
      return tensor.name == "velocity.fc1.weight" || tensor.name == "exp_avg_sq.fc1.weight";
    });
    EXPECT_TRUE(refused("fc1.weight is missing", other));
    if (sgd) {  // a run from before there was a choice
      state["config"].erase("optimizer");
      for (const char* key : {"beta1", "beta2", "epsilon", "clip_norm"}) state["config"].erase(key);
      other = good;
      other.metadata["weft_run"] = state.dump();
      write_safetensors(file, other);
      EXPECT_EQ(resumed(folder / "run").config().optimizer, optimizer_named("sgd"));
    } else {
      other = good;
      for (NamedTensor& tensor : other.tensors) {
        if (tensor.name == "exp_avg_sq.fc1.weight") tensor.values[0] = -1;
      }
      EXPECT_TRUE(refused("below 0", other));
    }
  }
}

TEST_P(TrainerOptimizers, DivergenceIsFoundWithAdamwAndWithClipping) {
  for (const Optimizer& row : optimizers()) {
    const Optimizer* const optimizer = &row;
    for (const float clip_norm : {0.0f, 1.0f}) {
      config_.optimizer = optimizer;
      config_.clip_norm = clip_norm;
      config_.schedule = {schedule_named("step"), 1, 0, 1, 1e30f};  // explodes in the second epoch
      EXPECT_TRUE(throws(ErrorKind::check_failed, "training diverged",
                         [&] { start({}).run({}, kNeverStop); }));
    }
  }
}

WEFT_ON_EACH_DEVICE(TrainerOptimizers);

}  // namespace
}  // namespace weft::models::trainer_tests
