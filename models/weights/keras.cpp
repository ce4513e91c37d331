// SPDX-License-Identifier: MIT
// Keras' weights: .keras and .weights.h5 of Keras 3, and .h5 of Keras 2 and 3. All are HDF5 files,
// a .keras in a ZIP archive beside a config.json.
//
// Keras 3 has the tensors of a layer as /layers/conv2d_1/vars/0, 1, ... in an order that its class
// tells, and the layer's name as an attribute. An .h5 lists the names of layers and tensors in
// attributes. Images have their channels last there. What becomes of a tensor:
//
//   kernel (H, W, in, out)                  weight (out, in, H, W)
//   kernel of depthwise (H, W, in, each)    weight (in * each, 1, H, W)
//   kernel of dense (in, out)               weight (out, in)
//   gamma, beta, moving_mean, moving_variance   weight, bias, running_mean, running_var; the weight
//       takes the factor between the roots of variance + epsilon there and here
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "data/arrays/hdf5.h"
#include "data/files/archive.h"
#include "engine/error.h"
#include "engine/text.h"
#include "layers/batch_norm2d.h"
#include "models/weights/arrays.h"
#include "models/weights/keras_config.h"
#include "models/weights/weights.h"

namespace weft::models {

namespace {

using data::Hdf5Array;

// The tensors of a layer by their words: "kernel", "bias", "gamma", ...
struct KerasLayer {
  std::string name;
  std::map<std::string, const Hdf5Array*> tensors;
};

std::string last_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "conv2d" and 12 of "conv2d_12".
std::pair<std::string, std::int64_t> numbered(const std::string& name) {
  const std::size_t at = name.find_last_of('_');
  const std::string digits = at == std::string::npos ? "" : name.substr(at + 1);
  const bool is_number = !digits.empty() && digits.size() <= 9 &&
                         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return {is_number ? name.substr(0, at) : name, is_number ? std::stoll(digits) : 0};
}

// The words of the tensors of a layer of Keras 3, in their order.
std::vector<std::string> words_of(const std::string& group, const KerasLayerConfig* config,
                                  const std::vector<const Hdf5Array*>& tensors,
                                  const std::string& where) {
  const std::string kind = config != nullptr ? keras_word(config->type) : numbered(group).first;
  const auto rank = [&](std::size_t i) { return tensors[i]->shape.size(); };
  if (kind == "separable_conv2d") return {"depthwise_kernel", "pointwise_kernel", "bias"};
  if (kind == "depthwise_conv2d") return {"depthwise_kernel", "bias"};
  if (kind == "p_re_lu") return {"alpha"};
  const bool is_batch_norm =
      kind == "batch_normalization" || (tensors.size() == 4 && rank(0) == 1 && rank(3) == 1);
  const bool is_norm = is_batch_norm || kind == "layer_normalization" ||
                       kind == "group_normalization" || (tensors.size() == 2 && rank(0) == 1);
  if (!is_norm) return {"kernel", "bias"};
  const std::size_t affine = tensors.size() - (is_batch_norm ? 2 : 0);
  if (config == nullptr && affine != 2) {
    throw Error(ErrorKind::data,
                str(where, ": its layer ", in_quotes(group), " has ", tensors.size(),
                    " tensors, of which a file of the whole model tells the kinds; save a .keras"));
  }
  std::vector<std::string> words;
  if (config == nullptr || config->has_scale) words.push_back("gamma");
  if (config == nullptr || config->has_center) words.push_back("beta");
  if (is_batch_norm) words.insert(words.end(), {"moving_mean", "moving_variance"});
  return words;
}

// ---- The layers of each kind of file.

std::vector<KerasLayer> layers_of_keras3(const data::Hdf5Content& content,
                                         const KerasConfig& config, const std::string& where) {
  std::map<std::string, std::vector<const Hdf5Array*>> groups;  // by the path of "vars"
  for (const Hdf5Array& array : content.arrays) {
    const std::string vars = array.path.substr(0, array.path.find_last_of('/'));
    const bool is_of_layer = vars.ends_with("/vars") && !vars.starts_with("/optimizer") &&
                             !vars.ends_with("/seed_generator/vars");
    if (is_of_layer) groups[vars.substr(0, vars.size() - 5)].push_back(&array);
  }
  std::vector<std::pair<std::string, KerasLayer>> found;
  for (auto& [path, tensors] : groups) {
    std::ranges::sort(tensors, {}, [](const Hdf5Array* array) {
      const std::string number = last_of(array->path);
      return std::pair(number.size(), number);
    });
    // Older files of Keras 3 have no names, but their groups are numbered as the config tells.
    const auto said = content.texts.find(path + "/vars@name");
    const bool has_name = said != content.texts.end() && said->second.size() == 1;
    const KerasLayerConfig* layer_config =
        has_name ? config.of(said->second[0]) : config.of_group(path);
    const std::string name = has_name                  ? said->second[0]
                             : layer_config != nullptr ? layer_config->name
                                                       : last_of(path);
    const std::vector<std::string> words = words_of(last_of(path), layer_config, tensors, where);
    KerasLayer layer{name, {}};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      layer.tensors[i < words.size() ? words[i] : last_of(tensors[i]->path)] = tensors[i];
    }
    found.emplace_back(path, std::move(layer));
  }
  std::ranges::stable_sort(found, {},
                           [](const auto& pair) { return numbered(last_of(pair.first)); });
  std::vector<KerasLayer> layers;
  for (auto& [path, layer] : found) layers.push_back(std::move(layer));
  return layers;
}

// A list that Keras has cut into pieces where it is long: layer_names0, layer_names1, ...
std::vector<std::string> list_in(const data::Hdf5Content& content, const std::string& attribute) {
  const auto whole = content.texts.find(attribute);
  if (whole != content.texts.end()) return whole->second;
  std::vector<std::string> all;
  for (int i = 0;; ++i) {
    const auto piece = content.texts.find(attribute + std::to_string(i));
    if (piece == content.texts.end()) return all;
    all.insert(all.end(), piece->second.begin(), piece->second.end());
  }
}

std::vector<KerasLayer> layers_of_keras2(const data::Hdf5Content& content,
                                         const std::string& root) {
  std::map<std::string_view, const Hdf5Array*> by_path;
  for (const Hdf5Array& array : content.arrays) by_path[array.path] = &array;
  std::vector<KerasLayer> layers;
  for (const std::string& name : list_in(content, root + "@layer_names")) {
    const std::string group = root + "/" + name;
    // A model within the model has the tensors of several layers, by their names.
    for (const std::string& tensor : list_in(content, group + "@weight_names")) {
      const auto array = by_path.find(group + "/" + tensor);
      if (array == by_path.end()) continue;  // a counter or a seed
      const std::string path = tensor.substr(0, tensor.find(':'));
      const std::size_t slash = path.find_last_of('/');
      const std::string inner = slash == std::string::npos ? name : last_of(path.substr(0, slash));
      const std::string layer = inner == name ? name : name + "/" + inner;
      // A model within the model has what is not trained behind all else.
      auto at = std::ranges::find(layers, layer, &KerasLayer::name);
      if (at == layers.end()) at = layers.insert(at, {layer, {}});
      at->tensors[last_of(path)] = array->second;
    }
  }
  return layers;
}

// ---- Tensors in PyTorch's order.

NamedTensor in_order(const std::string& name, const Hdf5Array& array, const Shape& shape,
                     const std::function<std::size_t(std::size_t)>& place) {
  NamedTensor tensor{name, shape, std::vector<float>(array.values.size())};
  for (std::size_t i = 0; i < array.values.size(); ++i) tensor.values[place(i)] = array.values[i];
  return tensor;
}

NamedTensor weight_of(const std::string& name, const Hdf5Array& array, bool is_depthwise,
                      const std::string& where) {
  const auto extent = [&](std::size_t i) { return static_cast<std::size_t>(array.shape[i]); };
  const auto said = [&](std::size_t i) { return array.shape[i]; };
  if (array.shape.size() == 2) {
    const std::size_t in = extent(0), out = extent(1);
    return in_order(name, array, {said(1), said(0)},
                    [=](std::size_t i) { return i % out * in + i / out; });
  }
  if (array.shape.size() != 4) return {name, shape_of(array.shape, where), array.values};
  const std::size_t plane = extent(0) * extent(1), in = extent(2), out = extent(3);
  if (is_depthwise) {  // (pixel, in, each) to (in, each, pixel)
    return in_order(name, array, {said(2) * said(3), 1, said(0), said(1)},
                    [=](std::size_t i) { return i % (in * out) * plane + i / (in * out); });
  }
  return in_order(name, array, {said(3), said(2), said(0), said(1)}, [=](std::size_t i) {
    const std::size_t pixel = i / (in * out), from = i / out % in, to = i % out;
    return (to * in + from) * plane + pixel;
  });
}

// The weight and bias of a batch normalisation with the epsilon that Weft has.
void add_batch_norm(const KerasLayer& layer, const KerasLayerConfig* config,
                    const std::string& where, std::vector<NamedTensor>& tensors) {
  const Hdf5Array& variance = *layer.tensors.at("moving_variance");
  const double epsilon = config == nullptr ? kKerasEpsilon : config->epsilon;
  const Shape shape = shape_of(variance.shape, where);
  const auto values = [&](const char* word, float otherwise) {
    const auto found = layer.tensors.find(word);
    return found == layer.tensors.end() ? std::vector(variance.values.size(), otherwise)
                                        : found->second->values;
  };
  std::vector<float> weight = values("gamma", 1), bias = values("beta", 0);
  const std::vector<float> mean = values("moving_mean", 0);
  if (weight.size() != variance.values.size() || bias.size() != weight.size() ||
      mean.size() != weight.size()) {
    throw Error(ErrorKind::data, str(where, ": the tensors of its layer ", in_quotes(layer.name),
                                     " have different sizes"));
  }
  for (std::size_t c = 0; c < weight.size(); ++c) {
    const double there = double{variance.values[c]} + epsilon;
    const double here = double{variance.values[c]} + double{layers::BatchNorm2d::kEps};
    weight[c] = static_cast<float>(weight[c] * std::sqrt(here / there));
  }
  tensors.push_back({layer.name + ".weight", shape, std::move(weight)});
  tensors.push_back({layer.name + ".bias", shape, std::move(bias)});
  tensors.push_back({layer.name + ".running_mean", shape, mean});
  tensors.push_back({layer.name + ".running_var", shape, variance.values});
}

void add_layer(const KerasLayer& layer, const KerasLayerConfig* config, const std::string& where,
               std::vector<NamedTensor>& tensors) {
  if (layer.tensors.contains("moving_variance")) {
    return add_batch_norm(layer, config, where, tensors);
  }
  const bool is_separable = layer.tensors.contains("pointwise_kernel");
  const std::string last = is_separable ? layer.name + "/pointwise" : layer.name;
  for (const char* word :
       {"depthwise_kernel", "pointwise_kernel", "kernel", "gamma", "alpha", "beta", "bias"}) {
    const auto found = layer.tensors.find(word);
    if (found == layer.tensors.end()) continue;
    const Hdf5Array& array = *found->second;
    const std::string text = word;
    const bool is_depthwise =
        text == "depthwise_kernel" ||
        (text == "kernel" && config != nullptr && config->type == "DepthwiseConv2D");
    const std::string name = is_depthwise && is_separable ? layer.name + "/depthwise" : last;
    if (text.ends_with("kernel")) {
      tensors.push_back(weight_of(name + ".weight", array, is_depthwise, where));
      continue;
    }
    std::vector<std::int64_t> shape = array.shape;  // slopes have extents of 1 for rows and columns
    while (text == "alpha" && shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
    const bool is_weight = text == "gamma" || text == "alpha";
    tensors.push_back(
        {name + (is_weight ? ".weight" : ".bias"), shape_of(shape, where), array.values});
  }
  for (const auto& [word, array] : layer.tensors) {
    const auto known = {
        "depthwise_kernel", "pointwise_kernel", "kernel", "gamma", "alpha", "beta", "bias"};
    const auto is_word = [&, &one = word](const char* other) { return one == other; };
    if (std::ranges::any_of(known, is_word)) continue;
    tensors.push_back({layer.name + "." + word, shape_of(array->shape, where), array->values});
  }
}

}  // namespace

Weights read_keras(std::span<const std::uint8_t> file, bool is_archive, const std::string& where) {
  std::string text;
  data::Bytes inner;
  if (is_archive) {
    const auto is_wanted = [](const std::string& name) {
      return name == "config.json" || name == "model.weights.h5";
    };
    for (data::ArchivedFile& member :
         data::read_archive(file, kMostWeightBytes, is_wanted, where)) {
      if (member.name == "config.json") text.assign(member.bytes.begin(), member.bytes.end());
      if (member.name == "model.weights.h5") inner = std::move(member.bytes);
    }
    if (inner.empty()) throw Error(ErrorKind::data, str(where, ": has no model.weights.h5 in it"));
    file = inner;
  }
  const data::Hdf5Content content = data::read_hdf5(file, kMostWeightBytes, where);
  const auto said = content.texts.find("@model_config");
  if (said != content.texts.end() && said->second.size() == 1) text = said->second[0];
  const KerasConfig config = parse_keras_config(text, where);
  const bool is_whole = content.texts.contains("/model_weights@layer_names") ||
                        content.texts.contains("/model_weights@layer_names0");
  const bool is_list =
      content.texts.contains("@layer_names") || content.texts.contains("@layer_names0");
  const bool is_older = is_whole || is_list;
  std::vector<KerasLayer> layers = is_older
                                       ? layers_of_keras2(content, is_whole ? "/model_weights" : "")
                                       : layers_of_keras3(content, config, where);
  if (config.is_known) {
    std::ranges::stable_sort(layers, {}, [&](const KerasLayer& layer) {
      const std::string name = layer.name.substr(0, layer.name.find('/'));
      return config.of(name) == nullptr ? std::ssize(config.layers)
                                        : config.of(name) - config.layers.data();
    });
  }
  Weights weights;
  weights.order = is_older || config.is_known ? TensorOrder::file : TensorOrder::kinds;
  weights.channels_last = config.channels_last;
  weights.input = config.input;
  bool is_epsilon_assumed = false;
  for (const KerasLayer& layer : layers) {
    const KerasLayerConfig* layer_config = config.of(last_of(layer.name));
    is_epsilon_assumed |= layer_config == nullptr && layer.tensors.contains("moving_variance");
    add_layer(layer, layer_config, where, weights.tensors);
  }
  if (is_epsilon_assumed) {
    weights.notices.push_back(str("an epsilon of ", kKerasEpsilon, " is assumed of its batch ",
                                  "normalisations, as Keras has it; a .keras tells it"));
  }
  return weights;
}

}  // namespace weft::models
