// SPDX-License-Identifier: MIT
// Networks in 8-bit integers beside the same networks in fp32.
#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/answers/classifier.h"
#include "models/int8/int8_network.h"
#include "models/int8/ranges.h"
#include "tests/models/random_model.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"

namespace weft::models {
namespace {

// Images of soft spots, which are more like pictures than noise is.
data::ImageSet images_for(const NetworkOptions& network, std::int64_t count) {
  data::ImageSet set;
  set.count = count;
  set.channels = network.channels;
  set.height = network.height;
  set.width = network.width;
  for (std::int64_t i = 0; i < count * network.channels; ++i) {
    const auto place = test::random_floats(3, static_cast<std::uint64_t>(i), 0.0f, 1.0f);
    for (std::int64_t y = 0; y < set.height; ++y) {
      for (std::int64_t x = 0; x < set.width; ++x) {
        const float dy = static_cast<float>(y) / static_cast<float>(set.height) - place[0];
        const float dx = static_cast<float>(x) / static_cast<float>(set.width) - place[1];
        const float spot = std::exp(-(dx * dx + dy * dy) * 40 * (0.3f + place[2]));
        set.images.push_back(static_cast<std::uint8_t>(255 * spot));
      }
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<std::int32_t>(i % network.classes));
  }
  return set;
}

// A model whose running statistics are those of its values, as training makes them.
Model settled_model(NetworkOptions network) {
  Model model = test::random_model(network);
  model.parameters = model.net->initial_parameters(5);
  model.buffers = model.net->initial_buffers();
  model.info.mean.assign(static_cast<std::size_t>(network.channels), 0.2f);
  model.info.stddev.assign(static_cast<std::size_t>(network.channels), 0.3f);
  if (network.channels > 1) model.info.mean[1] = 0.4f;
  for (std::size_t i = 0; i < model.buffers.size(); ++i) {  // of no two channels the same
    model.buffers[i] += 0.05f * static_cast<float>(i % 7);
  }
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    model.parameters[i] *= 1 + 0.05f * static_cast<float>(i % 3);
  }
  return model;
}

std::vector<float> fp32_logits(const Model& model, const data::ImageSet& set) {
  Classifier classifier(model, Stream(Device::cpu()));
  std::vector<float> logits;
  for (std::int64_t i = 0; i < set.count; ++i) {
    const Answer answer = classifier.classify(set.image(i));
    logits.insert(logits.end(), answer.logits.begin(), answer.logits.end());
  }
  return logits;
}

// The root of the mean square of the difference, beside that of what is expected, or of what varies
// of it between the images of a class.
double error_of(const std::vector<float>& found, const std::vector<float>& expected,
                std::int64_t classes, bool varying) {
  const auto step = static_cast<std::size_t>(classes);
  std::vector<double> mean(step);
  for (std::size_t i = 0; i < expected.size() && varying; ++i) {
    mean[i % step] +=
        expected[i] * static_cast<double>(step) / static_cast<double>(expected.size());
  }
  double error = 0, scale = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(found[i] - expected[i], 2);
    scale += std::pow(expected[i] - mean[i % step], 2);
  }
  return std::sqrt(error / scale);
}

struct Int8Case {
  std::string definition;
  std::int64_t products;  // in bytes
  std::size_t in_fp32;    // layers
};

// 12 x 12 pixels of two channels, which differ in mean.
std::vector<Int8Case> cases() {
  return {
      {"linear 20\nrelu\nlinear classes", 2, 0},  // columns in the order of channels
      {"conv 9 5x5 pad 2\nrelu\nmax_pool 2\nconv 20 3x3\nmax_pool 2\nrelu\nlinear classes", 3, 0},
      {"conv 6 3x3 pad 1 no_bias\nbatch_norm\nrelu\ndropout 0.5\nconv 8 3x3 stride 2\nlinear 5\n"
       "batch_norm\nrelu\nlinear classes",
       4, 0},
      {"conv 8 3x3 pad 1\nrelu\nresidual {\n  conv 8 3x3 pad 1\n  batch_norm\n  relu\n"
       "  conv 8 3x3 pad 1\n}\nmax_pool 2\nlinear classes",
       4, 2},  // add, max_pool
      {"conv 8 3x3 pad 1\nresidual {\n  conv 6 3x3 pad 1 stride 2\n} shortcut {\n  conv 6 1x1 "
       "stride 2\n}\nlinear classes",
       4, 1},
      {"conv 8 3x3 pad 1\nrelu\nconcat {\n  conv 4 1x1\n} and {\n  conv 5 3x3 pad 1\n}\n"
       "global_avg_pool\nlinear classes",
       4, 2},
      {"conv 8 3x3 pad 1\ngroup_norm 2\nsilu\nconv 8 3x3 groups 8\navg_pool 2\nlinear 6\ntanh\n"
       "linear classes",
       3, 4},
      {"batch_norm\nconv 4 3x3\nmax_pool 3 stride 2\nlinear classes", 2, 1},
      {"max_pool 2\nflatten\nlinear classes", 1, 1},
      {"conv 4 3x3\nrelu\nmax_pool 2\nbatch_norm\nlinear classes", 2, 0},
      {"conv 6 3x3\nmax_pool 2\nflatten\ntanh\nlinear 8\nclip -0.5 2\nlinear classes", 3, 0},
      {"flatten\nleaky_relu 0.3\nlinear classes", 1, 0},
      {"conv 5 3x3\nprelu each_value\nflatten\nprelu\nlinear classes", 2, 2},
  };
}

