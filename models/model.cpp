// SPDX-License-Identifier: MIT
#include "models/model.h"

#include <algorithm>
#include <optional>

#include "data/sets/mnist.h"
#include "engine/names.h"
#include "engine/text.h"
#include "models/files/foreign.h"
#include "models/files/state_dict.h"

namespace weft::models {

namespace fs = std::filesystem;

namespace {

constexpr Named<Output> kOutputs[] = {{"softmax", Output::softmax}, {"sigmoid", Output::sigmoid}};
constexpr Named<NormalisationSource> kSources[] = {{"training", NormalisationSource::training},
                                                   {"file", NormalisationSource::file},
                                                   {"flags", NormalisationSource::flags},
                                                   {"measured", NormalisationSource::measured},
                                                   {"assumed", NormalisationSource::assumed}};

constexpr const char* kInfoKey = "weft";
constexpr std::int64_t kMaxChannels = 1024;

// The network of this name with as many classes and channels as its last and its first parameter
// have in the file.
NetworkOptions options_for(const SafeTensors& content, std::string_view name) {
  NetworkOptions options;
  options.name = name;
  const auto net = make_network(options);
  const NamedTensor* last = nullptr;
  for (const layers::NamedSlice& slice : net->slices()) {
    if (slice.trainable) last = content.find(slice.name);
  }
  const auto within = [](std::int64_t extent, std::int64_t most) {
    return extent >= 1 && extent <= most;
  };
  if (last != nullptr && last->shape.rank() >= 1 && within(last->shape[0], kMaxClasses)) {
    options.classes = last->shape[0];
  }
  const NamedTensor* first = content.find(net->slices().front().name);
  if (first != nullptr && first->shape.rank() == 4 && within(first->shape[1], kMaxChannels)) {
    options.channels = first->shape[1];
  }
  return options;
}

bool has_names_of(const SafeTensors& content, const layers::Sequential& net) {
  return content.tensors.size() == net.slices().size() &&
         std::all_of(net.slices().begin(), net.slices().end(),
                     [&](const auto& slice) { return content.find(slice.name) != nullptr; });
}

bool has_shapes_of(const SafeTensors& content, const layers::Sequential& net) {
  return std::all_of(net.slices().begin(), net.slices().end(), [&](const auto& slice) {
    return content.find(slice.name)->shape == slice.shape;
  });
}

// The network whose tensors these are. lenet5 and lenet5-classic have the same ones; lenet5 comes
// first in networks() and is taken. Names alone decide when no shapes fit, so that the
// message can say which shape is wrong.
ModelInfo recognise(const SafeTensors& content, const std::string& where) {
  std::optional<NetworkOptions> by_name;
  std::optional<NetworkOptions> by_shape;
  for (const NetworkInfo& network : networks()) {
    const NetworkOptions options = options_for(content, network.name);
    const auto net = make_network(options);
    if (!has_names_of(content, *net)) continue;
    if (!by_name) by_name = options;
    if (!by_shape && has_shapes_of(content, *net)) by_shape = options;
  }
  if (!by_name) {
    const std::string first = content.tensors.empty()
                                  ? std::string("no tensors")
                                  : "such as " + in_quotes(content.tensors.front().name);
    throw Error(ErrorKind::data,
                str(where, ": ", content.tensors.size(), " tensors (", first,
                    ") are not those of a built-in network: ", joined(names_of(networks())),
                    "; `weft import ", shell_word(where), " --model FILE.net --out RUN` makes a ",
                    "model of another"));
  }
  ModelInfo info;
  info.network = by_shape.value_or(*by_name);
  info.recognised = true;
  info.mean = {static_cast<float>(data::kMnistStatistics.mean)};
  info.stddev = {static_cast<float>(data::kMnistStatistics.stddev)};
  info.normalisation = NormalisationSource::assumed;
  const auto channels = static_cast<std::size_t>(info.network.channels);
  info.mean.resize(channels, info.mean.front());
  info.stddev.resize(channels, info.stddev.front());
  for (std::int64_t label = 0; label < info.network.classes; ++label) {
    info.class_names.push_back(std::to_string(label));
  }
  return info;
}

std::unique_ptr<layers::Sequential> network_of(const ModelInfo& info, const std::string& where) {
  try {
    return make_network(info.network);
  } catch (const Error& error) {
    throw Error(ErrorKind::data, str(where, ": ", error.what()));
  }
}

}  // namespace

Output parse_output(std::string_view text) {
  return row_named(kOutputs, "output", text).value;
}

std::string_view name_of(Output output) {
  return name_in(kOutputs, output);
}

NormalisationSource parse_normalisation(std::string_view text) {
  return row_named(kSources, "normalisation", text).value;
}

std::string_view name_of(NormalisationSource source) {
  return name_in(kSources, source);
}

ModelInfo info_of(const data::Dataset& dataset) {
  ModelInfo info;
  info.class_names = dataset.class_names;
  info.own_data = dataset.own_data;
  info.mean = dataset.mean;
  info.stddev = dataset.stddev;
  info.fit = dataset.fit;
  info.sample_bits = dataset.sample_bits;
  return info;
}

Model load_model(const fs::path& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path file = is_folder ? path / "model.safetensors" : path;
  const std::string where = file.string();
  if (is_folder && !fs::exists(file, ignored)) {
    throw Error(ErrorKind::data, str(path.string(), ": holds no model.safetensors"));
  }
  if (const auto format = foreign_format(file)) throw not_a_model(file, *format);
  const SafeTensors content = read_safetensors(file);
  if (content.metadata.contains("weft_run")) {
    throw Error(ErrorKind::data, str(where, ": holds the state of a training run; the model is ",
                                     "model.safetensors beside it"));
  }
  Model model;
  const auto metadata = content.metadata.find(kInfoKey);
  model.info = metadata != content.metadata.end() ? model_info_from_json(metadata->second, where)
                                                  : recognise(content, where);
  model.net = network_of(model.info, where);
  const std::string no_prefix;
  check_no_others(content, std::span(&no_prefix, 1), *model.net, where);
  model.parameters = flat_values(content, no_prefix, *model.net, SliceKind::parameters, where);
  model.buffers = flat_values(content, no_prefix, *model.net, SliceKind::buffers, where);
  return model;
}

SafeTensors model_content(const Model& model) {
  SafeTensors content;
  content.metadata = {{"format", "pt"}, {kInfoKey, to_json(model.info)}};
  add_tensors(content, "", *model.net, SliceKind::parameters, model.parameters);
  add_tensors(content, "", *model.net, SliceKind::buffers, model.buffers);
  return content;
}

}  // namespace weft::models
