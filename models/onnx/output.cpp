// SPDX-License-Identifier: MIT
#include "models/onnx/output.h"

#include "models/onnx/node_reader.h"

namespace weft::models {

namespace {

using Kind = OnnxEnding::Kind;

bool only_reshapes(const onnx::NodeProto& node) {
  return node.op_type() == "Flatten" || node.op_type() == "Reshape" || node.op_type() == "Dropout";
}

Kind kind_of(const onnx::NodeProto& node) {
  if (node.op_type() == "Softmax") return Kind::softmax;
  if (node.op_type() == "LogSoftmax") return Kind::log_softmax;
  return node.op_type() == "Sigmoid" ? Kind::sigmoid : Kind::none;
}

void check_axis(const onnx::NodeProto& node, const OnnxGraph& graph) {
  constexpr std::int64_t kOpsetOfLastAxis = 13;  // before, the default was 1
  NodeReader reader(node, graph);
  const std::int64_t axis = reader.number("axis", graph.opset() < kOpsetOfLastAxis ? 1 : -1);
  reader.finish();
  if (axis != 1 && axis != -1) reader.fail(str("expected axis 1 or -1, found ", axis));
  const int rank = graph.output_shape().dim_size();  // 0: not said
  if (axis == -1 && rank > 2 && node.output(0) == graph.output_name()) {
    reader.fail(str("expected axis 1, that of the classes, found the last of ", rank));
  }
}

}  // namespace

OnnxEnding ending_of(const OnnxGraph& graph) {
  const auto step = [&](int index) -> const OnnxStep& {
    return graph.steps()[static_cast<std::size_t>(index)];
  };
  int at = graph.output();
  while (at != 0 && only_reshapes(*step(at).node)) at = step(at).input;
  OnnxEnding ending;
  if (at == 0) return ending;
  const bool takes_log = step(at).node->op_type() == "Log";
  if (takes_log) {
    ending.steps.push_back(at);
    at = step(at).input;
    if (at == 0 || kind_of(*step(at).node) != Kind::softmax) return {};
  }
  ending.kind = kind_of(*step(at).node);
  if (ending.kind == Kind::none) return {};
  ending.steps.push_back(at);
  if (ending.kind != Kind::sigmoid) check_axis(*step(at).node, graph);
  if (takes_log) ending.kind = Kind::log_softmax;
  return ending;
}

OutputMeaning meaning_of(Kind ending, const Shape& values, bool names_two,
                         const std::string& where) {
  const bool is_row = values.rank() == 1;
  const bool is_planes = values.rank() == 3 && values[1] == 1 && values[2] == 1;
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::data, str(where, " is ", to_string(values), " for each image", problem));
  };
  if (!is_row && !is_planes) {
    refuse(": expected a number for each class, (classes,) or (classes, 1, 1)");
  }
  OutputMeaning meaning;
  meaning.classes = values[0];
  if (is_planes) meaning.lines = "flatten\n";
  if (meaning.classes == 1) {
    const bool is_logit = ending == Kind::sigmoid || (ending == Kind::none && names_two);
    if (!is_logit) {
      refuse(ending == Kind::none
                 ? ", a single number: expected two classes or more, or a Sigmoid behind it. If it "
                   "is the logit of the second of two classes, say their names with --classes"
                 : ", and a softmax of a single number is always 1");
    }
    meaning.classes = 2;
    meaning.is_one_logit = true;
    meaning.lines += "linear classes no_bias\n";
    meaning.notice =
        "its one output is the probability p of the second class, and the first class has 1 - p: "
        "two logits, 0 and that of p, say the same";
    return meaning;
  }
  switch (ending) {
    case Kind::none:
      break;
    case Kind::softmax:
      meaning.notice = "the softmax at the end is left out: predict takes it of the logits";
      break;
    case Kind::log_softmax:
      meaning.notice =
          "the log-softmax at the end is left out: predict takes the softmax of the logits";
      break;
    case Kind::sigmoid:
      meaning.output = Output::sigmoid;
      meaning.notice =
          "the sigmoid at the end is left out: predict takes it of each logit alone, so that "
          "several classes may be above 50 %, or none";
      break;
  }
  return meaning;
}

}  // namespace weft::models
