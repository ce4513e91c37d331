// SPDX-License-Identifier: MIT
// Exporters write an activation that their operator set lacks as several nodes, and each in its own
// way. So no pattern is looked for: the nodes between one value and another are computed as a
// function of a number, and this function is compared with those that Weft has.
//
// The points are dense where the functions bend, and go on to 1e4 on both sides. Two of these
// functions that agree there to 1e-6 are the same: all but their kinks is analytic. Where constants
// have 16 bits, the nearest one is taken, to 1e-3.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "models/onnx/simplify/fuse.h"
#include "models/onnx/simplify/neighbours.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;
using Function = std::function<double(double)>;

constexpr std::size_t kMostSteps = 24;   // of one activation
constexpr double kTolerance = 1e-6;      // of max(1, |y|): the constants are floats
constexpr double kHalfTolerance = 1e-3;  // the same where they are 16-bit floats

const std::vector<double>& points() {
  static const std::vector<double> all = [] {
    std::vector<double> made;
    for (int i = -320; i <= 320; ++i) made.push_back(i / 32.0 + 0.003);
    for (double x = 12; x < 1e4; x *= 1.5) made.insert(made.end(), {x, -x});
    std::stable_partition(made.begin(), made.end(),
                          [](double x) { return std::fmod(x * 32, 16) < 1; });
    return made;
  }();
  return all;
}

double within(double x, double low, double high) {
  return std::min(std::max(x, low), high);
}

// ---- Operators of numbers.

using Operator = double (*)(const Attributes& said, double a, double b, double c);

struct Known {
  std::string_view type;
  int inputs;
  Operator compute;
  std::initializer_list<std::string_view> attributes = {};
};

const Known kOperators[] = {
    {"Abs", 1, [](const Attributes&, double a, double, double) { return std::fabs(a); }},
    {"Add", 2, [](const Attributes&, double a, double b, double) { return a + b; }},
    {"Clip",
     1,
     [](const Attributes& said, double a, double, double) {
       return within(a, double{said.real("min", -INFINITY)}, double{said.real("max", INFINITY)});
     },
     {"min", "max"}},
    {"Div", 2, [](const Attributes&, double a, double b, double) { return a / b; }},
    {"Elu",
     1,
     [](const Attributes& said, double a, double, double) {
       return a > 0 ? a : double{said.real("alpha", 1)} * std::expm1(a);
     },
     {"alpha"}},
    {"Erf", 1, [](const Attributes&, double a, double, double) { return std::erf(a); }},
    {"Exp", 1, [](const Attributes&, double a, double, double) { return std::exp(a); }},
    {"Greater", 2, [](const Attributes&, double a, double b, double) { return a > b ? 1.0 : 0; }},
    {"GreaterOrEqual", 2,
     [](const Attributes&, double a, double b, double) { return a >= b ? 1.0 : 0; }},
    {"HardSigmoid",
     1,
     [](const Attributes& said, double a, double, double) {
       return within(double{said.real("alpha", 0.2f)} * a + double{said.real("beta", 0.5f)}, 0, 1);
     },
     {"alpha", "beta"}},
    {"Less", 2, [](const Attributes&, double a, double b, double) { return a < b ? 1.0 : 0; }},
    {"LessOrEqual", 2,
     [](const Attributes&, double a, double b, double) { return a <= b ? 1.0 : 0; }},
    {"LeakyRelu",
     1,
     [](const Attributes& said, double a, double, double) {
       return a > 0 ? a : double{said.real("alpha", 0.01f)} * a;
     },
     {"alpha"}},
    {"Mul", 2, [](const Attributes&, double a, double b, double) { return a * b; }},
    {"Neg", 1, [](const Attributes&, double a, double, double) { return -a; }},
    {"Pow", 2, [](const Attributes&, double a, double b, double) { return std::pow(a, b); }},
    {"Reciprocal", 1, [](const Attributes&, double a, double, double) { return 1 / a; }},
    {"Relu", 1, [](const Attributes&, double a, double, double) { return std::max(a, 0.0); }},
    {"Sigmoid", 1,
     [](const Attributes&, double a, double, double) { return 1 / (1 + std::exp(-a)); }},
    {"Sqrt", 1, [](const Attributes&, double a, double, double) { return std::sqrt(a); }},
    {"Sub", 2, [](const Attributes&, double a, double b, double) { return a - b; }},
    {"Tanh", 1, [](const Attributes&, double a, double, double) { return std::tanh(a); }},
    {"Where", 3, [](const Attributes&, double a, double b, double c) { return a != 0 ? b : c; }},
};

