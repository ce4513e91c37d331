// SPDX-License-Identifier: MIT
// evaluate(): totals, predictions, probabilities and confusion agree with each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/stop.h"
#include "models/answers/evaluate.h"
#include "tests/models/blocks.h"
#include "tests/support/device_test.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

class Evaluate : public test::DeviceTest {
 protected:
  Evaluate() {
    model_.net = make_network(model_.info.network);
    model_.parameters = model_.net->initial_parameters(3);
    model_.buffers = model_.net->initial_buffers();
    model_.info.class_names.assign(10, "x");
  }
  testing::AssertionResult refuses(const std::string& text, const data::ImageSet& set) {
    return test::throws(ErrorKind::usage, text, [&] { evaluate(model_, set, 10, {}, stream()); });
  }

  Model model_;
  data::ImageSet set_ = test::block_images(53, 9);
};

TEST_P(Evaluate, ResultsAgreeWithEachOther) {
  const Evaluation result = evaluate(model_, set_, 20, {}, stream());
  ASSERT_EQ(result.predictions.size(), 53u);
  ASSERT_EQ(result.probabilities.size(), 530u);
  ASSERT_EQ(result.confusion.size(), 100u);
  std::int64_t hits = 0, counted = 0;
  double loss = 0;
  for (std::size_t image = 0; image < 53; ++image) {
    const float* row = &result.probabilities[image * 10];
    double sum = 0;
    int best = 0;
    for (int label = 0; label < 10; ++label) {
      sum += row[label];
      if (row[label] > row[best]) best = label;
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(result.predictions[image], best);
    hits += best == set_.labels[image] ? 1 : 0;
    loss -= std::log(static_cast<double>(row[static_cast<std::size_t>(set_.labels[image])]));
  }
  std::int64_t diagonal = 0;
  for (std::size_t cell = 0; cell < 100; ++cell) {
    counted += result.confusion[cell];
    if (cell % 11 == 0) diagonal += result.confusion[cell];
  }
  EXPECT_EQ(counted, 53);
  EXPECT_EQ(diagonal, hits);
  EXPECT_EQ(result.metrics.images, 53);
  EXPECT_DOUBLE_EQ(result.metrics.accuracy, static_cast<double>(hits) / 53);
  EXPECT_NEAR(result.metrics.loss, loss / 53, 1e-5);
}

// Without a threshold no certain answer is unsure. A flat picture lies below every threshold.
TEST_P(Evaluate, CountsTheImagesBelowTheThreshold) {
  model_.info.calibration.temperature = 1e-6;
  const auto unsure = [&](double threshold) {
    model_.info.calibration.threshold = threshold;
    return evaluate(model_, set_, 20, {}, stream()).unsure;
  };
  std::fill_n(set_.images.begin(), 5 * set_.pixels(), std::uint8_t{77});
  EXPECT_EQ(unsure(Calibration{}.threshold), 0);
  EXPECT_EQ(unsure(-1e300), 5);
  EXPECT_EQ(unsure(1e300), 53);
  model_.info.calibration.temperature = 1e6;  // every class has a tenth
  EXPECT_EQ(unsure(Calibration{}.threshold), 53);
}

TEST_P(Evaluate, BatchSizeDoesNotMatter) {
  const Evaluation whole = evaluate(model_, set_, 1000, {}, stream());
  for (const std::int64_t batch : {1, 7, 53}) {
    const Evaluation parts = evaluate(model_, set_, batch, {}, stream());
    EXPECT_EQ(parts.predictions, whole.predictions) << "batch " << batch;
    for (std::size_t i = 0; i < whole.probabilities.size(); ++i) {
      EXPECT_NEAR(parts.probabilities[i], whole.probabilities[i], 1e-5);
    }
    EXPECT_NEAR(parts.metrics.loss, whole.metrics.loss, 1e-5);
  }
}

TEST_P(Evaluate, TellsHowFarItIsAndStopsBetweenTwoBatches) {
  std::vector<std::int64_t> looks;
  std::atomic<bool> stop = false;
  const EvaluationWatch watch{&stop, [&](std::int64_t done, std::int64_t total) {
                                EXPECT_EQ(total, 53);
                                looks.push_back(done);
                              }};
  const layers::KernelChoice by_layers{.fuse =
                                           false};  // one kernel for the whole set has no batches
  const auto run = [&] { return evaluate(model_, set_, 5, by_layers, stream(), 0, watch); };
  EXPECT_EQ(run().metrics.images, 53);
  EXPECT_EQ(looks.front(), 0);
  EXPECT_EQ(looks.back(), 53);
  EXPECT_TRUE(std::ranges::is_sorted(looks));
  stop = true;
  EXPECT_THROW(run(), Stopped);
  EXPECT_EQ(looks.back(), 5) << "more than one batch";
}

TEST_P(Evaluate, ImagesThatDoNotFitTheModelAreUsageErrors) {
  EXPECT_TRUE(refuses("none", data::ImageSet{}));
  data::ImageSet wrong = set_;
  wrong.labels[17] = 10;
  EXPECT_TRUE(refuses("knows 10 classes, evaluation image 17 has label 10", wrong));
  wrong = set_;
  wrong.height = 14;
  wrong.width = 56;
  EXPECT_TRUE(refuses("28 x 28, the evaluation images are 14 x 56", wrong));
  wrong = set_;
  wrong.count = 54;
  EXPECT_TRUE(refuses("counts 54 images", wrong));
  EXPECT_TRUE(test::throws(ErrorKind::usage, "batch size",
                           [&] { evaluate(model_, set_, 0, {}, stream()); }));
}

WEFT_ON_EACH_DEVICE(Evaluate);

}  // namespace
}  // namespace weft::models
