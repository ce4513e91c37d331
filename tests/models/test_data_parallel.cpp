// SPDX-License-Identifier: MIT
// Data-parallel training: ranks, here threads, follow the course of one rank, keep the same bits,
// and a run goes on with another number of them.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>

#include "distributed/communicator.h"
#include "models/answers/shared_evaluator.h"
#include "models/training/data_parallel.h"
#include "models/training/trainer.h"
#include "tests/distributed/threads_transport.h"
#include "tests/models/blocks.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::run_ranks;
using test::TemporaryFolder;
using test::throws;

const std::atomic<bool> kNeverStop = false;

struct Course {
  std::vector<float> parameters, buffers;
  std::vector<EpochRecord> history;
  std::vector<StepRecord> log;
};

Course course_of(const Trainer& trainer) {
  const Model model = trainer.model();
  return {model.parameters, model.buffers, trainer.history(), trainer.log()};
}

TrainConfig config_of(const std::string& network, std::int64_t batch, int epochs = 2) {
  TrainConfig config;
  config.network.name = network;
  config.epochs = epochs;
  config.batch_size = batch;
  config.schedule.peak = 0.05f;
  config.augmentation.shift = 1;
  config.log_every = 1;
  return config;
}

// Rank 0's; the others have the same, which is checked.
Course train(int size, TrainConfig config, const data::Dataset& dataset,
             const std::filesystem::path& folder = {}, std::optional<int> stop_after = {}) {
  config.dataset = dataset.name;
  std::mutex mutex;
  std::map<int, Course> runs;
  run_ranks(size, [&](distributed::Communicator& ranks) {
    const Stream stream(Device::cpu());
    Trainer trainer(config, dataset, ranks.is_first() ? folder : "", stream, 0, ranks);
    trainer.run({}, kNeverStop, stop_after);
    const std::lock_guard lock(mutex);
    runs[ranks.rank()] = course_of(trainer);
  });
  for (const auto& [rank, run] : runs) {
    EXPECT_TRUE(run.parameters == runs[0].parameters) << "rank " << rank;
    EXPECT_TRUE(run.buffers == runs[0].buffers) << "rank " << rank;
    EXPECT_EQ(run.history.back().test.loss, runs[0].history.back().test.loss);
  }
  return runs[0];
}

// The mean loss of the first epoch, after so many steps without a tail.
double loss_after(int size, TrainConfig config, std::int64_t steps) {
  config.epochs = 1;
  const data::Dataset dataset = test::block_dataset(steps * config.batch_size, 20);
  return train(size, config, dataset).history.at(0).train.loss;
}

void expect_same_course(int size, const TrainConfig& config, double tolerance) {
  for (const std::int64_t steps : {1, 2, 10, 50}) {
    const double one = loss_after(1, config, steps);
    EXPECT_LE(std::abs(loss_after(size, config, steps) - one), tolerance * one)
        << size << " ranks, " << steps << " steps";
  }
}

TEST(DataParallel, FollowsTheCourseOfOneRankFor50Steps) {
  for (const char* network : {"lenet5", "mlp"}) {
    for (const int size : {2, 3}) {
      TrainConfig config = config_of(network, 30);
      config.schedule.peak = 0.01f;
      expect_same_course(size, config, 1e-5);
    }
  }
}

// The masks of dropout are those of the whole batch.
TEST(DataParallel, DropoutIsThatOfTheWholeBatch) {
  TrainConfig config = config_of("convnet", 10);
  config.network.dropout = 0.25f;
  config.schedule.peak = 0.01f;
  expect_same_course(3, config, 1e-4);
}

