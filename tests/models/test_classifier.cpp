// SPDX-License-Identifier: MIT
// What a model says of one image.
#include "models/answers/classifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

#include "models/answers/evaluate.h"
#include "models/networks/networks.h"
#include "tests/models/blocks.h"
#include "tests/support/device_test.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"

namespace weft::models {
namespace {

Model small_model() {
  Model model;
  model.info.network.name = "mlp";
  model.info.class_names.assign(10, "c");
  model.info.calibration.temperature = 2.5;
  model.net = make_network(model.info.network);
  model.parameters = model.net->initial_parameters(7);
  model.buffers = model.net->initial_buffers();
  return model;
}

std::vector<std::uint8_t> any_pixels(const Model& model) {
  return test::random_bytes(model.net->sample_shape().elements(), 3);
}

TEST(Classifier, AnswersWithASoftmaxAtItsTemperature) {
  const Model model = small_model();
  const Answer answer = Classifier(model, Stream(Device::cpu())).classify(any_pixels(model));
  ASSERT_EQ(answer.logits.size(), 10u);
  ASSERT_EQ(answer.probabilities.size(), 10u);
  std::vector<double> expected;
  double sum = 0;
  for (const float logit : answer.logits) {
    expected.push_back(std::exp(static_cast<double>(logit) / 2.5));
    sum += expected.back();
  }
  for (std::size_t c = 0; c < 10; ++c) {
    EXPECT_NEAR(answer.probabilities[c], expected[c] / sum, 1e-9) << c;
  }
  std::vector<bool> is_ranked(10);
  for (std::size_t place = 0; place < 10; ++place) {
    is_ranked[answer.ranking[place]] = true;
    if (place == 0) continue;
    EXPECT_GE(answer.probabilities[answer.ranking[place - 1]],
              answer.probabilities[answer.ranking[place]]);
  }
  EXPECT_EQ(std::count(is_ranked.begin(), is_ranked.end(), true), 10);
}

TEST(Classifier, RefusesAnAnswerThatIsNoNumber) {
  Model model = small_model();
  model.parameters.assign(model.parameters.size(), NAN);
  Classifier classifier(model, Stream(Device::cpu()));
  EXPECT_TRUE(test::throws(ErrorKind::data, "not a number",
                           [&] { classifier.classify(any_pixels(model)); }));
}

// A picture of several channels, each with all bytes, as training and evaluation gather it.
TEST(Classifier, ReadsEachByteAsABatchDoes) {
  const Stream stream(Device::cpu());
  ModelInfo info;
  info.mean = {0.1307f, 0, 0.4465f, 117.5f};
  info.stddev = {0.3081f, 1, 0.2616f, 57.375f};
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 4 * 256; ++i) pixels.push_back(static_cast<std::uint8_t>(i));
  std::vector<float> gathered(pixels.size(), NAN);
  const std::int64_t step = 0;
  kernels::gather_batch(gathered.data(), nullptr, nullptr, pixels.data(), nullptr, 1, {4, 16, 16},
                        &step, {1, 1, 1, false}, {}, normalization_of(info), stream);
  const std::vector<float> alone = normalized(pixels, info);
  ASSERT_EQ(alone.size(), gathered.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_EQ(std::memcmp(&alone[i], &gathered[i], sizeof(float)), 0)
        << "byte " << i % 256 << " of channel " << i / 256 << ": " << alone[i] << " alone, "
        << gathered[i] << " in a batch";
    EXPECT_NEAR(alone[i],
                (static_cast<float>(pixels[i]) / 255 - info.mean[i / 256]) / info.stddev[i / 256],
                4e-6);
  }
}

TEST(Classifier, OutlivesItsModel) {
  const Model model = small_model();
  const std::vector<std::uint8_t> pixels = any_pixels(model);
  const std::vector<float> expected =
      Classifier(model, Stream(Device::cpu())).classify(pixels).logits;
  std::optional<Model> short_lived = small_model();
  Classifier classifier(*short_lived, Stream(Device::cpu()));
  short_lived.reset();
  EXPECT_EQ(classifier.classify(pixels).logits, expected);
}

class SharedClassifier : public test::DeviceTest {};

TEST_P(SharedClassifier, AnswersEachThreadItsOwnPicture) {
  constexpr int kThreads = 4;
  const int calls = built_for_host_cuda() ? 3 : 300;
  const Model model = small_model();
  Classifier classifier(model, stream());
  std::vector<std::vector<std::uint8_t>> pictures;
  std::vector<std::vector<float>> expected;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    pictures.push_back(test::random_bytes(model.net->sample_shape().elements(), 10 + i));
    expected.push_back(classifier.classify(pictures.back()).logits);
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int call = 0; call < calls; ++call) {
        if (classifier.classify(pictures[i]).logits != expected[i]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "of " << kThreads * calls << " answers";
}

WEFT_ON_EACH_DEVICE(SharedClassifier);

}  // namespace
}  // namespace weft::models
