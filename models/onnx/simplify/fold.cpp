// SPDX-License-Identifier: MIT
#include "models/onnx/simplify/fold.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace weft::models::simplify {

namespace {

using Numbers = std::vector<std::int64_t>;
using Inputs = std::vector<const Array*>;

constexpr std::int64_t kMostMade = 1 << 20;  // values of what has fewer of them in the file

std::optional<Numbers> numbers_of(const Array* array) {
  if (array == nullptr || array->is_real() || !all_numbers(array->integers)) return std::nullopt;
  Numbers numbers;
  for (const Extent& value : array->integers) numbers.push_back(value.value);
  return numbers;
}

// One computation of a node.
class Folder {
 public:
  Folder(const onnx::NodeProto& node, const Inputs& inputs, Graph& graph)
      : node_(node), inputs_(inputs), graph_(graph), attributes_(node, graph.where) {}

  std::optional<Array> fold() {
    const std::string& type = node_.op_type();
    if (type == "ConstantOfShape") return constant_of_shape();
    if (first() == nullptr) return std::nullopt;
    if (type == "Cast") return cast();
    if (type == "Concat") return concat();
    if (type == "Gather") return gather();
    if (type == "Slice") return slice();
    if (type == "Squeeze" || type == "Unsqueeze") return squeezed(type == "Unsqueeze");
    if (type == "Reshape" || type == "Flatten") return reshape(type == "Flatten");
    if (type == "Transpose") return transpose();
    if (type == "Expand") return expand();
    if (type == "ReduceProd") return reduce_prod();
    if (type == "Shape") return shape();
    if (inputs_.size() == 2 && inputs_[1] != nullptr) return binary(type);
    return inputs_.size() == 1 ? unary(type) : std::nullopt;
  }

 private:
  const Array* input(std::size_t index) const {
    return index < inputs_.size() ? inputs_[index] : nullptr;
  }
  const Array* first() const { return input(0); }
  std::size_t rank() const { return first()->extents.size(); }
  void spend(std::int64_t values) { graph_.spend(static_cast<std::uint64_t>(values) * 16); }

  // What an attribute said before it became an input.
  std::optional<Numbers> said(const char* name, std::size_t index) const {
    if (auto numbers = attributes_.integers(name)) return numbers;
    return numbers_of(input(index));
  }

  std::optional<Array> as(std::vector<std::int64_t> extents) {
    spend(first()->count());
    Array array = *first();
    array.extents = std::move(extents);
    return array;
  }

  std::optional<Array> constant_of_shape() {
    const auto extents = numbers_of(first());
    if (!extents || std::ssize(*extents) > kMostRank) return std::nullopt;
    const auto count = count_of(*extents);
    if (!count || *count > kMostMade) return std::nullopt;
    Array value{.extents = {1}, .reals = {0}};
    if (const auto* said = attributes_.find("value", onnx::AttributeProto::TENSOR)) {
      const auto found = array_of(said->t());
      if (!found || found->count() != 1) return std::nullopt;
      value = *found;
    }
    if (!value.is_real() && *count > kMostNumbers) return std::nullopt;
    spend(*count);
    return values_at(value, Numbers(static_cast<std::size_t>(*count), 0), *extents);
  }

  std::optional<Array> cast() {
    const std::int64_t to = attributes_.integer("to", 0);
    const Array& from = *first();
    Array made{.type = static_cast<int>(to), .extents = from.extents};
    spend(from.count());
    switch (to) {
      case onnx::TensorProto::FLOAT:
        if (from.is_real()) return from;
        if (!all_numbers(from.integers)) return std::nullopt;
        for (const auto& number : from.integers)
          made.reals.push_back(static_cast<float>(number.value));
        return made;
      case onnx::TensorProto::INT64:
      case onnx::TensorProto::INT32:
        if (!from.is_real()) {
          made.integers = from.integers;
          return fits(made) ? std::optional(made) : std::nullopt;
        }
        if (from.count() > kMostNumbers) return std::nullopt;
        for (const float value : from.reals) {
          if (!(std::fabs(value) < 0x1p31f)) return std::nullopt;
          made.integers.push_back(Extent::number(static_cast<std::int64_t>(value)));
        }
        return made;
      default:
        return std::nullopt;
    }
  }

