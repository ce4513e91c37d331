// SPDX-License-Identifier: MIT
// Nodes that work on each number alone, or that treat the axes of a value one by one: they are
// written with the axes in the order of what they read.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "models/networks/network_text.h"
#include "models/onnx/graph.h"
#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/writer.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;

constexpr std::string_view kUnary[] = {
    "Abs",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Mish",
    "Relu",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Reciprocal",
    "Sqrt",
    "Swish",
    "Tanh",
    "ThresholdedRelu",
};

// A constant that meets each number of a value, in the order in which the value is written.
std::optional<Array> as_written(const Array& array, const Seen& value) {
  if (array.count() == 1 || value.is_plain()) return array;
  if (!value.row_order.empty()) {
    const std::vector<std::int64_t> at = row_places(value);
    const bool is_row = array.count() == std::ssize(at) && array.extents.back() == array.count();
    if (!is_row) return std::nullopt;
    return values_at(array, at, array.extents);
  }
  const std::size_t rank = value.order.size();
  if (array.extents.size() > rank) return std::nullopt;
  Array wide = array;
  wide.extents.insert(wide.extents.begin(), rank - array.extents.size(), 1);
  std::vector<int> back(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    back[static_cast<std::size_t>(value.order[i])] = static_cast<int>(i);
  }
  return transposed(wide, back);
}

// Does the constant leave the extents of the value as they are?
bool fits_into(const Array& array, const Extents& value) {
  if (array.extents.size() > value.size()) return false;
  for (std::size_t i = 1; i <= array.extents.size(); ++i) {
    const std::int64_t extent = array.extents[array.extents.size() - i];
    const Extent& of_value = value[value.size() - i];
    if (extent != 1 && of_value.is_number() && !of_value.is(extent)) return false;
    if (extent != 1 && of_value.kind == Extent::Kind::batches) return false;
  }
  return true;
}

}  // namespace

bool Writer::write_unary(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  const bool is_known = std::ranges::count(kUnary, node.op_type()) > 0;
  if (!is_known || from == nullptr || node.input_size() != 1) return false;
  NodeProto copy = node;
  copy.set_input(0, from->name);
  emit(std::move(copy), like(*from));
  return true;
}

bool Writer::write_dropout(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr) return false;
  if (has_input(node, 2)) {
    const auto trains = numbers(node, 2);
    if (!trains || trains->size() != 1 || !trains->front().is(0)) {
      refuse_node(node, graph_.where, "expected its training_mode to be false");
    }
  }
  NodeProto copy = node;
  if (copy.input_size() > 2) copy.mutable_input()->DeleteSubrange(2, copy.input_size() - 2);
  copy.set_input(0, from->name);
  if (has_input(node, 1)) copy.set_input(1, resolved(node.input(1)));
  emit(std::move(copy), like(*from));
  return true;
}

// Clip, and Max or Min with a number. The bounds become attributes, as before set 11.
bool Writer::write_clip(const NodeProto& node) {
  const bool is_clip = node.op_type() == "Clip";
  const int at = !is_clip && seen(node, 0) == nullptr ? 1 : 0;
  const Seen* from = seen(node, at);
  if (from == nullptr || node.input_size() > 3) return false;
  if (!is_clip && node.input_size() != 2) return false;
  const Attributes attributes(node, graph_.where);
  float low = attributes.real("min", -INFINITY), high = attributes.real("max", INFINITY);
  for (int i = 0; i < node.input_size(); ++i) {
    if (i == at || !has_input(node, i)) continue;
    const std::optional<Array> bound = array(node, i);
    if (!bound || !bound->is_real() || bound->count() != 1) return false;
    (node.op_type() == "Max" || (is_clip && i == 1) ? low : high) = bound->reals[0];
  }
  attributes.require_only({"min", "max"});
  constexpr float kMost = 3.4e38f;  // exporters write the largest float for none
  const bool has_low = !(low <= -kMost), has_high = !(high >= kMost);
  if (!has_low && !has_high) {
    seen_.insert_or_assign(node.output(0), Seen(*from));
    return true;
  }
  const bool is_relu = low == 0 && !has_high;
  NodeProto copy = node;
  copy.set_op_type(is_relu ? "Relu" : "Clip");
  copy.clear_attribute();
  copy.clear_input();
  copy.add_input(from->name);
  if (has_low && !is_relu) set_real(copy, "min", low);
  if (has_high) set_real(copy, "max", high);
  emit(std::move(copy), like(*from));
  return true;
}

