// SPDX-License-Identifier: MIT
// Weights of Keras: each kind of file, and what becomes of their names, orders and epsilons.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "data/arrays/hdf5.h"
#include "models/answers/classifier.h"
#include "models/weights/flattened.h"
#include "models/weights/match.h"
#include "tests/support/folder.h"

namespace weft::models::weights_tests {
namespace {

using test::TemporaryFolder;
using test::throws;
using test::write_text;

const std::string kKeras = std::string(WEFT_TESTS_DIR) + "/models/weights/files/keras";
constexpr const char* kPlain = "conv 2 3x3\nbatch_norm\nrelu\nlinear classes\n";
constexpr const char* kMobile =
    "conv 4 3x3 pad 1\nbatch_norm\nprelu\n"
    "residual {\n  conv 4 3x3 pad 1 groups 4\n  conv 4 3x3 pad 1 groups 4 no_bias\n  conv 4 "
    "1x1\n}\n"
    "max_pool 2\nflatten\nbatch_norm\ndropout 0.25\nlinear 6 no_bias\nrelu\nlinear classes\n";

class Keras : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!data::no_hdf5_reason().empty()) GTEST_SKIP() << data::no_hdf5_reason();
#ifndef WEFT_WITH_LIBARCHIVE
    GTEST_SKIP() << "built without libarchive";
#endif
  }
  MatchedModel match(const std::string& file, const std::string& network) const {
    write_text(folder_ / "m.net", network);
    return matched_model(read_weights(file), {(folder_ / "m.net").string()}, "w");
  }
  TemporaryFolder folder_;
};

// The numbers of make_weights.py: 0, 1/8, ... in PyTorch's order. `epsilon`: that the file's batch
// normalisation is taken to have.
void expect_numbers(const Model& model, double epsilon) {
  ASSERT_EQ(model.parameters.size(), 51u);
  for (std::size_t i = 0; i < 51; ++i) {
    const std::size_t number = i < 24 ? i : i + 4;  // statistics are between the parameters
    double expected = static_cast<double>(number) / 8;
    if (i == 20 || i == 21) {
      const double variance = (i == 20 ? 26 : 27) / 8.0;
      expected *= std::sqrt((variance + 1e-5) / (variance + epsilon));
    }
    EXPECT_NEAR(model.parameters[i], expected, 1e-6) << i;
  }
  EXPECT_EQ(model.buffers, (std::vector<float>{3, 3.125f, 3.25f, 3.375f}));
  EXPECT_EQ(model.info.network.height, 4);
  EXPECT_EQ(model.info.network.classes, 3);
}

TEST_F(Keras, EachKindOfFileIsRead) {
  for (const char* ending : {".keras", "_unnamed.keras", "3.h5", "2.h5"}) {
    SCOPED_TRACE(ending);
    const MatchedModel made = match(kKeras + ending, kPlain);
    expect_numbers(made.model, 1e-5);
    ASSERT_EQ(made.map.size(), 8u);
    const bool is_numbered = std::string(ending) == "_unnamed.keras";
    EXPECT_EQ(made.map.front(),
              NamePair("conv1.weight", is_numbered ? "conv2d_7.weight" : "conv2d.weight"));
    EXPECT_NE(made.notices.back().find("order and shapes"), std::string::npos);
  }
}

// Without the model's config the size of an image and an epsilon are not known, nor the order.
TEST_F(Keras, WeightsAloneAreMatchedByTheirKinds) {
  const Weights weights = read_weights(kKeras + ".weights.h5");
  EXPECT_EQ(weights.order, TensorOrder::kinds);
  EXPECT_EQ(weights.tensors.front().name, "batch_normalization.weight");
  write_text(folder_ / "m.net", kPlain);
  const WeightsImport wish{(folder_ / "m.net").string(), std::array<std::int64_t, 3>{1, 4, 4}};
  const MatchedModel made = matched_model(weights, wish, "w");
  expect_numbers(made.model, 1e-3);
  EXPECT_NE(made.notices[0].find("an epsilon of 0.001 is assumed"), std::string::npos);
  EXPECT_NE(made.notices[1].find("kinds, numbers and shapes"), std::string::npos);
}

