// SPDX-License-Identifier: MIT
// The promises of the README on the real MNIST: accuracy gates, reading pictures, and what a model
// trained on procedural digits makes of real ones. Needs MNIST in $WEFT_DATA_DIR.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "data/picture/image.h"
#include "data/sets/mnist.h"
#include "tests/cli/program.h"
#include "tests/support/non_digits.h"

namespace weft::test {
namespace {

class Mnist : public ProgramTest {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("WEFT_DATA_DIR");
    if (folder == nullptr) GTEST_SKIP() << "WEFT_DATA_DIR does not name a folder with MNIST";
    ProgramTest::SetUp();
    environment_["WEFT_DATA_DIR"] = fs::absolute(folder).string();
    mnist_ = data::load_dataset("mnist", {});
  }

  // The test accuracy that the last line of `weft train --json` reports.
  double train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"train", "--device", "cpu", "--json"});
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    if (events.empty() || events.back()["event"] != "end") {
      ADD_FAILURE() << "no end event in: " << outcome.out;
      return 0;
    }
    return events.back()["test_accuracy"];
  }

  // The share of the first 200 test digits, drawn by `draw` into PNG files, that predict gets.
  double share_read(const std::string& name,
                    const std::function<data::GreyImage(const std::uint8_t*)>& draw) {
    constexpr std::size_t kImages = 200, kPixels = 28 * 28;
    std::vector<std::string> arguments = {"predict", "run", "--json"};
    fs::create_directory(folder() / name);
    for (std::size_t i = 0; i < kImages; ++i) {
      const data::GreyImage image = draw(mnist_.test.images.data() + i * kPixels);
      const std::string file = name + "/" + std::to_string(i) + ".png";
      data::write_png(folder() / file, image.pixels, image.width, image.height, 1);
      arguments.push_back(file);
    }
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::vector<nlohmann::json> events = json_lines(outcome.out);
    std::size_t seen = 0, right = 0;
    for (const nlohmann::json& event : events) {
      if (event["event"] != "predict") continue;
      right += event["label"] == mnist_.test.labels[seen++] ? 1 : 0;
    }
    EXPECT_EQ(seen, kImages);
    return static_cast<double>(right) / kImages;
  }

  // The share of 60 pictures of a kind, drawn with a seed that nothing was chosen by, that predict
  // is unsure of or finds nothing in.
  double share_refused(const NonDigitKind& kind) {
    constexpr std::uint64_t kPictures = 60, kSeed = 20'261'123;
    std::vector<std::string> arguments = {"predict", "run", "--json"};
    for (std::uint64_t i = 0; i < kPictures; ++i) {
      Chance chance(kSeed, i);
      const data::GreyImage image = kind.draw(chance);
      const std::string file = kind.name + std::to_string(i) + ".png";
      data::write_png(folder() / file, image.pixels, image.width, image.height, 1);
      arguments.push_back(file);
    }
    const Outcome outcome = weft(arguments);
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 3) << outcome.err;
    std::size_t answered = 0;
    std::set<std::string> seen;
    for (const nlohmann::json& event : json_lines(outcome.out)) {
      if (event["event"] != "predict") continue;
      seen.insert(event["image"].get<std::string>());
      answered += event["unsure"].get<bool>() ? 0 : 1;
    }
    for (std::size_t i = 3; i < arguments.size(); ++i) {
      EXPECT_TRUE(seen.contains(arguments[i]) ||
                  outcome.err.find(arguments[i]) != std::string::npos)
          << arguments[i] << " has neither an answer nor an error";
    }
    return 1 - static_cast<double>(answered) / kPictures;
  }

  data::Dataset mnist_;
};

data::GreyImage canvas(std::int64_t width, std::int64_t height, std::uint8_t fill) {
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), fill)};
}

// Copies a 28 x 28 digit into `image` with its corner at (top, left), each pixel `scale` wide.
data::GreyImage placed(data::GreyImage image, const std::uint8_t* digit, std::int64_t top,
                       std::int64_t left, std::int64_t scale) {
  for (std::int64_t y = 0; y < 28 * scale; ++y) {
    for (std::int64_t x = 0; x < 28 * scale; ++x) {
      image.pixels[static_cast<std::size_t>((top + y) * image.width + left + x)] =
          digit[y / scale * 28 + x / scale];
    }
  }
  return image;
}

TEST_F(Mnist, LeNet5LearnsItAndReadsPictures) {
  const double accuracy = train({"--out", "run"});
  EXPECT_GE(accuracy, 0.990);
  EXPECT_LT(accuracy, 0.998) << "too good to be true: is the metric broken?";

  const auto as_is = [](const std::uint8_t* digit) {
    return placed(canvas(28, 28, 0), digit, 0, 0, 1);
  };
  EXPECT_GE(share_read("as-is", as_is), 0.97);
  EXPECT_GE(share_read("inverted",
                       [&](const std::uint8_t* digit) {
                         data::GreyImage image = as_is(digit);
                         for (std::uint8_t& pixel : image.pixels) {
                           pixel = static_cast<std::uint8_t>(255 - pixel);
                         }
                         return image;
                       }),
            0.97);
  EXPECT_GE(share_read("scaled",
                       [](const std::uint8_t* digit) {
                         return placed(canvas(280, 280, 0), digit, 0, 0, 10);
                       }),
            0.97);
  EXPECT_GE(share_read("shifted",
                       [](const std::uint8_t* digit) {
                         return placed(canvas(64, 48, 0), digit, 18, 33, 1);
                       }),
            0.97);

  const Outcome eval = weft({"eval", "run", "--device", "cpu", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const nlohmann::json event = json_lines(eval.out).back();
  EXPECT_LE(event["calibration_error"].get<double>(), 0.005);
  EXPECT_LE(event["unsure"].get<int>(), 100) << "1 % of real digits";
  EXPECT_GT(event["unsure"].get<int>(), 10) << "nothing is refused";
  double refused = 0;
  for (const NonDigitKind& kind : kNonDigits) {
    const double share = share_refused(kind);
    RecordProperty(kind.name, std::to_string(share));
    EXPECT_GE(share, 0.3) << kind.name;
    refused += share / std::size(kNonDigits);
  }
  EXPECT_GE(refused, 0.8);
}

TEST_F(Mnist, AModelTrainedOnProceduralDigitsReadsRealOnes) {
  train({"--dataset", "digits", "--out", "run"});
  const Outcome outcome = weft({"eval", "run", "--dataset", "mnist", "--device", "cpu", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const double accuracy = json_lines(outcome.out).back()["accuracy"];
  EXPECT_GE(accuracy, 0.90);
  EXPECT_LT(accuracy, 0.995);
}

}  // namespace
}  // namespace weft::test
