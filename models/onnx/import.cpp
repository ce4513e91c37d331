// SPDX-License-Identifier: MIT
// A model of an ONNX file: the graph as a network, its tensors as parameters.
#include <algorithm>
#include <charconv>
#include <optional>

#include "data/file_io.h"
#include "models/json_check.h"
#include "models/onnx/onnx.h"
#include "models/onnx/text.h"
#include "models/records.h"
#include "models/state_dict.h"

namespace weft::models {

namespace {

namespace fs = std::filesystem;

using Image = std::array<std::int64_t, 3>;  // channels, height, width

// "resnet.net" for "some/resnet.onnx".
std::string network_name(const fs::path& path) {
  std::string stem = path.stem().string().substr(0, 48);
  for (char& c : stem) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return stem + ".net";
}

std::string to_text(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t extent : extents) {
    text += str(text.empty() ? "" : ", ", extent > 0 ? str(extent) : "?");
  }
  return "(" + text + ")";
}

// One image, from the shape of the graph's input or from the options.
Image image_of(const OnnxGraph& graph, const std::optional<Image>& wanted) {
  std::vector<std::int64_t> extents;  // without the batch; 0: not known
  const auto& shape = graph.input().type().tensor_type().shape();
  for (int i = 1; i < shape.dim_size(); ++i) extents.push_back(shape.dim(i).dim_value());
  const bool known = !extents.empty() && std::ranges::all_of(extents, [](auto e) { return e > 0; });
  if (!wanted) {
    if (known && extents.size() == 3) return {extents[0], extents[1], extents[2]};
    throw Error(ErrorKind::usage,
                str(graph.where(), ": its input is ", to_text(extents),
                    " for each image; say with --input CxHxW what image that is"));
  }
  std::int64_t values = (*wanted)[0] * (*wanted)[1] * (*wanted)[2];
  bool fits = true;
  if (extents.size() == 3) {
    for (std::size_t i = 0; i < 3; ++i)
      fits = fits && (extents[i] <= 0 || extents[i] == (*wanted)[i]);
  } else if (known) {
    for (const std::int64_t extent : extents) {
      fits = fits && values % extent == 0;
      if (fits) values /= extent;
    }
    fits = fits && values == 1;
  }
  if (fits) return *wanted;
  throw Error(ErrorKind::usage,
              str(graph.where(), ": --input ", (*wanted)[0], "x", (*wanted)[1], "x", (*wanted)[2],
                  " is not the input of the file, ", to_text(extents), " for each image"));
}

// What is wrong with a line of the text is wrong with its node: "NAME:LINE:COLUMN: problem".
[[noreturn]] void refuse_line(const Error& error, const NetworkOptions& network,
                              const OnnxText& text, const std::string& where) {
  const std::string_view message = error.what();
  const std::size_t begin = network.name.size() + 1;
  const std::size_t end = message.find(": ", begin);
  std::size_t line = 0;
  if (message.starts_with(network.name + ":") && end != message.npos) {
    std::from_chars(message.data() + begin, message.data() + end, line);
  }
  if (line < 1 || line > text.nodes.size()) {
    throw Error(ErrorKind::data, str(where, ": ", message));
  }
  refuse_node(*text.nodes[line - 1], where, std::string(message.substr(end + 2)));
}

std::unique_ptr<layers::Sequential> network_of(const NetworkOptions& network, const OnnxText& text,
                                               const std::string& where) {
  try {
    return make_network(network);
  } catch (const Error& error) {
    refuse_line(error, network, text, where);
  }
}

// Are the layers the same, but for dropout, which inference has not?
bool same_layers(const layers::Sequential& a, const layers::Sequential& b) {
  const auto names = [](const layers::Sequential& net) {
    std::vector<std::string> all = {to_string(net.sample_shape())};
    for (const auto& layer : net.layers()) {
      if (!layer->traits().identity_in_inference) all.push_back(layer->describe());
    }
    return all;
  };
  return names(a) == names(b);
}

// The tensors under the names of the network's.
SafeTensors content_of(const layers::Sequential& net, const OnnxText& text,
                       const std::string& where) {
  SafeTensors content;
  auto next = text.layers.begin();
  for (const auto& layer : net.layers()) {
    if (layer->parameters().empty()) continue;
    const OnnxLayer& source = *next++;  // the text has one for each
    auto tensor = source.tensors.begin();
    const auto add = [&](const std::string& name, const Shape& shape) {
      const onnx::TensorProto& found = *tensor->tensor;
      const bool transposed = tensor->transposed;
      const Shape stored = transposed ? Shape{shape[1], shape[0]} : shape;
      const std::vector<std::int64_t> extents(found.dims().begin(), found.dims().end());
      if (!std::ranges::equal(extents, stored.extents())) {
        refuse_node(*source.node, where,
                    str("expected the tensor ", in_quotes(found.name()), " to be ",
                        to_string(stored), ", found ", to_text(extents)));
      }
      std::vector<float> values = floats_of(found);
      if (transposed) {
        const std::vector<float> from = std::exchange(values, std::vector<float>(values.size()));
        const auto rows = static_cast<std::size_t>(shape[0]);
        const auto columns = static_cast<std::size_t>(shape[1]);
        for (std::size_t i = 0; i < from.size(); ++i)
          values[i] = from[i % columns * rows + i / columns];
      }
      if (tensor->added != 0) {
        for (float& value : values) value += tensor->added;
      }
      content.tensors.push_back({layer->name() + "." + name, shape, std::move(values)});
      ++tensor;
    };
    for (const auto& spec : layer->parameters()) add(spec.name, spec.shape);
    for (const auto& spec : layer->buffers()) add(spec.name, spec.shape);
  }
  return content;
}

// What the file says of itself when Weft wrote it.
std::optional<ModelInfo> written_info(const onnx::ModelProto& file, const std::string& where) {
  for (const onnx::StringStringEntryProto& entry : file.metadata_props()) {
    if (entry.key() == "weft") return model_info_from_json(entry.value(), where);
  }
  return std::nullopt;
}

// The only place that knows of pixels.
void set_normalisation(ModelInfo& info, const OnnxImport& options, const std::string& where) {
  const auto channels = static_cast<std::size_t>(info.network.channels);
  const auto set = [&](std::vector<float>& values, const std::vector<float>& asked) {
    if (!asked.empty()) values = asked;
    if (values.size() == 1) values.assign(channels, values[0]);
    if (values.size() == channels) return;
    throw Error(ErrorKind::usage,
                str(where, ": images have ", channels, " channels, and there are ", values.size(),
                    " numbers to normalise them"));
  };
  set(info.mean, options.mean);
  set(info.stddev, options.stddev);
}

void set_classes(ModelInfo& info, const OnnxImport& options, const std::string& where) {
  const std::int64_t classes = info.network.classes;
  if (!options.class_names.empty()) info.class_names = options.class_names;
  if (info.class_names.empty()) {
    for (std::int64_t i = 0; i < classes; ++i) info.class_names.push_back(std::to_string(i));
  }
  if (static_cast<std::int64_t>(info.class_names.size()) != classes) {
    throw Error(options.class_names.empty() ? ErrorKind::data : ErrorKind::usage,
                str(where, ": the network has ", classes, " classes, and there are ",
                    info.class_names.size(), " names for them"));
  }
}

}  // namespace

