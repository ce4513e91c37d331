// SPDX-License-Identifier: MIT
#include "models/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/names.h"
#include "kernels/catalogue.h"
#include "models/json_fields.h"
#include "models/model_record.h"

namespace weft::models {

namespace {

kernels::ComputeMode parse_mode(std::string_view name) {
  for (const kernels::ComputeMode mode :
       {kernels::ComputeMode::fp32, kernels::ComputeMode::tf32, kernels::ComputeMode::bf16}) {
    if (name == name_of(mode)) return mode;
  }
  throw Error(ErrorKind::usage, "expected a precision: fp32, tf32 or bf16");
}

Json json_of(const Metrics& metrics) {
  return {{"loss", metrics.loss}, {"accuracy", metrics.accuracy}, {"images", metrics.images}};
}

Metrics metrics_from(const Fields& fields) {
  return {fields.number("loss"), fields.number("accuracy"), fields.integer("images", 0, kMaxCount)};
}

Json json_of(const kernels::MetricTotals& totals) {
  return {{"loss_sum", totals.loss_sum}, {"hits", totals.hits}, {"rows", totals.rows}};
}

kernels::MetricTotals totals_from(const Fields& fields) {
  return {fields.number("loss_sum"), fields.integer("hits", 0, kMaxCount),
          fields.integer("rows", 0, kMaxCount)};
}

Json json_of(const TrainConfig& config) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  add_network(json, config.network);
  json["dataset"] = config.dataset;
  json["own_data"] = {{"path", config.own_data.path},
                      {"channels", config.own_data.shape.channels},
                      {"height", config.own_data.shape.height},
                      {"width", config.own_data.shape.width},
                      {"fit", data::name_of(config.own_data.shape.fit)},
                      {"sample_bits", config.own_data.shape.sample_bits},
                      {"skip_broken", config.own_data.skip_broken}};
  json["epochs"] = config.epochs;
  json["batch_size"] = config.batch_size;
  json["schedule"] = {{"kind", name_of(config.schedule.kind)},
                      {"peak", shortest(config.schedule.peak)},
                      {"warmup_fraction", config.schedule.warmup_fraction},
                      {"step_every_epochs", config.schedule.step_every_epochs},
                      {"step_factor", shortest(config.schedule.step_factor)}};
  json["optimizer"] = name_of(config.optimizer);
  json["momentum"] = shortest(config.momentum);
  json["weight_decay"] = shortest(config.weight_decay);
  json["nesterov"] = config.nesterov;
  json["beta1"] = config.beta1;
  json["beta2"] = config.beta2;
  json["epsilon"] = config.epsilon;
  json["clip_norm"] = shortest(config.clip_norm);
  json["label_smoothing"] = shortest(config.label_smoothing);
  json["init_gain"] = shortest(config.init_gain);
  json["ema_decay"] = shortest(config.ema_decay);
  json["augmentation"] = {{"rotate_degrees", shortest(config.augmentation.rotate_degrees)},
                          {"scale", shortest(config.augmentation.scale)},
                          {"shear", shortest(config.augmentation.shear)},
                          {"shift", shortest(config.augmentation.shift)},
                          {"flip", config.augmentation.flip},
                          {"crop", config.augmentation.crop},
                          {"brightness", shortest(config.augmentation.brightness)},
                          {"contrast", shortest(config.augmentation.contrast)},
                          {"cutout", config.augmentation.cutout}};
  json["seed"] = config.seed;
  json["validation_split"] = config.validation_split;
  json["calibration_split"] = config.calibration_split;
  json["limit_train"] = config.limit_train;
  json["limit_test"] = config.limit_test;
  json["log_every"] = config.log_every;
  json["sync_batch_norm"] = config.sync_batch_norm;
  json["precision"] = name_of(config.kernels.mode);
  json["gemm"] = config.kernels.gemm;
  json["conv"] = config.kernels.conv;
  json["conv_relu_pool"] = config.kernels.conv_relu_pool;
  json["fuse"] = config.kernels.fuse;
  return json;
}

kernels::Augmentation augmentation_from(const Fields& fields) {
  kernels::Augmentation augmentation{.rotate_degrees = fields.single("rotate_degrees"),
                                     .scale = fields.single("scale"),
                                     .shear = fields.single("shear"),
                                     .shift = fields.single("shift")};
  if (!fields.has("flip")) return augmentation;  // an older run
  const auto pixels = [&](const char* key) {
    return static_cast<std::int32_t>(fields.integer(key, 0, kernels::Augmentation::kMaxCrop));
  };
  augmentation.flip = fields.boolean("flip");
  augmentation.crop = pixels("crop");
  augmentation.brightness = fields.single("brightness");
  augmentation.contrast = fields.single("contrast");
  augmentation.cutout = pixels("cutout");
  return augmentation;
}

OwnData own_data_from(const Fields& fields) {
  OwnData own;
  own.path = fields.text("path");
  own.shape.channels = fields.integer("channels", 0, 3);
  own.shape.height = fields.integer("height", 0, data::kMaxDatasetSide);
  own.shape.width = fields.integer("width", 0, data::kMaxDatasetSide);
  own.shape.fit = parsed(fields, "fit", data::parse_fit);
  if (fields.has("sample_bits")) {
    own.shape.sample_bits = static_cast<int>(fields.integer("sample_bits", 0, 16));
  }
  own.skip_broken = fields.boolean("skip_broken");
  return own;
}

TrainConfig config_from(const Fields& fields) {
  fields.check_schema();
  TrainConfig config;
  config.network = network_from(fields);
  config.dataset = fields.text("dataset");
  if (fields.has("own_data")) config.own_data = own_data_from(fields.object("own_data"));
  config.epochs = static_cast<int>(fields.integer("epochs", 1, INT32_MAX));
  config.batch_size = fields.integer("batch_size", 1, kMaxBatchSize);
  const Fields schedule = fields.object("schedule");
  config.schedule.kind = parsed(schedule, "kind", parse_schedule);
  config.schedule.peak = schedule.single("peak");
  config.schedule.warmup_fraction = schedule.number("warmup_fraction");
  config.schedule.step_every_epochs =
      static_cast<int>(schedule.integer("step_every_epochs", 1, INT32_MAX));
  config.schedule.step_factor = schedule.single("step_factor");
  config.momentum = fields.single("momentum");
  config.weight_decay = fields.single("weight_decay");
  config.nesterov = fields.boolean("nesterov");
  // Not in older runs:
  if (fields.has("optimizer")) config.optimizer = parsed(fields, "optimizer", parse_optimizer);
  if (fields.has("beta1")) config.beta1 = fields.number("beta1");
  if (fields.has("beta2")) config.beta2 = fields.number("beta2");
  if (fields.has("epsilon")) config.epsilon = fields.number("epsilon");
  if (fields.has("clip_norm")) config.clip_norm = fields.single("clip_norm");
  if (fields.has("sync_batch_norm")) config.sync_batch_norm = fields.boolean("sync_batch_norm");
  if (fields.has("label_smoothing")) config.label_smoothing = fields.single("label_smoothing");
  if (fields.has("init_gain")) config.init_gain = fields.single("init_gain");
  if (fields.has("ema_decay")) config.ema_decay = fields.single("ema_decay");
  config.augmentation = augmentation_from(fields.object("augmentation"));
  config.seed = fields.unsigned_integer("seed");
  config.validation_split = fields.number("validation_split");
  if (fields.has("calibration_split")) {  // not in older runs
    config.calibration_split = fields.number("calibration_split");
  }
  config.limit_train = fields.integer("limit_train", 0, kMaxCount);
  if (fields.has("limit_test")) {  // not in older runs
    config.limit_test = fields.integer("limit_test", 0, kMaxCount);
  }
  if (fields.has("log_every")) config.log_every = fields.integer("log_every", 1, kMaxCount);
  config.kernels.mode = parsed(fields, "precision", parse_mode);
  const auto read_rung = [&](const char* family, std::string& chosen) {
    chosen = parsed(fields, family, [&](std::string_view name) {
      // Older runs named the family conv_relu_pool so.
      const bool older = &chosen == &config.kernels.conv && name == "fused_relu_pool";
      return older ? kernels::kAutomatic : kernels::rung_name(family, name);
    });
  };
  read_rung("gemm", config.kernels.gemm);
  read_rung("conv", config.kernels.conv);
  if (fields.has("conv_relu_pool")) {  // not in older runs
    read_rung("conv_relu_pool", config.kernels.conv_relu_pool);
  }
  if (fields.has("fuse")) config.kernels.fuse = fields.boolean("fuse");  // not in older runs
  try {
    validate(config);
  } catch (const Error& error) {
    fields.fail(error.what());
  }
  return config;
}

// Gives `settings` the values that `values` has, and refuses keys that it has not.
void replace_values(Json& settings, const Json& values, const std::string& where) {
  const Fields fields(values, where);
  for (const auto& [key, value] : values.items()) {
    if (!settings.contains(key)) {
      std::vector<std::string> known;
      for (const auto& setting : settings.items()) known.push_back(setting.key());
      const std::string near = nearest_name(key, known);
      fields.fail(str("unknown key ", in_quotes(key),
                      near.empty() ? "" : "; did you mean " + in_quotes(near) + "?"));
    }
    if (settings[key].is_object()) {
      replace_values(settings[key], value, str(where, ": ", key));
    } else {
      settings[key] = value;
    }
  }
}

Json json_of(const EpochRecord& record) {
  Json json = {{"schema_version", kSchemaVersion}, {"event", "epoch"}, {"epoch", record.epoch}};
  json["train"] = json_of(record.train);
  if (record.validation) json["validation"] = json_of(*record.validation);
  json["test"] = json_of(record.test);
  json["seconds"] = record.seconds;
  json["lr"] = record.lr;
  if (record.calibration.images > 0) json["calibration"] = json_of(record.calibration);
  return json;
}

EpochRecord record_from(const Fields& fields) {
  EpochRecord record;
  record.epoch = static_cast<int>(fields.integer("epoch", 1, INT32_MAX));
  record.train = metrics_from(fields.object("train"));
  if (fields.has("validation")) record.validation = metrics_from(fields.object("validation"));
  record.test = metrics_from(fields.object("test"));
  record.seconds = fields.number("seconds");
  record.lr = fields.number("lr");
  record.calibration = calibration_from(fields);
  return record;
}

}  // namespace

