// SPDX-License-Identifier: MIT
// Trainer: it learns, its runs resume bit for bit wherever they stopped, and it keeps its last good
// checkpoint when training diverges.
#include <algorithm>
#include <cmath>

#include "models/networks/networks.h"
#include "models/training/split.h"
#include "tests/models/trainer_test.h"

namespace weft::models::trainer_tests {
namespace {

TEST_P(TrainerTest, LossFallsAndTheTestSetIsLearned) {
  Trainer trainer = start({});
  const std::size_t bytes = trainer.device_bytes();
  int epochs_seen = 0;
  const TrainObserver observer{
      {}, [&](const EpochRecord& record) { EXPECT_EQ(record.epoch, ++epochs_seen); }};
  EXPECT_EQ(trainer.run(observer, kNeverStop), TrainEnd::finished);
  EXPECT_EQ(epochs_seen, 4);
  ASSERT_EQ(trainer.history().size(), 4u);
  const EpochRecord& first = trainer.history().front();
  const EpochRecord& last = trainer.history().back();
  EXPECT_LT(last.train.loss, 0.5 * first.train.loss);
  EXPECT_GT(last.test.accuracy, 0.9);
  EXPECT_EQ(last.train.images, 330);
  EXPECT_EQ(last.test.images, 100);
  EXPECT_GT(last.seconds, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(last.lr), 0.05f / 2500);
  EXPECT_EQ(trainer.device_bytes(), bytes) << "a step allocated memory";
}

TEST_P(TrainerTest, EvaluateAgreesWithTheLastEpoch) {
  Trainer trainer = start({});
  trainer.run({}, kNeverStop);
  const Evaluation result = evaluate(trainer.model(), dataset_.test, 64, {}, stream());
  EXPECT_EQ(result.metrics.accuracy, trainer.history().back().test.accuracy);
  EXPECT_NEAR(result.metrics.loss, trainer.history().back().test.loss, 1e-6);
  EXPECT_EQ(trainer.model().info.epochs, 4);
  EXPECT_EQ(trainer.model().info.test_accuracy, result.metrics.accuracy);
}

TEST_P(TrainerTest, SameSeedSameBitsOtherSeedOtherBits) {
  Trainer a = start({}), b = start({});
  a.run({}, kNeverStop);
  b.run({}, kNeverStop);
  expect_same_run(a, b);
  config_.seed = 2;
  Trainer c = start({});
  c.run({}, kNeverStop);
  EXPECT_FALSE(a.model().parameters == c.model().parameters);
}

TEST_P(TrainerTest, TwoEpochsAndResumeEqualFourInOneGo) {
  dataset_ = test::block_dataset(100, 30);
  config_.network.name = "convnet";  // dropout and augmentation must follow the step too
  config_.network.dropout = 0.25f;
  config_.validation_split = 0.2;
  const TemporaryFolder folder;
  Trainer whole = start(folder / "whole");
  EXPECT_EQ(whole.run({}, kNeverStop), TrainEnd::finished);
  {
    Trainer first = start(folder / "parts");
    EXPECT_EQ(first.run({}, kNeverStop, 2), TrainEnd::interrupted);
    EXPECT_EQ(first.history().size(), 2u);
  }
  Trainer second = resumed(folder / "parts");
  EXPECT_EQ(second.history().size(), 2u);
  EXPECT_EQ(second.run({}, kNeverStop), TrainEnd::finished);
  expect_same_run(whole, second);
  for (const char* file : {"optimizer.safetensors", "model.safetensors", "best.safetensors"}) {
    expect_same_tensors(folder / "whole" / file, folder / "parts" / file);
  }
}

// The average follows from the weights after each step: with one step per epoch these are in the
// history of checkpoints of runs that ended there.
TEST_P(TrainerTest, AverageFollowsTheWeights) {
  dataset_ = test::block_dataset(32, 20);
  config_.epochs = 4;
  config_.schedule = {schedule_named("constant"), 0.05f, 0, 1, 1};
  config_.ema_decay = 0.15f;  // less than the cap of the last steps, 0.25, but not of the first
  const TemporaryFolder folder;
  Trainer trainer = start(folder / "run");
  const auto net = make_network(config_.network);
  std::vector<float> average = net->initial_parameters(config_.seed);
  for (int step = 0; step < config_.epochs; ++step) {
    trainer.run({}, kNeverStop, step + 1);
    const Checkpoint now =
        checkpoint_of(read_safetensors(folder / "run" / "optimizer.safetensors"), *net, "run");
    const float decay =
        std::min(0.15f, (1 + static_cast<float>(step)) / (10 + static_cast<float>(step)));
    const std::vector<float>& weights = now.weights.parameters;
    ASSERT_EQ(weights.size(), average.size());
    double worst = 0, moved = 0;
    for (std::size_t i = 0; i < average.size(); ++i) {
      average[i] += (1 - decay) * (weights[i] - average[i]);
      worst =
          std::max(worst, std::fabs(static_cast<double>(average[i]) - now.average.parameters[i]));
      moved =
          std::max(moved, std::fabs(static_cast<double>(weights[i]) - now.average.parameters[i]));
    }
    EXPECT_LT(worst, 1e-6) << "step " << step;
    EXPECT_GT(moved, 1e-5) << "step " << step;
    EXPECT_EQ(load_model(folder / "run").parameters, now.average.parameters);
    EXPECT_EQ(trainer.model().parameters, now.average.parameters);
  }
  // What is evaluated is the average.
  EXPECT_EQ(evaluate(load_model(folder / "run"), dataset_.test, 20, {}, stream()).metrics.accuracy,
            trainer.history().back().test.accuracy);
}

TEST_P(TrainerTest, AveragedRunsWithBatchNormResumeToTheBit) {
  dataset_ = test::block_dataset(40, 20);
  config_.network.name = "convnet-bn";
  config_.batch_size = 16;
  config_.epochs = 3;
  config_.ema_decay = 0.5f;
  config_.label_smoothing = 0.1f;
  config_.init_gain = 1.5f;
  const TemporaryFolder folder;
  Trainer whole = start(folder / "whole");
  whole.run({}, kNeverStop);
  start(folder / "parts").run({}, kNeverStop, 1);
  Trainer second = resumed(folder / "parts");
  second.run({}, kNeverStop);
  expect_same_run(whole, second);
  for (const char* file : {"optimizer.safetensors", "model.safetensors"}) {
    expect_same_tensors(folder / "whole" / file, folder / "parts" / file);
  }
}

TEST_P(TrainerTest, GainScalesTheInitialWeightsOnly) {
  const std::vector<float> plain = start({}).model().parameters;
  config_.init_gain = 2;
  const std::vector<float> scaled = start({}).model().parameters;
  const auto net = make_network(config_.network);
  for (const layers::NamedSlice& slice : net->slices()) {
    const float gain = slice.name.ends_with(".weight") ? 2 : 1;
    for (std::int64_t i = 0; i < slice.shape.elements(); ++i) {
      const auto at = static_cast<std::size_t>(slice.offset + i);
      ASSERT_EQ(scaled[at], gain * plain[at]) << slice.name;
    }
  }
}

TEST_P(TrainerTest, ConstantScheduleCanGoOnLonger) {
  config_.schedule.kind = schedule_named("constant");
  config_.momentum = 0;
  const TemporaryFolder folder;
  Trainer whole = start({});
  whole.run({}, kNeverStop);
  config_.epochs = 2;
  start(folder / "run").run({}, kNeverStop);
  {
    Trainer longer = resumed(folder / "run", 4);
    EXPECT_EQ(longer.run({}, kNeverStop), TrainEnd::finished);
    expect_same_run(whole, longer);
  }
  EXPECT_EQ(Trainer::config_of(folder / "run").epochs, 4);
  EXPECT_TRUE(throws(ErrorKind::usage, "cannot end after 3", [&] { resumed(folder / "run", 3); }));
}

TEST_P(TrainerTest, ConstantScheduleCanEndWhereItIs) {
  config_.schedule.kind = schedule_named("constant");
  const TemporaryFolder folder;
  config_.epochs = 4;
  start(folder / "run").run({}, kNeverStop, 2);
  EXPECT_TRUE(throws(ErrorKind::usage, "cannot end after 1", [&] { resumed(folder / "run", 1); }));
  Trainer shorter = resumed(folder / "run", 2);
  EXPECT_EQ(shorter.run({}, kNeverStop), TrainEnd::finished);
  EXPECT_EQ(Trainer::config_of(folder / "run").epochs, 2);
}

// Stops wherever the clock says, again and again: the bits must not notice.
TEST_P(TrainerTest, InterruptedAnywhereAndResumedGivesTheSameBits) {
  dataset_ = test::block_dataset(1010, 100);  // 63 full batches and a tail of 2
  config_.network.name = "lenet5";
  config_.epochs = 3;
  config_.batch_size = 16;
  const TemporaryFolder folder;
  Trainer whole = start(folder / "whole");
  whole.run({}, kNeverStop);
  // A run looks at its totals after 1, 3, 7, ... steps, so this stops within epochs.
  const std::filesystem::path run_dir = folder / "run";
  start(run_dir);
  int within_epochs = 0;
  TrainEnd end = TrainEnd::interrupted;
  for (int round = 0; round < 200 && end == TrainEnd::interrupted; ++round) {
    Trainer trainer = resumed(run_dir);
    std::atomic<bool> stop = false;
    int looks = round % 4;
    const TrainObserver observer{
        [&](int, std::int64_t, std::int64_t) { stop = stop || looks-- == 0; }, {}};
    end = trainer.run(observer, stop);
    const nlohmann::json state = run_state(run_dir);
    const auto rows = state.at("totals").at("rows").get<int>();
    EXPECT_EQ(state.at("step").get<int>() % 64 * 16, rows);
    within_epochs += rows > 0 ? 1 : 0;
    // An accuracy that was measured on other weights must not be claimed.
    if (rows > 0) {
      EXPECT_LT(load_model(run_dir).info.test_accuracy, 0);
    }
  }
  EXPECT_EQ(end, TrainEnd::finished);
  EXPECT_GE(within_epochs, 3);
  expect_same_run(whole, resumed(run_dir));
  expect_same_tensors(folder / "whole" / "optimizer.safetensors",
                      run_dir / "optimizer.safetensors");
}

// All steps of an epoch are saved, and the resume evaluates them.
TEST_P(TrainerTest, StoppedInAnEvaluationAndResumedGivesTheSameBits) {
  if (device().is_cuda() && !built_for_host_cuda()) {
    GTEST_SKIP() << "a GPU has evaluated these images before anybody looks";
  }
  dataset_ = test::block_dataset(330, 2100);  // several batches of an evaluation
  config_.epochs = 2;
  config_.validation_split = 0.1;
  const TemporaryFolder folder;
  Trainer whole = start(folder / "whole");
  whole.run({}, kNeverStop);
  const std::filesystem::path run_dir = folder / "run";
  {
    Trainer trainer = start(run_dir);
    std::atomic<bool> stop = false;
    std::int64_t seen = 0;
    TrainObserver observer;
    observer.evaluating = [&](std::int64_t done, std::int64_t total) {
      stop = stop || (total == 2100 && done > 0);
      seen = done;
    };
    EXPECT_EQ(trainer.run(observer, stop), TrainEnd::interrupted);
    EXPECT_TRUE(trainer.history().empty()) << "the evaluation was not given up";
    EXPECT_LT(seen, 2100);
    EXPECT_EQ(trainer.images_of_epoch_done(), 297);
    EXPECT_EQ(run_state(run_dir).at("step"), 10);
    EXPECT_LT(load_model(run_dir).info.test_accuracy, 0);
  }
  Trainer later = resumed(run_dir);
  EXPECT_EQ(later.run({}, kNeverStop), TrainEnd::finished);
  expect_same_run(whole, later);
  expect_same_tensors(folder / "whole" / "optimizer.safetensors",
                      run_dir / "optimizer.safetensors");
}

TEST_P(TrainerTest, ALimitOfTheTestImagesHoldsForTheWholeRun) {
  config_.limit_test = 41;
  config_.epochs = 2;
  const TemporaryFolder folder;
  start(folder / "run").run({}, kNeverStop, 1);
  Trainer trainer = resumed(folder / "run");
  trainer.run({}, kNeverStop);
  data::ImageSet few = dataset_.test;
  keep_first(few, 41);
  const Metrics expected = evaluate(trainer.model(), few, 64, {}, stream()).metrics;
  for (const EpochRecord& record : trainer.history()) EXPECT_EQ(record.test.images, 41);
  EXPECT_EQ(trainer.history().back().test.accuracy, expected.accuracy);
  EXPECT_NEAR(trainer.history().back().test.loss, expected.loss, 1e-6);
}

TEST_P(TrainerTest, StopBeforeTheFirstStepTrainsNothing) {
  const TemporaryFolder folder;
  {
    Trainer trainer = start(folder / "run");
    const std::vector<float> before = trainer.model().parameters;
    const std::atomic<bool> stop = true;
    EXPECT_EQ(trainer.run({}, stop), TrainEnd::interrupted);
    EXPECT_EQ(trainer.model().parameters, before);
  }
  Trainer whole = start({}), later = resumed(folder / "run");
  whole.run({}, kNeverStop);
  later.run({}, kNeverStop);
  expect_same_run(whole, later);
}

TEST_P(TrainerTest, DataThatDoesNotFitTheNetworkIsUsage) {
  const data::Dataset good = dataset_;
  const auto refused = [&](const std::string& part) {
    EXPECT_TRUE(throws(ErrorKind::usage, part, [&] { start({}); })) << part;
    dataset_ = good;
  };
  dataset_.class_names.pop_back();
  refused("the network has 10 classes");
  dataset_.mean.push_back(0.5f);
  refused("a finite mean and a stddev > 0");
  dataset_.stddev.clear();
  refused("a finite mean and a stddev > 0");
  dataset_.mean[0] = NAN;
  refused("a finite mean and a stddev > 0");
  dataset_.stddev[0] = INFINITY;
  refused("a finite mean and a stddev > 0");
  dataset_.stddev[0] = 0;
  refused("a finite mean and a stddev > 0");
}

TEST_P(TrainerTest, DivergenceNamesALayerAndKeepsTheLastGoodCheckpoint) {
  config_.schedule = {schedule_named("step"), 0.05f, 0, 1, 1e30f};  // explodes in the second epoch
  const TemporaryFolder folder;
  EXPECT_TRUE(throws(ErrorKind::check_failed, "that of layer fc",
                     [&] { start(folder / "run").run({}, kNeverStop); }));
  EXPECT_TRUE(throws(ErrorKind::check_failed, "the last good checkpoint is kept",
                     [&] { resumed(folder / "run").run({}, kNeverStop); }));
  const Trainer kept = resumed(folder / "run");
  ASSERT_EQ(kept.history().size(), 1u);
  const Model model = load_model(folder / "run");
  EXPECT_EQ(model.info.epochs, 1);
  EXPECT_EQ(evaluate(model, dataset_.test, 50, {}, stream()).metrics.accuracy,
            kept.history()[0].test.accuracy);
}

TEST_P(TrainerTest, DivergenceInTheFirstEpochIsFound) {
  config_.schedule = {schedule_named("constant"), 1000};
  EXPECT_TRUE(
      throws(ErrorKind::check_failed, "in epoch 1", [&] { start({}).run({}, kNeverStop); }));
}

TEST_P(TrainerTest, BestModelIsTheOneOfTheBestValidationAccuracy) {
  config_.validation_split = 0.3;
  config_.schedule = {schedule_named("constant"), 0.02f, 0, 1, 1};
  config_.epochs = 5;
  const TemporaryFolder folder;
  Trainer trainer = start(folder / "run");
  trainer.run({}, kNeverStop);
  const int best = best_epoch(trainer.history());
  ASSERT_GT(best, 0);
  const Model model = load_model(folder / "run" / "best.safetensors");
  EXPECT_EQ(model.info.epochs, best);
  const EpochRecord& record = trainer.history()[static_cast<std::size_t>(best - 1)];
  EXPECT_EQ(model.info.test_accuracy, record.test.accuracy);
  const TrainSplit split = split_images(dataset_.train, 330, 0.3, config_.seed);
  EXPECT_EQ(record.validation->images, 99);
  EXPECT_EQ(record.train.images, 231);
  EXPECT_EQ(evaluate(model, split.validation, 50, {}, stream()).metrics.accuracy,
            record.validation->accuracy);
}

TEST_P(TrainerTest, TheCalibrationIsFittedOnImagesThatAreHeldOut) {
  for (const bool validates : {false, true}) {
    (validates ? config_.validation_split : config_.calibration_split) = 0.3;
    Trainer trainer = start({});
    trainer.run({}, kNeverStop);
    const EpochRecord& record = trainer.history().back();
    EXPECT_EQ(record.validation.has_value(), validates);
    EXPECT_EQ(record.train.images, 231);
    const Calibration calibration = trainer.model().info.calibration;
    EXPECT_EQ(calibration.images, 99);
    EXPECT_EQ(calibration.threshold, record.calibration.threshold);
    // None of 99 images is 0.75 % of them: the threshold is the least familiar one.
    const TrainSplit split = split_images(dataset_.train, 330, 0.3, config_.seed);
    Model stricter = trainer.model();
    stricter.info.calibration.temperature = 1e-6;  // then every answer is certain by itself
    EXPECT_EQ(evaluate(stricter, split.validation, 50, {}, stream()).unsure, 0);
    stricter.info.calibration.threshold += 1e-3 * std::fabs(calibration.threshold);
    EXPECT_GE(evaluate(stricter, split.validation, 50, {}, stream()).unsure, 1);
  }
}

TEST_P(TrainerTest, TheLogHoldsEveryImageOnce) {
  config_.log_every = 2;
  const TemporaryFolder folder;
  Trainer trainer = start(folder / "run");
  trainer.run({}, kNeverStop);
  std::int64_t images = 0;
  for (const StepMetrics& metrics : step_metrics(trainer.log())) {
    images += metrics.train.images;
    EXPECT_GT(metrics.train.images, 0);
    EXPECT_GT(metrics.train.loss, 0);
  }
  EXPECT_EQ(images, 330 * static_cast<std::int64_t>(trainer.history().size()));
  EXPECT_GE(trainer.log().size(), trainer.history().size());
}

TEST_P(TrainerTest, LimitAndBatchesLargerThanTheSetWork) {
  config_.limit_train = 41;
  for (const std::int64_t batch : {1, 41, 64}) {
    config_.batch_size = batch;
    config_.epochs = 1;
    Trainer trainer = start({});
    EXPECT_EQ(trainer.run({}, kNeverStop), TrainEnd::finished);
    EXPECT_EQ(trainer.history()[0].train.images, 41) << "batch " << batch;
  }
}

TEST_P(TrainerTest, ProgressCountsImagesOfTheEpoch) {
  dataset_ = test::block_dataset(600, 10);
  config_.network.name = "convnet";
  config_.epochs = 1;
  std::int64_t last = 0;
  int calls = 0;
  const TrainObserver observer{[&](int epoch, std::int64_t done, std::int64_t total) {
                                 EXPECT_EQ(epoch, 1);
                                 EXPECT_EQ(total, 600);
                                 EXPECT_GT(done, last);
                                 EXPECT_LE(done, total);
                                 last = done;
                                 ++calls;
                               },
                               {}};
  Trainer trainer = start({});
  trainer.run(observer, kNeverStop);
  EXPECT_EQ(last, 600);
  EXPECT_GT(calls, 0);
}

WEFT_ON_EACH_DEVICE(TrainerTest);

}  // namespace
}  // namespace weft::models::trainer_tests
