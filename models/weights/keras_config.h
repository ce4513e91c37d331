// SPDX-License-Identifier: MIT
// What the config of a Keras model says of its layers, in JSON. Internal to the reader of its
// weights.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::models {

inline constexpr double kKerasEpsilon = 1e-3;  // Keras' default, of all its normalisations

struct KerasLayerConfig {
  std::string name, type;  // "conv2d_1", "Conv2D"
  std::string group;       // of its tensors in a file of Keras 3: "/layers/conv2d_1"
  double epsilon = kKerasEpsilon;
  bool has_scale = true, has_center = true;
};

struct KerasConfig {
  bool is_known = false;
  std::vector<KerasLayerConfig> layers;  // in the order of the model
  bool channels_last = true;
  std::optional<std::array<std::int64_t, 3>> input = {};  // of an image: channels, height, width

  // The layer of a name, or of a group; null where there is none.
  const KerasLayerConfig* of(const std::string& name) const;
  const KerasLayerConfig* of_group(const std::string& group) const;
};

// `text`: the config as JSON; empty where the file has none. Throws data, naming `where`, for other
// text.
KerasConfig parse_keras_config(const std::string& text, const std::string& where);

// "batch_normalization" of "BatchNormalization": Keras' name of a group.
std::string keras_word(const std::string& type);

}  // namespace weft::models
