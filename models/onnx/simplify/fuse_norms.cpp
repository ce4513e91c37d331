// SPDX-License-Identifier: MIT
// Normalisations that their operator set lacks are written as several nodes. They become one again:
//
//   - PyTorch's GroupNorm is an InstanceNormalization between two Reshapes, to (N, G, rest) and
//     back.
//   - A layer norm is (x - mean) / sqrt(variance + epsilon), in ReduceMean, Sub, Pow, Add, Sqrt and
//     Div (decomposed.cpp). The mean is that of all values, or of each channel. The values of an
//     image may be a row meanwhile.
//   - Mul, Add, Sub and Div of constants behind a normalisation go into its tensors.
#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "models/onnx/graph.h"
#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/fuse.h"
#include "models/onnx/simplify/neighbours.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;
using Numbers = std::vector<std::int64_t>;

std::string text_of(const Numbers& axes) {
  std::string text;
  for (const std::int64_t axis : axes) text += str(text.empty() ? "" : ", ", axis);
  return text;
}

constexpr std::int64_t kLayerAxis = 1;  // all behind the batch

class Norms {
 public:
  explicit Norms(Graph& graph) : graph_(graph), neighbours_(graph) {}

  void fuse() {
    for (NodeProto& node : graph_.nodes) {
      if (write_group(node) || write_decomposed(node)) continue;
      if (node.op_type() == "MeanVarianceNormalization") write_mean_variance(node);
      if (node.op_type() == "GroupNormalization") write_tensors_of_channels(node);
      if (node.op_type() == "LayerNormalization") write_plainly(node);
    }
    for (NodeProto& node : graph_.nodes) {
      while (absorb(node)) {
      }
    }
    for (NodeProto& node : graph_.nodes) write_as_image(node);
    neighbours_.forget_dropped();
  }

 private:
  const Extents* extents_of(const std::string& name) const {
    const auto found = graph_.extents.find(name);
    return found == graph_.extents.end() ? nullptr : &found->second;
  }
  // The extents of an image behind the batch.
  std::optional<Numbers> image_of(const std::string& value) const {
    const Extents* extents = extents_of(value);
    if (extents == nullptr || (extents->size() != 2 && extents->size() != 4)) return std::nullopt;
    Numbers image;
    for (std::size_t i = 1; i < extents->size(); ++i) {
      if (!(*extents)[i].is_number()) return std::nullopt;
      image.push_back((*extents)[i].value);
    }
    return image;
  }

  // ---- PyTorch's GroupNorm.

  // The last Reshape becomes the normalisation.
  bool write_group(NodeProto& node) {
    if (node.op_type() != "Reshape" || node.input_size() != 2) return false;
    const NodeProto* norm = neighbours_.made_by(node.input(0), "InstanceNormalization", 3);
    const NodeProto* split =
        norm == nullptr ? nullptr : neighbours_.made_by(norm->input(0), "Reshape", 2);
    if (split == nullptr) return false;
    const std::string x = split->input(0);
    const Extents *from = extents_of(x), *between = extents_of(split->output(0));
    const Extents* to = extents_of(node.output(0));
    const std::optional<Numbers> image = image_of(x);
    const bool fits = from != nullptr && to != nullptr && between != nullptr && image &&
                      image->size() == 3 && same(*from, *to) && between->size() >= 3 &&
                      same((*between)[0], (*from)[0]) && (*between)[1].is_number();
    if (!fits) return false;
    const std::int64_t channels = image->front(), groups = (*between)[1].value;
    if (groups < 1 || channels % groups != 0) return false;
    const float epsilon = Attributes(*norm, graph_.where).real("epsilon", 1e-5f);
    Attributes(*norm, graph_.where).require_only({"epsilon"});
    NodeProto made = norm_of(groups == channels ? "InstanceNormalization" : "GroupNormalization",
                             node, x, epsilon);
    if (groups != channels) set_integer(made, "num_groups", groups);
    for (int i = 1; i < 3; ++i) {
      const std::optional<Array> of_group = graph_.array(norm->input(i));
      if (!of_group || !of_group->is_real() || of_group->count() != groups) return false;
      made.add_input(graph_.add(repeated(*of_group, channels), norm->input(i)));
    }
    node = std::move(made);
    return true;
  }

  // A number for each group as one for each channel.
  Array repeated(const Array& of_group, std::int64_t channels) {
    graph_.spend(static_cast<std::uint64_t>(channels) * 4);
    Array made{.extents = {channels}};
    const auto each = static_cast<std::size_t>(channels / of_group.count());
    for (const float value : of_group.reals) made.reals.insert(made.reals.end(), each, value);
    return made;
  }

