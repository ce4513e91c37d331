// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "models/onnx/simplify/fuse.h"
#include "models/onnx/simplify/neighbours.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;
using Numbers = std::vector<std::int64_t>;

std::optional<Numbers> pads_of(const NodeProto& node, Graph& graph) {
  const Attributes attributes(node, graph.where);
  if (auto pads = attributes.integers("pads")) return pads;
  if (node.input_size() < 2) return std::nullopt;
  const std::optional<Array> found = graph.array(node.input(1));
  if (!found || found->is_real() || !all_numbers(found->integers)) return std::nullopt;
  Numbers pads;
  for (const Extent& pad : found->integers) pads.push_back(pad.value);
  return pads;
}

// What a Pad writes around the image; nothing where it is no constant.
std::optional<float> value_of(const NodeProto& node, Graph& graph) {
  const Attributes attributes(node, graph.where);
  attributes.require_only({"mode", "pads", "value"});
  if (attributes.text("mode", "constant") != "constant" || node.input_size() > 3) {
    return std::nullopt;
  }
  if (node.input_size() < 3 || node.input(2).empty()) return attributes.real("value", 0);
  const std::optional<Array> value = graph.array(node.input(2));
  if (!value || !value->is_real() || value->count() != 1) return std::nullopt;
  return value->reals[0];
}

bool is_never_negative(const NodeProto* node) {
  return node != nullptr && (node->op_type() == "Relu" || node->op_type() == "Sigmoid");
}

// Can the windows of this node take zeros as padding of their own? `from` makes what is padded.
bool takes_padding(NodeProto& node, const NodeProto* from, float value, const Graph& graph) {
  const Attributes attributes(node, graph.where);
  const std::string& type = node.op_type();
  const auto own = attributes.integers("pads").value_or(Numbers(4, 0));
  const std::string automatic = attributes.text("auto_pad", "NOTSET");
  if (own.size() != 4 || (automatic != "NOTSET" && automatic != "VALID")) return false;
  if (type == "Conv") return value == 0;
  if (attributes.integer("ceil_mode", 0) != 0) return false;
  const bool has_own = std::ranges::any_of(own, [](std::int64_t pad) { return pad != 0; });
  if (type == "MaxPool") {  // whose own padding is never the largest
    const bool is_never_largest = value < -std::numeric_limits<float>::max() / 2;
    return is_never_largest || (value == 0 && is_never_negative(from));
  }
  if (type != "AveragePool" || value != 0) return false;
  if (has_own && attributes.integer("count_include_pad", 0) != 1) return false;
  set_integer(node, "count_include_pad", 1);
  return true;
}

bool fuse_pad(NodeProto& pad, Neighbours& neighbours, Graph& graph) {
  NodeProto* reader = neighbours.only_reader(pad.output(0));
  if (pad.input_size() == 0 || reader == nullptr || reader->input(0) != pad.output(0)) return false;
  const std::optional<Numbers> around = pads_of(pad, graph);
  const std::optional<float> value = value_of(pad, graph);
  constexpr std::int64_t kMost = 1 << 20;
  if (!around || !value || around->size() != 8) return false;
  for (std::size_t i = 0; i < 8; ++i) {
    const bool is_plane = i % 4 >= 2;
    if ((*around)[i] < 0 || (*around)[i] > (is_plane ? kMost : 0)) return false;
  }
  if (!takes_padding(*reader, neighbours.maker(pad.input(0)), *value, graph)) return false;
  Numbers pads = Attributes(*reader, graph.where).integers("pads").value_or(Numbers(4, 0));
  const Numbers more = {(*around)[2], (*around)[3], (*around)[6], (*around)[7]};
  for (std::size_t i = 0; i < 4; ++i) {
    if (pads[i] < 0 || pads[i] > kMost) return false;
    pads[i] += more[i];
  }
  set_integers(*reader, "pads", pads);
  remove_attribute(*reader, "auto_pad");
  neighbours.drop_before_reader(pad, pad.input(0));
  return true;
}

}  // namespace

void fuse_pads(Graph& graph) {
  Neighbours neighbours(graph);
  for (NodeProto& node : graph.nodes) {
    if (node.op_type() == "Pad") fuse_pad(node, neighbours, graph);
  }
  neighbours.forget_dropped();
}

}  // namespace weft::models::simplify
