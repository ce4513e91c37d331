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

TEST_F(Train, ADivergedLossNamesALayerAndExitsOne) {
  expect_error(
      train_small("run", {"--lr", "1000", "--momentum", "0.99", "--lr-schedule", "constant"}), 1,
      "not finite");
  EXPECT_TRUE(fs::exists(folder() / "run/optimizer.safetensors"));  // the last good checkpoint
}

}  // namespace
}  // namespace weft::test
