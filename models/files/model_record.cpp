// SPDX-License-Identifier: MIT
#include "models/files/model_record.h"

namespace weft::models {

namespace {

constexpr std::int64_t kMaxExtent = 1024;  // of images in a model file

}  // namespace

void add_network(Json& json, const NetworkOptions& network) {
  json["network"] = network.name;
  json["height"] = network.height;
  json["width"] = network.width;
  json["classes"] = network.classes;
  json["dropout"] = shortest(network.dropout);
  json["channels"] = network.channels;
  json["definition"] = network.definition;
}

NetworkOptions network_from(const Fields& fields) {
  NetworkOptions network;
  if (fields.has("definition")) network.definition = fields.text("definition");
  if (network.definition.empty()) {  // always so in older files
    network.name = parsed(fields, "network", [](auto name) { return network_named(name).name; });
  } else {
    network.name = fields.text("network");
  }
  network.height = fields.integer("height", 1, kMaxExtent);
  network.width = fields.integer("width", 1, kMaxExtent);
  network.classes = fields.integer("classes", 1, kMaxClasses);
  network.dropout = fields.single("dropout");
  if (network.dropout < 0 || network.dropout >= 1) fields.fail("expected a dropout in [0, 1)");
  if (fields.has("channels")) network.channels = fields.integer("channels", 1, kMaxExtent);
  return network;
}

Json json_of(const Calibration& calibration) {
  Json json = {{"temperature", calibration.temperature},
               {"threshold", calibration.threshold},
               {"images", calibration.images}};
  if (calibration.certainty) json["certainty"] = *calibration.certainty;
  return json;
}

Calibration calibration_from(const Fields& fields) {
  if (!fields.has("calibration")) return {};
  const Fields calibration = fields.object("calibration");
  const double temperature = calibration.number("temperature");
  if (!(temperature > 0)) fields.fail("expected a temperature > 0");
  // Among held-out images that are flat, the threshold is -infinity, which JSON writes as null.
  Calibration fitted{.temperature = temperature,
                     .images = calibration.integer("images", 1, kMaxCount)};
  if (!calibration.at("threshold").is_null()) fitted.threshold = calibration.number("threshold");
  if (!calibration.has("certainty")) return fitted;
  const Json& weights = calibration.at("certainty");
  Certainty certainty{};
  if (!weights.is_array() || weights.size() != certainty.size()) {
    fields.fail(str("expected ", certainty.size(), " numbers as \"certainty\""));
  }
  for (std::size_t i = 0; i < certainty.size(); ++i) {
    certainty[i] = Fields(Json{{"certainty", weights[i]}}, fields.where()).number("certainty");
  }
  fitted.certainty = certainty;
  return fitted;
}

namespace {

// One number for one channel, as all older models have; else a list.
Json json_of_channels(const std::vector<float>& values) {
  if (values.size() == 1) return shortest(values.front());
  Json list = Json::array();
  for (const float value : values) list.push_back(shortest(value));
  return list;
}

// Pairs of the least and the largest value.
std::vector<ValueRange> ranges_from(const Fields& fields) {
  std::vector<ValueRange> ranges;
  if (!fields.has("ranges")) return ranges;
  for (const Json& pair : fields.array("ranges")) {
    if (!pair.is_array() || pair.size() != 2) fields.fail("expected \"ranges\" to be pairs");
    const Fields ends(Json{{"ranges", pair[0]}, {"most", pair[1]}}, fields.where());
    const ValueRange range{ends.single("ranges"), ends.single("most")};
    if (range.least > range.most) fields.fail("expected \"ranges\" that rise");
    ranges.push_back(range);
  }
  return ranges;
}

// Reads one number for each channel. A single number holds for all of them.
std::vector<float> channels_from(const Fields& fields, const char* key, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  if (!fields.at(key).is_array()) return std::vector<float>(count, fields.single(key));
  std::vector<float> values;
  for (const auto& value : fields.at(key)) {
    values.push_back(Fields(Json{{key, value}}, fields.where()).single(key));
  }
  if (values.size() != count) {
    fields.fail(str("expected ", count, " numbers as \"", key, "\", found ", values.size()));
  }
  return values;
}

Json json_of(const Origin& origin) {
  Json json = {{"version", origin.version},
               {"commit", origin.commit},
               {"commit_date", origin.commit_date},
               {"data", origin.data},
               {"settings", Json::object()}};
  for (const auto& [name, value] : origin.settings) json["settings"][name] = Json::parse(value);
  return json;
}

Origin origin_from(const Fields& fields) {
  Origin origin{fields.text("version"),
                fields.text("commit"),
                fields.text("commit_date"),
                fields.text("data"),
                {}};
  const Json& settings = fields.at("settings");
  if (!settings.is_object()) fields.fail("expected \"settings\" to be a JSON object");
  for (const auto& [name, value] : settings.items())
    origin.settings.emplace_back(name, value.dump());
  return origin;
}

}  // namespace

std::string to_json(const Origin& origin) {
  return json_text(json_of(origin));
}

std::string to_json(const ModelInfo& info) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  add_network(json, info.network);
  json["dataset"] = info.dataset;
  json["class_names"] = info.class_names;
  if (info.own_data) json["own_data"] = true;
  json["mean"] = json_of_channels(info.mean);
  json["stddev"] = json_of_channels(info.stddev);
  if (info.normalisation != NormalisationSource::training) {
    json["normalisation"] = name_of(info.normalisation);
  }
  if (info.output != Output::softmax) json["output"] = name_of(info.output);
  if (info.fit != data::Fit::letterbox) json["fit"] = data::name_of(info.fit);
  if (info.sample_bits > 0) json["sample_bits"] = info.sample_bits;
  json["epochs"] = info.epochs;
  json["test_accuracy"] = info.test_accuracy >= 0 ? Json(info.test_accuracy) : Json(nullptr);
  json["test_images"] = info.test_images;
  if (info.calibration.images > 0) json["calibration"] = json_of(info.calibration);
  if (info.origin.is_known()) json["origin"] = json_of(info.origin);
  for (const ValueRange& range : info.ranges) {
    json["ranges"].push_back({shortest(range.least), shortest(range.most)});
  }
  return json_text(json);
}

