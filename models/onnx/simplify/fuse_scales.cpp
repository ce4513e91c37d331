// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/text.h"
#include "models/onnx/graph.h"
#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/fuse.h"
#include "models/onnx/simplify/neighbours.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;

// y = x * factor + offset, each with a number for each channel or one for all.
struct Scale {
  std::string value;  // x
  std::vector<double> factor = {1}, offset = {0};

  bool fits(std::int64_t channels) const {
    const auto is_one_or = [&](const auto& numbers) {
      return numbers.size() == 1 || std::ssize(numbers) == channels;
    };
    return is_one_or(factor) && is_one_or(offset);
  }
  bool is_one_number() const { return factor.size() == 1 && offset.size() == 1; }
  double factor_of(std::size_t c) const { return factor.size() == 1 ? factor[0] : factor[c]; }
  double offset_of(std::size_t c) const { return offset.size() == 1 ? offset[0] : offset[c]; }
  bool only_adds() const {
    return std::ranges::all_of(factor, [](double number) { return number == 1; });
  }
  bool may_normalise() const {  // an image: its pixels keep their order
    return std::ranges::all_of(factor, [](double number) { return number > 0; });
  }
  bool only_scales() const {
    return std::ranges::all_of(offset, [](double number) { return number == 0; });
  }
};

// The weight and the bias of a layer with them.
struct Weights {
  Array weight;
  std::vector<double> bias;
  bool has_bias = false, is_transposed = false;  // (outputs, inputs)
  std::int64_t outputs = 0;

