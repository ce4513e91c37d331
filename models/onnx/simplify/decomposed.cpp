// SPDX-License-Identifier: MIT
// What is written as several nodes whose numbers depend on each other: it is looked for by its
// nodes.
//
//   - The normalisation (x - mean) / sqrt(variance + epsilon). The variance is the mean of the
//     squares of x - mean, or that of the squares of x less the square of the mean.
//   - A softmax, and its logarithm.
#include <algorithm>

#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/fuse.h"

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

class Moments {
 public:
  Moments(Graph& graph, const Neighbours& neighbours) : graph_(graph), neighbours_(neighbours) {}

  std::optional<Normalised> normalised(const NodeProto& node) {
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
    if (!epsilon) return std::nullopt;
    return Normalised{centred->of, centred->axes, *epsilon};
  }

 private:
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

  std::optional<Mean> mean_of(const std::string& value) {
    const NodeProto* node = neighbours_.reduced_by(value, "ReduceMean");
    if (node == nullptr) return std::nullopt;
    const Attributes attributes(*node, graph_.where);
    std::optional<Numbers> axes = attributes.integers("axes");
    if (node->input_size() == 2) axes = integers(node->input(1));
    const auto extents = graph_.extents.find(node->input(0));
    if (!axes || extents == graph_.extents.end() || attributes.integer("keepdims", 1) != 1) {
      return std::nullopt;
    }
    for (std::int64_t& said : *axes) {
      const auto axis = axis_of(said, extents->second.size());
      if (!axis) return std::nullopt;
      said = static_cast<std::int64_t>(*axis);
    }
    std::ranges::sort(*axes);
    return Mean{node->input(0), *axes};
  }

  // x - mean(x)
  std::optional<Mean> without_mean(const std::string& value) {
    const NodeProto* node = neighbours_.made_by(value, "Sub", 2);
    std::optional<Mean> mean = node == nullptr ? std::nullopt : mean_of(node->input(1));
    return mean && mean->of == node->input(0) ? mean : std::nullopt;
  }

  // What a value is the square of.
  std::optional<std::string> root_of(const std::string& value) {
    if (const NodeProto* power = neighbours_.made_by(value, "Pow", 2)) {
      return number(power->input(1)) == 2 ? std::optional(power->input(0)) : std::nullopt;
    }
    const NodeProto* product = neighbours_.made_by(value, "Mul", 2);
    const bool is_square = product != nullptr && product->input(0) == product->input(1);
    return is_square ? std::optional(product->input(0)) : std::nullopt;
  }

  // The square of x - mean(x)
  bool is_square(const std::string& value, const Mean& centred) {
    if (const auto root = root_of(value)) return without_mean(*root) == centred;
    const NodeProto* product = neighbours_.made_by(value, "Mul", 2);  // of two that are the same
    return product != nullptr && without_mean(product->input(0)) == centred &&
           without_mean(product->input(1)) == centred;
  }

  bool is_variance(const std::string& value, const Mean& centred) {
    if (const auto mean = mean_of(value)) {
      return mean->axes == centred.axes && is_square(mean->of, centred);
    }
    const NodeProto* difference = neighbours_.made_by(value, "Sub", 2);
    if (difference == nullptr) return false;
    const auto of_squares = mean_of(difference->input(0));
    const auto mean = root_of(difference->input(1));
    return of_squares && mean && of_squares->axes == centred.axes &&
           root_of(of_squares->of) == centred.of && mean_of(*mean) == centred;
  }

  // variance + epsilon
  std::optional<double> epsilon_of_variance(const std::string& value, const Mean& centred) {
    const NodeProto* sum = neighbours_.made_by(value, "Add", 2);
    for (int i = 0; sum != nullptr && i < 2; ++i) {
      if (is_variance(sum->input(i), centred)) return number(sum->input(1 - i));
    }
    return std::nullopt;
  }

  std::optional<double> epsilon_of_root(const std::string& value, const Mean& centred) {
    if (const NodeProto* root = neighbours_.made_by(value, "Sqrt", 1)) {
      return epsilon_of_variance(root->input(0), centred);
    }
    const NodeProto* power = neighbours_.made_by(value, "Pow", 2);
    if (power == nullptr || number(power->input(1)) != 0.5) return std::nullopt;
    return epsilon_of_variance(power->input(0), centred);
  }