// x to the power of one number.
bool Writer::write_power(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || node.input_size() != 2 || node.attribute_size() > 0) return false;
  const std::optional<Array> power = array(node, 1);
  if (!power || power->count() != 1 || power->extents.size() > from->rank()) return false;
  NodeProto copy = node;
  copy.set_input(0, from->name);
  copy.set_input(1, resolved(node.input(1)));
  emit(std::move(copy), like(*from));
  return true;
}

// The slopes become one for each channel, one for all or one for each value of an image.
bool Writer::write_prelu(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || node.input_size() != 2 || !from->extents) return false;
  std::optional<Array> slopes = array(node, 1);
  bool by_channel = true;
  if (!slopes || !slopes->is_real() || slopes->extents.size() > from->rank()) return false;
  if (slopes->count() != 1) {
    if (!fits_into(*slopes, *from->extents)) return false;
    if (!from->is_plain()) {
      graph_.spend(static_cast<std::uint64_t>(slopes->count()) * 12);
      slopes = as_written(*slopes, *from);
      if (!slopes) return false;
    }
    const Extents written = extents_as_written(*from);
    const std::size_t own = slopes->extents.size(), rank = written.size();
    // The axis of the channels is the second one of the value, but of a plane (batch, H, W).
    by_channel = rank != 3 && own + 1 >= rank && slopes->extents[own + 1 - rank] == slopes->count();
    if (!by_channel) {
      const std::span<const Extent> image = std::span(written).subspan(1);
      if ((rank != 3 && rank != 4) || !std::ranges::all_of(image, &Extent::is_number)) return false;
      std::vector<std::int64_t> extents;
      for (const Extent& extent : image) extents.push_back(extent.value);
      if (own == rank) {  // of all images
        if (slopes->extents.front() != 1) return false;
        slopes->extents.erase(slopes->extents.begin());
      }
      graph_.spend(static_cast<std::uint64_t>(count_of(extents).value_or(INT64_MAX / 4)) * 4);
      slopes = broadcast_to(*slopes, extents);
      if (rank == 3) slopes->extents.insert(slopes->extents.begin(), 1);
    }
  }
  graph_.spend(static_cast<std::uint64_t>(slopes->count()) * 4);
  if (by_channel) slopes->extents = {slopes->count()};
  NodeProto copy = node;
  copy.set_input(0, from->name);
  copy.set_input(1, graph_.add(*slopes, node.input(1)));
  emit(std::move(copy), like(*from));
  return true;
}

// Add, Sub, Mul or Div of a value and a constant.
bool Writer::write_scale(const NodeProto& node, int constant) {
  const Seen& from = *seen(node, 1 - constant);
  const std::optional<Array> by = array(node, constant);
  if (!by || !by->is_real()) return false;
  if (!from.extents ? by->count() != 1 || by->extents.size() > 1 : !fits_into(*by, *from.extents)) {
    return false;
  }
  const std::string& type = node.op_type();
  const bool multiplies = type == "Mul" || type == "Div";
  const bool may_come_first = type == "Mul" || type == "Add";
  const float nothing = multiplies ? 1 : 0;
  if ((constant == 1 || may_come_first) &&
      std::ranges::all_of(by->reals, [&](float value) { return value == nothing; })) {
    Attributes(node, graph_.where).require_only({});
    seen_.insert_or_assign(node.output(0), Seen(from));
    return true;
  }
  NodeProto copy = node;
  copy.set_input(1 - constant, from.name);
  copy.set_input(constant, resolved(node.input(constant)));
  if (!from.is_plain() && by->count() > 1) {
    graph_.spend(static_cast<std::uint64_t>(by->count()) * 12);
    const std::optional<Array> turned = as_written(*by, from);
    if (!turned) return false;
    copy.set_input(constant, graph_.add(*turned, node.input(constant)));
  }
  emit(std::move(copy), Seen(from));
  return true;
}