ModelInfo model_info_from_json(std::string_view text, const std::string& where) {
  const Fields fields = parse_fields(text, where + ": metadata weft");
  fields.check_schema();
  ModelInfo info;
  info.network = network_from(fields);
  info.dataset = fields.text("dataset");
  info.class_names = fields.texts("class_names");
  if (fields.has("own_data")) info.own_data = fields.boolean("own_data");
  if (static_cast<std::int64_t>(info.class_names.size()) != info.network.classes) {
    fields.fail(
        str("expected ", info.network.classes, " class names, found ", info.class_names.size()));
  }
  info.mean = channels_from(fields, "mean", info.network.channels);
  info.stddev = channels_from(fields, "stddev", info.network.channels);
  for (const float stddev : info.stddev) {
    if (!(stddev > 0)) fields.fail("expected a stddev > 0");
  }
  if (fields.has("normalisation")) {
    info.normalisation = parsed(fields, "normalisation", parse_normalisation);
  }
  if (fields.has("output")) info.output = parsed(fields, "output", parse_output);
  if (fields.has("fit")) info.fit = parsed(fields, "fit", data::parse_fit);
  if (fields.has("sample_bits")) {
    info.sample_bits = static_cast<int>(fields.integer("sample_bits", 1, 16));
  }
  info.epochs = static_cast<int>(fields.integer("epochs", 0, INT32_MAX));
  if (fields.has("test_accuracy")) {
    info.test_accuracy = fields.number("test_accuracy");
    if (info.test_accuracy < 0 || info.test_accuracy > 1) {
      fields.fail("expected a test_accuracy from 0 to 1");
    }
  }
  info.test_images = fields.integer("test_images", 0, kMaxCount);
  info.calibration = calibration_from(fields);
  if (fields.has("origin")) info.origin = origin_from(fields.object("origin"));
  info.ranges = ranges_from(fields);
  return info;
}

}  // namespace weft::models