  // Before set 21 it had a scale and a bias for each group.
  void write_tensors_of_channels(NodeProto& node) {
    constexpr std::int64_t kOpsetOfChannels = 21;
    const std::optional<Numbers> image = image_of(node.input(0));
    if (graph_.opset >= kOpsetOfChannels || node.input_size() != 3 || !image) return;
    const std::int64_t channels = image->front();
    const std::int64_t groups = Attributes(node, graph_.where).integer("num_groups", 0);
    if (groups < 1 || channels % groups != 0) return;
    for (int i = 1; i < 3; ++i) {
      const std::optional<Array> of_group = graph_.array(node.input(i));
      if (!of_group || !of_group->is_real() || of_group->count() != groups) return;
      node.set_input(i, graph_.add(repeated(*of_group, channels), node.input(i)));
    }
  }

  // A LayerNormalization with a bias, and with the axis 1 where it begins there.
  void write_plainly(NodeProto& node) {
    const std::optional<Array> scale =
        node.input_size() > 1 ? graph_.array(node.input(1)) : std::nullopt;
    const Extents* extents = extents_of(node.input(0));
    const std::int64_t said = Attributes(node, graph_.where).integer("axis", -1);
    if (extents != nullptr && axis_of(said, extents->size()) == std::size_t{kLayerAxis}) {
      remove_attribute(node, "axis");
      set_integer(node, "axis", kLayerAxis);
    }
    if (!scale || !scale->is_real() || (node.input_size() > 2 && !node.input(2).empty())) return;
    while (node.input_size() < 3) node.add_input();
    node.set_input(2, constant(scale->extents, 0, node));
  }

  // A row of an image's values that is normalised, and is the image again behind that: the Reshape
  // becomes the normalisation of the image.
  void write_as_image(NodeProto& node) {
    if (node.op_type() != "Reshape" || node.input_size() == 0) return;
    const NodeProto* norm = neighbours_.made_by(node.input(0), "LayerNormalization", 3);
    const NodeProto* row = norm == nullptr ? nullptr : neighbours_.maker(norm->input(0));
    const bool is_row =
        row != nullptr && (row->op_type() == "Flatten" || row->op_type() == "Reshape");
    const Extents* from = is_row ? extents_of(row->input(0)) : nullptr;
    const Extents* to = extents_of(node.output(0));
    if (from == nullptr || to == nullptr || !same(*from, *to)) return;
    const std::optional<Numbers> image = image_of(row->input(0));
    if (!image || Attributes(*norm, graph_.where).integer("axis", -1) != kLayerAxis) return;
    NodeProto made = *norm;
    made.set_input(0, row->input(0));
    made.set_output(0, node.output(0));
    for (int i = 1; i < 3; ++i) {
      std::optional<Array> values = graph_.array(norm->input(i));
      if (!values || !values->is_real() || values->count() != count_of(*image)) return;
      graph_.spend(static_cast<std::uint64_t>(values->count()) * 4);
      values->extents = *image;
      made.set_input(i, graph_.add(*values, norm->input(i)));
    }
    node = std::move(made);
  }

  // ---- In single operators.

  bool write_decomposed(NodeProto& node) {
    const std::optional<Normalised> found = normalised_by(node, graph_, neighbours_);
    return found && write_norm(node, *found);
  }

  // A normalisation of each value's image, or of its channels, with a scale of 1 and a bias of 0.
  bool write_norm(NodeProto& node, const Normalised& found) {
    const std::optional<Numbers> image = image_of(found.of);
    if (!image) return false;
    const bool is_layer =
        std::ssize(found.axes) == std::ssize(*image) && found.axes.front() == 1;  // they are sorted
    const bool is_instance = image->size() == 3 && found.axes == Numbers{2, 3};
    if (!is_layer && !is_instance) {
      refuse_node(node, graph_.where,
                  str("it normalises over the axes ", text_of(found.axes),
                      "; Weft normalises all values of an image, groups of its channels or rows"));
    }
    NodeProto made = norm_of(is_layer ? "LayerNormalization" : "InstanceNormalization", node,
                             found.of, static_cast<float>(found.epsilon));
    if (is_layer) set_integer(made, "axis", kLayerAxis);
    const Numbers extents = is_layer ? *image : Numbers{image->front()};
    made.add_input(constant(extents, 1, node));
    made.add_input(constant(extents, 0, node));
    node = std::move(made);
    return true;
  }