  // The output that a value of the weight leads to, and the input that it comes from.
  std::size_t output_of(std::size_t at) const {
    const auto count = static_cast<std::size_t>(outputs);
    return is_transposed ? at / (weight.reals.size() / count) : at % count;
  }
  std::size_t input_of(std::size_t at) const {
    const auto count = static_cast<std::size_t>(outputs);
    return is_transposed ? at % (weight.reals.size() / count) : at / count;
  }
};

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), neighbours_(graph) {}

  void fuse() {
    for (NodeProto& node : graph_.nodes) {
      if (const std::optional<Scale> scale = scale_of(node)) fuse_backwards(node, *scale);
    }
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {  // the last of several comes first
      fuse_forwards(graph_.nodes[i]);
    }
    neighbours_.forget_dropped();
  }

 private:
  const Extents* extents_of(const std::string& name) const {
    const auto found = graph_.extents.find(name);
    return found == graph_.extents.end() ? nullptr : &found->second;
  }

  std::size_t rank_of(const std::string& name) const {
    const Extents* extents = extents_of(name);
    return extents == nullptr ? 0 : extents->size();
  }

  // The reader of the input takes the scale of its channels, and one number for all of a row.
  void fuse_backwards(NodeProto& node, const Scale& scale) {
    if (neighbours_.is_input(scale.value)) return;
    if (scale.is_one_number() && move_to_input(node, scale)) return;
    if (fuse_with_maker(node, scale)) return;
    NodeProto* linear = linear_behind(node.output(0));
    const bool goes_on = linear != nullptr && weights_of(*linear).has_value();
    if (rank_of(scale.value) == 4 && !goes_on) write_norm(node, scale);
  }

  void fuse_forwards(NodeProto& node) {
    const std::optional<Scale> scale = scale_of(node);
    if (scale && neighbours_.is_input(scale->value) && scale->may_normalise()) {
      if (scale->is_one_number() || rank_of(scale->value) == 4) return;
    }
    if (scale && rank_of(scale->value) == 2) {
      fuse_with_reader(node, *scale);
    } else if (const std::optional<Scale> each = scale_of(node, true)) {
      fuse_with_reader(node, *each);
    }
  }

  // ---- What a node does to channels.

  // `of_each`: with numbers for each value of an image instead, in the order of a Flatten.
  std::optional<Scale> scale_of(const NodeProto& node, bool of_each = false) {
    const std::string& type = node.op_type();  // none of a node that was dropped
    const bool is_known = type == "Add" || type == "Sub" || type == "Mul" || type == "Div";
    if (!is_known || node.input_size() != 2 || node.attribute_size() > 0) return std::nullopt;
    const int at = graph_.constants.contains(node.input(1)) ? 1 : 0;
    if (graph_.constants.contains(node.input(1 - at))) return std::nullopt;
    std::optional<Array> array = graph_.array(node.input(at));
    if (!array || !array->is_real() || (type == "Div" && at == 0)) return std::nullopt;
    Scale scale{.value = node.input(1 - at)};
    if (of_each) array = of_each_value(*array, scale.value);
    if (!array || !(of_each || is_of_channels(*array, scale.value))) return std::nullopt;
    std::vector<double> numbers(array->reals.begin(), array->reals.end());
    if (type == "Mul") scale.factor = numbers;
    if (type == "Div") {
      for (double& number : numbers) number = 1 / number;
      scale.factor = numbers;
    }
    if (type == "Sub" && at == 0) scale.factor = {-1};
    if (type == "Sub" && at == 1) {
      for (double& number : numbers) number = -number;
    }
    if (type == "Add" || type == "Sub") scale.offset = numbers;
    return scale;
  }

  bool is_of_channels(const Array& array, const std::string& value) const {
    const std::size_t rank = rank_of(value);
    if (array.count() == 1) return array.extents.size() <= rank;
    const std::size_t own = array.extents.size();
    if (rank < 2 || own > rank || own + 1 < rank) return false;
    return array.extents[own - (rank - 1)] == array.count();
  }

  // A constant as one number for each value of an image.
  std::optional<Array> of_each_value(Array array, const std::string& value) {
    const Extents* extents = extents_of(value);
    if (extents == nullptr || extents->size() < 3) return std::nullopt;
    std::vector<std::int64_t> image;
    for (std::size_t i = 1; i < extents->size(); ++i) {
      if (!(*extents)[i].is_number()) return std::nullopt;
      image.push_back((*extents)[i].value);
    }
    while (array.extents.size() > image.size() && array.extents.front() == 1) {
      array.extents.erase(array.extents.begin());
    }
    if (broadcast(image, array.extents) != image) return std::nullopt;
    graph_.spend(static_cast<std::uint64_t>(*count_of(image)) * 12);
    return broadcast_to(array, image);
  }

  // ---- Layers that take it.

  std::optional<Weights> weights_of(const NodeProto& node) {
    const std::string& type = node.op_type();
    const bool is_gemm = type == "Gemm", is_conv = type == "Conv";
    if (!is_gemm && !is_conv && type != "MatMul") return std::nullopt;
    if (type == "MatMul" && rank_of(node.input(0)) != 2) return std::nullopt;
    if (node.input_size() < 2) return std::nullopt;
    const Attributes attributes(node, graph_.where);
    const bool is_plain = attributes.real("alpha", 1) == 1 && attributes.real("beta", 1) == 1 &&
                          attributes.integer("transA", 0) == 0;
    std::optional<Array> weight = graph_.array(node.input(1));
    if (!weight || !weight->is_real() || weight->count() == 0 || !is_plain) return std::nullopt;
    if (weight->extents.size() != (is_conv ? 4u : 2u)) return std::nullopt;
    Weights found;
    found.is_transposed = is_conv || (is_gemm && attributes.integer("transB", 0) != 0);
    found.outputs = weight->extents[found.is_transposed ? 0 : 1];
    found.bias.assign(static_cast<std::size_t>(found.outputs), 0);
    found.has_bias = node.input_size() > 2 && !node.input(2).empty();
    if (found.has_bias) {
      const std::optional<Array> bias = graph_.array(node.input(2));
      const bool fits =
          bias && bias->is_real() && bias->extents.size() == 1 && bias->count() == found.outputs;
      if (!fits) return std::nullopt;
      found.bias.assign(bias->reals.begin(), bias->reals.end());
    }
    found.weight = std::move(*weight);
    return found;
  }

  void write_weights(NodeProto& node, const Weights& weights, bool writes_weight) {
    if (writes_weight) node.set_input(1, graph_.add(weights.weight, node.input(1)));
    if (node.op_type() == "MatMul") node.set_op_type("Gemm");
    Array bias{.extents = {weights.outputs}};
    for (const double value : weights.bias) bias.reals.push_back(static_cast<float>(value));
    while (node.input_size() < 3) node.add_input();
    node.set_input(2, graph_.add(bias, node.output(0) + "/bias"));
  }

  bool fuse_with_maker(NodeProto& node, const Scale& scale) {
    NodeProto* maker = neighbours_.maker(scale.value);
    if (maker == nullptr || neighbours_.only_reader(scale.value) != &node) return false;
    if (maker->op_type() == "BatchNormalization") return fuse_with_norm(*maker, node, scale);
    std::optional<Weights> weights = weights_of(*maker);
    if (!weights || !scale.fits(weights->outputs)) return false;
    if (!scale.only_adds()) {
      for (std::size_t i = 0; i < weights->weight.reals.size(); ++i) {
        float& value = weights->weight.reals[i];
        value = static_cast<float>(value * scale.factor_of(weights->output_of(i)));
      }
    }
    for (std::size_t o = 0; o < weights->bias.size(); ++o) {
      weights->bias[o] = weights->bias[o] * scale.factor_of(o) + scale.offset_of(o);
    }
    if (weights->has_bias || !scale.only_scales()) {
      write_weights(*maker, *weights, !scale.only_adds());
    } else {
      maker->set_input(1, graph_.add(weights->weight, maker->input(1)));
    }
    neighbours_.drop_behind_maker(node, scale.value);
    return true;
  }

  bool fuse_with_norm(NodeProto& norm, NodeProto& node, const Scale& scale) {
    std::optional<Array> weight = graph_.array(norm.input(1)), bias = graph_.array(norm.input(2));
    if (!weight || !bias || !weight->is_real() || !bias->is_real() ||
        weight->count() != bias->count() || !scale.fits(weight->count())) {
      return false;
    }
    for (std::size_t c = 0; c < weight->reals.size(); ++c) {
      weight->reals[c] = static_cast<float>(weight->reals[c] * scale.factor_of(c));
      bias->reals[c] = static_cast<float>(bias->reals[c] * scale.factor_of(c) + scale.offset_of(c));
    }
    norm.set_input(1, graph_.add(*weight, norm.input(1)));
    norm.set_input(2, graph_.add(*bias, norm.input(2)));
    neighbours_.drop_behind_maker(node, scale.value);
    return true;
  }

  // The linear layer that alone reads a value, also behind a Flatten or a Dropout.
  NodeProto* linear_behind(const std::string& row) const {
    std::string value = row;
    NodeProto* reader = neighbours_.only_reader(value);
    while (reader != nullptr && (reader->op_type() == "Dropout" || is_flatten(*reader))) {
      value = reader->output(0);
      reader = neighbours_.only_reader(value);
    }
    return reader != nullptr && reader->input(0) == value && reader->op_type() != "Conv" ? reader
                                                                                         : nullptr;
  }

  bool is_flatten(const NodeProto& node) const {
    return node.op_type() == "Flatten" && Attributes(node, graph_.where).integer("axis", 1) == 1;
  }

  bool fuse_with_reader(NodeProto& node, const Scale& scale) {
    NodeProto* linear = linear_behind(node.output(0));
    std::optional<Weights> weights = linear == nullptr ? std::nullopt : weights_of(*linear);
    if (!weights || !scale.fits(weights->weight.count() / weights->outputs)) return false;
    for (std::size_t i = 0; i < weights->weight.reals.size(); ++i) {
      float& value = weights->weight.reals[i];
      const std::size_t input = weights->input_of(i);
      weights->bias[weights->output_of(i)] += double{value} * scale.offset_of(input);
      value = static_cast<float>(value * scale.factor_of(input));
    }
    if (weights->has_bias || !scale.only_scales()) {
      write_weights(*linear, *weights, true);
    } else {
      linear->set_input(1, graph_.add(weights->weight, linear->input(1)));
    }
    neighbours_.drop_before_reader(node, scale.value);
    return true;
  }

  // A row of the input that one number scales is as well a row of the scaled input.
  bool move_to_input(NodeProto& node, const Scale& scale) {
    NodeProto* flatten = neighbours_.maker(scale.value);
    const bool is_row = flatten != nullptr && flatten->op_type() == "Flatten" &&
                        flatten->input_size() == 1 && neighbours_.is_input(flatten->input(0)) &&
                        neighbours_.only_reader(scale.value) == &node;
    if (!is_row) return false;
    neighbours_.swap_with_maker(node, *flatten);
    return true;
  }

  // A batch normalisation with a mean of 0 and a variance of 1.
  void write_norm(NodeProto& node, const Scale& scale) {
    const Extents& extents = *extents_of(scale.value);
    constexpr std::int64_t kMostChannels = 1 << 20;
    if (!extents[1].is_number() || extents[1].value > kMostChannels) return;
    const std::int64_t channels = extents[1].value;
    if (!scale.fits(channels)) return;
    std::vector<Array> arrays(4, Array{.extents = {channels}});
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
      arrays[0].reals.push_back(static_cast<float>(scale.factor_of(c)));
      arrays[1].reals.push_back(static_cast<float>(scale.offset_of(c)));
      arrays[2].reals.push_back(0);
      arrays[3].reals.push_back(1);
    }
    node.set_op_type("BatchNormalization");
    node.clear_input();
    node.add_input(scale.value);
    for (const Array& array : arrays) node.add_input(graph_.add(array, node.output(0) + "/norm"));
    onnx::AttributeProto& epsilon = *node.add_attribute();
    epsilon.set_name("epsilon");
    epsilon.set_type(onnx::AttributeProto::FLOAT);
    epsilon.set_f(0);
  }

  Graph& graph_;
  Neighbours neighbours_;
};

}  // namespace

void fuse_scales(Graph& graph) {
  Fuser(graph).fuse();
}

}  // namespace weft::models::simplify
