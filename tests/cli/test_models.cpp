// SPDX-License-Identifier: MIT
// weft eval, predict and inspect on a small trained model, and on files that are not one.
#include <algorithm>
#include <cmath>

#include "data/picture/image.h"
#include "models/model.h"
#include "tests/cli/program.h"
#include "tests/cli/untrained_model.h"

namespace weft::test {
namespace {

// The digit in a sample's file name: "samples/3-7.png" shows a 7.
int digit_of(const fs::path& path) {
  return path.stem().string().back() - '0';
}

class Models : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    const Outcome outcome = train_small("run");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const auto& entry : fs::directory_iterator(folder() / "run/samples")) {
      samples_.push_back(entry.path());
    }
    ASSERT_EQ(samples_.size(), 8u);
  }

  // How many of the pictures predict reads as their file names say.
  int right(const std::vector<fs::path>& pictures) {
    std::vector<std::string> arguments = {"predict", "run", "--json"};
    for (const fs::path& picture : pictures) arguments.push_back(picture.string());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    int count = 0;
    for (const nlohmann::json& event : json_lines(outcome.out)) {
      count += event.at("label") == digit_of(event.at("image").get<std::string>()) ? 1 : 0;
    }
    return count;
  }

  std::vector<fs::path> samples_;
};

TEST_F(Models, PredictReadsItsSamplesHoweverTheyAreShown) {
  EXPECT_GE(right(samples_), 7);
  std::vector<fs::path> inverted, enlarged;
  fs::create_directories(folder() / "inverted");
  fs::create_directories(folder() / "enlarged");
  for (const fs::path& path : samples_) {
    data::GreyImage image = data::load_grey_image(path);
    std::vector<std::uint8_t> large;  // ten times as large, off centre on a larger sheet
    for (std::int64_t row = 0; row < 360; ++row) {
      for (std::int64_t column = 0; column < 400; ++column) {
        const bool inside = row < 280 && column < 280;
        const std::int64_t pixel = row / 10 * image.width + column / 10;
        large.push_back(inside ? image.pixels[static_cast<std::size_t>(pixel)] : std::uint8_t{0});
      }
    }
    enlarged.push_back(folder() / "enlarged" / path.filename());
    data::write_png(enlarged.back(), large, 400, 360, 1);
    for (std::uint8_t& pixel : image.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
    inverted.push_back(folder() / "inverted" / path.filename());
    data::write_png(inverted.back(), image.pixels, image.width, image.height, 1);
  }
  EXPECT_GE(right(inverted), 7);
  EXPECT_GE(right(enlarged), 7);
}

TEST_F(Models, PredictAnswersEveryGoodPictureAndNamesTheBadOnes) {
  write("text.png", "this is no picture");
  const Outcome outcome = weft({"predict", "run", samples_[0].string(), "text.png", "missing.png",
                                samples_[1].string(), "--top-k", "3"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(lines_of(outcome.out).size(), 2u) << outcome.out;
  const std::vector<std::string> errors = lines_of(outcome.err);
  ASSERT_EQ(errors.size(), 3u) << outcome.err;
  EXPECT_TRUE(errors[1].starts_with("weft: error: text.png")) << errors[1];
  EXPECT_TRUE(errors[2].starts_with("weft: error: missing.png")) << errors[2];
}

TEST_F(Models, PredictShowsWhatTheNetworkSaw) {
  const Outcome outcome = weft({"predict", "run", samples_[0].string(), "--show"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(lines_of(outcome.out).size(), 1u + 16u) << outcome.out;  // 14 lines in a frame
}

// Three samples on one page: two in the first row, one in the second.
TEST_F(Models, PredictReadsEveryMarkOfAPage) {
  constexpr std::int64_t kWidth = 120, kHeight = 90;
  std::vector<std::uint8_t> page(kWidth * kHeight);
  const std::int64_t corners[][2] = {{10, 8}, {60, 10}, {30, 50}};
  for (std::size_t i = 0; i < 3; ++i) {
    const data::GreyImage digit = data::load_grey_image(samples_[i]);
    for (std::int64_t y = 0; y < 28; ++y) {
      for (std::int64_t x = 0; x < 28; ++x) {
        page[static_cast<std::size_t>((corners[i][1] + y) * kWidth + corners[i][0] + x)] =
            digit.pixels[static_cast<std::size_t>(y * 28 + x)];
      }
    }
  }
  data::write_png(folder() / "page.png", page, kWidth, kHeight, 1);

  const Outcome one = weft({"predict", "run", "page.png"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_EQ(lines_of(one.out).size(), 1u) << one.out;
  EXPECT_EQ(one.err, "weft: page.png: 3 marks; this is the largest, --all reads each\n");

  const Outcome json = weft({"predict", "run", "page.png", "--all", "--json"});
  EXPECT_EQ(json.err, "");
  const std::vector<nlohmann::json> events = json_lines(json.out);
  ASSERT_EQ(events.size(), 1u);
  const nlohmann::json& marks = events[0].at("marks");
  ASSERT_EQ(marks.size(), 3u);
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == 2) text += "\n";
    text += marks[i].at("class").get<std::string>();
    const nlohmann::json& box = marks[i].at("box");
    EXPECT_GE(box.at("left"), corners[i][0]);
    EXPECT_GE(box.at("top"), corners[i][1]);
    EXPECT_LE(box.at("left").get<int>() + box.at("width").get<int>(), corners[i][0] + 28);
    EXPECT_LE(box.at("top").get<int>() + box.at("height").get<int>(), corners[i][1] + 28);
    EXPECT_EQ(marks[i].at("row"), i / 2);
    // The network sees almost what it sees when the digit is alone: of a tiny picture, fainter
    // pixels count as ink.
    const nlohmann::json alone =
        json_lines(weft({"predict", "run", samples_[i].string(), "--json"}).out).at(0);
    EXPECT_EQ(marks[i].at("label"), alone.at("label")) << i;
    for (std::size_t c = 0; c < 10; ++c) {
      EXPECT_NEAR(marks[i].at("logits")[c].get<double>(), alone.at("logits")[c].get<double>(), 0.5);
    }
  }
  EXPECT_EQ(events[0].at("text"), text);

  const Outcome lines = weft({"predict", "run", "page.png", "--all"});
  EXPECT_TRUE(lines.out.starts_with("page.png\n" + text + "\n  at ")) << lines.out;
  EXPECT_EQ(lines_of(lines.out).size(), 6u) << lines.out;
  const Outcome shown = weft({"predict", "run", "page.png", "--all", "--show"});
  EXPECT_GT(lines_of(shown.out).size(), 30u) << shown.out;
  expect_error(weft({"predict", "run", "page.png", "--all", "--preprocess", "none"}), 2, "--all");
}

TEST_F(Models, PredictJsonHoldsLogitsAndProbabilities) {
  const Outcome outcome = weft({"predict", "run", samples_[0].string(), "--json", "--top-k", "10"});
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("logits").size(), 10u);
  double sum = 0, last = 1;
  for (const nlohmann::json& entry : events[0].at("top_k")) {
    const double probability = entry.at("probability").get<double>();
    EXPECT_LE(probability, last);
    last = probability;
    sum += probability;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(events[0].at("top_k")[0].at("probability"), events[0].at("probability"));
  EXPECT_FALSE(events[0].at("unsure").get<bool>());
}

TEST_F(Models, PredictIsUnsureBelowTheThresholdOfTheModel) {
  models::Model model = models::load_model(folder() / "run");
  EXPECT_EQ(model.info.calibration.images, 150);  // 5 % of 3000
  const std::string picture = samples_[0].string();
  model.info.calibration.threshold = 1e6;
  models::write_safetensors(folder() / "never.safetensors", models::model_content(model));
  const Outcome text = weft({"predict", "never.safetensors", picture});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("unsure; the nearest is "), std::string::npos) << text.out;
  const std::vector<nlohmann::json> events =
      json_lines(weft({"predict", "never.safetensors", picture, "--json"}).out);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].at("unsure").get<bool>());
  // A model without a calibration, as older ones are, answers everything at temperature 1.
  model.info.calibration = {};
  models::write_safetensors(folder() / "older.safetensors", models::model_content(model));
  const Outcome older = weft({"predict", "older.safetensors", picture});
  EXPECT_EQ(older.exit_code, 0) << older.err;
  EXPECT_EQ(older.out.find("unsure"), std::string::npos) << older.out;
  const Outcome eval = weft({"eval", "older.safetensors", "--device", "cpu"});
  EXPECT_NE(eval.out.find("no images were held out"), std::string::npos) << eval.out;
}

TEST_F(Models, BadPicturesAreOneLineAndExitThree) {
  write("empty.png", "");
  data::write_png(folder() / "dot.png", std::vector<std::uint8_t>{7}, 1, 1, 1);
  // A PNG header that announces 20000 x 20000 pixels.
  std::string huge = read_file(samples_[0]);
  huge.replace(16, 8, std::string("\0\0\x4e\x20\0\0\x4e\x20", 8));
  write("huge.png", huge);
  const std::string whole = read_file(samples_[0]);
  write("half.png", whole.substr(0, whole.size() / 2));
  fs::create_directories(folder() / "texts/more");
  write("texts/more/a.txt", "no picture");
  for (const char* name :
       {"empty.png", "dot.png", "huge.png", "half.png", "missing.png", "texts"}) {
    SCOPED_TRACE(name);
    expect_error(weft({"predict", "run", name}), 3, name);
  }
}

TEST_F(Models, EvalMeasuresOnTheDataOfTheModel) {
  const Outcome text = weft({"eval", "run", "--confusion", "--per-class", "--device", "cpu"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_NE(text.out.find("accuracy"), std::string::npos);
  const Outcome json =
      weft({"eval", "run", "--confusion", "--per-class", "--json", "--device", "cpu"});
  const std::vector<nlohmann::json> events = json_lines(json.out);
  ASSERT_EQ(events.size(), 1u);
  const nlohmann::json& event = events[0];
  EXPECT_EQ(event.at("images"), 10000);
  std::int64_t right = 0, all = 0;
  for (std::size_t row = 0; row < 10; ++row) {
    right += event.at("confusion")[row][row].get<std::int64_t>();
    for (const nlohmann::json& cell : event.at("confusion")[row]) all += cell.get<std::int64_t>();
  }
  EXPECT_EQ(all, 10000);
  EXPECT_DOUBLE_EQ(event.at("accuracy").get<double>(), static_cast<double>(right) / 10000);
  EXPECT_EQ(event.at("per_class").size(), 10u);
  EXPECT_EQ(event.at("calibration_bins"), 15);
  EXPECT_GT(event.at("calibration_error").get<double>(), 0);
  EXPECT_LT(event.at("calibration_error").get<double>(), 0.2);
  EXPECT_LT(event.at("unsure").get<int>(), 1000);

  // What training said about this model.
  const std::vector<std::string> metrics = lines_of(read("run/metrics.jsonl"));
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(metrics[1]).at("test").at("accuracy"), event.at("accuracy"));
}

TEST_F(Models, InspectListsLayersAndMemory) {
  const Outcome text = weft({"inspect", "run/model.safetensors"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* word : {"lenet5", "conv1", "61 706", "digits"}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word << "\n" << text.out;
  }
  const std::vector<nlohmann::json> events = json_lines(weft({"inspect", "run", "--json"}).out);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("parameters"), 61706);
  EXPECT_GT(events[0].at("memory")[2].at("activation_bytes").get<std::int64_t>(),
            events[0].at("memory")[0].at("activation_bytes").get<std::int64_t>());
  // The weights of inference, and in training their gradients and what the optimizer keeps, are in
  // the total: a velocity for SGD, two moments for AdamW.
  const auto parameters = events[0].at("parameters").get<std::int64_t>();
  EXPECT_EQ(events[0].at("memory").back().at("optimizer"), "adamw");
  for (const nlohmann::json& plan : events[0].at("memory")) {
    const nlohmann::json& optimizer = plan.at("optimizer");
    EXPECT_EQ(optimizer.is_null(), plan.at("phase") == "inference");
    const int copies = optimizer.is_null() ? 1 : optimizer == "adamw" ? 4 : 3;
    EXPECT_EQ(plan.at("weight_bytes"), 4 * copies * parameters);
    std::int64_t sum = 0;
    for (const char* part : {"weight", "activation", "gradient", "workspace", "cache"}) {
      sum += plan.at(std::string(part) + "_bytes").get<std::int64_t>();
    }
    EXPECT_EQ(plan.at("total_bytes"), sum);
  }
}

TEST_F(Models, DamagedModelsAreOneLineAndExitThree) {
  const std::string whole = read("run/model.safetensors");
  write("empty.safetensors", "");
  write("text.safetensors", "this is no model, only some words that are long enough");
  write("half.safetensors", whole.substr(0, whole.size() / 2));
  write("long.safetensors", whole + "more");
  models::SafeTensors content = models::read_safetensors(folder() / "run/model.safetensors");
  content.tensors.pop_back();
  models::write_safetensors(folder() / "missing-tensor.safetensors", content);
  content = models::read_safetensors(folder() / "run/model.safetensors");
  content.tensors[0].shape = Shape{content.tensors[0].shape.elements()};
  models::write_safetensors(folder() / "shape.safetensors", content);
  fs::create_directory(folder() / "no-run");
  for (const std::string name :
       {"empty.safetensors", "text.safetensors", "half.safetensors", "long.safetensors",
        "missing-tensor.safetensors", "shape.safetensors", "nothing.safetensors", "no-run"}) {
    for (const std::string command : {"inspect", "eval", "predict"}) {
      SCOPED_TRACE(command + " " + name);
      std::vector<std::string> arguments = {command, name};
      if (command == "predict") arguments.push_back(samples_[0].string());
      const Outcome outcome = weft(arguments);
      expect_error(outcome, 3, name);
      EXPECT_EQ(outcome.out, "");
    }
  }
  expect_error(weft({"train", "--resume", "no-run"}), 3, "no-run");
}

// A network of 32 x 32 finds the ink of a page as one of 28 x 28 does.
class OtherSizes : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    models::Model model = untrained_model(32);
    models::write_safetensors(folder() / "m.safetensors", models::model_content(model));
    model.info.output = models::Output::sigmoid;
    models::write_safetensors(folder() / "sigmoid.safetensors", models::model_content(model));
    // Two bars on a page, dark on light.
    std::vector<std::uint8_t> page(200 * 100, 230);
    for (std::size_t y = 20; y < 80; ++y) {
      for (const std::size_t left : {40, 140}) std::fill_n(page.begin() + y * 200 + left, 9, 20);
    }
    data::write_png(folder() / "page.png", page, 200, 100, 1);
    for (std::uint8_t& pixel : page) pixel = static_cast<std::uint8_t>(255 - pixel);
    data::write_png(folder() / "inverted.png", page, 200, 100, 1);
  }

  nlohmann::json read_page(std::vector<std::string> flags, const std::string& page = "page.png",
                           const std::string& model = "m.safetensors") {
    flags.insert(flags.begin(), {"predict", model, page, "--json"});
    const Outcome outcome = weft(flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json_lines(outcome.out).at(0);
  }
};

TEST_F(OtherSizes, InkIsFoundAndInverted) {
  const nlohmann::json dark = read_page({}), light = read_page({}, "inverted.png");
  EXPECT_EQ(dark.at("inverted"), true);
  EXPECT_EQ(light.at("inverted"), false);
  EXPECT_EQ(dark.at("marks"), 2);
  EXPECT_EQ(dark.at("logits"), light.at("logits"));
  EXPECT_EQ(dark.at("logits"), read_page({"--invert", "yes"}).at("logits"));
  EXPECT_NE(dark.at("logits"), read_page({"--preprocess", "resize"}).at("logits"));
  EXPECT_EQ(read_page({"--all"}).at("marks").size(), 2u);
  expect_error(weft({"predict", "m.safetensors", "page.png", "--preprocess", "none"}), 3,
               "must be 32 x 32, found 200 x 100");
  const Outcome shown = weft({"predict", "m.safetensors", "page.png", "--show"});
  EXPECT_EQ(lines_of(shown.out).size(), 1u + 18u) << shown.out;  // 16 lines in a frame
}

TEST_F(OtherSizes, SmallerAndLargerImagesAreTakenWhole) {
  models::write_safetensors(folder() / "large.safetensors",
                            models::model_content(untrained_model(65)));
  EXPECT_EQ(read_page({}, "page.png", "large.safetensors").at("inverted"), false);
  expect_error(weft({"predict", "large.safetensors", "page.png", "--all"}), 2, "14 to 64 pixels");
}

TEST_F(OtherSizes, SigmoidsAreNotMadeASoftmax) {
  const nlohmann::json event = read_page({}, "page.png", "sigmoid.safetensors");
  EXPECT_EQ(event.at("output"), "sigmoid");
  for (std::size_t c = 0; c < 10; ++c) {
    const double logit = event.at("logits")[c].get<double>();
    EXPECT_NEAR(event.at("probabilities")[c].get<double>(), 1 / (1 + std::exp(-logit)), 1e-6);
  }
  EXPECT_EQ(event.at("logits"), read_page({}).at("logits"));
  const Outcome text = weft({"inspect", "sigmoid.safetensors"});
  EXPECT_NE(text.out.find("a sigmoid for each class"), std::string::npos) << text.out;
}

}  // namespace
}  // namespace weft::test
