// SPDX-License-Identifier: MIT
// Nodes that become layers: their weights take the order of what they read, and their windows and
// factors are written out.
#include <algorithm>
#include <cmath>

#include "models/onnx/graph.h"
#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/windows.h"
#include "models/onnx/simplify/writer.h"

namespace weft::models::simplify {

namespace {

using onnx::NodeProto;
using Numbers = std::vector<std::int64_t>;

// The values along one axis of a matrix, in another order.
Array reordered(const Array& matrix, std::size_t axis, const Numbers& at) {
  const Numbers steps = steps_of(matrix.extents);
  Numbers all(static_cast<std::size_t>(matrix.count()));
  const auto rows = matrix.extents[0], columns = matrix.extents[1];
  std::size_t next = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t row = axis == 0 ? at[static_cast<std::size_t>(r)] : r;
      const std::int64_t column = axis == 1 ? at[static_cast<std::size_t>(c)] : c;
      all[next++] = row * columns + column;
    }
  }
  return values_at(matrix, all, matrix.extents);
}

const onnx::TensorProto* floats_named(const Graph& graph, const std::string& name, int rank) {
  const auto found = graph.constants.find(name);
  const bool fits = found != graph.constants.end() && found->second.dims_size() == rank &&
                    found->second.data_type() == onnx::TensorProto::FLOAT;
  return fits ? &found->second : nullptr;
}

// A bias as one number for each of `count` outputs; nothing where it is none.
std::optional<Array> as_bias(const Array& bias, std::int64_t count) {
  const bool is_row =
      bias.count() == count && (bias.extents.empty() ? count == 1 : bias.extents.back() == count);
  if (!bias.is_real() || (bias.count() != 1 && !is_row)) return std::nullopt;
  Array made{.extents = {count}};
  made.reals.assign(static_cast<std::size_t>(count), bias.reals[0]);
  if (is_row) made.reals = bias.reals;
  return made;
}

// A kernel with zeros around its values, where the padding is not the same on both sides: as many
// more as make it so. A dilation becomes zeros between the values.
Array widened(const Array& kernel, Windows& windows) {
  Numbers extents = kernel.extents, along = steps_of(extents);
  Array made{.extents = extents};
  Numbers first(2);
  for (std::size_t i = 0; i < 2; ++i) {
    AxisWindow& axis = windows.axes[i];
    const std::int64_t more = std::max(axis.before, axis.behind);
    first[i] = more - axis.before;
    made.extents[i + 2] = axis.span() + 2 * more - axis.before - axis.behind;
  }
  const Numbers steps = steps_of(made.extents);
  made.reals.assign(static_cast<std::size_t>(count_of(made.extents).value_or(0)), 0);
  Numbers to = steps;
  for (std::size_t i = 0; i < 2; ++i) to[i + 2] *= windows.axes[i].dilation;
  const Numbers at = places(extents, to, first[0] * steps[2] + first[1] * steps[3]);
  for (std::size_t i = 0; i < at.size(); ++i) {
    made.reals[static_cast<std::size_t>(at[i])] = kernel.reals[i];
  }
  for (std::size_t i = 0; i < 2; ++i) {
    AxisWindow& axis = windows.axes[i];
    axis.before = axis.behind = std::max(axis.before, axis.behind);
    axis.kernel = made.extents[i + 2];
    axis.dilation = 1;
  }
  return made;
}

}  // namespace

bool Writer::write_product(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || node.input_size() != 2 || !is_constant(node, 1)) return false;
  const std::string weight = resolved(node.input(1));
  const onnx::TensorProto* tensor = floats_named(graph_, weight, 2);
  if (tensor == nullptr) return false;
  const std::int64_t rows = tensor->dims(0), columns = tensor->dims(1);
  Seen made{.extents = from->extents};
  if (made.extents && made.extents->empty()) return false;
  if (made.extents) made.extents->back() = Extent::number(columns);
  NodeProto copy = node;
  copy.set_input(1, weight);
  if (from->row_order.empty()) {
    copy.set_input(0, plain(node.input(0)));
  } else {
    const Numbers at = row_places(*from);
    const std::optional<Array> matrix = graph_.array(weight);
    if (std::ssize(at) != rows || !matrix) return false;
    graph_.spend(static_cast<std::uint64_t>(matrix->count()) * 12);
    copy.set_input(0, from->name);
    copy.set_input(1, graph_.add(reordered(*matrix, 0, at), weight));
  }
  emit(std::move(copy), std::move(made));
  return true;
}

