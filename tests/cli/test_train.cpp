// SPDX-License-Identifier: MIT
// weft train: its run directory, its output for people and programs, fallback.
#include <algorithm>
#include <cmath>

#include "tests/cli/program.h"

namespace weft::test {
namespace {

class Train : public ProgramTest {};

TEST_F(Train, WritesARunThatTheOtherCommandsUnderstand) {
  const Outcome outcome = train_small("my run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* name : {"config.json", "metrics.jsonl", "model.safetensors", "curves.svg",
                           "metrics.csv", "report.html", "optimizer.safetensors", "state.json"}) {
    EXPECT_TRUE(fs::exists(folder() / "my run" / name)) << name;
  }
  const std::string svg = read("my run/curves.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder() / "my run/samples"), {}), 8);
  EXPECT_NE(outcome.out.find("worst mistakes"), std::string::npos);
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos) << "colour in a file";

  // The commands it says to try next work as printed.
  std::vector<std::string> commands;
  bool next = false;
  for (const std::string& line : lines_of(outcome.out)) {
    if (next && line.starts_with("  ")) commands.push_back(line);
    next = next || line.starts_with("Next, try");
  }
  ASSERT_EQ(commands.size(), 3u) << outcome.out;
  for (const std::string& command : commands) {
    const Outcome tried = shell(command);
    EXPECT_EQ(tried.exit_code, 0) << command << "\n" << tried.err;
    EXPECT_NE(tried.out, "") << command;
  }
}

TEST_F(Train, SaysWhereTheTimeWent) {
  const Outcome outcome = train_small("run", {"--timings"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"begins, s", "start the process", "read the data (beside)", "train",
                           "write a checkpoint", "in all"}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
  }
  EXPECT_EQ(outcome.out.find("begins, s"), std::string::npos);
  const Outcome eval = weft({"eval", "run", "--device", "cpu", "--timings", "--json"});
  EXPECT_EQ(json_lines(eval.out).size(), 1u);
  EXPECT_NE(eval.err.find("evaluate"), std::string::npos) << eval.err;
}

TEST_F(Train, WritesAPageThatNeedsNothingElse) {
  ASSERT_EQ(train_small("a <b>").exit_code, 0);
  const std::string page = read("a <b>/report.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
  for (const char* part : {"lenet5 on digits", "calibration error", "Training loss", "precision",
                           "data:image/png;base64,iVBORw0KGgo", "read as", "batch size 32",
                           "--limit-train 3000", "a &lt;b&gt;", "prefers-color-scheme: dark"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* outside : {"<script", "<link", "src=\"h", "url(", "@import"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
}

TEST_F(Train, WritesTheLossEveryFewStepsAsCsv) {
  ASSERT_EQ(train_small("run", {"--log-every", "10", "--val-split", "0.1"}).exit_code, 0);
  const std::vector<std::string> lines = lines_of(read("run/metrics.csv"));
  ASSERT_GT(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "step,epoch,lr,train_loss,train_accuracy,validation_loss,validation_accuracy,"
            "test_loss,test_accuracy");
  std::int64_t last = 0;
  std::vector<std::string> ends;  // of epochs: rows without an empty cell
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(std::count(lines[i].begin(), lines[i].end(), ','), 8) << lines[i];
    const std::int64_t step = std::stoll(lines[i]);
    const bool ends_epoch = step % 85 == 0;  // 2700 images in batches of 32
    EXPECT_TRUE(step >= last + 10 || ends_epoch) << lines[i];
    EXPECT_EQ(lines[i].find(",,") == std::string::npos, ends_epoch) << lines[i];
    if (ends_epoch) ends.push_back(lines[i]);
    last = step;
  }
  ASSERT_EQ(ends.size(), 2u);
  const nlohmann::json epoch = nlohmann::json::parse(lines_of(read("run/metrics.jsonl"))[1]);
  const std::string accuracy = ends[1].substr(ends[1].rfind(',') + 1);
  EXPECT_EQ(std::stod(accuracy), epoch.at("test").at("accuracy").get<double>());
}

TEST_F(Train, JsonLinesHoldEverythingAndStdoutNothingElse) {
  const Outcome outcome = train_small("run", {"--json", "--val-split", "0.1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<nlohmann::json> events = json_lines(outcome.out);
  ASSERT_EQ(events.size(), 4u) << outcome.out;
  EXPECT_EQ(events[0].at("event"), "start");
  EXPECT_EQ(events[1].at("event"), "epoch");
  EXPECT_EQ(events[2].at("event"), "epoch");
  const nlohmann::json& end = events[3];
  EXPECT_EQ(end.at("event"), "end");
  EXPECT_GT(end.at("test_accuracy").get<double>(), 0.5);
  EXPECT_LE(end.at("test_accuracy").get<double>(), 1.0);
  EXPECT_GT(end.at("seconds").get<double>(), 0.0);
  EXPECT_EQ(end.at("epochs"), 2);
  EXPECT_EQ(end.at("device"), "cpu");
  EXPECT_TRUE(fs::exists(folder() / end.at("model_path").get<std::string>()));
  EXPECT_TRUE(fs::exists(folder() / "run/best.safetensors"));
}

TEST_F(Train, SameFlagsSameBits) {
  ASSERT_EQ(train_small("a", {"--deterministic"}).exit_code, 0);
  ASSERT_EQ(train_small("b", {"--deterministic", "--threads", "1"}).exit_code, 0);
  const std::string a = read("a/model.safetensors");
  EXPECT_FALSE(a.empty());
  EXPECT_TRUE(a == read("b/model.safetensors"));
  ASSERT_EQ(train_small("c", {"--seed", "2"}).exit_code, 0);
  EXPECT_FALSE(a == read("c/model.safetensors"));
}

TEST_F(Train, StreamedImagesGiveTheSameBits) {
  // The kernels of whole networks need all images on the device.
  const std::vector<std::string> plain = {"--epochs", "1", "--json", "--impl", "fuse=off"};
  std::vector<std::string> limited = plain;
  limited.insert(limited.end(), {"--device-data-limit", "1M"});  // 5000 images take 3.7 MiB
  const Outcome resident = train_small("resident", plain), streamed = train_small("s", limited);
  ASSERT_EQ(streamed.exit_code, 0) << streamed.err;
  const auto streams = [](const Outcome& outcome) {
    return nlohmann::json::parse(lines_of(outcome.out).front()).at("streams_images").get<bool>();
  };
  EXPECT_FALSE(streams(resident));
  EXPECT_TRUE(streams(streamed));
  EXPECT_TRUE(read("resident/model.safetensors") == read("s/model.safetensors"));
  const auto evaluated = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"eval",   "s",      "--device", "cpu",
                                          "--json", "--impl", "fuse=off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nlohmann::json::parse(weft(arguments).out).at("loss");
  };
  EXPECT_EQ(evaluated({}), evaluated({"--device-data-limit", "100K"}));
  for (const char* size : {"0", "-1", "x", "1MB", "1 M", "1.5G", "2000T", "18446744073709551616"}) {
    for (const char* command : {"train", "eval"}) {
      std::vector<std::string> arguments = {command};
      if (arguments[0] == "eval") arguments.push_back("s");
      arguments.insert(arguments.end(), {"--device-data-limit", size});
      const Outcome refused = weft(arguments);
      EXPECT_EQ(refused.exit_code, 2) << command << " " << size;
      EXPECT_NE(refused.err.find("--device-data-limit"), std::string::npos) << refused.err;
    }
  }
}

TEST_F(Train, WithoutDataAndNetworkItSaysSoAndUsesTheBuiltInDigits) {
  const Outcome outcome = weft(
      {"train", "--limit-train", "2000", "--epochs", "1", "--device", "cpu", "--progress", "off"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_FALSE(outcome.err.empty());
  EXPECT_NE(lines_of(outcome.err).back().find("built-in digits"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::exists(folder() / "runs/lenet5-digits-1/model.safetensors"));
  // The next run does not overwrite it.
  ASSERT_EQ(weft({"train", "--dataset", "digits", "--limit-train", "2000", "--epochs", "1",
                  "--device", "cpu", "--progress", "off"})
                .exit_code,
            0);
  EXPECT_TRUE(fs::exists(folder() / "runs/lenet5-digits-2/model.safetensors"));
}

TEST_F(Train, DryRunWritesNothing) {
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
TEST_F(Train, DryRunFailsAsTheRunWould) {
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

TEST_F(Train, DryRunOfAResumeTellsWhereItGoesOn) {
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
TEST_F(Train, AugmentationIsCheckedAgainstTheImages) {
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

TEST_F(Train, ProgressGoesToStderrOnly) {
  const Outcome shown = train_small("a", {"--progress", "on", "--epochs", "1"});
  EXPECT_NE(shown.err.find("images/s"), std::string::npos) << shown.err;
  EXPECT_EQ(shown.out.find('\r'), std::string::npos);
}

TEST_F(Train, EveryNetworkTrains) {
  for (const char* model : {"mlp", "lenet5-classic", "convnet", "convnet-bn"}) {
    const Outcome outcome =
        weft({"train", "--model", model, "--dataset", "digits", "--limit-train", "256", "--epochs",
              "1", "--device", "cpu", "--out", model, "--augment", "--json", "--progress", "off"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(end_of(json_lines(outcome.out)).at("event"), "end");
  }
}

TEST_F(Train, ARecipeSetsEverythingAndFlagsChangeSingleSettings) {
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

TEST_F(Train, AveragedWeightsWithSmoothedLabelsAreWhatEvalSees) {
  const Outcome outcome =
      train_small("run", {"--ema", "0.9", "--label-smoothing", "0.1", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Outcome eval = weft({"eval", "run", "--dataset", "digits", "--device", "cpu", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(end_of(json_lines(eval.out)).at("accuracy"),
            end_of(json_lines(outcome.out)).at("test_accuracy"));
}

TEST_F(Train, ARunIsNeverOverwritten) {
  ASSERT_EQ(train_small("run").exit_code, 0);
  const std::string before = read("run/model.safetensors");
  expect_error(train_small("run"), 2, "run");
  EXPECT_TRUE(before == read("run/model.safetensors"));
}

TEST_F(Train, ARunDirectoryThatCannotBeWrittenIsOneLine) {
  write("file", "x");
  expect_error(train_small("file/run"), 3, "file");
  if (!permissions_can_be_obeyed()) GTEST_SKIP() << "root may write anywhere";
  obey_permissions_ = true;
  fs::create_directory(folder() / "locked");
  fs::permissions(folder() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(train_small("locked/run"), 3,
               "could not create the folder locked/run: Permission denied");
  expect_error(train_small("locked/a/b"), 3, "Permission denied");
}

TEST_F(Train, TheDataLineCountsWhatIsTrainedOn) {
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

TEST_F(Train, CurvesAreReadableInLightAndDark) {
  ASSERT_EQ(train_small("run", {"--epochs", "1"}).exit_code, 0);
  const std::string svg = read("run/curves.svg");
  const std::size_t dark_at = svg.find("prefers-color-scheme: dark");
  ASSERT_NE(dark_at, std::string::npos);
  ASSERT_LT(svg.find("<rect class=\"ground\" width=\"860\" height=\"380\""), svg.find("<text"));
  // Relative luminance, as WCAG defines it.
  const auto luminance = [&](const std::string& rule, std::size_t from) {
    const std::size_t at = svg.find(rule + " { fill: #", from);
    EXPECT_NE(at, std::string::npos) << rule;
    double sum = 0;
    for (int c = 0; c < 3; ++c) {
      const std::string hex =
          svg.substr(at + rule.size() + 10 + static_cast<std::size_t>(2 * c), 2);
      const double value = static_cast<double>(std::stoi(hex, nullptr, 16)) / 255;
      sum += (c == 0   ? 0.2126
              : c == 1 ? 0.7152
                       : 0.0722) *
             (value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
    }
    return sum;
  };
  for (const std::size_t scheme : {std::size_t{0}, dark_at}) {
    const double ground = luminance(".ground", scheme);
    for (const std::string ink : {".title", ".label", ".area.neutral"}) {
      const double value = luminance(ink, scheme);
      EXPECT_GE((std::max(value, ground) + 0.05) / (std::min(value, ground) + 0.05), 4.5) << ink;
    }
    for (const std::string ink : {".area.red", ".area.green", ".area.blue", ".area.bar"}) {
      const double value = luminance(ink, 0);  // the same in both
      EXPECT_GE((std::max(value, ground) + 0.05) / (std::min(value, ground) + 0.05), 3) << ink;
    }
  }
}

TEST_F(Train, AConfigFileGivesTheSettingsAndFlagsWin) {
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
  write("gpu.json", R"({"precision": "bf16"})");
  expect_error(weft({"train", "--config", "gpu.json", "--device", "cpu"}), 2, "needs a GPU");
  EXPECT_FALSE(fs::exists(folder() / "c"));
}

TEST_F(Train, ADivergedLossNamesALayerAndExitsOne) {
  expect_error(
      train_small("run", {"--lr", "1000", "--momentum", "0.99", "--lr-schedule", "constant"}), 1,
      "not finite");
  EXPECT_TRUE(fs::exists(folder() / "run/optimizer.safetensors"));  // the last good checkpoint
}

}  // namespace
}  // namespace weft::test
