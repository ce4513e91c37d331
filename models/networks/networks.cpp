// SPDX-License-Identifier: MIT
#include "models/networks/networks.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "data/files/file_io.h"
#include "engine/names.h"
#include "engine/text.h"
#include "layers/flatten.h"
#include "models/networks/network_text.h"

namespace weft::models {

namespace {

// Images and class counts from files are limited before anything is sized by them, and so are
// networks.
constexpr std::int64_t kMaxSide = 1024, kMaxChannels = 1024;
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 32;  // 16 GiB of floats
constexpr std::int64_t kMaxActivation = std::int64_t{1} << 28;  // of one layer for one image
constexpr std::size_t kMaxName = 64;

// The files of models/networks, written down at build time.
constexpr std::pair<std::string_view, std::string_view> kFiles[] = {
#include "network_files.inc"
};

// Does not compile for a name without a file.
consteval std::string_view text_of(std::string_view name) {
  for (const auto& [stem, text] : kFiles) {
    if (stem == name) return text;
  }
  throw "models/networks has no file of this name";
}

constexpr std::array kNetworks = {
    NetworkInfo{"mlp", "784-512-512-10 with ReLU: three matrix products", text_of("mlp"), 5, 0.05f},
    NetworkInfo{"lenet5", "two 5x5 convolutions with ReLU and max pooling, three linear layers",
                text_of("lenet5"), 4, 0.05f},
    NetworkInfo{"lenet5-classic", "lenet5 as in 1998: sigmoid and average pooling",
                text_of("lenet5-classic"), 8, 0.3f, 0},
    NetworkInfo{"convnet",
                "two 3x3 convolutions (32 and 64 channels), one max pooling, two linear layers",
                text_of("convnet"), 3, 0.05f},
    NetworkInfo{"convnet-bn",
                "five convolutions (32 to 128 channels) with batch norm, one linear layer",
                text_of("convnet-bn"), 4, 0.05f},
    NetworkInfo{"resnet9",
                "eight convolutions (64 to 512 channels) with batch norm, two residual blocks",
                text_of("resnet9"), 4, 0.01f},
    NetworkInfo{"small-98", "869 parameters, for 98 % of MNIST (--recipe small-98)",
                text_of("small-98"), 60, 0.1f, 1e-5f},
    NetworkInfo{"small-99", "2,456 parameters, for 99 % of MNIST (--recipe small-99)",
                text_of("small-99"), 60, 0.1f, 1e-5f},
};
static_assert(std::size(kFiles) == kNetworks.size());

// Makes layers of lines, following the shape of the data through them.
class Builder {
 public:
  explicit Builder(const NetworkOptions& options)
      : options_(options),
        sample_{options.channels, options.height, options.width},
        input_{1, options.channels, options.height, options.width},
        shape_(input_) {}

  void add(const LayerLine& line) {
    const layers::LayerRow& row = *line.row;
    if (row.input == layers::LayerInput::rows && shape_.rank() > 2) {
      append(std::make_unique<layers::Flatten>(next_name("flatten")), "flatten");
    }
    layers::LayerSite site{next_name(row.stem), shape_, options_.classes, options_.dropout};
    if (row.closes_block) {
      const layers::Wires wires = wiring_.closing();
      site.input = made_by(wires.input);
      site.other = made_by(wires.other);
    }
    append(layers::make_layer(row, line.text, site), row.stem);
  }

  Shape shape() const { return Shape(shape_.extents().subspan(1)); }  // of one image

  std::unique_ptr<layers::Sequential> finish() {
    if (shape_ != Shape{1, options_.classes}) {
      throw Error(ErrorKind::data, str("expected ", options_.classes,
                                       " values behind the last layer, as many as classes, found ",
                                       Shape(shape_.extents().subspan(1))));
    }
    return std::make_unique<layers::Sequential>(sample_, std::move(layers_));
  }

 private:
  // "flatten" has no number as long as there is one.
  std::string next_name(std::string_view stem) const {
    const auto found = numbers_.find(stem);
    const int number = found == numbers_.end() ? 1 : found->second + 1;
    const bool bare = stem == "flatten" && number == 1;
    return bare ? std::string(stem) : str(stem, number);
  }

  void append(std::unique_ptr<layers::Layer> layer, std::string_view stem) {
    if (layer == nullptr) return;
    ++numbers_[std::string(stem)];
    const layers::Wires wires = wiring_.add(*layer);
    shape_ = made_by(wires.input);
    if (wires.other >= 0) check_block(*layer, wires);
    shape_ = layer->output_shape(shape_);
    shapes_.push_back(shape_);
    for (const layers::ParameterSpec& spec : layer->parameters()) {
      parameters_ += spec.shape.elements();
      if (spec.shape.elements() > kMaxParameters || parameters_ > kMaxParameters) {
        throw Error(ErrorKind::data, str("expected a network of at most ", kMaxParameters,
                                         " parameters, found more"));
      }
    }
    if (shape_.elements() > kMaxActivation) {
      throw Error(ErrorKind::data, str("expected a layer of at most ", kMaxActivation,
                                       " values for an image, found ", shape_.elements()));
    }
    layers_.push_back(std::move(layer));
  }