bool knows_onnx() {
  return true;
}

OnnxModel read_onnx(const fs::path& path, const OnnxImport& options) {
  const std::string where = path.string();
  const onnx::ModelProto file = read_onnx_file(path);
  const OnnxGraph graph(file, where);
  const OnnxText text = onnx_text(graph);

  NetworkOptions network;
  network.name = network_name(path);
  network.definition = text.definition;
  const Image image = image_of(graph, options.input);
  network.channels = image[0];
  network.height = image[1];
  network.width = image[2];
  network.classes = text.classes > 0 ? text.classes : image[0] * image[1] * image[2];
  OnnxModel found;
  found.softmax_dropped = text.softmax_dropped;
  Model& model = found.model;
  model.net = network_of(network, text, where);
  if (const auto info = written_info(file, where)) {
    model.info = *info;
    // The graph is what other programs run, so it decides. Where the text that the file was made
    // from says the same, that text is kept, with its comments and dropout.
    std::unique_ptr<layers::Sequential> written;
    try {
      written = make_network(info->network);
    } catch (const Error&) {
    }
    const bool same = written != nullptr && same_layers(*written, *model.net);
    if (same) model.net = std::move(written);
    if (!same) model.info.network = network;
  } else {
    model.info.network = network;
  }
  set_normalisation(model.info, options, where);
  set_classes(model.info, options, where);
  model_info_from_json(to_json(model.info), where);  // what is written can be read

  // Several layers may share a tensor, but not so many that they outgrow the file.
  const std::uint64_t values =
      static_cast<std::uint64_t>(model.net->parameter_count() + model.net->buffer_count());
  if (const std::uint64_t bytes = data::InputFile(path).size(); values > bytes) {
    throw Error(ErrorKind::data,
                str(where, ": a network of ", values, " numbers in a file of ", bytes, " bytes"));
  }
  const SafeTensors content = content_of(*model.net, text, where);
  model.parameters = flat_values(content, "", *model.net, SliceKind::parameters, where);
  model.buffers = flat_values(content, "", *model.net, SliceKind::buffers, where);
  return found;
}

}  // namespace weft::models