NetworkOptions options_of(const std::string& definition) {
  NetworkOptions network = test::network_file(definition);
  network.height = network.width = 12;
  network.classes = 6;
  return network;
}

TEST(Int8Network, IsNearFp32ForEveryShapeOfNetwork) {
  for (const Int8Case& c : cases()) {
    SCOPED_TRACE(c.definition);
    Model model = settled_model(options_of(c.definition));
    const data::ImageSet set = images_for(model.info.network, 40);
    model.info.ranges = measure_ranges(model, set);
    const Int8Network network(model);
    EXPECT_EQ(network.products(), c.products);
    EXPECT_EQ(network.in_fp32().size(), c.in_fp32);
    EXPECT_LT(error_of(network.logits(set.images), fp32_logits(model, set), 6, true), 0.15);
  }
}

TEST(Int8Network, IsNearFp32ForEveryBuiltInNetwork) {
  for (const NetworkInfo& info : networks()) {
    SCOPED_TRACE(info.name);
    NetworkOptions options;
    options.name = info.name;
    Model model = settled_model(options);
    const data::ImageSet set = images_for(model.info.network, 6);
    model.info.ranges = measure_ranges(model, set);
    // Without training some answer nearly the same to all images.
    EXPECT_LT(error_of(Int8Network(model).logits(set.images), fp32_logits(model, set), 10, false),
              0.05);
  }
}

TEST(Int8Network, AnImageHasTheSameBitsInABatchOfAnySizeOnAnyThreads) {
  Model model = settled_model(options_of(cases()[3].definition));
  const data::ImageSet set = images_for(model.info.network, 75);
  model.info.ranges = measure_ranges(model, set);
  const Int8Network network(model);
  std::vector<float> one_by_one;
  for (std::int64_t i = 0; i < set.count; ++i) {
    const auto logits = network.logits(set.image(i));
    one_by_one.insert(one_by_one.end(), logits.begin(), logits.end());
  }
  const int threads = omp_get_max_threads();
  for (const int count : {1, 3}) {
    omp_set_num_threads(count);
    EXPECT_EQ(network.logits(set.images), one_by_one) << count << " threads";
  }
  omp_set_num_threads(threads);
  Classifier classifier(model.info, [&](auto pixels) { return network.logits(pixels); });
  EXPECT_EQ(classifier.classify(set.image(1)).logits,
            std::vector<float>(one_by_one.begin() + 6, one_by_one.begin() + 12));
}

TEST(Int8Network, AnEvaluationSaysWhatFp32WouldSayOfTheSameLogits) {
  Model model = settled_model(options_of(cases()[1].definition));
  const data::ImageSet set = images_for(model.info.network, 50);
  model.info.ranges = measure_ranges(model, set);
  const Evaluation fp32 = evaluate(model, set, 10, {}, Stream(Device::cpu()));
  const Evaluation same = evaluation_of(model.info, set, fp32_logits(model, set));
  EXPECT_EQ(same.predictions, fp32.predictions);
  EXPECT_EQ(same.metrics.accuracy, fp32.metrics.accuracy);
  EXPECT_NEAR(same.metrics.loss, fp32.metrics.loss, 1e-6);
  EXPECT_EQ(same.confusion, fp32.confusion);
  const Evaluation int8 = evaluate(model, Int8Network(model), set);
  EXPECT_NEAR(int8.metrics.loss, fp32.metrics.loss, 0.02);
  EXPECT_EQ(int8.metrics.images, 50);
}

TEST(Int8Network, RefusesModelsThatItCannotTake) {
  Model model = settled_model(options_of("conv 4 3x3\nlinear classes"));
  const auto make = [&] { Int8Network{model}; };
  EXPECT_TRUE(test::throws(ErrorKind::usage, "does not say the ranges", make));
  model.info.ranges.assign(1, {0, 1});
  EXPECT_TRUE(test::throws(ErrorKind::usage, "ranges of 1 layers", make));
  const data::ImageSet set = images_for(model.info.network, 2);
  model.info.ranges = measure_ranges(model, set);
  EXPECT_NO_THROW(make());
  EXPECT_TRUE(test::throws(ErrorKind::usage, "expected images of 288 bytes",
                           [&] { Int8Network(model).logits(std::span(set.images).first(287)); }));
  model.info.ranges.assign(model.info.ranges.size(), {-1e-44f, 1e-45f});  // of a stranger's file
  for (const float logit : Int8Network(model).logits(set.images)) {
    EXPECT_TRUE(std::isfinite(logit));
  }
  model.parameters[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(test::throws(ErrorKind::data, "not a number", make));
  EXPECT_TRUE(test::throws(ErrorKind::data, "not a number", [&] { measure_ranges(model, set); }));
}

TEST(Int8Network, RangesSurviveTheModelFile) {
  ModelInfo info;
  info.class_names.assign(10, "c");
  info.ranges = {{-1.5f, 0.1f}, {0, 1e-30f}};
  const ModelInfo read = model_info_from_json(to_json(info), "t");
  ASSERT_EQ(read.ranges.size(), 2u);
  EXPECT_EQ(read.ranges[0].least, -1.5f);
  EXPECT_EQ(read.ranges[0].most, 0.1f);
  EXPECT_EQ(read.ranges[1].most, 1e-30f);
  std::string text = to_json(info);
  text.replace(text.find("-1.5"), 4, "9.5");
  EXPECT_TRUE(test::throws(ErrorKind::data, "that rise", [&] { model_info_from_json(text, "t"); }));
}

}  // namespace
}  // namespace weft::models
