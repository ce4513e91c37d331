// SPDX-License-Identifier: MIT
// A model of an ONNX file: the graph as a network, its tensors as parameters.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "data/files/file_io.h"
#include "engine/text.h"
#include "layers/batch_norm2d.h"
#include "models/files/state_dict.h"
#include "models/onnx/onnx.h"
#include "models/onnx/simplify/simplify.h"
#include "models/onnx/text.h"
#include "models/weights/flattened.h"

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

// make_network() or output_shape() of a text.
template <class Make>
auto made_of(Make make, const NetworkOptions& network, const OnnxText& text,
             const std::string& where) {
  try {
    return make(network);
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

std::string to_text(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t extent : extents) text += str(text.empty() ? "" : ", ", extent);
  return "(" + text + ")";
}

// (rows, columns) of (columns, rows).
std::vector<float> transposed(const std::vector<float>& from, const Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape[0]),
             columns = static_cast<std::size_t>(shape[1]);
  std::vector<float> values(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) values[i] = from[i % columns * rows + i / columns];
  return values;
}

// The values of a tensor in Weft's order, once its extents are those of `shape`.
std::vector<float> values_of(const OnnxTensor& tensor, const Shape& shape, const OnnxLayer& layer,
                             const std::string& where) {
  if (tensor.tensor == nullptr) return tensor.values;
  const onnx::TensorProto& found = *tensor.tensor;
  const Shape stored = tensor.transposed ? Shape{shape[1], shape[0]} : shape;
  const std::vector<std::int64_t> extents(found.dims().begin(), found.dims().end());
  const auto behind_ones = [](std::span<const std::int64_t> all) {
    while (all.size() > 1 && all.front() == 1) all = all.subspan(1);
    return all;
  };
  // A tensor of all values of an image (H, W) or of a row has none for the extents of 1 before.
  const bool is_of_image = shape.rank() == 3 && shape[0] == 1;
  const bool fits =
      std::ranges::equal(extents, stored.extents()) ||
      (is_of_image && std::ranges::equal(behind_ones(extents), behind_ones(stored.extents())));
  if (!fits) {
    refuse_node(*layer.node, where,
                str("expected the tensor ", in_quotes(found.name()), " to be ", to_string(stored),
                    ", found ", to_text(extents)));
  }
  std::vector<float> values = floats_of(found);
  if (tensor.transposed) values = transposed(values, shape);
  if (tensor.pixels) {  // the columns of a weight that reads (height, width, channels)
    const Image& image = *tensor.pixels;
    values = channels_first(values, image[0], image[1] * image[2]);
  }
  if (tensor.variance == nullptr) return values;
  const std::vector<float> variance = values_of({tensor.variance}, shape, layer, where);
  for (std::size_t c = 0; c < values.size(); ++c) {
    const double here = double{variance[c]} + tensor.epsilon;
    const double weft = double{variance[c]} + double{layers::BatchNorm2d::kEps};
    values[c] = static_cast<float>(values[c] * std::sqrt(weft / here));
    if (here > 0 && std::isfinite(values[c])) continue;
    refuse_node(*layer.node, where,
                str("channel ", c, " has a variance of ", variance[c], " and an epsilon of ",
                    tensor.epsilon, ": no float holds its weight over the root of their sum"));
  }
  return values;
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
      content.tensors.push_back(
          {layer->name() + "." + name, shape, values_of(*tensor++, shape, source, where)});
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

// The least and the largest number that a normalised pixel may be.
std::optional<std::pair<double, double>> written_bounds(const std::optional<ModelInfo>& written) {
  if (!written) return std::nullopt;
  double low = INFINITY, high = -INFINITY;
  for (std::size_t c = 0; c < written->mean.size(); ++c) {
    const double mean = double{written->mean[c]}, stddev = double{written->stddev[c]};
    low = std::min(low, -mean / stddev);
    high = std::max(high, (1 - mean) / stddev);
  }
  return std::pair(low, high);
}

// The only place that knows of pixels.
void set_pixels(OnnxModel& found, const OnnxInput& input, const OnnxImport& options,
                bool is_written, const std::string& where) {
  ModelInfo& info = found.model.info;
  PixelScale pixels = input.pixels.value_or(PixelScale{});
  auto source = input.pixels ? NormalisationSource::file : NormalisationSource::assumed;
  if (is_written) {
    pixels = {{info.mean.begin(), info.mean.end()}, {info.stddev.begin(), info.stddev.end()}};
    source = info.normalisation;
  }
  if (!options.mean.empty() || !options.stddev.empty()) {
    if (!is_written && (options.mean.empty() || options.stddev.empty())) {
      throw Error(ErrorKind::usage,
                  str(where, ": --mean and --stddev go together: the file has neither of them"));
    }
    if (!options.mean.empty()) pixels.mean = options.mean;
    if (!options.stddev.empty()) pixels.stddev = options.stddev;
    source = NormalisationSource::flags;
  }
  found.scale = input.scale;
  set_normalisation(info, pixels, input.scale, source, where);
  if (source == NormalisationSource::file) {
    found.notices.push_back(str("its first operators scale the image, and what they say is taken: ",
                                "pixels are read from 0 to ", pixels.stddev[0] < 1 ? 255 : 1));
  }
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

// One output of a file, with all that leads to it.
struct Part {
  Part(const onnx::ModelProto& file_, const std::string& where, int output,
       const std::optional<Image>& image, const std::optional<ModelInfo>& written)
      : file(std::make_unique<onnx::ModelProto>(
            simplified(file_, output, where, image, written_bounds(written)))),
        graph(*file, where),
        input(onnx_input(graph, image, written.has_value())),
        ending(ending_of(graph)),
        text(onnx_text(graph, input, ending)) {}

  std::unique_ptr<onnx::ModelProto> file;  // that the graph is of
  OnnxGraph graph;
  OnnxInput input;
  OnnxEnding ending;
  OnnxText text;
  NetworkOptions network = {};
  OutputMeaning meaning = {};
};

// What no operator of the file says, but a layer of Weft's needs.
void complete(Part& part, const std::string& where) {
  OnnxText& text = part.text;
  const onnx::NodeProto& last = *text.nodes.back();
  if (part.input.is_row_of_pixels) {
    const bool leads_to_linear = !text.layers.empty() && !text.begins_with_block &&
                                 text.layers.front().row->input == layers::LayerInput::rows;
    if (!leads_to_linear) {
      refuse_node(last, where, "its input has its channels last, and no linear layer reads them");
    }
    text.layers.front().tensors.front().pixels = part.input.image;
  }
  if (part.meaning.is_one_logit) {
    text.layers.push_back({.node = &last, .tensors = {{.values = {0, 1}}}});
  }
  text.definition += part.meaning.lines;
  for (const char c : part.meaning.lines) {
    if (c == '\n') text.nodes.push_back(&last);
  }
  part.network.definition = text.definition;
  part.network.classes = part.meaning.classes;
}

// Could it be a number for each class, by what the file says of it?
bool may_be_classes(const onnx::ValueInfoProto& output) {
  const auto& type = output.type().tensor_type();
  using onnx::TensorProto;
  constexpr int kReal[] = {0, TensorProto::FLOAT, TensorProto::FLOAT16, TensorProto::BFLOAT16};
  if (std::ranges::count(kReal, type.elem_type()) == 0) return false;
  if (!type.has_shape()) return true;
  const auto& shape = type.shape();
  const auto may_be_one = [&](int axis) {
    return !shape.dim(axis).has_dim_value() || shape.dim(axis).dim_value() == 1;
  };
  return shape.dim_size() == 2 || (shape.dim_size() == 4 && may_be_one(2) && may_be_one(3));
}

std::string names_of(const onnx::GraphProto& graph, int but) {
  std::string names;
  for (int i = 0; i < graph.output_size(); ++i) {
    if (i == but) continue;
    names += str(names.empty() ? "" : ", ", in_quotes(graph.output(i).name()));
  }
  return names;
}

// The outputs that are tried, in their order: the first of a file with very many of them.
std::vector<int> outputs_of(const onnx::GraphProto& graph, const std::string& wanted,
                            const std::string& where) {
  std::vector<int> outputs;
  for (int i = 0; i < graph.output_size(); ++i) {
    const onnx::ValueInfoProto& output = graph.output(i);
    if (wanted.empty() ? graph.output_size() == 1 || may_be_classes(output)
                       : output.name() == wanted) {
      outputs.push_back(i);
    }
  }
  if (outputs.empty() && !wanted.empty()) {
    throw Error(ErrorKind::usage, str(where, ": no output is named ", in_quotes(wanted),
                                      "; there are ", names_of(graph, -1)));
  }
  if (outputs.empty() && graph.output_size() > 1) {
    throw Error(ErrorKind::data,
                str(where, ": none of its outputs is a vector of classes: ", names_of(graph, -1)));
  }
  if (outputs.empty()) outputs.push_back(0);  // which is not there
  constexpr std::size_t kMostTried = 16;      // each is a graph of its own
  if (outputs.size() > kMostTried) outputs.resize(kMostTried);
  return outputs;
}

// The first output that is a vector of classes.
Part chosen_part(const onnx::ModelProto& file, const OnnxImport& options,
                 const std::optional<ModelInfo>& written, const std::string& name,
                 const std::string& where, std::vector<std::string>& notices) {
  const std::vector<int> outputs = outputs_of(file.graph(), options.output, where);
  std::optional<Image> image = options.input;
  if (written && !image) {
    image = {written->network.channels, written->network.height, written->network.width};
  }
  for (const int output : outputs) {
    Part part(file, where, output, image, written);
    part.network.name = name;
    part.network.definition = part.text.definition;
    part.network.channels = part.input.image[0];
    part.network.height = part.input.image[1];
    part.network.width = part.input.image[2];
    if (part.text.classes > 0) part.network.classes = part.text.classes;
    const Shape values = made_of(output_shape, part.network, part.text, where);
    if (part.text.row > 0 && part.text.row != values.elements()) {
      refuse_node(
          *part.text.nodes.back(), where,
          str("expected ", part.text.row, " values of each image, found ", to_string(values)));
    }
    const onnx::ValueInfoProto& info = file.graph().output(output);
    try {
      const bool has_one_class = written && written->network.classes == 1 && values == Shape{1};
      part.meaning = has_one_class
                         ? OutputMeaning{.classes = 1}
                         : meaning_of(part.ending.kind, values, options.class_names.size() == 2,
                                      str(where, ": its output ", in_quotes(info.name())));
    } catch (const Error&) {
      if (output != outputs.back()) continue;
      throw;
    }
    complete(part, where);
    if (file.graph().output_size() > 1) {
      notices.push_back(str("its output ", in_quotes(info.name()), " is read, and not ",
                            names_of(file.graph(), output), "; --output NAME takes another"));
    }
    for (const std::string& notice : {part.input.notice, part.meaning.notice}) {
      if (!notice.empty()) notices.push_back(notice);
    }
    return part;
  }
  throw Error(ErrorKind::data, str(where, ": holds no output"));  // one is always tried
}

}  // namespace

bool knows_onnx() {
  return true;
}

OnnxModel read_onnx(const fs::path& path, const OnnxImport& options) {
  const std::string where = path.string();
  const onnx::ModelProto file = read_onnx_file(path);
  const std::optional<ModelInfo> written = written_info(file, where);
  OnnxModel found;
  Part part = chosen_part(file, options, written, network_name(path), where, found.notices);
  found.softmax_dropped = part.ending.kind == OnnxEnding::Kind::softmax;
  Model& model = found.model;
  model.net = made_of(make_network, part.network, part.text, where);
  if (written) {
    model.info = *written;
    // The graph is what other programs run, so it decides. Where the text that the file was made
    // from says the same, that text is kept, with its comments and dropout.
    std::unique_ptr<layers::Sequential> net;
    try {
      net = make_network(written->network);
    } catch (const Error&) {
    }
    const bool same = net != nullptr && same_layers(*net, *model.net);
    if (same) model.net = std::move(net);
    if (!same) {
      model.info.network = part.network;
      model.info.ranges.clear();  // which are of the other network's layers
    }
  } else {
    model.info.network = part.network;
  }
  model.info.output = part.meaning.output;
  set_pixels(found, part.input, options, written.has_value(), where);
  set_classes(model.info, options, where);
  model_info_from_json(to_json(model.info), where);  // what is written can be read

  // Several layers may share a tensor, but not so many that they outgrow the file.
  const std::uint64_t values =
      static_cast<std::uint64_t>(model.net->parameter_count() + model.net->buffer_count());
  const std::uint64_t bytes = std::max(file.ByteSizeLong(), part.file->ByteSizeLong());
  if (values > bytes) {
    throw Error(ErrorKind::data,
                str(where, ": a network of ", values, " numbers in a file of ", bytes, " bytes"));
  }
  const SafeTensors content = content_of(*model.net, part.text, where);
  model.parameters = flat_values(content, "", *model.net, SliceKind::parameters, where);
  model.buffers = flat_values(content, "", *model.net, SliceKind::buffers, where);
  return found;
}

}  // namespace weft::models