bool Writer::write_gemm(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || !is_constant(node, 1)) return false;
  std::string weight = resolved(node.input(1));
  const onnx::TensorProto* tensor = floats_named(graph_, weight, 2);
  const Attributes attributes(node, graph_.where);
  const float alpha = attributes.real("alpha", 1), beta = attributes.real("beta", 1);
  const bool transposed_weight = attributes.integer("transB", 0) != 0;
  const bool is_turned = attributes.integer("transA", 0) != 0;
  if (tensor == nullptr || is_turned) return false;
  const std::size_t input_axis = transposed_weight ? 1 : 0;
  const std::int64_t outputs = tensor->dims(transposed_weight ? 0 : 1);
  const std::int64_t inputs = tensor->dims(static_cast<int>(input_axis));
  NodeProto copy = node;
  const bool is_reordered = !from->row_order.empty();
  if (is_reordered || alpha != 1) {
    std::optional<Array> matrix = graph_.array(weight);
    if (!matrix) return false;
    graph_.spend(static_cast<std::uint64_t>(matrix->count()) * 12);
    if (is_reordered) {
      const Numbers at = row_places(*from);
      if (std::ssize(at) != inputs) return false;
      matrix = reordered(*matrix, input_axis, at);
    }
    for (float& value : matrix->reals) value *= alpha;
    weight = graph_.add(*matrix, weight);
    remove_attribute(copy, "alpha");
  }
  copy.set_input(1, weight);
  if (has_input(node, 2)) {
    const std::string name = resolved(node.input(2));
    copy.set_input(2, name);
    const onnx::TensorProto* plain_bias = floats_named(graph_, name, 1);
    const bool is_plain = beta == 1 && plain_bias != nullptr && plain_bias->dims(0) == outputs;
    const std::optional<Array> found = is_plain ? std::nullopt : graph_.array(name);
    std::optional<Array> bias = found ? as_bias(*found, outputs) : std::nullopt;
    if (bias) {
      for (float& value : bias->reals) value *= beta;
      copy.set_input(2, graph_.add(*bias, name));
      remove_attribute(copy, "beta");
    }
  }
  Seen made{.extents = Extents{
                from->extents && !from->extents->empty() ? from->extents->front() : Extent{},
                Extent::number(outputs)}};
  copy.set_input(0, is_reordered ? from->name : plain(node.input(0)));
  emit(std::move(copy), std::move(made));
  return true;
}

bool Writer::write_conv(const NodeProto& node) {
  constexpr std::int64_t kMostKernel = 64;  // of one that zeros widen
  if (seen(node, 0) == nullptr || !is_constant(node, 1)) return false;
  const std::string weight = resolved(node.input(1));
  const onnx::TensorProto* tensor = floats_named(graph_, weight, 4);
  if (tensor == nullptr) return false;
  NodeProto copy = node;
  copy.set_input(0, plain(node.input(0)));
  copy.set_input(1, weight);
  if (has_input(node, 2)) copy.set_input(2, resolved(node.input(2)));
  const Extents from = seen(node, 0)->extents.value_or(Extents(4));
  if (from.size() != 4) return false;
  const Numbers kernel_of_weight = {tensor->dims(2), tensor->dims(3)};
  std::optional<Windows> windows =
      windows_of(node, graph_.where, kernel_of_weight, from[2], from[3]);
  Seen made{.extents = Extents{from[0], Extent::number(tensor->dims(0)), {}, {}}};
  const auto kernel_said = Attributes(node, graph_.where).integers("kernel_shape");
  if (windows && kernel_said.value_or(kernel_of_weight) == kernel_of_weight) {
    for (std::size_t i = 0; i < 2; ++i) (*made.extents)[i + 2] = windows->axes[i].out;
    const auto is_odd = [](const AxisWindow& axis) { return axis.before != axis.behind; };
    const auto is_small = [](const AxisWindow& axis) {
      return axis.span() + std::max(axis.before, axis.behind) <= kMostKernel;
    };
    if (std::ranges::any_of(windows->axes, is_odd) &&
        std::ranges::all_of(windows->axes, is_small)) {
      const std::optional<Array> kernel = graph_.array(weight);
      if (!kernel) return false;
      std::uint64_t values = static_cast<std::uint64_t>(kernel->count());
      for (const AxisWindow& axis : windows->axes) {
        const std::int64_t wide = axis.span() + std::max(axis.before, axis.behind);
        values *= static_cast<std::uint64_t>(wide);
        values /= static_cast<std::uint64_t>(axis.kernel);
      }
      graph_.spend(values * 4);
      const Array wide = widened(*kernel, *windows);
      copy.set_input(1, graph_.add(wide, weight));
      set_integers(copy, "kernel_shape", {wide.extents[2], wide.extents[3]});
      remove_attribute(copy, "dilations");
    }
    write_windows(*windows, copy, graph_.where);
  }
  emit(std::move(copy), std::move(made));
  return true;
}