  static bool fits(const Array& array) {
    return array.type == onnx::TensorProto::INT64 ||
           std::ranges::all_of(array.integers, [](const Extent& value) {
             return value.value >= INT32_MIN && value.value <= INT32_MAX;
           });
  }

  std::optional<Array> concat() {
    const auto axis = axis_of(attributes_.integer("axis", 0), rank());
    if (!axis) return std::nullopt;
    Array made{.type = first()->type, .extents = first()->extents};
    made.extents[*axis] = 0;
    for (const Array* part : inputs_) {
      if (part == nullptr || part->type != made.type || part->extents.size() != rank()) {
        return std::nullopt;
      }
      for (std::size_t i = 0; i < rank(); ++i) {
        if (i != *axis && part->extents[i] != first()->extents[i]) return std::nullopt;
      }
      made.extents[*axis] += part->extents[*axis];
      spend(part->count());
    }
    const std::span all(made.extents);
    if (count_of(all).value_or(0) == 0) return std::nullopt;
    const std::int64_t outer = count_of(all.first(*axis)).value_or(0);
    for (std::int64_t i = 0; i < outer; ++i) {
      for (const Array* part : inputs_) {
        const std::int64_t size = part->count() / outer;
        const auto append = [&](auto& to, const auto& from) {
          to.insert(to.end(), from.begin() + i * size, from.begin() + (i + 1) * size);
        };
        if (made.is_real()) append(made.reals, part->reals);
        if (!made.is_real()) append(made.integers, part->integers);
      }
    }
    if (!made.is_real() && made.count() > kMostNumbers) return std::nullopt;
    return made;
  }

