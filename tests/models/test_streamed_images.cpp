// SPDX-License-Identifier: MIT
// A set that stays in host memory trains and evaluates to the same bits as one on the device.
#include "models/streamed_images.h"

#include <gtest/gtest.h>

#include <atomic>

#include "models/training/trainer.h"
#include "tests/models/blocks.h"
#include "tests/support/device_test.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

const std::atomic<bool> kNoStop = false;
constexpr std::uint64_t kLeast = 1;  // byte: every set is larger

// Kernels of whole networks need the set on the device, so both runs go layer by layer.
class StreamedTest : public test::DeviceTest {
 protected:
  StreamedTest() {
    config_.network.name = "lenet5";
    config_.dataset = dataset_.name;
    config_.epochs = 3;
    config_.batch_size = 32;
    config_.schedule.peak = 0.05f;
    config_.augmentation.shift = 1;
    config_.augmentation.flip = true;
    config_.kernels.fuse = false;
  }

  Trainer start(std::uint64_t limit, const std::filesystem::path& run_dir = {}) {
    return Trainer(config_, dataset_, run_dir, stream(), limit);
  }

  data::Dataset dataset_ = test::block_dataset(330, 100);  // 10 full batches and a tail of 10
  TrainConfig config_;
};

void expect_same_bits(const Trainer& a, const Trainer& b) {
  EXPECT_TRUE(a.model().parameters == b.model().parameters) << "weights differ";
  ASSERT_EQ(a.history().size(), b.history().size());
  for (std::size_t i = 0; i < a.history().size(); ++i) {
    const EpochRecord &x = a.history()[i], &y = b.history()[i];
    EXPECT_EQ(x.train.loss, y.train.loss);
    EXPECT_EQ(x.test.loss, y.test.loss);
    EXPECT_EQ(x.test.accuracy, y.test.accuracy);
    EXPECT_EQ(x.calibration.temperature, y.calibration.temperature);
    ASSERT_EQ(x.validation.has_value(), y.validation.has_value());
    if (x.validation) {
      EXPECT_EQ(x.validation->loss, y.validation->loss);
    }
  }
}

TEST_P(StreamedTest, SameBitsAsOnTheDevice) {
  for (const double validation : {0.0, 0.2}) {
    config_.validation_split = validation;
    Trainer whole = start(0), streamed = start(kLeast);
    EXPECT_FALSE(whole.streams());
    ASSERT_TRUE(streamed.streams());
    const std::size_t bytes = streamed.device_bytes();
    whole.run({}, kNoStop);
    streamed.run({}, kNoStop);
    expect_same_bits(whole, streamed);
    EXPECT_EQ(streamed.device_bytes(), bytes) << "a step allocated memory";
    EXPECT_GT(whole.history().back().test.accuracy, 0.25) << "nothing was learned";
  }
}

TEST_P(StreamedTest, OneBatchAndBatchesOfOne) {
  dataset_ = test::block_dataset(31, 7);
  config_.epochs = 2;
  for (const std::int64_t batch : {1, 31, 64}) {
    config_.batch_size = batch;
    Trainer whole = start(0), streamed = start(kLeast);
    whole.run({}, kNoStop);
    streamed.run({}, kNoStop);
    expect_same_bits(whole, streamed);
  }
}

// The order follows from the step, so a run may change sides where it is resumed.
TEST_P(StreamedTest, ResumesInTheMiddleOfAnEpoch) {
  const test::TemporaryFolder folder;
  Trainer whole = start(0);
  whole.run({}, kNoStop);
  {
    Trainer first = start(kLeast, folder / "run");
    std::atomic<bool> stop = false;
    TrainObserver observer;
    observer.progress = [&](int epoch, std::int64_t done, std::int64_t) {
      stop = epoch == 2 && done > 64;
    };
    ASSERT_EQ(first.run(observer, stop), TrainEnd::interrupted);
  }
  Trainer second = Trainer::resume(folder / "run", dataset_, std::nullopt, stream(), kLeast);
  ASSERT_TRUE(second.streams());
  second.run({}, kNoStop);
  expect_same_bits(whole, second);
}

TEST_P(StreamedTest, EvaluationHasTheSameBits) {
  Trainer trainer = start(0);
  trainer.run({}, kNoStop);
  const Model model = trainer.model();
  for (const std::int64_t batch : {7, 32, 100, 500}) {
    const Evaluation whole = evaluate(model, dataset_.test, batch, config_.kernels, stream());
    const Evaluation streamed =
        evaluate(model, dataset_.test, batch, config_.kernels, stream(), kLeast);
    EXPECT_EQ(whole.metrics.loss, streamed.metrics.loss);
    EXPECT_EQ(whole.predictions, streamed.predictions);
    EXPECT_EQ(whole.probabilities, streamed.probabilities);
  }
}

TEST_P(StreamedTest, LessMemoryOfTheDevice) {
  dataset_ = test::block_dataset(4000, 4000);
  const std::size_t images = dataset_.train.images.size() + dataset_.test.images.size();
  std::size_t bytes[2];
  for (const std::uint64_t limit : {std::uint64_t{0}, kLeast}) {
    const Stream own(stream().device());
    bytes[limit] = Trainer(config_, dataset_, {}, own, limit).device_bytes();
  }
  EXPECT_GT(bytes[0], bytes[1] + images / 2);
}

TEST(StreamsImages, ByTheLimit) {
  EXPECT_FALSE(streams_images(1000, 0, Device::cpu()));
  EXPECT_FALSE(streams_images(1000, 1000, Device::cpu()));
  EXPECT_TRUE(streams_images(1001, 1000, Device::cpu()));
  if (cuda_status().device_count > 0) {
    const std::size_t memory = device_properties(Device::cuda()).memory_bytes;
    EXPECT_EQ(streams_images(memory, 0, Device::cuda()), memory > 0);
    EXPECT_FALSE(streams_images(1, 0, Device::cuda()));
  }
}

WEFT_ON_EACH_DEVICE(StreamedTest);

}  // namespace
}  // namespace weft::models
