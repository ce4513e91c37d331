// SPDX-License-Identifier: MIT
// QuantizeLinear and DequantizeLinear. Tensors become the numbers that their levels stand for. Of a
// value the two together do nothing but to round and to clip it: they become a Clip, and rounding
// is left out.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "models/onnx/graph.h"
#include "models/onnx/operators.h"
#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/writer.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;
using onnx::TensorProto;

// The least and the most level of a type; nothing for a type that Weft does not read.
std::optional<Bounds> levels_in(int type) {
  switch (type) {
    case TensorProto::UINT8:
      return Bounds{0, UINT8_MAX};
    case TensorProto::INT8:
      return Bounds{INT8_MIN, INT8_MAX};
    case TensorProto::UINT16:
      return Bounds{0, UINT16_MAX};
    case TensorProto::INT16:
      return Bounds{INT16_MIN, INT16_MAX};
    case TensorProto::INT32:  // of biases
      return Bounds{INT32_MIN, INT32_MAX};
    default:
      return std::nullopt;
  }
}

// For each value of an array, the place of its scale; nothing where there are not as many scales as
// the axis is long.
std::optional<std::size_t> values_of_one_scale(const Array& array, const Quantizer& by) {
  if (by.scale.size() == 1)
    return std::max<std::size_t>(static_cast<std::size_t>(array.count()), 1);
  const auto axis = axis_of(by.axis, array.extents.size());
  if (!axis || array.extents[*axis] != std::ssize(by.scale)) return std::nullopt;
  return static_cast<std::size_t>(steps_of(array.extents)[*axis]);
}

// make(value, scale, zero) of each value, in 32-bit floats as in onnxruntime.
template <class Make>
std::optional<Array> made_of(const Array& array, const Quantizer& by, Make make) {
  const auto run = values_of_one_scale(array, by);
  if (!run || array.count() == 0) return std::nullopt;
  Array made = array;
  for (std::size_t i = 0; i < made.reals.size(); ++i) {
    const std::size_t at = i / *run % by.scale.size();
    made.reals[i] = make(array.reals[i], by.scale[at], by.zero[at]);
  }
  return made;
}

std::optional<Array> levels_of_reals(const Array& array, const Quantizer& by) {
  const auto least = static_cast<float>(by.least), most = static_cast<float>(by.most);
  return made_of(array, by, [=](float value, float scale, float zero) {
    return std::clamp(std::nearbyint(value / scale) + zero, least, most);  // half to even
  });
}

std::optional<Array> reals_of_levels(const Array& array, const Quantizer& by) {
  return made_of(array, by,
                 [](float level, float scale, float zero) { return (level - zero) * scale; });
}

// Functions that never fall, so that bounds become bounds.
double rising(const std::string& type, const Attributes& said, double x) {
  if (type == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (type == "Tanh") return std::tanh(x);
  if (type == "Relu") return std::max(x, 0.0);
  if (type == "Clip") {
    return std::min(std::max(x, double{said.real("min", -INFINITY)}),
                    double{said.real("max", INFINITY)});
  }
  if (type == "HardSigmoid") {
    const double alpha = double{said.real("alpha", 0.2f)};
    return alpha < 0 ? NAN : std::clamp(alpha * x + double{said.real("beta", 0.5f)}, 0.0, 1.0);
  }
  return NAN;
}

// The bounds of what a node makes of one value of these bounds; nothing where they are not known.
std::optional<Bounds> bounds_behind(const NodeProto& node, const std::optional<Bounds>& from,
                                    const Attributes& said) {
  constexpr std::string_view kSame[] = {
      "Concat",  "Dropout", "Flatten", "GlobalAveragePool", "GlobalMaxPool", "Identity",
      "MaxPool", "Reshape", "Squeeze", "Transpose",         "Unsqueeze"};
  const std::string& type = node.op_type();
  if (std::ranges::count(kSame, type) > 0) return from;
  if ((type == "AveragePool" || type == "Pad") && from) {  // padding is 0
    return Bounds{std::min(from->low, 0.0), std::max(from->high, 0.0)};
  }
  if (type == "Softmax") return Bounds{0, 1};
  const Bounds x = from.value_or(Bounds{-INFINITY, INFINITY});
  const Bounds made = {rising(type, said, x.low), rising(type, said, x.high)};
  return made.low <= made.high ? std::optional(made) : std::nullopt;  // a NaN is neither
}

}  // namespace

Bounds Quantizer::bounds() const {
  const double step = double{scale.front()}, at = double{zero.front()};
  return {(least - at) * step, (most - at) * step};
}