const Known* known(const NodeProto& node) {
  const auto found = std::ranges::find(kOperators, node.op_type(), &Known::type);
  if (found == std::end(kOperators) || node.input_size() != found->inputs ||
      node.output_size() != 1) {
    return nullptr;
  }
  const auto is_read = [&](const onnx::AttributeProto& attribute) {
    return std::ranges::count(found->attributes, attribute.name()) > 0;
  };
  return std::ranges::all_of(node.attribute(), is_read) ? &*found : nullptr;
}

// ---- The operators that a function may be.

// y as an operator with the numbers that y itself tells; nothing where it cannot be this one.
struct Candidate {
  const char* type;
  void (*describe)(NodeProto& node, const Function& y);
  double (*compute)(const NodeProto& node, double x);
};

double real_of(const NodeProto& node, const char* name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return double{attribute.f()};
  }
  return 0;
}

// A NaN, which nothing is close to, where y goes on beyond the points.
void set_bounds(NodeProto& node, const Function& y) {
  const auto bound = [](double value) { return std::fabs(value) < 1e3 ? value : NAN; };
  set_real(node, "min", static_cast<float>(bound(y(-1e4))));
  set_real(node, "max", static_cast<float>(bound(y(1e4))));
}

const Candidate kCandidates[] = {
    {"Relu", [](NodeProto&, const Function&) {},
     [](const NodeProto&, double x) { return std::max(x, 0.0); }},
    {"Sigmoid", [](NodeProto&, const Function&) {},
     [](const NodeProto&, double x) { return 1 / (1 + std::exp(-x)); }},
    {"Tanh", [](NodeProto&, const Function&) {},
     [](const NodeProto&, double x) { return std::tanh(x); }},
    {"Swish", [](NodeProto&, const Function&) {},
     [](const NodeProto&, double x) { return x / (1 + std::exp(-x)); }},
    {"Gelu", [](NodeProto&, const Function&) {},
     [](const NodeProto&, double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
    {"Gelu", [](NodeProto& node, const Function&) { set_text(node, "approximate", "tanh"); },
     [](const NodeProto&, double x) {
       return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"HardSwish", [](NodeProto&, const Function&) {},
     [](const NodeProto&, double x) { return x * within(x / 6 + 0.5, 0, 1); }},
    {"HardSigmoid",
     [](NodeProto& node, const Function& y) {
       constexpr double kNear = 1.0 / 1024;
       set_real(node, "alpha", static_cast<float>((y(kNear) - y(0)) / kNear));
       set_real(node, "beta", static_cast<float>(y(0)));
     },
     [](const NodeProto& node, double x) {
       return within(real_of(node, "alpha") * x + real_of(node, "beta"), 0, 1);
     }},
    {"Clip", set_bounds,
     [](const NodeProto& node, double x) {
       return within(x, real_of(node, "min"), real_of(node, "max"));
     }},
    {"LeakyRelu",
     [](NodeProto& node, const Function& y) {
       const double alpha = -y(-1);
       set_real(node, "alpha", alpha == 1 ? NAN : static_cast<float>(alpha));  // 1: no function
     },
     [](const NodeProto& node, double x) { return x > 0 ? x : real_of(node, "alpha") * x; }},
    {"Elu",
     [](NodeProto& node, const Function& y) {
       set_real(node, "alpha", static_cast<float>(-y(-1e4)));
     },
     [](const NodeProto& node, double x) {
       return x > 0 ? x : real_of(node, "alpha") * std::expm1(x);
     }},
    {"Selu",  // which the second pass writes as an Elu and a factor
     [](NodeProto& node, const Function& y) {
       const double gamma = y(1), alpha = -y(-1e4) / gamma;
       set_real(node, "gamma", static_cast<float>(gamma));
       set_real(node, "alpha", alpha > 0 ? static_cast<float>(alpha) : NAN);
     },
     [](const NodeProto& node, double x) {
       return real_of(node, "gamma") * (x > 0 ? x : real_of(node, "alpha") * std::expm1(x));
     }},
};

// ---- The nodes between two values.

class Activations {
 public:
  explicit Activations(Graph& graph) : graph_(graph), neighbours_(graph) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) place_[&graph.nodes[i]] = i;
  }

  void fuse() {
    for (NodeProto& node : graph_.nodes) {
      if (std::optional<NodeProto> made = widest(node)) node = std::move(*made);
    }
  }

 private:
  struct Step {
    const NodeProto* node;
    const Known* known;
  };

  // Widens what lies in front of `last`, the latest node first, and looks for a function wherever
  // it depends on one value. The activation of the most nodes, or none.
  std::optional<NodeProto> widest(const NodeProto& last) const {
    std::optional<NodeProto> found;
    std::map<std::size_t, Step> steps;  // by the places of their nodes
    std::set<std::string, std::less<>> open = {last.output(0)};
    bool bends = false;  // a sum of products of constants is no function
    while (steps.size() < kMostSteps) {
      const NodeProto* next = latest_maker(open);
      const Known* as = next == nullptr ? nullptr : known(*next);
      if (as == nullptr) break;
      open.erase(next->output(0));
      for (const std::string& input : next->input()) {
        if (!number_of(input)) open.insert(input);
      }
      steps.emplace(place_.at(next), Step{next, as});
      bends =
          bends || next->op_type() == "Mul" || std::ranges::count(kAffine, next->op_type()) == 0;
      if (open.size() != 1 || steps.size() < 2 || !bends) continue;
      if (graph_.constants.contains(*open.begin())) break;  // of several numbers
      std::optional<NodeProto> wider = activation(last, steps, *open.begin());
      if (wider) found = std::move(wider);
    }
    return found;
  }

  const NodeProto* latest_maker(const std::set<std::string, std::less<>>& values) const {
    const NodeProto* latest = nullptr;
    for (const std::string& value : values) {
      const NodeProto* maker = neighbours_.maker(value);
      if (maker == nullptr) continue;
      if (latest == nullptr || place_.at(maker) > place_.at(latest)) latest = maker;
    }
    return latest;
  }

  // One number for all of a value, which keeps its extents.
  std::optional<double> number_of(const std::string& name) const {
    const auto constant = graph_.constants.find(name);
    if (constant == graph_.constants.end() || constant->second.dims_size() > 4) return std::nullopt;
    for (const std::int64_t extent : constant->second.dims()) {
      if (extent != 1) return std::nullopt;
    }
    const std::optional<Array> array = graph_.array(name);
    if (!array || array->count() != 1) return std::nullopt;
    if (array->is_real()) return double{array->reals[0]};
    return array->integers[0].is_number()
               ? std::optional<double>(static_cast<double>(array->integers[0].value))
               : std::nullopt;
  }

  std::optional<NodeProto> activation(const NodeProto& last,
                                      const std::map<std::size_t, Step>& steps,
                                      const std::string& x) const {
    const Function y = function_of(steps, x);
    std::optional<NodeProto> nearest;
    double least = graph_.has_halves ? kHalfTolerance : kTolerance;
    for (const Candidate& candidate : kCandidates) {
      NodeProto made;
      candidate.describe(made, y);
      double most = 0;  // distance at any point
      const bool is_it = std::ranges::all_of(points(), [&](double at) {
        const double expected = candidate.compute(made, at);
        const double apart = std::fabs(y(at) - expected) / std::max(1.0, std::fabs(expected));
        most = std::max(most, apart);
        return apart <= least;  // false of a NaN
      });
      if (!is_it) continue;
      made.set_op_type(candidate.type);
      made.set_name(last.name());
      made.add_input(x);
      made.add_output(last.output(0));
      nearest = std::move(made);
      if (!graph_.has_halves) break;
      least = most;
    }
    return nearest;
  }

  // The last of the steps as a function of x.
  Function function_of(const std::map<std::size_t, Step>& steps, const std::string& x) const {
    struct Computed {
      Step step;
      int from[3] = {-1, -1, -1};  // -1: a number, 0: x, else a computed one
      double number[3] = {0, 0, 0};
    };
    std::vector<Computed> all;
    std::map<std::string, int, std::less<>> at = {{x, 0}};
    for (const auto& [place, step] : steps) {
      Computed computed{step};
      for (int i = 0; i < step.node->input_size(); ++i) {
        const auto found = at.find(step.node->input(i));
        if (found != at.end()) computed.from[i] = found->second;
        if (found == at.end()) computed.number[i] = number_of(step.node->input(i)).value_or(NAN);
      }
      all.push_back(computed);
      at[step.node->output(0)] = static_cast<int>(all.size());
    }
    return [all, &where = graph_.where](double value) {
      std::array<double, kMostSteps + 1> made = {
          value};  // on the stack: it is called thousands of times
      std::size_t count = 1;
      for (const Computed& computed : all) {
        const auto input = [&](int i) {
          return computed.from[i] < 0 ? computed.number[i]
                                      : made[static_cast<std::size_t>(computed.from[i])];
        };
        made[count++] = computed.step.known->compute(Attributes(*computed.step.node, where),
                                                     input(0), input(1), input(2));
      }
      return made[count - 1];
    };
  }

  static constexpr std::string_view kAffine[] = {"Add", "Div", "Mul", "Neg", "Sub"};

  Graph& graph_;
  Neighbours neighbours_;
  std::map<const NodeProto*, std::size_t> place_;
};

}  // namespace

void fuse_activations(Graph& graph) {
  Activations(graph).fuse();
}

}  // namespace weft::models::simplify