std::string_view name_of(kernels::ComputeMode mode) {
  switch (mode) {
    case kernels::ComputeMode::fp32:
      return "fp32";
    case kernels::ComputeMode::tf32:
      return "tf32";
    case kernels::ComputeMode::bf16:
      return "bf16";
  }
  throw Error(ErrorKind::usage, "unknown compute mode");
}

std::vector<std::pair<std::string, std::string>> settings_of(const TrainConfig& config) {
  std::vector<std::pair<std::string, std::string>> settings;
  const Json flat = json_of(config).flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer == "/own_data/path") continue;
    std::string name = pointer.substr(1);
    std::ranges::replace(name, '/', '.');
    settings.emplace_back(std::move(name), value.dump());
  }
  return settings;
}

std::string to_json(const TrainConfig& config) {
  return json_text(json_of(config));
}
std::string to_json(const EpochRecord& record) {
  return json_text(json_of(record));
}

std::string to_json(const RunState& state) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["config"] = json_of(state.config);
  json["data"] = {{"train_images", state.data.train_images},
                  {"test_images", state.data.test_images},
                  {"checksum", fmt::format("{:016x}", state.data.checksum)}};
  json["step"] = state.step;
  json["totals"] = json_of(state.totals);
  json["partial_seconds"] = state.partial_seconds;
  json["history"] = Json::array();
  for (const EpochRecord& record : state.history) json["history"].push_back(json_of(record));
  json["log"] = Json::array();
  for (const StepRecord& record : state.log) {
    json["log"].push_back(
        {{"step", record.step}, {"lr", record.lr}, {"totals", json_of(record.totals)}});
  }
  return json_text(json);
}

