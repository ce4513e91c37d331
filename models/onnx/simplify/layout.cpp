// SPDX-License-Identifier: MIT
// Nodes that do nothing to the numbers of a value: Identity, Cast, Transpose and Reshape in all
// their forms.
#include <algorithm>
#include <numeric>

#include "engine/text.h"
#include "models/onnx/graph.h"
#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/writer.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;

}  // namespace

bool keeps_values(const Seen& value) {
  int last = -1;
  for (std::size_t i = 0; i < value.order.size(); ++i) {
    if ((*value.extents)[i].is(1)) continue;
    if (value.order[i] < last) return false;
    last = value.order[i];
  }
  return true;
}

std::vector<std::int64_t> row_places(const Seen& row) {
  std::vector<std::int64_t> extents(row.row.size()), along(row.row.size());
  const std::vector<std::int64_t> steps = steps_of(row.row);
  for (std::size_t i = 0; i < row.row.size(); ++i) {
    extents[static_cast<std::size_t>(row.row_order[i])] = row.row[i];
    along[static_cast<std::size_t>(row.row_order[i])] = steps[i];
  }
  return places(extents, along);
}

bool Writer::write_identity(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || node.input_size() != 1) return false;
  Attributes(node, graph_.where).require_only({});
  seen_.insert_or_assign(node.output(0), Seen(*from));
  return true;
}

bool Writer::write_cast(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr) return false;
  const Attributes attributes(node, graph_.where);
  const std::int64_t to = attributes.integer("to", 0);
  const bool narrows = from->type == onnx::TensorProto::DOUBLE && to == onnx::TensorProto::FLOAT;
  if (from->type != 0 && (to == from->type || narrows)) {  // Weft has no wider numbers
    attributes.require_only({"to", "saturate"});
    Seen made = *from;
    made.type = static_cast<int>(to);
    seen_.insert_or_assign(node.output(0), std::move(made));
    return true;
  }
  Seen made = *from;
  made.type = static_cast<int>(to);
  NodeProto copy = node;
  copy.set_input(0, from->name);
  emit(std::move(copy), std::move(made));
  return true;
}

bool Writer::write_transpose(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || !from->row_order.empty()) return false;
  const Attributes attributes(node, graph_.where);
  attributes.require_only({"perm"});
  std::vector<int> axes;
  if (const auto perm = attributes.integers("perm")) {
    for (const std::int64_t axis : *perm) {
      axes.push_back(static_cast<int>(std::clamp<std::int64_t>(axis, -1, kMostRank)));
    }
  } else if (from->extents) {
    for (std::size_t i = from->rank(); i-- > 0;) axes.push_back(static_cast<int>(i));
  }
  const std::size_t rank = from->extents ? from->rank() : axes.size();
  if (axes.empty() || rank > static_cast<std::size_t>(kMostRank) || !is_permutation(axes, rank)) {
    return false;
  }
  if (axes[0] != 0) return false;  // Weft has no operator across images
  Seen made = *from;
  made.reshaped_from.clear();
  made.extents = Extents(rank);
  made.order.resize(rank);
  made.turned = &node;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (from->extents) (*made.extents)[i] = (*from->extents)[axis];
    made.order[i] = from->order.empty() ? axes[i] : from->order[axis];
  }
  std::vector<int> same_order(rank);
  std::iota(same_order.begin(), same_order.end(), 0);
  if (made.order == same_order) made.order.clear();
  seen_.insert_or_assign(node.output(0), std::move(made));
  return true;
}

std::optional<Extents> Writer::squeezed(const NodeProto& node, const Seen& from) {
  const bool adds = node.op_type() == "Unsqueeze";
  const Attributes attributes(node, graph_.where);
  attributes.require_only({"axes"});
  std::optional<std::vector<std::int64_t>> axes = attributes.integers("axes");
  if (!axes && has_input(node, 1)) {
    const std::optional<Extents> said = numbers(node, 1);
    if (!said || !all_numbers(*said)) return std::nullopt;
    axes.emplace();
    for (const Extent& axis : *said) axes->push_back(axis.value);
  }
  if (!axes && adds) return std::nullopt;
  const std::size_t rank = from.rank() + (adds ? axes->size() : 0);
  if (rank > static_cast<std::size_t>(kMostRank)) return std::nullopt;
  std::vector<bool> is_named(rank, false);
  if (!axes) {
    for (std::size_t i = 0; i < rank; ++i) {
      // Whether an open extent is 1 only the run tells.
      if ((*from.extents)[i].kind != Extent::Kind::number) return std::nullopt;
      is_named[i] = (*from.extents)[i].is(1);
    }
  } else {
    for (const std::int64_t said : *axes) {
      const auto axis = axis_of(said, rank);
      if (!axis || is_named[*axis] || (!adds && !(*from.extents)[*axis].is(1))) {
        return std::nullopt;
      }
      is_named[*axis] = true;
    }
  }
  Extents made;
  auto next = from.extents->begin();
  for (std::size_t i = 0; i < rank; ++i) {
    if (adds) made.push_back(is_named[i] ? Extent::number(1) : *next++);
    if (!adds && !is_named[i]) made.push_back((*from.extents)[i]);
  }
  return made;
}