// 330 images are 10 batches of 32 and a tail of 10; 7 ranks divide neither.
TEST(DataParallel, TailsThatDoNotDivideAndOtherOptimizers) {
  const data::Dataset dataset = test::block_dataset(330, 101);
  TrainConfig config = config_of("mlp", 32);
  config.optimizer = optimizer_named("adamw");
  config.schedule.peak = 1e-3f;
  config.clip_norm = 1;
  config.ema_decay = 0.9f;
  config.validation_split = 0.1;
  const Course one = train(1, config, dataset), seven = train(7, config, dataset);
  EXPECT_NEAR(seven.history[0].train.loss, one.history[0].train.loss, 1e-4);
  EXPECT_EQ(seven.history.back().train.images, one.history.back().train.images);
  EXPECT_EQ(seven.history.back().test.images, 101);
  ASSERT_TRUE(seven.history.back().validation.has_value());
  EXPECT_EQ(seven.history.back().validation->images, one.history.back().validation->images);
  EXPECT_NEAR(seven.history.back().test.loss, one.history.back().test.loss, 0.02);
}

TEST(DataParallel, MoreRanksThanImages) {
  const data::Dataset dataset = test::block_dataset(5, 3);
  const TrainConfig config = config_of("mlp", 4);
  const Course one = train(1, config, dataset), six = train(6, config, dataset);
  EXPECT_NEAR(six.history[0].train.loss, one.history[0].train.loss, 1e-5);
  EXPECT_EQ(six.history.back().test.images, 3);
}

// Running statistics are the mean over the ranks: the same bits everywhere (checked by train()).
TEST(DataParallel, BatchNormOverEachRanksOwnRows) {
  const data::Dataset dataset = test::block_dataset(600, 100);
  const Course two = train(2, config_of("convnet-bn", 20, 3), dataset);
  EXPECT_GT(two.history.back().test.accuracy, 0.9);
}

TEST(DataParallel, BatchNormOverTheRowsOfAllRanks) {
  TrainConfig config = config_of("convnet-bn", 10);
  // One rank with a rate of 0.01 diverges, and after 20 steps at 0.001 a change of the rate by 1e-6
  // moves its loss by 3e-4: the gates of ReLU and max pooling turn over. 10 steps are smooth.
  config.schedule.peak = 0.001f;
  config.sync_batch_norm = true;
  for (const int size : {2, 3}) {
    for (const std::int64_t steps : {1, 2, 5, 10}) {
      const double one = loss_after(1, config, steps);
      EXPECT_LE(std::abs(loss_after(size, config, steps) - one), 1e-5 * one)
          << size << " ranks, " << steps << " steps";
    }
  }
  config.sync_batch_norm = false;  // what the test would see if statistics were a rank's own
  const double one = loss_after(1, config, 1);
  EXPECT_GT(std::abs(loss_after(3, config, 1) - one), 1e-3 * one);
}

// A rank without rows of a batch takes part in all sums, and its layers get a batch of none.
TEST(DataParallel, SomeRanksHaveNoRowsOfABatchNormalisedTogether) {
  TrainConfig config = config_of("dropped.net", 3);
  config.network.definition =
      "conv 4 3x3 pad 1\nbatch_norm\nrelu\nmax_pool 2\ndropout 0.25\nlinear 8\nrelu\nlinear "
      "classes\n";
  config.schedule.peak = 1e-3f;
  config.sync_batch_norm = true;
  for (const std::int64_t steps : {1, 3}) {
    const double one = loss_after(1, config, steps);
    EXPECT_LE(std::abs(loss_after(5, config, steps) - one), 1e-5 * one) << steps << " steps";
  }
}