TrainConfig train_config_from_json(std::string_view text, const TrainConfig& start,
                                   const std::string& where) {
  check_json(text, {}, where);
  Json settings = json_of(start);
  const Json values = Json::parse(text);
  // The name of a built-in network is all of its definition.
  if (values.is_object() && values.contains("network")) settings["definition"] = "";
  replace_values(settings, values, where);
  return config_from({settings, where});
}

RunState run_state_from_json(std::string_view text, const std::string& where) {
  const Fields fields = parse_fields(text, where);
  fields.check_schema();
  RunState state;
  state.config = config_from(fields.object("config"));
  const Fields data = fields.object("data");
  state.data.train_images = data.integer("train_images", 1, kMaxCount);
  state.data.test_images = data.integer("test_images", 1, kMaxCount);
  const std::string checksum = data.text("checksum");
  const char* end = checksum.data() + checksum.size();
  const auto result = std::from_chars(checksum.data(), end, state.data.checksum, 16);
  if (result.ec != std::errc{} || result.ptr != end) data.fail("expected a hexadecimal checksum");
  state.step = fields.integer("step", 0, kMaxSteps);
  state.totals = totals_from(fields.object("totals"));
  state.partial_seconds = fields.number("partial_seconds");
  for (const Json& record : fields.array("history")) {
    state.history.push_back(record_from({record, where + ": history"}));
    if (state.history.back().epoch != static_cast<int>(state.history.size())) {
      fields.fail("the epochs of the history are not 1, 2, 3, ...");
    }
  }
  if (!fields.has("log")) return state;  // an older run
  for (const Json& record : fields.array("log")) {
    const Fields row{record, where + ": log"};
    state.log.push_back(
        {row.integer("step", 1, kMaxSteps), row.number("lr"), totals_from(row.object("totals"))});
  }
  return state;
}

}  // namespace weft::models
