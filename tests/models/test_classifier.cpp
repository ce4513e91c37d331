// SPDX-License-Identifier: MIT
// What a model says of one image.
#include "models/classifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/networks.h"
#include "tests/models/blocks.h"
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

}  // namespace
}  // namespace weft::models