  std::optional<double> epsilon_of_inverse(const std::string& value, const Mean& centred) {
    if (const NodeProto* inverse = neighbours_.made_by(value, "Reciprocal", 1)) {
      return epsilon_of_root(inverse->input(0), centred);
    }
    const NodeProto* power = neighbours_.made_by(value, "Pow", 2);
    if (power == nullptr || number(power->input(1)) != -0.5) return std::nullopt;
    return epsilon_of_variance(power->input(0), centred);
  }

  Graph& graph_;
  const Neighbours& neighbours_;
};

// ---- A softmax of the classes (batch, classes), as exporters and ONNX itself write it out.

class Softmaxes {
 public:
  explicit Softmaxes(Graph& graph) : graph_(graph), neighbours_(graph) {}

  void fuse() {
    for (NodeProto& node : graph_.nodes) {
      const bool is_log = node.op_type() == "Sub";
      const std::optional<std::string> x = is_log ? of_logarithm(node) : of_quotient(node);
      const auto extents = x ? graph_.extents.find(*x) : graph_.extents.end();
      if (extents == graph_.extents.end() || extents->second.size() != 2) continue;
      NodeProto made;
      made.set_op_type(is_log ? "LogSoftmax" : "Softmax");
      made.set_name(node.name());
      made.add_input(*x);
      made.add_output(node.output(0));
      set_integer(made, "axis", 1);
      node = std::move(made);
    }
  }

 private:
  // exp(x) / sum(exp(x))
  std::optional<std::string> of_quotient(const NodeProto& node) const {
    const bool is_quotient = node.op_type() == "Div" && node.input_size() == 2;
    const NodeProto* exp = is_quotient ? neighbours_.made_by(node.input(0), "Exp", 1) : nullptr;
    const bool is_share = exp != nullptr && reduced(node.input(1), "ReduceSum") == node.input(0);
    return is_share ? std::optional(without_most(exp->input(0))) : std::nullopt;
  }

  // x - log(sum(exp(x)))
  std::optional<std::string> of_logarithm(const NodeProto& node) const {
    const bool is_difference = node.input_size() == 2;
    const NodeProto* log = is_difference ? neighbours_.made_by(node.input(1), "Log", 1) : nullptr;
    const auto summed = log == nullptr ? std::nullopt : reduced(log->input(0), "ReduceSum");
    const NodeProto* exp = summed ? neighbours_.made_by(*summed, "Exp", 1) : nullptr;
    const bool is_it = exp != nullptr && exp->input(0) == node.input(0);
    return is_it ? std::optional(without_most(node.input(0))) : std::nullopt;
  }

  // x of x - max(x), which has the same softmax.
  std::string without_most(const std::string& value) const {
    const NodeProto* difference = neighbours_.made_by(value, "Sub", 2);
    const bool is_it =
        difference != nullptr && reduced(difference->input(1), "ReduceMax") == difference->input(0);
    return is_it ? difference->input(0) : value;
  }

  // What a sum or maximum along axis 1 alone is of.
  std::optional<std::string> reduced(const std::string& value, std::string_view type) const {
    const NodeProto* node = neighbours_.reduced_by(value, type);
    if (node == nullptr) return std::nullopt;
    const Attributes attributes(*node, graph_.where);
    std::vector<std::int64_t> axes = attributes.integers("axes").value_or(decltype(axes)());
    if (node->input_size() == 2) {
      const std::optional<Array> said = graph_.array(node->input(1));
      if (!said || said->is_real()) return std::nullopt;
      for (const Extent& axis : said->integers) axes.push_back(axis.value);
    }
    const bool is_it = axes.size() == 1 && (axes[0] == 1 || axes[0] == -1) &&
                       attributes.integer("keepdims", 1) == 1;
    return is_it ? std::optional(node->input(0)) : std::nullopt;
  }

  Graph& graph_;
  Neighbours neighbours_;
};

}  // namespace

void fuse_softmax(Graph& graph) {
  Softmaxes(graph).fuse();
}

std::optional<Normalised> normalised_by(const NodeProto& node, Graph& graph,
                                        const Neighbours& neighbours) {
  if (node.input_size() != 2 || node.output_size() != 1) return std::nullopt;
  return Moments(graph, neighbours).normalised(node);
}

}  // namespace weft::models::simplify