// Throws Error{data} naming the node for one whose scales are no numbers of the file above 0.
Quantizer Writer::quantizer_of(const NodeProto& node) {
  const auto fail = [&](const std::string& problem) { refuse_node(node, graph_.where, problem); };
  const Attributes attributes(node, graph_.where);
  attributes.require_only({"axis", "saturate"});  // that one is of 8-bit floats
  const std::optional<Array> scale = array(node, 1);
  if (!scale || !scale->is_real() || scale->extents.size() > 1 || scale->count() == 0) {
    fail("expected one scale of 32 bits, or one for each place along an axis, in the file");
  }
  Quantizer found{.scale = scale->reals, .axis = attributes.integer("axis", 1)};
  for (const float step : found.scale) {
    if (!(step > 0) || !std::isfinite(step)) fail(str("expected scales above 0, found ", step));
  }
  found.zero.assign(found.scale.size(), 0);
  if (!has_input(node, 2)) return found;
  const auto tensor = graph_.constants.find(resolved(node.input(2)));
  if (tensor == graph_.constants.end()) fail("expected its zero point in the file");
  graph_.spend(4 * tensor->second.ByteSizeLong());
  const std::optional<Array> zero = levels_of(tensor->second);
  const std::optional<Bounds> levels = levels_in(tensor->second.data_type());
  if (!zero || !levels || zero->count() != scale->count()) {
    fail("expected a zero point for each scale, of whole numbers of 8 or 16 bits");
  }
  found.zero = zero->reals;
  found.least = levels->low;
  found.most = levels->high;
  return found;
}

// False for another operator. Nothing but a DequantizeLinear may read levels.
bool Writer::write_quantizer(const NodeProto& node) {
  const bool is_known = is_onnx_domain(node.domain()) || node.domain() == "com.microsoft";
  if (is_known && node.op_type() == "DequantizeLinear" && node.input_size() > 1) {
    write_dequantize(node);
    return true;
  }
  refuse_levels(node);
  if (!is_known || node.op_type() != "QuantizeLinear" || node.input_size() < 2) return false;
  write_quantize(node);
  return true;
}

void Writer::refuse_levels(const NodeProto& node) const {
  for (const std::string& input : node.input()) {
    if (!quantized_.contains(input)) continue;
    refuse_node(node, graph_.where,
                str("expected a DequantizeLinear in front of it: ", in_quotes(input),
                    " is levels of a QuantizeLinear"));
  }
}

void Writer::write_quantize(const NodeProto& node) {
  Quantized made{.by = quantizer_of(node)};
  if (seen(node, 0) != nullptr) {
    if (made.by.scale.size() != 1) {
      refuse_node(node, graph_.where, "expected one scale, for it reads what layers make");
    }
    made.value = node.input(0);
  } else {
    const std::optional<Array> values = array(node, 0);
    if (values && values->is_real()) {
      graph_.spend(static_cast<std::uint64_t>(values->count()) * 4);
      made.levels = levels_of_reals(*values, made.by);
    }
    if (!made.levels)
      refuse_node(node, graph_.where, "expected 32-bit floats, and its scales along an axis");
  }
  quantized_.insert_or_assign(node.output(0), std::move(made));
}

void Writer::write_dequantize(const NodeProto& node) {
  const Quantizer by = quantizer_of(node);
  const auto quantized = quantized_.find(node.input(0));
  std::optional<Array> levels;
  if (quantized != quantized_.end()) {
    const Quantized& of = quantized->second;
    if (of.by.scale != by.scale || of.by.zero != by.zero) {
      refuse_node(node, graph_.where,
                  "expected the scale and the zero point of its QuantizeLinear");
    }
    if (!of.levels) return write_clipped(node, of.value, of.by);
    levels = of.levels;
  } else if (is_constant(node, 0)) {
    const TensorProto& tensor = graph_.constants.at(resolved(node.input(0)));
    graph_.spend(4 * tensor.ByteSizeLong());
    levels = levels_of(tensor);
  }
  const std::optional<Array> made = levels ? reals_of_levels(*levels, by) : std::nullopt;
  if (!made) {
    refuse_node(node, graph_.where,
                "expected whole numbers of 8, 16 or 32 bits of the file, its scales along an axis, "
                "or what a QuantizeLinear makes");
  }
  keep(node.output(0), *made);
}

// A value behind a QuantizeLinear and this DequantizeLinear.
void Writer::write_clipped(const NodeProto& node, const std::string& value, const Quantizer& by) {
  const Bounds bounds = by.bounds();
  const auto known = bounds_.find(seen_.at(value).name);
  const double half = double{by.scale.front()} / 2;  // by which values are rounded
  if (known != bounds_.end() && known->second.low >= bounds.low - half &&
      known->second.high <= bounds.high + half) {
    seen_.insert_or_assign(node.output(0), Seen(seen_.at(value)));
    return;
  }
  NodeProto clip;
  clip.set_op_type("Clip");
  clip.set_name(node.name());
  clip.add_input(value);
  clip.add_output(node.output(0));
  set_real(clip, "min", static_cast<float>(bounds.low));
  set_real(clip, "max", static_cast<float>(bounds.high));
  settle_input(clip);
  const Seen from = seen_.at(value);
  clip.set_input(0, from.name);
  emit(std::move(clip), like(from));
}

// What is known of the numbers that a node makes which is about to be written.
void Writer::keep_bounds(const NodeProto& node) {
  std::optional<Bounds> made;
  for (int i = 0; i < node.input_size(); ++i) {
    const auto found = bounds_.find(node.input(i));
    const std::optional<Bounds> from =
        found == bounds_.end() ? std::nullopt : std::optional(found->second);
    if (i == 0) made = bounds_behind(node, from, Attributes(node, graph_.where));
    if (node.op_type() != "Concat" || i == 0) continue;
    if (!made || !from) return;
    made = {std::min(made->low, from->low), std::max(made->high, from->high)};
  }
  if (made) bounds_.insert_or_assign(node.output(0), *made);
}

}  // namespace weft::models::simplify
