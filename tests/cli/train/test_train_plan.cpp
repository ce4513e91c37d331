// SPDX-License-Identifier: MIT
// weft train before its first step: settings from flags, recipes and files, their checks, and
// --dry-run.
#include <utility>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

class TrainPlan : public ProgramTest {};

TEST_F(TrainPlan, DryRunWritesNothing) {
  const Outcome outcome = weft({"train", "--dataset", "digits", "--device", "cpu", "--dry-run"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("891"), std::string::npos) << outcome.out;  // ceil(57000 / 64)
  EXPECT_FALSE(fs::exists(folder() / "runs"));
  const Outcome json = weft({"train", "--dataset", "digits", "--limit-train", "3000", "--device",
                             "cpu", "--dry-run", "--json"});
  ASSERT_EQ(json_lines(json.out).size(), 1u);
  EXPECT_EQ(json_lines(json.out)[0].at("steps_per_epoch"), 45);  // ceil(2850 / 64)
}

// Whatever keeps a run from its first step keeps a dry run from its plan, with the same words.
TEST_F(TrainPlan, DryRunFailsAsTheRunWould) {
  ASSERT_EQ(train_small("run", {"--epochs", "1"}).exit_code, 0);
  ASSERT_EQ(train_small("half", {"--stop-after", "1"}).exit_code, 0);
  fs::copy(folder() / "half", folder() / "cut", fs::copy_options::recursive);
  fs::resize_file(folder() / "cut/optimizer.safetensors", 1000);
  write("file", "x");
  write("full/x", "x");
  write("bad.net", "conv 5x\n");
  write("idx/train-images-idx3-ubyte", "junk");
  write("pictures/train/a/1.png", "junk");
  write("pictures/train/b/1.png", "junk");
  fs::create_symlink("nowhere", folder() / "dangling");
  struct Case {
    int exit_code;
    std::vector<std::string> words;
  };
  const std::vector<std::string> digits = {"--dataset", "digits", "--limit-train", "3000"};
  const auto on_digits = [&](std::vector<std::string> more) {
    more.insert(more.begin(), digits.begin(), digits.end());
    return more;
  };
  const std::vector<Case> cases = {{3, on_digits({"--out", "file/run"})},
                                   {3, on_digits({"--out", "file"})},
                                   {3, on_digits({"--out", "dangling"})},
                                   {3, on_digits({"--out", std::string(300, 'x')})},
                                   {2, on_digits({"--out", "full"})},
                                   {2, on_digits({"--out", "run"})},
                                   {3, on_digits({"--model", "nowhere.net"})},
                                   {3, on_digits({"--model", "bad.net"})},
                                   {3, on_digits({"--config", "nowhere.json"})},
                                   {2, on_digits({"--val-split", "0.0001"})},
                                   {2, on_digits({"--crop", "28"})},
                                   {3, {"--data-dir", "nowhere"}},
                                   {3, {"--data-dir", "idx"}},
                                   {3, {"--data", "nowhere"}},
                                   {3, {"--data", "pictures"}},
                                   {3, {"--resume", "nowhere"}},
                                   {3, {"--resume", "cut"}},
                                   {2, {"--resume", "half", "--epochs", "9"}},
                                   {2, {"--resume", "half", "--model", "mlp"}},
                                   {3, {"--resume", "half", "--data", "nowhere"}}};
  for (const Case& one : cases) {
    std::vector<std::string> words = {"train", "--device", "cpu"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    SCOPED_TRACE(testing::PrintToString(words));
    const Outcome real = weft(words);
    words.emplace_back("--dry-run");
    const Outcome dry = weft(words);
    EXPECT_EQ(real.exit_code, one.exit_code) << real.err;
    EXPECT_EQ(dry.exit_code, real.exit_code);
    EXPECT_EQ(dry.err, real.err);
    EXPECT_EQ(dry.out, "");
  }
  EXPECT_FALSE(fs::exists(folder() / "runs"));
  if (!permissions_can_be_obeyed()) GTEST_SKIP() << "root may write anywhere";
  obey_permissions_ = true;
  fs::create_directory(folder() / "locked");
  fs::permissions(folder() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  for (const std::string out : {"locked", "locked/run", "locked/a/b"}) {
    const Outcome real = train_small(out), dry = train_small(out, {"--dry-run"});
    EXPECT_EQ(real.exit_code, 3) << real.err;
    EXPECT_EQ(dry.exit_code, 3) << dry.err;
    EXPECT_EQ(dry.err, real.err);
  }
}

TEST_F(TrainPlan, DryRunOfAResumeTellsWhereItGoesOn) {
  ASSERT_EQ(train_small("run", {"--stop-after", "1"}).exit_code, 0);
  const auto before = fs::last_write_time(folder() / "run/optimizer.safetensors");
  const Outcome dry = weft({"train", "--resume", "run", "--device", "cpu", "--dry-run", "--json"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  const nlohmann::json plan = json_lines(dry.out).at(0);
  EXPECT_EQ(plan.at("steps_done"), 90);  // ceil(2850 / 32)
  EXPECT_EQ(plan.at("steps"), 180);
  EXPECT_EQ(fs::last_write_time(folder() / "run/optimizer.safetensors"), before);
  EXPECT_FALSE(fs::exists(folder() / "run/.weft-lock"));
  EXPECT_NE(weft({"train", "--resume", "run", "--device", "cpu", "--dry-run"})
                .out.find("run (not written by --dry-run), goes on after 90 steps"),
            std::string::npos);
}

// An image that is moved by its own size, or covered whole, has nothing on it.
TEST_F(TrainPlan, AugmentationIsCheckedAgainstTheImages) {
  expect_error(train_small("a", {"--cutout", "1000"}), 2,
               "expected a cutout of less than 28 pixels for images of 28x28, found 1000");
  expect_error(train_small("a", {"--cutout", "28"}), 2, "a cutout of less than 28");
  expect_error(train_small("a", {"--crop", "28"}), 2, "a crop of less than 28");
  write("shift.json", R"({"augmentation": {"shift": 28}})");
  expect_error(train_small("a", {"--config", "shift.json"}), 2, "a shift of less than 28");
  expect_error(weft({"train", "--dataset", "shapes", "--limit-train", "500", "--crop", "32",
                     "--device", "cpu", "--out", "a"}),
               2, "images of 32x32, found 32");
  EXPECT_FALSE(fs::exists(folder() / "a"));
  EXPECT_EQ(train_small("b", {"--cutout", "27", "--crop", "27", "--epochs", "1"}).exit_code, 0);
}

TEST_F(TrainPlan, ARecipeSetsEverythingAndFlagsChangeSingleSettings) {
  const auto plan_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train",         "--dataset", "digits",
                                          "--limit-train", "3000",      "--device",
                                          "cpu",           "--dry-run", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json_lines(outcome.out).at(0);
  };
  const nlohmann::json accurate = plan_of({"--recipe", "accurate"});
  EXPECT_EQ(accurate.at("model"), "convnet-bn");
  EXPECT_EQ(accurate.at("epochs"), 23);
  EXPECT_EQ(accurate.at("weight_decay"), 0.001);
  EXPECT_GT(accurate.at("ema_decay").get<double>(), 0.9);
  const nlohmann::json changed =
      plan_of({"--recipe", "accurate", "--epochs", "2", "--batch-size", "100", "--ema", "0"});
  EXPECT_EQ(changed.at("model"), "convnet-bn");
  EXPECT_EQ(changed.at("epochs"), 2);
  EXPECT_EQ(changed.at("steps_per_epoch"), 29);
  EXPECT_EQ(changed.at("ema_decay"), 0);
  EXPECT_EQ(plan_of({"--recipe", "fast"}).at("model"), "lenet5");
  expect_error(weft({"train", "--recipe", "accurat"}), 2, "did you mean 'accurate'");
  expect_error(weft({"train", "--recipe", "fast", "--augment", "--no-augment"}), 2, "exclude");
  expect_error(weft({"train", "--resume", "run", "--recipe", "fast"}), 2, "--recipe");
}

TEST_F(TrainPlan, TheDataLineCountsWhatIsTrainedOn) {
  const Outcome outcome = train_small("run", {"--val-split", "0.1", "--epochs", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2 700 training, 300 held-out and 10 000 test images"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("± is one standard error"), std::string::npos);
  const Outcome many =
      weft({"train", "--dataset", "digits", "--limit-train", "1000000", "--dry-run"});
  EXPECT_NE(many.err.find("--limit-train 1000000: digits has 60000 training images"),
            std::string::npos)
      << many.err;
}

TEST_F(TrainPlan, AConfigFileGivesTheSettingsAndFlagsWin) {
  ASSERT_EQ(train_small("a", {"--epochs", "1", "--lr", "0.03", "--seed", "7", "--val-split", "0.1",
                              "--augment", "--weight-decay", "0"})
                .exit_code,
            0);
  // The same settings, and so the same bits.
  ASSERT_EQ(weft({"train", "--config", "a/config.json", "--device", "cpu", "--out", "b"}).exit_code,
            0);
  EXPECT_EQ(read("a/config.json"), read("b/config.json"));
  EXPECT_TRUE(read("a/model.safetensors") == read("b/model.safetensors"));
  // Flags change single settings.
  const auto plan_of = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "--device", "cpu", "--dry-run", "--json", "--config"});
    const Outcome outcome = weft(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json_lines(outcome.out).at(0);
  };
  const nlohmann::json changed =
      plan_of({"a/config.json", "--epochs", "9", "--limit-train", "500"});
  EXPECT_EQ(changed.at("dataset"), "digits");
  EXPECT_EQ(changed.at("lr"), 0.03);
  EXPECT_EQ(changed.at("epochs"), 9);
  EXPECT_EQ(changed.at("batch_size"), 32);
  EXPECT_EQ(changed.at("train_images"), 450);
  // A part of a file has the rest of its network's settings.
  write(
      "part.json",
      R"({"network": "mlp", "dataset": "digits", "limit_train": 3000, "schedule": {"peak": 0.02}})");
  const nlohmann::json part = plan_of({"part.json"});
  EXPECT_EQ(part.at("model"), "mlp");
  EXPECT_EQ(part.at("lr"), 0.02);
  EXPECT_EQ(part.at("epochs"), plan_of({"part.json", "--model", "mlp"}).at("epochs"));

  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {R"({"epoch": 3})", "unknown key \"epoch\"; did you mean \"epochs\"?"},
      {R"({"schedule": {"peek": 3}})", "schedule: unknown key \"peek\"; did you mean \"peak\"?"},
      {R"({"epochs": 0})", "\"epochs\" from 1"},
      {R"({"limit_train": 0})", "\"limit_train\" from 1"},
      {R"({"epochs": 3, "epochs": 4})", "appears twice"},
      {R"({"momentum": "much"})", "\"momentum\" to be a finite number"},
      {R"({"network": "lenet"})", "did you mean 'lenet5'?"},
      {R"([1])", "expected a JSON object"},
      {"", "not valid JSON"}};
  for (const auto& [text, part_of_line] : mistakes) {
    write("bad.json", text);
    SCOPED_TRACE(text);
    expect_error(weft({"train", "--config", "bad.json", "--out", "c"}), 3, part_of_line);
  }
  expect_error(weft({"train", "--config", "none.json", "--out", "c"}), 3, "none.json");
  expect_error(weft({"train", "--config", "part.json", "--recipe", "fast"}), 2, "exclude");
  expect_error(weft({"train", "--config", "part.json", "--resume", "a"}), 2, "--resume");
  write("empty.json", R"({"dataset": ""})");
  expect_error(weft({"train", "--config", "empty.json", "--out", "c"}), 2, "unknown data set ''");
  write("gpu.json", R"({"precision": "bf16"})");
  expect_error(weft({"train", "--config", "gpu.json", "--device", "cpu"}), 2, "needs a GPU");
  EXPECT_FALSE(fs::exists(folder() / "c"));
}

}  // namespace
}  // namespace weft::test