bool Writer::write_binary(const NodeProto& node) {
  if (node.input_size() != 2) return false;
  if (node.attribute_size() > 0) return graph_.opset == 7 && write_axis_of_set_6(node);
  const Seen *a = seen(node, 0), *b = seen(node, 1);
  if (a != nullptr && is_constant(node, 1)) return write_scale(node, 1);
  if (b != nullptr && is_constant(node, 0)) return write_scale(node, 0);
  if (a == nullptr || b == nullptr || !a->extents || !b->extents) return false;
  const bool fits = same(*a->extents, *b->extents) && a->order == b->order && a->row == b->row &&
                    a->row_order == b->row_order;
  NodeProto copy = node;
  if (fits) {
    copy.set_input(0, a->name);
    copy.set_input(1, b->name);
    emit(std::move(copy), like(*a));
    return true;
  }
  Seen made{.extents = a->extents};
  if (a->rank() != b->rank()) return false;
  for (std::size_t i = 0; i < a->rank(); ++i) {
    const Extent &of_a = (*a->extents)[i], &of_b = (*b->extents)[i];
    if (same(of_a, of_b) || of_b.is(1)) continue;
    if (!of_a.is(1)) return false;
    (*made.extents)[i] = of_b;
  }
  for (int i = 0; i < 2; ++i) copy.set_input(i, plain(node.input(i)));
  emit(std::move(copy), std::move(made));
  return true;
}

bool Writer::write_softmax(const NodeProto& node) {
  constexpr std::int64_t kOpsetOfOneAxis = 13;  // before, all axes from this one on
  const Seen* from = seen(node, 0);
  if (from == nullptr || !from->row_order.empty() || !from->extents) return false;
  NodeProto copy = node;
  if (from->order.empty()) {
    copy.set_input(0, from->name);
    emit(std::move(copy), like(*from));
    return true;
  }
  const auto axis = axis_of(Attributes(node, graph_.where).integer("axis", -1), from->rank());
  if (graph_.opset < kOpsetOfOneAxis || !axis) return false;
  set_integer(copy, "axis", from->order[*axis]);
  copy.set_input(0, from->name);
  emit(std::move(copy), like(*from));
  return true;
}

// A Pad is written with its numbers in a constant or, before opset 11, in an attribute.
// The pads of all axes, where the node says them of those that its input 3 names.
std::optional<std::vector<std::int64_t>> Writer::pads_of_all_axes(
    const NodeProto& node, const std::vector<std::int64_t>& said, std::size_t rank) {
  const std::optional<Extents> axes = numbers(node, 3);
  if (!axes || !all_numbers(*axes) || said.size() != 2 * axes->size()) return std::nullopt;
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = axis_of((*axes)[i].value, rank);
    if (!axis) return std::nullopt;
    pads[*axis] = said[i];
    pads[rank + *axis] = said[axes->size() + i];
  }
  return pads;
}

