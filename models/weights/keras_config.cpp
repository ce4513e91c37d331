// SPDX-License-Identifier: MIT
#include "models/weights/keras_config.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "models/files/json_check.h"

namespace weft::models {

namespace {

using nlohmann::json;

// The extents of an image behind those of the batch, as they stand there.
std::vector<std::int64_t> extents_in(const json& shape) {
  std::vector<std::int64_t> extents;
  if (!shape.is_array() || shape.size() < 3 || shape.size() > 4) return {};
  for (std::size_t i = 1; i < shape.size(); ++i) {
    const bool is_extent = shape[i].is_number_integer() && shape[i] >= 1 && shape[i] <= 1 << 16;
    if (!is_extent) return {};
    extents.push_back(shape[i].get<std::int64_t>());
  }
  return extents;
}

// Layers, and those of the models in them, in their order.
void collect(const json& config, const std::string& group, KerasConfig& found,
             std::vector<std::int64_t>& image) {
  const auto layers = config.is_object() ? config.find("layers") : config.end();
  if (!config.is_object() || layers == config.end() || !layers->is_array()) return;
  std::map<std::string, int> count;  // of each kind
  for (const json& layer : *layers) {
    const auto inner = layer.is_object() ? layer.find("config") : layer.end();
    if (!layer.is_object() || inner == layer.end() || !inner->is_object()) continue;
    KerasLayerConfig said;
    said.type = layer.value("class_name", json()).is_string() ? layer["class_name"] : json("");
    if (const auto name = inner->find("name"); name != inner->end() && name->is_string()) {
      said.name = *name;
    }
    if (const auto epsilon = inner->find("epsilon");
        epsilon != inner->end() && epsilon->is_number()) {
      said.epsilon = *epsilon;
    }
    said.has_scale = inner->value("scale", json(true)) != json(false);
    said.has_center = inner->value("center", json(true)) != json(false);
    if (inner->value("data_format", json()) == json("channels_first")) found.channels_last = false;
    for (const char* key : {"batch_shape", "batch_input_shape"}) {
      if (image.empty() && inner->contains(key)) image = extents_in((*inner)[key]);
    }
    const std::string word = keras_word(said.type);
    const int number = count[word]++;
    said.group = group + "/layers/" + word + (number > 0 ? "_" + std::to_string(number) : "");
    found.layers.push_back(said);
    collect(*inner, said.group, found, image);
  }
}

}  // namespace

const KerasLayerConfig* KerasConfig::of(const std::string& name) const {
  const auto found = std::ranges::find(layers, name, &KerasLayerConfig::name);
  return found == layers.end() ? nullptr : &*found;
}

const KerasLayerConfig* KerasConfig::of_group(const std::string& group) const {
  const auto found = std::ranges::find(layers, group, &KerasLayerConfig::group);
  return found == layers.end() ? nullptr : &*found;
}

std::string keras_word(const std::string& type) {
  std::string word;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const bool is_capital = type[i] >= 'A' && type[i] <= 'Z';
    const bool begins = i > 0 && is_capital &&
                        ((type[i - 1] >= 'a' && type[i - 1] <= 'z') ||
                         (i + 1 < type.size() && type[i + 1] >= 'a' && type[i + 1] <= 'z'));
    if (begins) word += '_';
    word += is_capital ? static_cast<char>(type[i] - 'A' + 'a') : type[i];
  }
  return word;
}

KerasConfig parse_keras_config(const std::string& text, const std::string& where) {
  constexpr JsonLimits kLimits{.depth = 64, .values = 1'000'000};
  KerasConfig found;
  if (text.empty()) return found;
  check_json(text, kLimits, where);
  const json content = json::parse(text);
  std::vector<std::int64_t> image;
  if (content.is_object() && content.contains("config"))
    collect(content["config"], "", found, image);
  found.is_known = !found.layers.empty();
  if (image.size() == 2) found.input = {1, image[0], image[1]};
  if (image.size() == 3 && found.channels_last) found.input = {image[2], image[0], image[1]};
  if (image.size() == 3 && !found.channels_last) found.input = {image[0], image[1], image[2]};
  return found;
}

}  // namespace weft::models