// Pooling in Weft pads by at most half a window. More is a Pad in front: of zeros that a mean
// counts, and of the edge for a maximum, since a window that reaches over the edge has the numbers
// there in it.
void Writer::pad_apart(NodeProto& pool, Windows& windows) {
  const Attributes attributes(pool, graph_.where);
  const bool is_max = pool.op_type() == "MaxPool";
  const auto more = [](const AxisWindow& axis) { return std::max(axis.before, axis.behind); };
  const bool is_wide = std::ranges::any_of(
      windows.axes, [&](const AxisWindow& axis) { return more(axis) > axis.kernel / 2; });
  const bool reaches = std::ranges::all_of(
      windows.axes, [&](const AxisWindow& axis) { return more(axis) < axis.kernel; });
  const bool counts = attributes.integer("count_include_pad", 0) == 1;
  const bool dilates =
      std::ranges::any_of(windows.axes, [](const AxisWindow& axis) { return axis.dilation != 1; });
  if (!is_wide || windows.rounds_up || !(is_max ? reaches && !dilates : counts)) return;
  const Numbers around = windows.pads();
  const Numbers pads = {0, 0, around[0], around[1], 0, 0, around[2], around[3]};
  NodeProto pad;
  pad.set_op_type("Pad");
  pad.set_name(pool.name());
  pad.add_input(pool.input(0));
  pad.add_output(graph_.new_name(pool.output(0) + "/padded"));
  if (is_max) set_text(pad, "mode", "edge");
  constexpr std::int64_t kOpsetOfInputs = 11;
  if (graph_.opset < kOpsetOfInputs) {
    set_integers(pad, "pads", pads);
  } else {
    Array array{.type = onnx::TensorProto::INT64, .extents = {std::ssize(pads)}};
    for (const std::int64_t number : pads) array.integers.push_back(Extent::number(number));
    pad.add_input(graph_.add(array, pool.output(0) + "/pads"));
  }
  pool.set_input(0, pad.output(0));
  for (AxisWindow& axis : windows.axes) axis.before = axis.behind = 0;
  written_.push_back(std::move(pad));
}

bool Writer::write_pool(const NodeProto& node) {
  const Attributes attributes(node, graph_.where);
  const auto kernel = attributes.integers("kernel_shape");
  const Seen* from = seen(node, 0);
  if (from == nullptr || !kernel || (from->extents && from->rank() != 4)) return false;
  const Extents extents = from->extents.value_or(Extents(4));
  NodeProto copy = node;
  copy.set_input(0, plain(node.input(0)));
  auto windows = windows_of(node, graph_.where, *kernel, extents[2], extents[3]);
  Seen made{.extents = Extents{extents[0], extents[1], {}, {}}};
  if (windows) {
    for (std::size_t i = 0; i < 2; ++i) (*made.extents)[i + 2] = windows->axes[i].out;
    pad_apart(copy, *windows);
    write_windows(*windows, copy, graph_.where);
  }
  emit(std::move(copy), std::move(made));
  return true;
}

bool Writer::write_global_pool(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || from->rank() != 4) return false;
  Seen made = like(*from);
  // Rows and columns may have changed places with each other.
  const bool keeps_channels = from->order.empty() || (from->order[0] == 0 && from->order[1] == 1);
  NodeProto copy = node;
  copy.set_input(0, keeps_channels ? from->name : plain(node.input(0)));
  made.order.clear();
  (*made.extents)[2] = (*made.extents)[3] = Extent::number(1);
  emit(std::move(copy), std::move(made));
  return true;
}

// A mean of other axes is a part of a normalisation.
bool Writer::write_mean(const NodeProto& node, const Numbers& axes) {
  Seen made{.extents = seen(node, 0)->extents};
  for (const std::int64_t said : axes) {
    const auto axis = axis_of(said, made.extents->size());
    if (!axis) return false;
    (*made.extents)[*axis] = Extent::number(1);
  }
  NodeProto copy = node;
  copy.set_input(0, plain(node.input(0)));
  if (has_input(node, 1)) copy.set_input(1, resolved(node.input(1)));
  emit(std::move(copy), std::move(made));
  return true;
}