// Residual, depthwise and separable convolutions, slopes, batch normalisations without a scale or a
// shift, and of the row of an image: the logits are those that Keras has.
TEST_F(Keras, TheLogitsAreThoseOfKeras) {
  Model model = match(kKeras + "_mobile.keras", kMobile).model;
  EXPECT_EQ(model.net->sample_shape(), (Shape{3, 9, 8}));
  std::vector<std::uint8_t> pixels(3 * 9 * 8);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(i * 97 % 251);
  }
  const auto logits = Classifier(model, Stream(Device::cpu())).classify(pixels).logits;
  std::stringstream expected(test::read_text(kKeras + "_mobile.csv"));
  std::string number;
  ASSERT_EQ(logits.size(), 4u);
  const float largest = std::fabs(
      *std::ranges::max_element(logits, {}, [](float logit) { return std::fabs(logit); }));
  for (const float logit : logits) {
    ASSERT_TRUE(std::getline(expected, number, ','));
    EXPECT_NEAR(logit, std::stod(number), 2e-6 * double{largest});
  }
}

TEST_F(Keras, OfAnotherNetworkAreRefused) {
  EXPECT_TRUE(throws(ErrorKind::data, "its layer \"batch_normalization\" has 4 tensors",
                     [&] { match(kKeras + ".keras", "conv 2 3x3\nlinear classes\n"); }));
  EXPECT_TRUE(throws(ErrorKind::data, "\"conv2d.weight\" has the shape (2, 1, 3, 3)", [&] {
    match(kKeras + "2.h5", "conv 2 2x2\nbatch_norm\nrelu\nlinear classes\n");
  }));
}

TEST_F(Keras, DamagedFilesAndThoseThatLeadElsewhereAreRefused) {
  EXPECT_TRUE(throws(ErrorKind::data, "\"/elsewhere\" is a link, which Weft does not follow",
                     [] { read_weights(kKeras + "_links.h5"); }));
  const std::string whole = test::read_text(kKeras + "2.h5");
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{100}, whole.size() / 2}) {
    write_text(folder_ / "cut.h5", whole.substr(0, bytes));
    EXPECT_TRUE(throws(ErrorKind::data, "cut.h5: is a damaged HDF5 file",
                       [&] { read_weights(folder_ / "cut.h5"); }));
  }
  // Whatever libhdf5 does on other bytes is a model's weights or one line of error.
  for (std::size_t i = 0; i < 40; ++i) {
    std::string changed = whole;
    changed[i * 577 % whole.size()] ^= static_cast<char>(1 << i % 8);
    write_text(folder_ / "changed.h5", changed);
    try {
      EXPECT_FALSE(read_weights(folder_ / "changed.h5").tensors.empty());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
    }
  }
  std::string nonsense = whole;  // of the same length
  const std::size_t config = nonsense.find("{\"module\"");
  ASSERT_NE(config, std::string::npos);
  nonsense[config] = '[';
  write_text(folder_ / "config.h5", nonsense);
  EXPECT_TRUE(throws(ErrorKind::data, "config.h5", [&] { read_weights(folder_ / "config.h5"); }));
  write_text(folder_ / "empty.keras", "PK\3\4 nothing");
  EXPECT_TRUE(
      throws(ErrorKind::data, "empty.keras", [&] { read_weights(folder_ / "empty.keras"); }));
}

// It is told which slices of a network have the values of an image in a row.
TEST(KerasFiles, RowsOfImagesAreKnown) {
  const auto images = [](const std::string& text) {
    NetworkOptions options{
        .name = "t.net", .height = 3, .width = 2, .channels = 2, .definition = text};
    return flattened_images(*make_network(options), "w");
  };
  const Shape image = {2, 3, 2}, none;
  EXPECT_EQ(images("relu\nflatten\nprelu\nlinear 12\nlinear classes\n"),
            (std::vector<Shape>{image, image, none, none, none}));
  EXPECT_EQ(images("global_avg_pool\nlinear classes\n"), (std::vector<Shape>{none, none}));
  EXPECT_TRUE(throws(ErrorKind::data, "rows of images behind each other",
                     [&] { images("concat {\nflatten\n} and {\nflatten\n}\nlinear classes\n"); }));
  EXPECT_EQ(channels_first({1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16}, 2, 3),
            (std::vector<float>{1, 3, 5, 2, 4, 6, 11, 13, 15, 12, 14, 16}));
}

TEST(KerasFiles, AProgramWithoutTheLibrarySaysWhatIsMissing) {
  if (data::no_hdf5_reason().empty()) return;
  EXPECT_TRUE(throws(ErrorKind::usage, "libhdf5", [] { read_weights(kKeras + "2.h5"); }));
}

}  // namespace
}  // namespace weft::models::weights_tests
