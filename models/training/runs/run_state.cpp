// SPDX-License-Identifier: MIT
#include "models/training/runs/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/versions/build_info.h"
#include "engine/names.h"
#include "models/files/json_fields.h"
#include "models/files/model_record.h"
#include "models/training/settings.h"

namespace weft::models {

namespace {

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

Json json_of(const Setting& setting, const TrainConfig& config) {
  return setting.visit(config, []<class T>(const T& value) -> Json {
    if constexpr (has_words<T>) {
      return name_of(value);
    } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
      return value ? Json(*value) : Json(nullptr);
    } else if constexpr (std::is_same_v<T, float>) {
      return shortest(value);
    } else {
      return value;
    }
  });
}

// "schedule.peak" is "peak" of "schedule"; the place of another name is empty.
struct Name {
  explicit Name(std::string_view name) {
    const std::size_t dot = name.find('.');
    if (dot != name.npos) place = name.substr(0, dot);
    key = name.substr(dot + 1);
  }
  std::string place, key;
};

Json json_of(const TrainConfig& config) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  add_network(json, config.network);
  for (const Setting& setting : settings()) {
    const Name name(setting.name);
    (name.place.empty() ? json : json[name.place])[name.key] = json_of(setting, config);
  }
  return json;
}

// `least`: of the numbers that may be absent; 0 stands for their absence in older runs.
void read(TrainConfig& config, const Setting& setting, const Fields& fields, const char* key,
          double least) {
  const auto integer = [&](double low) {
    return fields.integer(key, static_cast<std::int64_t>(low),
                          static_cast<std::int64_t>(setting.bounds.high));
  };
  setting.change(config, [&]<class T>(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = fields.boolean(key);
    } else if constexpr (std::is_same_v<T, float>) {
      value = fields.single(key);
    } else if constexpr (std::is_same_v<T, double>) {
      value = fields.number(key);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      value = fields.unsigned_integer(key);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(integer(setting.bounds.low));
    } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
      value.reset();
      if (fields.at(key).is_null()) return;
      if (const std::int64_t number = integer(least); number > 0) value = number;
    } else {
      // Convolution with ReLU and pooling was a rung of convolution once.
      parsed(fields, key, [&](std::string_view text) {
        const bool older = setting.rules.rungs == "conv" && text == "fused_relu_pool";
        set(config, setting, older ? kernels::kAutomatic : text);
      });
    }
  });
}

TrainConfig config_from(const Fields& fields, double least = 0) {
  fields.check_schema();
  TrainConfig config;
  config.network = network_from(fields);
  for (const Setting& setting : settings()) {
    const Name name(setting.name);
    const bool has_place = name.place.empty() || fields.has(name.place.c_str());
    const Written written = setting.rules.written;
    if (!has_place && written != Written::always) continue;  // an older run
    const Fields place = name.place.empty() ? fields : fields.object(name.place.c_str());
    const auto came_along = [&](const Setting& other) {
      const Name its(other.name);
      return other.rules.written == Written::together && its.place == name.place &&
             place.has(its.key.c_str());
    };
    const bool may_be_absent =
        written == Written::later ||
        (written == Written::together && std::ranges::none_of(settings(), came_along));
    if (may_be_absent && !place.has(name.key.c_str())) continue;
    read(config, setting, place, name.key.c_str(), least);
  }
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

Json json_of(const RunSession& session) {
  return {{"command", session.command}, {"version", session.version},
          {"commit", session.commit},   {"commit_date", session.commit_date},
          {"host", session.host},       {"device", session.device},
          {"threads", session.threads}, {"started", session.started},
          {"seconds", session.seconds}, {"training_seconds", session.training_seconds},
          {"images", session.images},   {"images_per_second", session.images_per_second()}};
}

RunSession session_from(const Fields& fields) {
  RunSession session;
  session.command = fields.text("command");
  session.version = fields.text("version");
  session.commit = fields.text("commit");
  session.commit_date = fields.text("commit_date");
  session.host = fields.text("host");
  session.device = fields.text("device");
  session.threads = static_cast<int>(fields.integer("threads", 0, INT32_MAX));
  session.started = fields.text("started");
  session.seconds = fields.number("seconds");
  session.training_seconds = fields.number("training_seconds");
  session.images = fields.integer("images", 0, kMaxCount);
  return session;
}

std::string hexadecimal(std::uint64_t checksum) {
  return fmt::format("{:016x}", checksum);
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

Json settings_by_key(const TrainConfig& config) {
  Json json;
  for (const Setting& setting : settings()) {
    if (!setting.help.empty()) json[setting.key()] = json_of(setting, config);
  }
  return json;
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

std::string to_json(const RunSession& session) {
  return json_text(json_of(session));
}

Origin origin_of(const RunState& state) {
  const BuildInfo& build = build_info();
  Origin origin{
      build.version, build.commit, build.commit_date, hexadecimal(state.data.checksum), {}};
  TrainConfig config = state.config, standard;
  standard.network = config.network;  // the model tells of that itself
  config.start_from = std::filesystem::path(config.start_from).filename().string();
  const auto defaults = settings_of(standard);
  for (auto& setting : settings_of(config)) {
    if (std::ranges::count(defaults, setting) == 0) origin.settings.push_back(std::move(setting));
  }
  return origin;
}

std::string to_json(const RunState& state) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["config"] = json_of(state.config);
  json["data"] = {{"train_images", state.data.train_images},
                  {"test_images", state.data.test_images},
                  {"checksum", hexadecimal(state.data.checksum)}};
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
  for (const RunSession& session : state.sessions) json["sessions"].push_back(json_of(session));
  return json_text(json);
}

TrainConfig train_config_from_json(std::string_view text, const TrainConfig& start,
                                   const std::string& where) {
  check_json(text, {}, where);
  Json settings = json_of(start);
  Json values = Json::parse(text);
  if (values.is_object()) values.erase("origin");  // what a config.json tells besides
  // The name of a built-in network is all of its definition.
  if (values.is_object() && values.contains("network")) settings["definition"] = "";
  replace_values(settings, values, where);
  // A whole config.json of an older version says 0 where there is no limit. A person's part of one
  // means what it says.
  const bool is_whole = names_setting(text, "schema_version");
  return config_from({settings, where}, is_whole ? 0 : 1);
}

bool names_setting(std::string_view text, const char* name) {
  return Json::parse(text).contains(name);
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
  if (fields.has("sessions")) {
    for (const Json& session : fields.array("sessions")) {
      state.sessions.push_back(session_from({session, where + ": sessions"}));
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