TEST(DataParallel, ARunGoesOnWithAnotherNumberOfRanks) {
  const TemporaryFolder folder;
  const data::Dataset dataset = test::block_dataset(300, 50);
  const TrainConfig config = config_of("mlp", 20, 3);
  const Course unbroken = train(1, config, dataset);
  const std::filesystem::path run_dir = folder.path() / "run";
  train(2, config, dataset, run_dir, 1);
  for (const int size : {1, 3}) {
    const std::optional<int> stop_after = size == 1 ? std::optional(2) : std::nullopt;
    Course run;
    run_ranks(size, [&](distributed::Communicator& ranks) {
      const Stream stream(Device::cpu());
      // The others have no such folder.
      Trainer trainer = Trainer::resume(ranks.is_first() ? run_dir : "nowhere", dataset,
                                        std::nullopt, stream, 0, ranks);
      trainer.run({}, kNeverStop, stop_after);
      if (ranks.is_first()) run = course_of(trainer);
    });
    if (stop_after) continue;
    ASSERT_EQ(run.history.size(), 3u);
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_NEAR(run.history[epoch].train.loss, unbroken.history[epoch].train.loss,
                  1e-3 * unbroken.history[epoch].train.loss);
    }
  }
}

TEST(DataParallel, OtherSettingsOrDataAreRefused) {
  const data::Dataset dataset = test::block_dataset(40, 10), other = test::block_dataset(41, 10);
  const auto start = [&](bool settings, bool data) {
    run_ranks(2, [&](distributed::Communicator& ranks) {
      const Stream stream(Device::cpu());
      const bool second = ranks.rank() == 1;
      TrainConfig config = config_of("mlp", second && settings ? 8 : 4);
      config.dataset = dataset.name;
      Trainer(config, second && data ? other : dataset, "", stream, 0, ranks);
    });
  };
  EXPECT_TRUE(throws(ErrorKind::usage, "rank 1 differs from rank 0 in batch_size: 8 instead of 4",
                     [&] { start(true, false); }));
  EXPECT_TRUE(throws(ErrorKind::usage,
                     "rank 1 differs from rank 0 in the images: 41 + 10 instead of 40 + 10",
                     [&] { start(false, true); }));
}

TEST(DataParallel, RanksThatComeApartAreFound) {
  const auto compare = [](bool apart) {
    run_ranks(3, [&](distributed::Communicator& ranks) {
      const TrainConfig config = config_of("mlp", 4);
      const auto net = make_network(config.network);
      Checkpoint checkpoint =
          fresh_checkpoint(config, fingerprint_of(test::block_dataset(10, 10)), *net);
      if (apart && ranks.rank() == 2) {
        float& value = checkpoint.states[0][static_cast<std::size_t>(net->slices()[2].offset)];
        value = std::nextafter(value, 1.0f);
      }
      require_same_weights(ranks, *net, checkpoint);
    });
  };
  compare(false);
  EXPECT_TRUE(throws(ErrorKind::check_failed, "rank 2 has another velocity.fc2.weight than rank 0",
                     [&] { compare(true); }));
}

TEST(DataParallel, EvaluationKeepsLogitsWhereTheyAreWanted) {
  const data::ImageSet set = test::block_images(7, 3);
  const auto net = make_network({.name = "mlp"});
  run_ranks(2, [&](distributed::Communicator& ranks) {
    const Stream stream(Device::cpu());
    layers::Weights weights(*net, stream, layers::Phase::inference);
    copy_from_host(weights.parameters.view<float>(),
                   std::span<const float>(net->initial_parameters(3)), stream);
    const std::vector<kernels::Normalization> normalization{{0.27f, 0.21f}};
    for (const bool keeps : {false, true}) {
      SharedEvaluator evaluator(ranks, *net, weights, set, normalization, {}, 10, stream, false,
                                keeps);
      EXPECT_EQ(evaluator.run(stream).images, 7);
      EXPECT_EQ(evaluator.logits(stream).size(), keeps ? 70u : 0u);
    }
  });
}

TEST(DataParallel, ADivergedRunEndsOnAllRanks) {
  const data::Dataset dataset = test::block_dataset(200, 20);
  TrainConfig config = config_of("mlp", 20, 4);
  config.schedule = {schedule_named("step"), 1, 0, 1, 1e30f};  // explodes in the second epoch
  EXPECT_TRUE(
      throws(ErrorKind::check_failed, "training diverged", [&] { train(3, config, dataset); }));
}

}  // namespace
}  // namespace weft::models
