// SPDX-License-Identifier: MIT
// weft eval, predict and inspect on a small trained model, and on files that are not one.
#include "data/image.h"
#include "models/safetensors.h"
#include "tests/cli/program.h"

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
  ASSERT_EQ(errors.size(), 2u) << outcome.err;
  EXPECT_TRUE(errors[0].starts_with("weft: error: text.png")) << errors[0];
  EXPECT_TRUE(errors[1].starts_with("weft: error: missing.png")) << errors[1];
}

TEST_F(Models, PredictShowsWhatTheNetworkSaw) {
  const Outcome outcome = weft({"predict", "run", samples_[0].string(), "--show"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(lines_of(outcome.out).size(), 1u + 16u) << outcome.out;  // 14 lines in a frame
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
  for (const char* name : {"empty.png", "dot.png", "huge.png", "half.png", "missing.png", "run"}) {
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

}  // namespace
}  // namespace weft::test