  const Shape& made_by(int layer) const {
    return layer < 0 ? input_ : shapes_[static_cast<std::size_t>(layer)];
  }

  void check_block(const layers::Layer& layer, const layers::Wires& wires) const {
    const Shape& other = made_by(wires.other);
    if (layer.other_shape(shape_) == other) return;
    const auto text = [](const Shape& shape) { return Shape(shape.extents().subspan(1)); };
    throw Error(ErrorKind::data,
                str("the residual block gives ", text(shape_), " and its shortcut ", text(other),
                    wires.has_shortcut() ? "" : "; shortcut { ... } may change the shape"));
  }

  const NetworkOptions& options_;
  Shape sample_, input_;
  Shape shape_;  // of what the last layer has made
  std::vector<std::unique_ptr<layers::Layer>> layers_;
  std::map<std::string, int, std::less<>>
      numbers_;  // of the layers so far, by the start of their names
  layers::Wiring wiring_;
  std::vector<Shape> shapes_;  // that the layers so far make
  std::int64_t parameters_ = 0;
};

// The name goes into names of folders, messages and files.
void check_name(const NetworkOptions& options) {
  const bool plain = std::ranges::all_of(options.name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && options.name.size() <= kMaxName && is_network_file(options.name)) return;
  throw Error(ErrorKind::usage,
              str("expected a network's file to be named NAME.net, of at most ", kMaxName,
                  " letters, digits and . _ -, found ", in_quotes(options.name)));
}

void check(const NetworkOptions& options) {
  if (!options.definition.empty()) check_name(options);
  const auto within = [](std::int64_t value, std::int64_t limit) {
    return value >= 1 && value <= limit;
  };
  if (!within(options.height, kMaxSide) || !within(options.width, kMaxSide)) {
    throw Error(ErrorKind::usage, str("a network expects images of 1x1 to ", kMaxSide, "x",
                                      kMaxSide, ", found ", options.height, "x", options.width));
  }
  if (!within(options.channels, kMaxChannels)) {
    throw Error(ErrorKind::usage, str("a network expects 1 to ", kMaxChannels, " channels, found ",
                                      options.channels));
  }
  if (!within(options.classes, kMaxClasses)) {
    throw Error(ErrorKind::usage,
                str("a network expects 1 to ", kMaxClasses, " classes, found ", options.classes));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw Error(ErrorKind::usage, str("dropout expects 0 <= p < 1, found ", options.dropout));
  }
}

// What stands in front of the line in a message.
std::string where_of(const NetworkOptions& options) {
  return options.definition.empty() ? options.name + ".net" : options.name;
}

bool has_rate(const std::vector<LayerLine>& lines) {
  return std::ranges::any_of(lines, [](const LayerLine& line) { return line.text.takes_dropout; });
}

}  // namespace

std::span<const NetworkInfo> networks() {
  return kNetworks;
}

const NetworkInfo& network_named(std::string_view name) {
  return row_named(kNetworks, "network", name);
}

bool is_network_file(std::string_view name) {
  return name.ends_with(".net");
}

NetworkOptions read_network(const std::filesystem::path& file) {
  const data::InputFile input(file);
  if (input.size() > kMostNetworkBytes) {
    throw Error(ErrorKind::data, str(file.string(), ":1:1: expected at most ", kMostNetworkBytes,
                                     " bytes, found ", input.size()));
  }
  NetworkOptions options;
  options.name = file.filename().string();
  std::string text(input.size(), '\0');
  input.read(std::as_writable_bytes(std::span(text)), 0);
  options.definition = without_byte_order_mark(text);
  parse_network(options.definition, file.string());
  check_name(options);
  return options;
}

std::string_view definition_of(const NetworkOptions& options) {
  return options.definition.empty() ? network_named(options.name).definition
                                    : std::string_view(options.definition);
}

bool takes_dropout(const NetworkOptions& options) {
  return has_rate(parse_network(definition_of(options), where_of(options)));
}

namespace {

// What `finish` makes of the layers of a network.
template <class Finish>
auto built(const NetworkOptions& options, Finish finish) {
  const std::string_view text = definition_of(options);
  check(options);
  const std::string where = where_of(options);
  const std::vector<LayerLine> lines = parse_network(text, where);
  if (options.dropout > 0 && !has_rate(lines)) {
    throw Error(ErrorKind::usage,
                str("network '", options.name, "' has no dropout with a rate; convnet has"));
  }
  Builder net(options);
  const LayerLine* at = nullptr;
  try {
    for (const LayerLine& line : lines) {
      at = &line;
      net.add(line);
    }
    return finish(net);
  } catch (const Error& error) {
    throw Error(options.definition.empty() ? ErrorKind::usage : ErrorKind::data,
                str(where, ":", at->line, ":", at->column, ": ", error.what()));
  }
}

}  // namespace

std::unique_ptr<layers::Sequential> make_network(const NetworkOptions& options) {
  return built(options, [](Builder& net) { return net.finish(); });
}

Shape output_shape(const NetworkOptions& options) {
  return built(options, [](const Builder& net) { return net.shape(); });
}

}  // namespace weft::models