std::optional<Extents> Writer::reshaped_to(const NodeProto& node, const Seen& from) {
  const Attributes attributes(node, graph_.where);
  const Extents& extents = *from.extents;
  if (node.op_type() == "Flatten") {
    attributes.require_only({"axis"});
    const std::int64_t said = attributes.integer("axis", 1), rank = std::ssize(extents);
    const std::int64_t axis = said < 0 ? said + rank : said;
    if (axis < 0 || axis > rank) return std::nullopt;
    const std::span all(extents);
    return Extents{product(all.first(static_cast<std::size_t>(axis))),
                   product(all.subspan(static_cast<std::size_t>(axis)))};
  }
  if (node.op_type() != "Reshape") return squeezed(node, from);
  attributes.require_only({"allowzero", "shape"});
  std::optional<Extents> shape = numbers(node, 1);
  if (const auto said = attributes.integers("shape")) {
    shape.emplace();
    for (const std::int64_t extent : *said) shape->push_back(Extent::number(extent));
  }
  if (!shape || std::ssize(*shape) > kMostRank) return std::nullopt;
  const bool zero_copies = attributes.integer("allowzero", 0) == 0;
  std::optional<Extents> made = reshaped(extents, *shape, zero_copies);
  // A file that was traced with one image says 1 where it means the batch.
  const bool says_one = !shape->empty() && shape->front().is(1) && !extents.empty() &&
                        extents.front() == Extent::batches();
  if (!made && says_one) {
    shape->front() = Extent::batches();
    made = reshaped(extents, *shape, zero_copies);
  }
  return made;
}

// A row of the values of each image.
void Writer::write_row(const NodeProto& node, const std::string& value, const Extents& to) {
  const Seen from = seen_.at(value);
  Seen made{.type = from.type, .extents = to, .turned = from.turned};
  NodeProto flatten;
  flatten.set_op_type("Flatten");
  flatten.set_name(node.name());
  flatten.add_output(node.output(0));
  set_integer(flatten, "axis", 1);
  const std::span<const Extent> rest = std::span(*from.extents).subspan(1);
  if (!from.order.empty() && !from.is_input && from.order[0] == 0 &&
      std::ranges::all_of(rest, &Extent::is_number)) {
    for (std::size_t i = 1; i < from.order.size(); ++i) {
      made.row.push_back((*from.extents)[i].value);
      made.row_order.push_back(from.order[i] - 1);
    }
    if (keeps_values(from)) {
      made.row.clear();
      made.row_order.clear();
    }
    if (count_of(made.row).value_or(INT64_MAX) <= kMostNumbers * 64) {
      flatten.add_input(from.name);
      emit(std::move(flatten), std::move(made));
      return;
    }
    made.row.clear();
    made.row_order.clear();
  }
  flatten.add_input(plain(value));
  emit(std::move(flatten), std::move(made));
}

bool Writer::write_reshape(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr) return false;
  const std::optional<Extents> to =
      from->extents ? reshaped_to(node, *from) : std::optional<Extents>{};
  if (!to) {
    // A shape that is not computed is refused with the operator that stands in its way.
    if (!has_input(node, 1) || !computed_.contains(node.input(1))) return false;
    refuse_node(node, graph_.where,
                "its shape depends on more than the number of images: Weft cannot compute it");
  }
  // One Reshape behind another is one of what the first one read.
  std::string value = node.input(0);
  if (!from->reshaped_from.empty()) {
    const Seen& first = seen_.at(from->reshaped_from);
    if (same((*first.extents)[0], (*from->extents)[0])) {
      value = from->reshaped_from;
      from = &first;
    }
  }
  const bool is_row = to->size() == 2 && !from->extents->empty() &&
                      (same((*to)[0], (*from->extents)[0]) ||
                       (node.op_type() == "Flatten" && from->rank() > 1 && value == node.input(0) &&
                        Attributes(node, graph_.where).integer("axis", 1) == 1));
  if (same(*to, *from->extents) || (is_row && from->rank() == 2)) {
    seen_.insert_or_assign(node.output(0), Seen(*from));
    return true;
  }
  if (is_row && from->rank() > 2) {
    write_row(node, value, *to);
    return true;
  }
  return write_shape(node, value, *to);
}

// Another shape than a row.
bool Writer::write_shape(const NodeProto& node, const std::string& value, const Extents& to) {
  const Seen& from = seen_.at(value);
  const std::span<const Extent> rest = std::span(to).subspan(to.empty() ? 0 : 1);
  const bool is_image_each = !to.empty() && !from.extents->empty() &&
                             same(to.front(), from.extents->front()) &&
                             std::ranges::all_of(rest, &Extent::is_number);
  Seen made{.type = from.type, .extents = to, .is_input = from.is_input};
  NodeProto copy = node;
  copy.set_input(0, plain(value));
  if (is_image_each) {
    Array shape{.type = onnx::TensorProto::INT64, .extents = {std::ssize(to)}};
    for (const Extent& extent : to) {
      shape.integers.push_back(extent.is_number() ? extent : Extent::number(-1));
    }
    copy.set_op_type("Reshape");
    copy.clear_attribute();
    copy.mutable_input()->DeleteSubrange(1, copy.input_size() - 1);
    copy.add_input(graph_.add(shape, node.output(0) + "/shape"));
  } else if (node.op_type() == "Reshape" && (!has_input(node, 1) || is_constant(node, 1))) {
    if (value != node.input(0)) copy.set_input(0, plain(node.input(0)));
    if (has_input(node, 1)) copy.set_input(1, resolved(node.input(1)));
  } else {
    refuse_node(node, graph_.where,
                "expected it to make one value of each image, of a shape that the file tells");
  }
  emit(std::move(copy), std::move(made));
  if (is_image_each) seen_.at(node.output(0)).reshaped_from = value;
  return true;
}

}  // namespace weft::models::simplify
