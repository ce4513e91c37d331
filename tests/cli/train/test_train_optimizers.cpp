// SPDX-License-Identifier: MIT
// weft train --optimizer adamw and --clip-norm: what they reach, their defaults and their refusals.
#include "tests/cli/program.h"

namespace weft::test {
namespace {

class TrainOptimizers : public ProgramTest {};

// Three standard deviations of an accuracy of 90 % on 10,000 images are 0.9 %.
TEST_F(TrainOptimizers, AdamwReachesWhatSgdReaches) {
  const auto accuracy = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(), {"--model", "mlp", "--limit-train", "5000", "--epochs", "4", "--json"});
    const Outcome outcome = train_small(name, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json_lines(outcome.out).back().at("test_accuracy").get<double>();
  };
  const double sgd = accuracy("sgd", {});
  EXPECT_GT(sgd, 0.87);
  EXPECT_GT(accuracy("adamw", {"--optimizer", "adamw", "--lr", "0.003"}), sgd - 0.01);
  EXPECT_GT(accuracy("clipped", {"--optimizer", "adamw", "--lr", "0.003", "--clip-norm", "5"}),
            sgd - 0.01);
}

TEST_F(TrainOptimizers, AdamwHasItsOwnDefaultsAndFlags) {
  const auto plan_of = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "--dataset", "digits", "--limit-train", "3000", "--device",
                               "cpu", "--dry-run", "--json"});
    const Outcome outcome = weft(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json_lines(outcome.out).at(0);
  };
  const nlohmann::json sgd = plan_of({}), adamw = plan_of({"--optimizer", "adamw"});
  EXPECT_EQ(sgd.at("optimizer"), "sgd");
  EXPECT_EQ(sgd.at("clip_norm"), 0);
  EXPECT_EQ(adamw.at("optimizer"), "adamw");
  EXPECT_EQ(adamw.at("lr"), 0.001);
  EXPECT_EQ(adamw.at("weight_decay"), 0.01);
  EXPECT_EQ(3 * adamw.at("bytes").at("weights").get<std::int64_t>(),
            4 * sgd.at("bytes").at("weights").get<std::int64_t>());
  EXPECT_EQ(plan_of({"--recipe", "fast", "--optimizer", "adamw"}).at("lr"), 0.001);
  EXPECT_EQ(plan_of({"--optimizer", "adamw", "--lr", "0.02"}).at("lr"), 0.02);
  write("part.json", "{\"optimizer\": \"adamw\", \"clip_norm\": 2}");
  const nlohmann::json part = plan_of({"--config", "part.json"});
  EXPECT_EQ(part.at("lr"), 0.001);
  EXPECT_EQ(part.at("clip_norm"), 2);
  EXPECT_EQ(plan_of({"--config", "part.json", "--optimizer", "sgd"}).at("lr"), sgd.at("lr"));

  ASSERT_EQ(train_small("run", {"--optimizer", "adamw", "--epochs", "1", "--beta2", "0.99",
                                "--clip-norm", "1"})
                .exit_code,
            0);
  const nlohmann::json config = nlohmann::json::parse(read("run/config.json"));
  EXPECT_EQ(config.at("optimizer"), "adamw");
  EXPECT_EQ(config.at("beta2"), 0.99);
  EXPECT_EQ(config.at("epsilon"), 1e-8);
  EXPECT_EQ(config.at("clip_norm"), 1);
  EXPECT_NE(read("run/report.html")
                .find("optimizer adamw, beta1 0.9, beta2 0.99, epsilon 1e-08, "
                      "weight decay 0.01, clip norm 1"),
            std::string::npos);

  expect_error(weft({"train", "--optimizer", "adamw", "--momentum", "0.5"}), 2,
               "is for --optimizer sgd");
  expect_error(weft({"train", "--optimizer", "adamw", "--no-nesterov"}), 2,
               "is for --optimizer sgd");
  expect_error(weft({"train", "--beta1", "0.5"}), 2, "is for --optimizer adamw");
  expect_error(weft({"train", "--lr-schedule", "cosine", "--warmup", "0.1"}), 2,
               "--warmup is for --lr-schedule one-cycle");
  expect_error(weft({"train", "--optimizer", "sgd", "--epsilon", "0.5"}), 2, "adamw");
  expect_error(weft({"train", "--optimizer", "adamm"}), 2, "adamw");
  expect_error(weft({"train", "--clip-norm", "-1"}), 2, "--clip-norm");
  expect_error(weft({"train", "--clip-norm", "nan"}), 2, "--clip-norm");
  expect_error(weft({"train", "--optimizer", "adamw", "--beta2", "1"}), 2, "--beta2");
  expect_error(weft({"train", "--resume", "run", "--optimizer", "sgd"}), 2, "keeps its settings");
  write("bad.json", "{\"optimizer\": \"rmsprop\"}");
  expect_error(weft({"train", "--config", "bad.json"}), 3, "rmsprop");
  write("bad.json", "{\"optimizer\": \"adamw\", \"beta2\": 1}");
  expect_error(weft({"train", "--config", "bad.json"}), 3, "beta2");
}

}  // namespace
}  // namespace weft::test