bool Writer::write_pad(const NodeProto& node) {
  constexpr std::int64_t kOpsetOfInputs = 11;
  const Seen* from = seen(node, 0);
  if (from == nullptr || !from->extents || !from->row_order.empty()) return false;
  const Attributes attributes(node, graph_.where);
  std::optional<std::vector<std::int64_t>> pads = attributes.integers("pads");
  if (!pads && has_input(node, 1)) {
    const std::optional<Extents> said = numbers(node, 1);
    if (!said || !all_numbers(*said)) return false;
    pads.emplace();
    for (const Extent& number : *said) pads->push_back(number.value);
  }
  const std::size_t rank = from->rank();
  const bool names_axes = has_input(node, 3);
  if (names_axes && !(pads = pads_of_all_axes(node, *pads, rank))) return false;
  constexpr std::int64_t kMostPad = 1 << 20;
  if (!pads || pads->size() != 2 * rank) return false;
  const auto is_sound = [](std::int64_t pad) { return pad >= 0 && pad <= kMostPad; };
  if (!std::ranges::all_of(*pads, is_sound)) return false;
  if (std::ranges::all_of(*pads, [](std::int64_t pad) { return pad == 0; })) {
    attributes.require_only({"pads", "mode", "value"});
    seen_.insert_or_assign(node.output(0), Seen(*from));
    return true;
  }
  Seen made = like(*from);
  std::vector<std::int64_t> turned = *pads;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t before = (*pads)[i], behind = (*pads)[rank + i];
    const std::size_t to = made.order.empty() ? i : static_cast<std::size_t>(made.order[i]);
    turned[to] = before;
    turned[rank + to] = behind;
    Extent& extent = (*made.extents)[i];
    if (before != 0 || behind != 0) extent = sum(extent, Extent::number(before + behind));
  }
  NodeProto copy = node;
  copy.set_input(0, from->name);
  for (int i = 1; i < copy.input_size(); ++i) copy.set_input(i, resolved(node.input(i)));
  if (names_axes) copy.mutable_input()->RemoveLast();
  const bool is_new = turned != *pads || names_axes;
  if (is_new && graph_.opset < kOpsetOfInputs) set_integers(copy, "pads", turned);
  if (is_new && graph_.opset >= kOpsetOfInputs) {
    Array array{.type = onnx::TensorProto::INT64, .extents = {std::ssize(turned)}};
    for (const std::int64_t pad : turned) array.integers.push_back(Extent::number(pad));
    copy.set_input(1, graph_.add(array, node.output(0) + "/pads"));
  }
  emit(std::move(copy), std::move(made));
  return true;
}

// Lets a Concat read an earlier one that begins as it does: the layers of a DenseNet read a, (a, b)
// and (a, b, c), which so become blocks in each other.
void Writer::share_concat(NodeProto& node, int axis) {
  std::vector<std::string> first(node.input().begin(), node.input().end());
  if (std::ssize(first) > kMostNetworkBranches) return;
  while (first.size() > 2) {
    first.pop_back();
    const auto found = concats_.find(std::pair(axis, first));
    if (found == concats_.end()) continue;
    node.mutable_input()->DeleteSubrange(1, static_cast<int>(first.size()) - 1);
    node.set_input(0, found->second);
    return;
  }
}

bool Writer::write_concat(const NodeProto& node) {
  const Seen* first = seen(node, 0);
  if (first != nullptr && node.input_size() == 1) {
    seen_.insert_or_assign(node.output(0), Seen(*first));
    return true;
  }
  if (first == nullptr || !first->extents || !first->row_order.empty()) return false;
  const auto axis = axis_of(Attributes(node, graph_.where).integer("axis", 0), first->rank());
  if (!axis) return false;
  Seen made = like(*first);
  NodeProto copy = node;
  Extent& all = (*made.extents)[*axis];
  for (int i = 0; i < node.input_size(); ++i) {
    const Seen* part = seen(node, i);
    if (part == nullptr || part->rank() != first->rank() || part->order != first->order ||
        !part->row_order.empty()) {
      return false;
    }
    copy.set_input(i, part->name);
    if (i > 0) all = sum(all, (*part->extents)[*axis]);
  }
  const int written = made.order.empty() ? static_cast<int>(*axis) : made.order[*axis];
  set_integer(copy, "axis", written);
  const std::vector<std::string> parts(copy.input().begin(), copy.input().end());
  share_concat(copy, written);
  emit(std::move(copy), std::move(made));
  concats_.emplace(std::pair(written, parts), seen_.at(node.output(0)).name);
  return true;
}

}  // namespace weft::models::simplify
