// SPDX-License-Identifier: MIT
// weft with images in colour: the built-in shapes through training, evaluation and prediction.
#include <algorithm>

#include "data/picture/image.h"
#include "data/sets/shapes.h"
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Colour : public ProgramTest {
 protected:
  Outcome train(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "train", "--dataset", "shapes", "--model",    "mlp", "--limit-train", "1500", "--epochs",
        "2",     "--device",  "cpu",    "--progress", "off", "--out",         name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return weft(arguments);
  }
};

TEST_F(Colour, TrainsEvaluatesAndPredicts) {
  const Outcome trained = train("run", {"--augment", "--brightness", "0.1", "--cutout", "6"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("flip, crop 4, brightness"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("cutout 6"), std::string::npos) << trained.out;
  const auto config = nlohmann::json::parse(read("run/config.json"));
  EXPECT_EQ(config.at("channels"), 3);
  EXPECT_EQ(config.at("augmentation").at("flip"), true);
  EXPECT_EQ(config.at("augmentation").at("crop"), 4);
  EXPECT_EQ(config.at("augmentation").at("cutout"), 6);
  EXPECT_EQ(config.at("augmentation").at("rotate_degrees"), 0);

  const Outcome eval = weft({"eval", "run", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_GT(json_lines(eval.out).at(0).at("accuracy"), 0.15);  // chance is 0.1
  EXPECT_NE(read("run/report.html").find("data:image/png;base64,"), std::string::npos);

  // The samples are in colour, and the model reads them as the images they were.
  std::vector<std::string> samples;
  for (const auto& entry : fs::directory_iterator(folder() / "run/samples")) {
    samples.push_back(entry.path().string());
    const data::RgbImage picture = data::load_rgb_image(entry.path());
    EXPECT_FALSE(picture.is_grey);
    EXPECT_EQ(picture.width, 32);
    EXPECT_NE(picture.red, picture.blue);
  }
  EXPECT_EQ(samples.size(), 8u);
  const Outcome drawn = weft({"predict", "run", samples.front(), "--show"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_EQ(std::count(drawn.out.begin(), drawn.out.end(), '\n'), 1 + 2 + 16) << drawn.out;

  expect_error(weft({"serve", "run"}), 2, "in colour");
  expect_error(weft({"predict", "run", samples.front(), "--all"}), 2, "32 x 32 with 3 channels");
  expect_error(weft({"eval", "run", "--dataset", "digits", "--device", "cpu"}), 2, "1 x 28 x 28");
}

// Another size is fitted: the sample, twice as large, gets the same answer.
TEST_F(Colour, PredictFitsOtherSizes) {
  ASSERT_EQ(train("run").exit_code, 0);
  const data::ImageSet shapes = data::generate_shapes({1, 1, 9}).train;
  const std::vector<std::uint8_t> pixels = data::interleaved(shapes, 0);
  std::vector<std::uint8_t> doubled;
  for (std::size_t i = 0; i < 64 * 64 * 3; ++i) {
    const std::size_t y = i / (64 * 3) / 2, x = i / 3 % 64 / 2;
    doubled.push_back(pixels[(y * 32 + x) * 3 + i % 3]);
  }
  data::write_png(folder() / "one.png", pixels, 32, 32, 3);
  data::write_png(folder() / "two.png", doubled, 64, 64, 3);
  const auto answers = json_lines(weft({"predict", "run", "one.png", "two.png", "--json"}).out);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].at("logits"), answers[1].at("logits"));
}

TEST_F(Colour, DryRunKnowsTheShape) {
  const Outcome dry = weft(
      {"train", "--dataset", "shapes", "--model", "resnet9", "--dry-run", "--augment", "--json"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_EQ(json_lines(dry.out).at(0).at("bytes").at("images"), 20000 * 3 * 32 * 32);
  const Outcome text = weft({"train", "--dataset", "digits", "--limit-train", "3000", "--dry-run",
                             "--flip", "--crop", "2"});
  EXPECT_NE(text.out.find("flip, crop 2"), std::string::npos) << text.out;
  expect_error(weft({"train", "--flip", "--no-augment"}), 2, "exclude each other");
  expect_error(weft({"train", "--crop", "-1"}), 2, "--crop");
  expect_error(weft({"train", "--resume", "run", "--cutout", "3"}), 2, "--cutout");
}

}  // namespace
}  // namespace weft::test
