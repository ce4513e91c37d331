// SPDX-License-Identifier: MIT
// JSON records: exact round trips, and damaged text refused with the field's name.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/files/json_check.h"
#include "models/training/runs/run_state.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::throws;
using J = nlohmann::json;

RunState full_state() {
  RunState state;
  TrainConfig& config = state.config;
  config.network = {"convnet", 24, 20, 7, 0.3f};
  config.dataset = "emnist-digits";
  config.epochs = 9;
  config.batch_size = 77;
  config.schedule = {schedule_named("step"), 0.07f, 1.0 / 3, 5, 0.3f};
  config.momentum = 0.87f;
  config.weight_decay = 1e-7f;
  config.nesterov = false;
  config.augmentation = {10.1f, 0.11f, 0.12f, 1.3f, true, 4, 0.21f, 0.22f, 9};
  config.seed = ~std::uint64_t{0};
  config.validation_split = 0.1;
  config.limit_train = 12'345;
  config.limit_test = 54'321;
  config.kernels.mode = kernels::ComputeMode::tf32;
  config.kernels.gemm = "tiled";
  config.kernels.conv = "direct";
  config.kernels.conv_relu_pool = "gather";
  state.data = {60'000, 10'000, 0xfedcba9876543210ull};
  EpochRecord first{1,
                    {0.1 + 0.2, 1.0 / 3, 54'000},
                    Metrics{1e-17, 0.9, 6'000},
                    {2.0 / 7, 0.95, 10'000},
                    1.0 / 9,
                    0.07f};
  first.calibration = {1.0 / 3, -7.0 / 9, 6'000, Certainty{1, 2.0 / 3, -0.1, 1e-17}};
  EpochRecord second = first;
  second.calibration = {};
  second.epoch = 2;
  second.validation.reset();
  state.history = {first, second};
  state.step = 123'456;
  config.calibration_split = 0.07;
  config.own_data = {"my pictures", {3, 48, 64, data::Fit::crop}, true};
  config.log_every = 17;
  state.log = {{17, 0.1 + 0.2, {1.0 / 3, 1, 2}}, {34, 0.5, {2.0 / 3, 3, 4}}};
  state.totals = {1234.5678901234567, 321, 400};
  state.partial_seconds = 1.0 / 7;
  return state;
}

void expect_equal(const Metrics& a, const Metrics& b) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.accuracy, b.accuracy);
  EXPECT_EQ(a.images, b.images);
}

TEST(Records, RunStateRoundTripIsExact) {
  const RunState state = full_state();
  const RunState read = run_state_from_json(to_json(state), "here");
  EXPECT_EQ(to_json(read), to_json(state));
  EXPECT_EQ(read.config.network.name, "convnet");
  EXPECT_EQ(read.config.network.height, 24);
  EXPECT_EQ(read.config.schedule.kind, schedule_named("step"));
  EXPECT_EQ(read.config.kernels.mode, kernels::ComputeMode::tf32);
  EXPECT_EQ(read.config.kernels.gemm, "tiled");
  EXPECT_EQ(read.data, state.data);
  EXPECT_EQ(read.step, state.step);
  EXPECT_EQ(read.totals.loss_sum, state.totals.loss_sum);
  EXPECT_EQ(read.partial_seconds, state.partial_seconds);
  ASSERT_EQ(read.history.size(), 2u);
  expect_equal(read.history[0].train, state.history[0].train);
  ASSERT_TRUE(read.history[0].validation.has_value());
  expect_equal(*read.history[0].validation, *state.history[0].validation);
  EXPECT_FALSE(read.history[1].validation.has_value());
  EXPECT_EQ(read.history[1].seconds, 1.0 / 9);
  EXPECT_EQ(read.history[0].calibration.temperature, 1.0 / 3);
  EXPECT_EQ(read.history[0].calibration.threshold, -7.0 / 9);
  EXPECT_EQ(read.history[0].calibration.images, 6'000);
  EXPECT_EQ(read.history[0].calibration.certainty, state.history[0].calibration.certainty);
  EXPECT_EQ(read.history[1].calibration.images, 0);
  EXPECT_FALSE(read.history[1].calibration.certainty.has_value());
  EXPECT_EQ(read.config.own_data.path, "my pictures");
  ASSERT_EQ(read.log.size(), 2u);
  EXPECT_EQ(read.log[1].step, 34);
  EXPECT_EQ(read.log[0].lr, 0.1 + 0.2);
  EXPECT_EQ(read.log[1].totals.loss_sum, 2.0 / 3);
  EXPECT_EQ(read.log[1].totals.rows, 4);
}

// Held-out images that are flat have no familiarity: then nothing is below the threshold.
TEST(Records, AThresholdOfMinusInfinityIsReadAgain) {
  RunState state = full_state();
  state.history[0].calibration.threshold = -std::numeric_limits<double>::infinity();
  const RunState read = run_state_from_json(to_json(state), "here");
  EXPECT_EQ(read.history[0].calibration.threshold, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.history[0].calibration.images, 6'000);
}

// Convolution with ReLU and pooling was a rung of convolution once.
TEST(Records, OlderRunsAreRead) {
  J json = J::parse(to_json(full_state()));
  json["config"]["conv"] = "fused_relu_pool";
  json["config"]["own_data"]["path"] = "fused_relu_pool";  // a folder may be called so
  json["config"].erase("conv_relu_pool");
  json["config"].erase("calibration_split");
  json["config"].erase("log_every");
  json["config"].erase("limit_test");
  json.erase("log");
  const RunState read = run_state_from_json(json.dump(), "here");
  EXPECT_EQ(read.config.kernels.conv, "automatic");
  EXPECT_EQ(read.config.own_data.path, "fused_relu_pool");
  EXPECT_EQ(read.config.kernels.conv_relu_pool, "automatic");
  EXPECT_EQ(read.config.calibration_split, 0);
  EXPECT_EQ(read.config.log_every, 100);
  EXPECT_FALSE(read.config.limit_test);
  EXPECT_TRUE(read.log.empty());
}

// Keys that came together are all there or none of them; own_data came with all but sample_bits.
TEST(Records, WhatNoVersionHasWrittenIsRefused) {
  const J whole = J::parse(to_json(full_state()));
  const auto without = [&](const char* place, const std::vector<const char*>& keys) {
    J json = whole;
    for (const char* key : keys) json["config"][place].erase(key);
    return json;
  };
  const auto refused = [](const J& json, const std::string& key) {
    return throws(ErrorKind::data, "the field \"" + key + "\" is missing",
                  [&] { run_state_from_json(json.dump(), "here"); });
  };
  for (const char* key : {"path", "channels", "height", "width", "fit", "skip_broken"}) {
    EXPECT_TRUE(refused(without("own_data", {key}), key));
  }
  for (const char* key : {"flip", "crop", "brightness", "contrast", "cutout", "shear"}) {
    EXPECT_TRUE(refused(without("augmentation", {key}), key));
  }
  J empty = whole;
  empty["config"]["own_data"] = J::object();
  EXPECT_TRUE(refused(empty, "path"));

  J older = without("augmentation", {"flip", "crop", "brightness", "contrast", "cutout"});
  older["config"]["own_data"].erase("sample_bits");
  const TrainConfig config = run_state_from_json(older.dump(), "here").config;
  EXPECT_EQ(config.augmentation.shear, 0.12f);
  EXPECT_FALSE(config.augmentation.flip);
  EXPECT_EQ(config.own_data.shape.sample_bits, 0);
  older["config"].erase("own_data");
  EXPECT_EQ(run_state_from_json(older.dump(), "here").config.own_data.path, "");
}

// Weft once wrote 0 for no limit; a person's 0 is none.
TEST(Records, ALimitOfNoImagesIsRefused) {
  J older = J::parse(to_json(TrainConfig()));
  older["limit_train"] = 0;
  EXPECT_FALSE(train_config_from_json(older.dump(), {}, "here").limit_train);
  for (const char* text : {"{\"limit_train\": 0}", "{\"limit_test\": 0}"}) {
    EXPECT_TRUE(throws(ErrorKind::data, "from 1 to 1000000000000, found \"0\"",
                       [&] { train_config_from_json(text, {}, "here"); }));
  }
}

TEST(Records, FloatsAreWrittenWithTheirOwnDigits) {
  const TrainConfig defaults;
  const std::string text = to_json(defaults);
  EXPECT_NE(text.find("\"peak\":0.1,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"weight_decay\":0.0005,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"gemm\":\"automatic\""), std::string::npos) << text;
}

TEST(Records, EpochLineIsOneJsonObject) {
  const std::string line = to_json(full_state().history[0]);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const J json = J::parse(line);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("event"), "epoch");
  EXPECT_EQ(json.at("test").at("accuracy"), 0.95);
}

TEST(Records, DamagedStateNamesTheField) {
  const auto refuses = [](const std::string& text, auto change) {
    J json = J::parse(to_json(full_state()));
    change(json);
    return throws(ErrorKind::data, text, [&] { run_state_from_json(json.dump(), "the file"); });
  };
  EXPECT_TRUE(refuses("the file: config: the field \"seed\" is missing",
                      [](J& j) { j["config"].erase("seed"); }));
  EXPECT_TRUE(refuses("\"seed\"", [](J& j) { j["config"]["seed"] = -1; }));
  EXPECT_TRUE(refuses("\"epochs\"", [](J& j) { j["config"]["epochs"] = 3.5; }));
  EXPECT_TRUE(refuses("\"epochs\"", [](J& j) { j["config"]["epochs"] = 18446744073709551615ull; }));
  EXPECT_TRUE(refuses("batch_size", [](J& j) { j["config"]["batch_size"] = 0; }));
  EXPECT_TRUE(refuses("momentum", [](J& j) { j["config"]["momentum"] = 1.0; }));
  EXPECT_TRUE(refuses("validation_split", [](J& j) { j["config"]["validation_split"] = 0.95; }));
  EXPECT_TRUE(refuses("calibration_split", [](J& j) { j["config"]["calibration_split"] = -1; }));
  EXPECT_TRUE(refuses("log_every", [](J& j) { j["config"]["log_every"] = 0; }));
  EXPECT_TRUE(refuses("\"step\"", [](J& j) { j["log"][0]["step"] = 0; }));
  EXPECT_TRUE(
      refuses("temperature", [](J& j) { j["history"][0]["calibration"]["temperature"] = 0; }));
  EXPECT_TRUE(refuses("schedule", [](J& j) { j["config"]["schedule"]["kind"] = "zigzag"; }));
  EXPECT_TRUE(refuses("JSON object", [](J& j) { j["config"]["schedule"] = 1; }));
  EXPECT_TRUE(refuses("precision", [](J& j) { j["config"]["precision"] = "fp8"; }));
  EXPECT_TRUE(refuses("the file: config", [](J& j) { j["config"]["gemm"] = "fastest"; }));
  EXPECT_TRUE(refuses("true or false", [](J& j) { j["config"]["nesterov"] = 1; }));
  EXPECT_TRUE(refuses("hexadecimal", [](J& j) { j["data"]["checksum"] = "xyz"; }));
  EXPECT_TRUE(refuses("hexadecimal", [](J& j) { j["data"]["checksum"] = "11112222333344445"; }));
  EXPECT_TRUE(refuses("\"step\"", [](J& j) { j["step"] = -1; }));
  EXPECT_TRUE(refuses("loss_sum", [](J& j) { j["totals"]["loss_sum"] = nullptr; }));
  EXPECT_TRUE(refuses("list", [](J& j) { j["history"] = 3; }));
  EXPECT_TRUE(refuses("1, 2, 3", [](J& j) { j["history"][1]["epoch"] = 3; }));
  EXPECT_TRUE(refuses("schema_version", [](J& j) { j["schema_version"] = 7; }));
  EXPECT_TRUE(throws(ErrorKind::data, "not valid JSON",
                     [] { run_state_from_json("{\"a\":nan}", "the file"); }));
}

TEST(Metrics, StandardErrorIsBinomial) {
  EXPECT_DOUBLE_EQ((Metrics{0, 0.9, 100}).standard_error(), 0.03);
  EXPECT_EQ((Metrics{0, 1, 100}).standard_error(), 0);
  EXPECT_EQ(Metrics{}.standard_error(), 0);
}

TEST(Metrics, StepsAreWhatLiesBetweenTwoRecordsOfAnEpoch) {
  const std::vector<StepMetrics> steps = step_metrics({{10, 0.1, {8, 5, 40}},
                                                       {15, 0.2, {9, 15, 60}},
                                                       {25, 0.3, {4, 2, 40}},
                                                       {30, 0.4, {6, 9, 60}}});
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].train.loss, 8.0 / 40);
  EXPECT_EQ(steps[1].train.loss, 1.0 / 20);
  EXPECT_EQ(steps[1].train.accuracy, 10.0 / 20);
  EXPECT_EQ(steps[1].epoch, 1);
  EXPECT_EQ(steps[2].epoch, 2);
  EXPECT_EQ(steps[2].train.loss, 4.0 / 40);
  EXPECT_EQ(steps[3].epoch, 2);
  EXPECT_EQ(steps[3].train.images, 20);
  EXPECT_EQ(steps[3].lr, 0.4);
}

TEST(Metrics, BestEpochIsTheEarliestOfEquals) {
  const auto record = [](int epoch, double accuracy) {
    EpochRecord out;
    out.epoch = epoch;
    out.validation = Metrics{0, accuracy, 10};
    return out;
  };
  EXPECT_EQ(best_epoch({}), 0);
  EpochRecord unvalidated;
  unvalidated.epoch = 9;
  EXPECT_EQ(best_epoch({unvalidated}), 0);
  EXPECT_EQ(best_epoch({unvalidated, record(2, 0), unvalidated}), 2);
  EXPECT_EQ(best_epoch({record(1, 0.5), record(2, 0.7), record(3, 0.7), record(4, 0.6)}), 2);
}

}  // namespace
}  // namespace weft::models