  std::optional<Array> gather() {
    const auto axis = axis_of(attributes_.integer("axis", 0), rank());
    const auto indices = numbers_of(input(1));
    if (!axis || !indices) return std::nullopt;
    const Numbers& from = first()->extents;
    Numbers extents(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*axis));
    const std::int64_t outer = count_of(extents).value_or(0);
    extents.insert(extents.end(), input(1)->extents.begin(), input(1)->extents.end());
    extents.insert(extents.end(), from.begin() + static_cast<std::ptrdiff_t>(*axis) + 1,
                   from.end());
    const auto count = count_of(extents);
    if (!count || *count == 0 || *count > kMostMade || std::ssize(extents) > kMostRank) {
      return std::nullopt;
    }
    spend(*count);
    const std::int64_t inner = steps_of(from)[*axis], size = from[*axis];
    Numbers at;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (const std::int64_t index : *indices) {
        if (index < -size || index >= size) return std::nullopt;
        for (std::int64_t i = 0; i < inner; ++i) {
          at.push_back((o * size + index + (index < 0 ? size : 0)) * inner + i);
        }
      }
    }
    return values_at(*first(), at, extents);
  }

  std::optional<Array> slice() {
    const auto starts = said("starts", 1), ends = said("ends", 2);
    if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
    Numbers axes, steps(starts->size(), 1);
    for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<int>(i));
    const bool says_axes = attributes_.integers("axes") || input(3) != nullptr;
    if (says_axes) axes = said("axes", 3).value_or(Numbers{});
    if (input(4) != nullptr) steps = numbers_of(input(4)).value_or(Numbers{});
    if (axes.size() != starts->size() || steps.size() != starts->size()) return std::nullopt;
    Numbers extents = first()->extents, along = steps_of(extents);
    std::int64_t begin = 0;
    std::vector<bool> cut(rank(), false);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = axis_of(axes[i], rank());
      if (!axis || cut[*axis] || steps[i] == 0) return std::nullopt;
      cut[*axis] = true;
      const std::int64_t size = first()->extents[*axis];
      const bool is_back = steps[i] < 0;  // from the last to the first
      const std::int64_t step = std::clamp<std::int64_t>(steps[i], -size - 1, size + 1);
      const auto within = [&](std::int64_t at, std::int64_t least, std::int64_t most) {
        return std::clamp<std::int64_t>(at < 0 && at >= -size ? at + size : at, least, most);
      };
      if (size == 0) return std::nullopt;
      const std::int64_t from = within((*starts)[i], 0, is_back ? size - 1 : size);
      const std::int64_t to = within((*ends)[i], is_back ? -1 : 0, is_back ? size - 1 : size);
      const std::int64_t room = std::max<std::int64_t>(is_back ? from - to : to - from, 0);
      extents[*axis] = room / std::abs(step) + (room % std::abs(step) != 0 ? 1 : 0);
      begin += from * along[*axis];
      along[*axis] *= step;
    }
    spend(count_of(extents).value_or(0));
    return values_at(*first(), places(extents, along, begin), extents);
  }

  std::optional<Array> squeezed(bool adds) {
    auto axes = said("axes", 1);
    const bool says_axes = axes.has_value();
    if (!says_axes && (adds || input(1) != nullptr)) return std::nullopt;
    Numbers extents = first()->extents;
    if (!says_axes) {
      std::erase(extents, 1);
      return as(extents);
    }
    const std::size_t size = rank() + (adds ? axes->size() : 0);
    if (size > static_cast<std::size_t>(kMostRank)) return std::nullopt;
    std::vector<bool> is_named(size, false);
    for (const std::int64_t said_axis : *axes) {
      const auto axis = axis_of(said_axis, size);
      if (!axis || is_named[*axis]) return std::nullopt;
      is_named[*axis] = true;
    }
    Numbers made;
    auto next = first()->extents.begin();
    for (std::size_t i = 0; i < size; ++i) {
      if (adds) made.push_back(is_named[i] ? 1 : *next++);
      if (!adds && !is_named[i]) made.push_back(extents[i]);
      if (!adds && is_named[i] && extents[i] != 1) return std::nullopt;
    }
    return as(made);
  }

  std::optional<Array> reshape(bool flattens) {
    Extents from;
    for (const std::int64_t extent : first()->extents) from.push_back(Extent::number(extent));
    std::optional<Extents> made;
    if (flattens) {
      const std::int64_t said_axis = attributes_.integer("axis", 1);
      const auto size = static_cast<std::int64_t>(rank());
      const std::int64_t axis = said_axis < 0 ? said_axis + size : said_axis;
      if (axis < 0 || axis > size) return std::nullopt;
      const std::span all(from);
      made = {product(all.first(static_cast<std::size_t>(axis))),
              product(all.subspan(static_cast<std::size_t>(axis)))};
    } else {
      std::optional<Numbers> shape = said("shape", 1);
      if (!shape) return std::nullopt;
      Extents wanted;
      for (const std::int64_t extent : *shape) wanted.push_back(Extent::number(extent));
      made = reshaped(from, wanted, attributes_.integer("allowzero", 0) == 0);
    }
    if (!made || !all_numbers(*made) || std::ssize(*made) > kMostRank) return std::nullopt;
    Numbers extents;
    for (const Extent& extent : *made) extents.push_back(extent.value);
    if (count_of(extents) != first()->count()) return std::nullopt;
    return as(extents);
  }

  std::optional<Array> transpose() {
    std::vector<int> axes;
    for (std::size_t i = rank(); i-- > 0;) axes.push_back(static_cast<int>(i));
    if (const auto perm = attributes_.integers("perm")) {
      axes.clear();
      for (const std::int64_t axis : *perm) {
        axes.push_back(static_cast<int>(std::clamp<std::int64_t>(axis, -1, kMostRank)));
      }
    }
    if (!is_permutation(axes, rank())) return std::nullopt;
    spend(first()->count());
    return transposed(*first(), axes);
  }

  std::optional<Array> expand() {
    const auto wanted = numbers_of(input(1));
    if (!wanted || std::ssize(*wanted) > kMostRank) return std::nullopt;
    const auto extents = broadcast(first()->extents, *wanted);
    const auto count = extents ? count_of(*extents) : std::nullopt;
    if (!count || *count > (first()->is_real() ? kMostMade : kMostNumbers)) return std::nullopt;
    spend(*count);
    return broadcast_to(*first(), *extents);
  }

  std::optional<Array> reduce_prod() {
    if (first()->is_real() || rank() != 1) return std::nullopt;
    const Extent all = product(first()->integers);
    const bool keeps = attributes_.integer("keepdims", 1) != 0;
    return Array{
        .type = first()->type, .extents = keeps ? Numbers{1} : Numbers{}, .integers = {all}};
  }

  std::optional<Array> shape() {
    if (attributes_.integer("start", 0) != 0 ||
        attributes_.find("end", onnx::AttributeProto::INT)) {
      return std::nullopt;
    }
    Array made{.type = onnx::TensorProto::INT64, .extents = {std::ssize(first()->extents)}};
    for (const auto extent : first()->extents) made.integers.push_back(Extent::number(extent));
    return made;
  }

  std::optional<Array> binary(const std::string& type) {
    const Array &a = *first(), &b = *input(1);
    const bool is_known = type == "Add" || type == "Sub" || type == "Mul" || type == "Div";
    const auto extents = broadcast(a.extents, b.extents);
    if (!is_known || a.type != b.type || !extents) return std::nullopt;
    const std::int64_t count = count_of(*extents).value_or(INT64_MAX);
    if (count > std::max({a.count(), b.count(), kMostNumbers})) return std::nullopt;
    spend(3 * count);
    const Array x = broadcast_to(a, *extents), y = broadcast_to(b, *extents);
    Array made{.type = a.type, .extents = *extents};
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (a.is_real()) {
        const double u = x.reals[i], v = y.reals[i];
        made.reals.push_back(static_cast<float>(type == "Add"   ? u + v
                                                : type == "Sub" ? u - v
                                                : type == "Mul" ? u * v
                                                                : u / v));
      } else {
        const Extent &u = x.integers[i], &v = y.integers[i];
        made.integers.push_back(type == "Add"   ? sum(u, v)
                                : type == "Sub" ? difference(u, v)
                                : type == "Mul" ? product(u, v)
                                                : quotient(u, v));
      }
    }
    if (!made.is_real() && !fits(made)) return std::nullopt;
    return made;
  }

  std::optional<Array> unary(const std::string& type) {
    if (!first()->is_real()) return std::nullopt;
    double (*compute)(double) = nullptr;
    if (type == "Sqrt") compute = [](double x) { return std::sqrt(x); };
    if (type == "Neg") compute = [](double x) { return -x; };
    if (type == "Reciprocal") compute = [](double x) { return 1 / x; };
    if (type == "Exp") compute = [](double x) { return std::exp(x); };
    if (type == "Abs") compute = [](double x) { return std::fabs(x); };
    if (compute == nullptr) return std::nullopt;
    auto made = as(first()->extents);
    for (float& value : made->reals) value = static_cast<float>(compute(value));
    return made;
  }

  const onnx::NodeProto& node_;
  const Inputs& inputs_;
  Graph& graph_;
  Attributes attributes_;
};

}  // namespace

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::optional<Extents> reshaped(const Extents& from, const Extents& shape, bool zero_copies) {
  Extents made;
  std::optional<std::size_t> rest;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    made.push_back(shape[i]);
    if (shape[i].is(0) && zero_copies) {
      if (i >= from.size()) return std::nullopt;
      made.back() = from[i];
    } else if (shape[i].is(-1)) {
      if (rest) return std::nullopt;
      rest = i;
      made.back() = Extent::number(1);
    } else if (shape[i].kind == Extent::Kind::unknown ||
               (shape[i].is_number() && shape[i].value < 0)) {
      return std::nullopt;
    }
  }
  const Extent all = product(from), others = product(made);
  const bool is_known = all.kind != Extent::Kind::unknown && others.kind != Extent::Kind::unknown;
  if (rest) {
    made[*rest] = is_known ? quotient(all, others) : Extent{};
    if (is_known && !same(product(made), all)) return std::nullopt;
    return made;
  }
  if (is_known && all != others) return std::nullopt;
  return made;
}

std::optional<Array> folded(const onnx::NodeProto& node, const std::vector<const Array*>& inputs,
                            Graph& graph) {
  return Folder(node, inputs, graph).fold();
}

}  // namespace weft::models::simplify
