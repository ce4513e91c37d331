// SPDX-License-Identifier: MIT
#include "examples/weft/export/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/files/sha256.h"
#include "engine/error.h"
#include "engine/text.h"
#include "examples/weft/input/picture_model.h"
#include "examples/weft/output/results.h"
#include "examples/weft/page/parts.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;
using layers::Layer;

// 256 MiB, and a third more as text: browsers have strings of half a GiB.
constexpr std::int64_t kMostValues = std::int64_t{1} << 26;

// Has the page this operator? The last table of operators.js has a line for each.
bool is_known(const std::string& type) {
  return std::string_view(kExportJs).find(fmt::format("\n  {}: ", type)) != std::string_view::npos;
}

// The nodes that layers say (layers/registry/onnx_operator.h), one after the other. Value 0 is the
// input of the network, and value i + 1 what node i makes.
class Nodes {
 public:
  explicit Nodes(const layers::Sequential& net) : net_(net), shapes_(net.output_shapes(1)) {
    for (std::size_t i = 0; i < net.layers().size(); ++i) add(*net.layers()[i], net.wires()[i]);
  }

  const Json& json() const { return nodes_; }
  std::size_t output() const { return made_.empty() ? 0 : made_.back(); }

 private:
  std::size_t value_of(int layer) const {
    return layer < 0 ? 0 : made_[static_cast<std::size_t>(layer)];
  }

  // Its number among the slices.
  std::size_t tensor(const Layer& layer, const std::string& name) const {
    const auto found =
        std::ranges::find(net_.slices(), layer.name() + "." + name, &layers::NamedSlice::name);
    return static_cast<std::size_t>(found - net_.slices().begin());
  }

  Json input_json(const layers::OnnxInput& input, const Layer& layer, std::size_t from,
                  std::size_t first) const {
    using Kind = layers::OnnxInput::Kind;
    if (input.kind == Kind::data) return {"value", from};
    if (input.kind == Kind::node) return {"value", first + static_cast<std::size_t>(input.index)};
    if (input.kind == Kind::tensor) return {"tensor", tensor(layer, input.name)};
    if (input.kind == Kind::number) return {"number", input.value};
    return {"numbers", input.integers};
  }

  // `first`: the value of the first node in front of the layer's last one.
  Json& add_node(const layers::OnnxNode& said, const Layer& layer, std::size_t from,
                 std::size_t first) {
    if (!is_known(said.type)) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: a page of HTML cannot compute {}, whose operator is {}",
                              printable(layer.name()), layer.describe(), said.type));
    }
    Json node = {{"type", said.type}, {"attributes", Json::object()}, {"inputs", Json::array()}};
    for (const auto& [name, value] : said.attributes) {
      std::visit([&, &key = name](const auto& one) { node["attributes"][key] = one; }, value);
    }
    for (const layers::OnnxInput& input : said.inputs) {
      node["inputs"].push_back(input_json(input, layer, from, first));
    }
    if (said.inputs.empty()) node["inputs"].push_back({"value", from});
    nodes_.push_back(std::move(node));
    return nodes_.back();
  }

  void add(const Layer& layer, const layers::Wires& wires) {
    const bool is_first = wires.input < 0;
    const layers::OnnxNode said =
        layer.onnx(is_first ? net_.input_shape(1) : shapes_[static_cast<std::size_t>(wires.input)]);
    const std::size_t from = value_of(wires.input), first = nodes_.size() + 1;
    if (said.type.empty()) {
      made_.push_back(from);
      return;
    }
    for (const layers::OnnxNode& before : said.before) add_node(before, layer, from, first);
    Json& inputs = add_node(said, layer, from, first)["inputs"];
    if (said.inputs.empty()) {
      for (const auto& one : layer.parameters()) {
        inputs.push_back({"tensor", tensor(layer, one.name)});
      }
      for (const auto& one : layer.buffers()) {
        inputs.push_back({"tensor", tensor(layer, one.name)});
      }
    }
    if (wires.other >= 0) inputs.push_back({"value", value_of(wires.other)});
    made_.push_back(nodes_.size());
  }

  const layers::Sequential& net_;
  std::vector<Shape> shapes_;  // of each layer's output
  Json nodes_ = Json::array();
  std::vector<std::size_t> made_;  // by each layer: the number of a value
};

Json tensors_json(const models::Model& model) {
  Json tensors = Json::array();
  for (const layers::NamedSlice& slice : model.net->slices()) {
    const auto extents = slice.shape.extents();
    const float* values =
        (slice.trainable ? model.parameters : model.buffers).data() + slice.offset;
    const auto bytes = static_cast<std::size_t>(slice.shape.elements()) * sizeof(float);
    tensors.push_back({{"shape", std::vector(extents.begin(), extents.end())},
                       {"values", base64({reinterpret_cast<const std::uint8_t*>(values), bytes})}});
  }
  return tensors;
}

// What operators.js, prepare.js and page.js read.
Json network_json(const models::Model& model, const std::string& notice) {
  const models::ModelInfo& info = model.info;
  const models::Calibration& calibration = info.calibration;
  const Nodes nodes(*model.net);
  Json json = {{"network", printable(info.network.name)},
               {"dataset", printable(info.dataset)},
               {"parameters", model.net->parameter_count()},
               {"notice", printable(notice)},
               {"channels", info.network.channels},
               {"height", info.network.height},
               {"width", info.network.width},
               {"classes", Classes(info.class_names).shown().names},
               {"mean", info.mean},
               {"stddev", info.stddev},
               {"whole", takes_whole_pictures(info)},
               {"ink", looks_for_ink(info)},
               {"fit", data::name_of(info.fit)},
               {"logistic", info.output == models::Output::sigmoid},
               {"calibration", {{"temperature", calibration.temperature}}},
               {"nodes", nodes.json()},
               {"output", nodes.output()},
               {"tensors", tensors_json(model)}};
  Json& doubt = json["calibration"];
  const bool has_threshold = std::isfinite(calibration.threshold);
  doubt["threshold"] = has_threshold ? Json(calibration.threshold) : Json();
  if (calibration.certainty) doubt["certainty"] = *calibration.certainty;
  return json;
}

}  // namespace

std::string model_page(const models::Model& model, const std::string& notice) {
  const std::int64_t values = model.net->parameter_count() + model.net->buffer_count();
  if (values > kMostValues) {
    throw Error(ErrorKind::usage,
                fmt::format("a page of HTML holds {} weights at most, and {} has {}", kMostValues,
                            printable(model.info.network.name), values));
  }
  const std::string script = std::string(kPageJs) + kExportJs,
                    title = html_text(model.info.network.name),
                    network = json_in_html(json_text(network_json(model, notice)));
  const data::Digest digest =
      data::sha256({reinterpret_cast<const std::uint8_t*>(script.data()), script.size()});
  const std::string policy = policy_element("'sha256-" + base64(digest) + "'");
  const Part parts[] = {{"policy", policy},  {"title", title},  {"icon", kPageIcon},
                        {"style", kPageCss}, {"top", kPageTop}, {"network", network},
                        {"script", script}};
  return filled(kExportHtml, parts);
}

}  // namespace weft::cli