// A mean or maximum of the rows and columns, wherever the file has them.
bool Writer::write_reduce(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || !from->extents) return false;
  const Attributes attributes(node, graph_.where);
  std::optional<Numbers> axes = attributes.integers("axes");
  if (!axes && has_input(node, 1)) {
    const std::optional<Extents> said = numbers(node, 1);
    if (!said || !all_numbers(*said)) return false;
    axes.emplace();
    for (const Extent& axis : *said) axes->push_back(axis.value);
  }
  const std::int64_t keeps = attributes.integer("keepdims", 1);
  if (!axes || (keeps != 0 && keeps != 1)) return false;
  if (write_pool_of_planes(node, *axes, keeps == 1)) return true;
  return keeps == 1 && node.op_type() == "ReduceMean" && write_mean(node, *axes);
}

bool Writer::write_pool_of_planes(const NodeProto& node, const Numbers& axes, bool keeps) {
  const Seen* from = seen(node, 0);
  if (from->rank() != 4 || axes.size() != 2) return false;
  Seen made = like(*from);
  std::vector<bool> is_reduced(4, false);
  for (const std::int64_t said : axes) {
    const auto axis = axis_of(said, 4);
    if (!axis) return false;
    (*made.extents)[*axis] = Extent::number(1);
    is_reduced[from->order.empty() ? *axis : static_cast<std::size_t>(from->order[*axis])] = true;
  }
  if (!is_reduced[2] || !is_reduced[3]) return false;
  Attributes(node, graph_.where).require_only({"axes", "keepdims", "noop_with_empty_axes"});
  NodeProto copy;
  copy.set_name(node.name());
  copy.set_op_type(node.op_type() == "ReduceMean" ? "GlobalAveragePool" : "GlobalMaxPool");
  copy.add_input(from->name);
  copy.add_output(node.output(0));
  if (keeps) {
    emit(std::move(copy), std::move(made));
    return true;
  }
  const Extents written = extents_as_written(*from);
  const Extents planes = {written[0], written[1], Extent::number(1), Extent::number(1)};
  const std::string pooled = graph_.new_name(node.output(0));
  graph_.extents.insert_or_assign(pooled, planes);
  copy.set_output(0, pooled);
  NodeProto flatten;
  flatten.set_name(node.name());
  flatten.set_op_type("Flatten");
  flatten.add_input(pooled);
  flatten.add_output(node.output(0));
  set_integer(flatten, "axis", 1);
  written_.push_back(std::move(copy));
  emit(std::move(flatten), Seen{.extents = Extents{planes[0], planes[1]}});
  return true;
}

// Older exporters normalise a row (batch, features) as (batch, features, 1).
bool Writer::write_norm_of_row(const NodeProto& node, const Seen& from) {
  const std::string row = from.reshaped_from;
  const Extents extents = *from.extents;
  const Seen& read = seen_.at(row);
  const auto is_one = [](const Extent& extent) { return extent.is(1); };
  if (read.rank() != 2 || extents.size() < 3 || !same(extents[1], (*read.extents)[1]) ||
      !std::ranges::all_of(extents.begin() + 2, extents.end(), is_one)) {
    return false;
  }
  NodeProto norm = node, shape;
  norm.set_input(0, row);
  norm.set_output(0, graph_.new_name(node.output(0)));
  if (!write_norm(norm)) return false;
  shape.set_name(node.name());
  shape.set_op_type("Reshape");
  shape.add_input(norm.output(0));
  shape.add_output(node.output(0));
  return write_shape(shape, norm.output(0), extents);
}

bool Writer::write_norm(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || node.input_size() != 5) return false;
  if (!from->reshaped_from.empty() && write_norm_of_row(node, *from)) return true;
  NodeProto copy = node;
  for (int i = 1; i < 5; ++i) {
    if (!is_constant(node, i)) return false;
    copy.set_input(i, resolved(node.input(i)));
  }
  if (from->row_order.empty()) {
    copy.set_input(0, plain(node.input(0)));
  } else {
    const Numbers at = row_places(*from);
    copy.set_input(0, from->name);
    for (int i = 1; i < 5; ++i) {
      const std::optional<Array> of_row = graph_.array(copy.input(i));
      if (!of_row || !of_row->is_real() || of_row->count() != std::ssize(at)) return false;
      graph_.spend(static_cast<std::uint64_t>(at.size()) * 12);
      copy.set_input(i, graph_.add(values_at(*of_row, at, of_row->extents), copy.input(i)));
    }
  }
  Seen made = *seen(node, 0);
  emit(std::move(copy), std::move(made));
  return true;
}

}  // namespace weft::models::simplify
