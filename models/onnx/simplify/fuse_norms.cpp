// SPDX-License-Identifier: MIT
// Normalisations that their operator set lacks are written as several nodes. They become one again:
//
//   - PyTorch's GroupNorm is an InstanceNormalization between two Reshapes, to (N, G, rest) and
//     back.
//   - A layer norm is (x - mean) / sqrt(variance + epsilon), in ReduceMean, Sub, Pow, Add, Sqrt and
//     Div. The mean is that of all values, or of each channel.
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

// The mean of x along axes, which are sorted, or x without it.
struct Mean {
  std::string of;
  Numbers axes;
  bool operator==(const Mean&) const = default;
};

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
      if (node.op_type() == "LayerNormalization") write_bias(node);
    }
    for (NodeProto& node : graph_.nodes) {
      while (absorb(node)) {
      }
    }
    neighbours_.forget_dropped();
  }

 private:
  const Extents* extents_of(const std::string& name) const {
    const auto found = graph_.extents.find(name);
    return found == graph_.extents.end() ? nullptr : &found->second;
  }
  const NodeProto* made_by(const std::string& value, std::string_view type, int inputs) const {
    const NodeProto* node = neighbours_.maker(value);
    return node != nullptr && node->op_type() == type && node->input_size() == inputs ? node
                                                                                      : nullptr;
  }
  // A constant with one number.
  std::optional<double> number(const std::string& name) {
    const std::optional<Array> array = graph_.array(name);
    if (!array || array->count() != 1) return std::nullopt;
    if (array->is_real()) return double{array->reals[0]};
    return static_cast<double>(array->integers[0].value);
  }

  std::optional<Numbers> integers(const std::string& name) {
    const std::optional<Array> array = graph_.array(name);
    if (!array || array->is_real()) return std::nullopt;
    Numbers numbers;
    for (const Extent& extent : array->integers) numbers.push_back(extent.value);
    return numbers;
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
    const NodeProto* norm = made_by(node.input(0), "InstanceNormalization", 3);
    const NodeProto* split = norm == nullptr ? nullptr : made_by(norm->input(0), "Reshape", 2);
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

  void write_bias(NodeProto& node) {
    if (node.input_size() > 2 && !node.input(2).empty()) return;
    const std::optional<Array> scale =
        node.input_size() > 1 ? graph_.array(node.input(1)) : std::nullopt;
    if (!scale || !scale->is_real()) return;
    while (node.input_size() < 3) node.add_input();
    node.set_input(2, constant(scale->extents, 0, node));
  }

  // ---- In single operators.

  bool write_decomposed(NodeProto& node) {
    if (node.input_size() != 2 || node.output_size() != 1) return false;
    std::optional<double> epsilon;
    std::optional<Mean> centred;
    if (node.op_type() == "Div") {
      centred = without_mean(node.input(0));
      if (centred) epsilon = epsilon_of_root(node.input(1), *centred);
    } else if (node.op_type() == "Mul") {
      for (int i = 0; i < 2 && !epsilon; ++i) {
        centred = without_mean(node.input(i));
        if (centred) epsilon = epsilon_of_inverse(node.input(1 - i), *centred);
      }
    }
    return epsilon && write_norm(node, *centred, *epsilon);
  }

  std::optional<Mean> mean_of(const std::string& value) {
    const NodeProto* node = neighbours_.maker(value);
    if (node == nullptr || node->op_type() != "ReduceMean") return std::nullopt;
    const Attributes attributes(*node, graph_.where);
    std::optional<Numbers> axes = attributes.integers("axes");
    if (node->input_size() == 2) axes = integers(node->input(1));
    const Extents* extents = extents_of(node->input(0));
    if (!axes || extents == nullptr || attributes.integer("keepdims", 1) != 1) return std::nullopt;
    for (std::int64_t& said : *axes) {
      const auto axis = axis_of(said, extents->size());
      if (!axis) return std::nullopt;
      said = static_cast<std::int64_t>(*axis);
    }
    std::ranges::sort(*axes);
    return Mean{node->input(0), *axes};
  }

  // x - mean(x)
  std::optional<Mean> without_mean(const std::string& value) {
    const NodeProto* node = made_by(value, "Sub", 2);
    std::optional<Mean> mean = node == nullptr ? std::nullopt : mean_of(node->input(1));
    return mean && mean->of == node->input(0) ? mean : std::nullopt;
  }

  // The square of x - mean(x)
  bool is_square(const std::string& value, const Mean& centred) {
    if (const NodeProto* power = made_by(value, "Pow", 2)) {
      return number(power->input(1)) == 2 && without_mean(power->input(0)) == centred;
    }
    const NodeProto* product = made_by(value, "Mul", 2);
    return product != nullptr && without_mean(product->input(0)) == centred &&
           without_mean(product->input(1)) == centred;
  }

  // mean(square) + epsilon
  std::optional<double> epsilon_of_variance(const std::string& value, const Mean& centred) {
    const NodeProto* sum = made_by(value, "Add", 2);
    for (int i = 0; sum != nullptr && i < 2; ++i) {
      const std::optional<Mean> variance = mean_of(sum->input(i));
      if (variance && variance->axes == centred.axes && is_square(variance->of, centred)) {
        return number(sum->input(1 - i));
      }
    }
    return std::nullopt;
  }

  std::optional<double> epsilon_of_root(const std::string& value, const Mean& centred) {
    if (const NodeProto* root = made_by(value, "Sqrt", 1)) {
      return epsilon_of_variance(root->input(0), centred);
    }
    const NodeProto* power = made_by(value, "Pow", 2);
    if (power == nullptr || number(power->input(1)) != 0.5) return std::nullopt;
    return epsilon_of_variance(power->input(0), centred);
  }

  std::optional<double> epsilon_of_inverse(const std::string& value, const Mean& centred) {
    if (const NodeProto* inverse = made_by(value, "Reciprocal", 1)) {
      return epsilon_of_root(inverse->input(0), centred);
    }
    const NodeProto* power = made_by(value, "Pow", 2);
    if (power == nullptr || number(power->input(1)) != -0.5) return std::nullopt;
    return epsilon_of_variance(power->input(0), centred);
  }

  // A normalisation of each value's image, or of its channels, with a scale of 1 and a bias of 0.
  bool write_norm(NodeProto& node, const Mean& centred, double epsilon) {
    const std::optional<Numbers> image = image_of(centred.of);
    if (!image) return false;
    const bool is_layer = std::ssize(centred.axes) == std::ssize(*image) &&
                          centred.axes.front() == 1;  // they are sorted
    const bool is_instance = image->size() == 3 && centred.axes == Numbers{2, 3};
    if (!is_layer && !is_instance) {
      refuse_node(node, graph_.where,
                  str("it normalises over the axes ", text_of(centred.axes),
                      "; Weft normalises all values of an image, groups of its channels or rows"));
    }
    NodeProto made = norm_of(is_layer ? "LayerNormalization" : "InstanceNormalization", node,
                             centred.of, static_cast<float>(epsilon));
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
    write_norm(node, {node.input(0), axes}, kSquareOfOnnx);
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