  // ONNX divides by the root of the variance plus 1e-9.
  void write_mean_variance(NodeProto& node) {
    const Attributes attributes(node, graph_.where);
    const Extents* extents = extents_of(node.input(0));
    Numbers axes = attributes.integers("axes").value_or(Numbers{0, 2, 3});
    attributes.require_only({"axes"});
    for (std::int64_t& said : axes) {
      const auto axis = axis_of(said, extents == nullptr ? 0 : extents->size());
      if (!axis) return;
      said = static_cast<std::int64_t>(*axis);
    }
    std::ranges::sort(axes);
    constexpr double kSquareOfOnnx = 1e-18;
    if (!axes.empty() && axes.front() == 0) {
      refuse_node(node, graph_.where,
                  "it normalises over the images of a batch, which Weft does not");
    }
    write_norm(node, {node.input(0), axes, kSquareOfOnnx});
  }

  static NodeProto norm_of(const char* type, const NodeProto& node, const std::string& x,
                           float epsilon) {
    NodeProto made;
    made.set_op_type(type);
    made.set_name(node.name());
    made.add_input(x);
    made.add_output(node.output(0));
    set_real(made, "epsilon", epsilon);
    return made;
  }

  std::string constant(const Numbers& extents, float value, const NodeProto& node) {
    Array made{.extents = extents};
    const auto count = static_cast<std::size_t>(count_of(extents).value_or(INT64_MAX));
    graph_.spend(std::uint64_t{count} * 4);
    made.reals.assign(count, value);
    return graph_.add(made, node.output(0) + "/norm");
  }

  // ---- Factors behind a normalisation.

  // The extents that a constant meets in what a normalisation makes, without the batch.
  std::optional<Numbers> extents_of_factor(const NodeProto& norm) {
    if (norm.input_size() != 3 || norm.output_size() != 1) return std::nullopt;
    const std::optional<Array> scale = graph_.array(norm.input(1));
    const std::optional<Numbers> image = image_of(norm.output(0));
    if (!scale || !scale->is_real() || !image) return std::nullopt;
    if (norm.op_type() == "LayerNormalization") {
      return scale->extents == *image ? image : std::nullopt;
    }
    const bool is_of_channels =
        norm.op_type() == "GroupNormalization" || norm.op_type() == "InstanceNormalization";
    if (!is_of_channels || image->size() != 3 || scale->count() != image->front()) {
      return std::nullopt;
    }
    return Numbers{image->front(), 1, 1};
  }

  bool absorb(NodeProto& norm) {
    const std::optional<Numbers> extents = extents_of_factor(norm);
    if (!extents) return false;
    const std::string value = norm.output(0);
    NodeProto* node = neighbours_.only_reader(value);
    if (node == nullptr || node->input_size() != 2 || node->attribute_size() > 0) return false;
    const std::string& type = node->op_type();
    const int at = node->input(0) == value ? 1 : 0;
    const bool is_turned = at == 0 && (type == "Sub" || type == "Div");
    if (is_turned || (type != "Mul" && type != "Add" && type != "Sub" && type != "Div")) {
      return false;
    }
    std::optional<Array> by = graph_.array(node->input(at));
    if (!by || !by->is_real() || !drop_ones(*by, extents->size())) return false;
    if (broadcast(*extents, by->extents) != extents) return false;
    graph_.spend(static_cast<std::uint64_t>(*count_of(*extents)) * 12);
    const Array wide = broadcast_to(*by, *extents);
    std::optional<Array> scale = graph_.array(norm.input(1)), bias = graph_.array(norm.input(2));
    if (!bias || !bias->is_real() || bias->count() != scale->count()) return false;
    for (std::size_t i = 0; i < wide.reals.size(); ++i) {
      const float factor = type == "Div" ? 1 / wide.reals[i] : wide.reals[i];
      if (type == "Add") bias->reals[i] += factor;
      if (type == "Sub") bias->reals[i] -= factor;
      if (type == "Mul" || type == "Div") {
        scale->reals[i] *= factor;
        bias->reals[i] *= factor;
      }
    }
    norm.set_input(1, graph_.add(*scale, norm.input(1)));
    norm.set_input(2, graph_.add(*bias, norm.input(2)));
    neighbours_.drop_behind_maker(*node, value);
    return true;
  }

  // A constant without the extents of 1 in front of those that it meets.
  static bool drop_ones(Array& array, std::size_t rank) {
    while (array.extents.size() > rank) {
      if (array.extents.front() != 1) return false;
      array.extents.erase(array.extents.begin());
    }
    return true;
  }

  Graph& graph_;
  Neighbours neighbours_;
};

}  // namespace

void fuse_norms(Graph& graph) {
  Norms(graph).fuse();
}

}  // namespace weft::models::simplify
