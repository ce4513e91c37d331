// SPDX-License-Identifier: MIT
// A picture has the same logits to the bit whether it is classified alone, layer by layer as
// `weft serve` does it, or evaluated in a batch of any size.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "models/answers/classifier.h"
#include "models/answers/evaluate.h"
#include "tests/models/blocks.h"
#include "tests/support/device_test.h"
#include "tests/support/random.h"
#include "tests/support/small.h"

namespace weft::models {
namespace {

class BatchInvariance : public test::DeviceTest {
 protected:
  static Model model_of(const std::string& network) {
    Model model;
    model.info.network.name = network;
    model.info.class_names.assign(10, "c");
    model.net = make_network(model.info.network);
    model.parameters = model.net->initial_parameters(7);
    model.buffers = model.net->initial_buffers();
    // Statistics that batch norm has something to do with; variances stay above 0.
    const std::vector<float> shifts =
        test::random_floats(static_cast<std::int64_t>(model.buffers.size()), 8);
    for (std::size_t i = 0; i < shifts.size(); ++i) model.buffers[i] += 0.3f * shifts[i];
    return model;
  }

  layers::KernelChoice kernels(bool fuse = true) const {
    return {.fuse = fuse, .batch_invariant = true};
  }

  std::vector<float> evaluated(const Model& model, const data::ImageSet& set, std::int64_t batch) {
    layers::Weights weights(*model.net, stream(), layers::Phase::inference);
    copy_from_host(weights.parameters.view<float>(), model.parameters, stream());
    copy_from_host(weights.buffers.view<float>(), model.buffers, stream());
    Evaluator evaluator(*model.net, weights, set, batch, normalization_of(model.info), kernels(),
                        stream());
    Tensor logits(Shape{set.count, 10}, DType::f32, stream());
    evaluator.begin(stream());
    evaluator.advance(set.count, {nullptr, logits.data<float>()}, stream());
    return to_host(logits.view<float>(), stream());
  }

  // The logits of each of the first `count` pictures alone.
  std::vector<float> classified(const Model& model, const data::ImageSet& set, std::int64_t count,
                                bool fuse) {
    Classifier classifier(model, stream(), kernels(fuse));
    std::vector<float> all;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto pixels = std::span(set.images)
                              .subspan(static_cast<std::size_t>(i * set.pixels()),
                                       static_cast<std::size_t>(set.pixels()));
      const std::vector<float> logits = classifier.classify(pixels).logits;
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

  static testing::AssertionResult same_bits(const std::vector<float>& a,
                                            const std::vector<float>& b) {
    const std::size_t count = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0 && !std::isnan(a[i])) continue;
      return testing::AssertionFailure() << "image " << i / 10 << ", logit " << i % 10 << ": "
                                         << a[i] << " and " << b[i] << " differ";
    }
    return count > 0 ? testing::AssertionSuccess() : testing::AssertionFailure() << "no logits";
  }

  void check(const std::string& network, std::int64_t images,
             const std::vector<std::int64_t>& batches, std::int64_t alone) {
    const Model model = model_of(network);
    const data::ImageSet set = test::block_images(images, 9);
    const std::vector<float> whole = evaluated(model, set, images);
    for (const std::int64_t batch : batches) {
      EXPECT_TRUE(same_bits(evaluated(model, set, batch), whole))
          << network << ", batches of " << batch;
    }
    EXPECT_TRUE(same_bits(classified(model, set, alone, true), whole)) << network << ", alone";
    EXPECT_TRUE(same_bits(classified(model, set, alone, false), whole))
        << network << ", layer by layer";
  }
};

TEST_P(BatchInvariance, OfEverySmallNetwork) {
  for (const char* network : {"mlp", "lenet5", "lenet5-classic"}) {
    if (built_for_host_cuda()) {
      check(network, 9, {1, 4}, 2);
    } else {
      check(network, 1000, {7, 64}, 70);
    }
  }
}

TEST_P(BatchInvariance, OfEveryLargeNetwork) {
  if (built_for_host_cuda()) {
    check("convnet-bn", 2, {1}, 1);
    return;
  }
  check("convnet", 67, {1, 7, 64}, 3);
  check("convnet-bn", 67, {7, 64}, 3);
  check("resnet9", 9, {1, 7}, 2);
}

WEFT_ON_EACH_DEVICE(BatchInvariance);

}  // namespace
}  // namespace weft::models
