// SPDX-License-Identifier: MIT
#include "models/onnx/simplify/array.h"

#include <algorithm>
#include <cstring>

namespace weft::models::simplify {

namespace {

using onnx::TensorProto;

template <class Value, class Stored, class List>
bool read_values(const TensorProto& tensor, const List& list, std::int64_t count,
                 std::vector<Value>& values, Value (*make)(Stored)) {
  if (!tensor.has_raw_data()) {
    if (list.size() != count) return false;
    values.reserve(static_cast<std::size_t>(count));
    for (const auto value : list) values.push_back(make(static_cast<Stored>(value)));
    return true;
  }
  const std::string& raw = tensor.raw_data();
  if (raw.size() / sizeof(Stored) != static_cast<std::size_t>(count) ||
      raw.size() % sizeof(Stored) != 0) {
    return false;
  }
  values.reserve(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < raw.size(); at += sizeof(Stored)) {
    Stored value{};
    std::memcpy(&value, raw.data() + at, sizeof(value));  // little-endian
    values.push_back(make(value));
  }
  return true;
}

template <class Stored>
float to_real(Stored value) {
  return static_cast<float>(value);
}
template <class Stored>
Extent to_extent(Stored value) {
  return Extent::number(static_cast<std::int64_t>(value));
}

// How many values a tensor has that holds them itself.
std::optional<std::int64_t> read_extents(const TensorProto& tensor, Array& array) {
  const bool is_elsewhere = tensor.data_location() != TensorProto::DEFAULT ||
                            tensor.external_data_size() > 0 || tensor.has_segment();
  if (is_elsewhere || tensor.dims_size() > kMostRank) return std::nullopt;
  array.extents.assign(tensor.dims().begin(), tensor.dims().end());
  return count_of(array.extents);
}

bool both_numbers(const Extent& a, const Extent& b) {
  return a.is_number() && b.is_number();
}

}  // namespace

bool same(const Extent& a, const Extent& b) {
  return a.kind != Extent::Kind::unknown && a == b;
}

bool same(const Extents& a, const Extents& b) {
  return std::ranges::equal(a, b, [](const Extent& x, const Extent& y) { return same(x, y); });
}

bool all_numbers(const Extents& extents) {
  return std::ranges::all_of(extents, [](const Extent& extent) { return extent.is_number(); });
}

Extent sum(const Extent& a, const Extent& b) {
  std::int64_t value = 0;
  if (a.kind != b.kind || __builtin_add_overflow(a.value, b.value, &value)) return {};
  return {a.kind, value};
}

Extent difference(const Extent& a, const Extent& b) {
  std::int64_t value = 0;
  if (a.kind != b.kind || __builtin_sub_overflow(a.value, b.value, &value)) return {};
  return {a.kind, value};
}

Extent product(const Extent& a, const Extent& b) {
  std::int64_t value = 0;
  if (!a.is_number() && !b.is_number()) return {};
  if (__builtin_mul_overflow(a.value, b.value, &value)) return {};
  return {a.is_number() ? b.kind : a.kind, value};
}

Extent product(std::span<const Extent> extents) {
  Extent all = Extent::number(1);
  for (const Extent& extent : extents) all = product(all, extent);
  return all;
}

Extent quotient(const Extent& a, const Extent& b) {
  if (b.value == 0 || (a.value == INT64_MIN && b.value == -1)) return {};
  if (both_numbers(a, b)) return Extent::number(a.value / b.value);
  if (a.kind != Extent::Kind::batches || a.value % b.value != 0) return {};
  if (b.is_number()) return Extent::batches(a.value / b.value);
  return b.kind == Extent::Kind::batches ? Extent::number(a.value / b.value) : Extent{};
}

std::optional<std::int64_t> count_of(std::span<const std::int64_t> extents) {
  std::int64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t extent : extents) {
    is_empty = is_empty || extent == 0;
    const std::int64_t factor = extent == 0 ? 1 : extent;
    if (factor < 0 || __builtin_mul_overflow(count, factor, &count)) return std::nullopt;
  }
  return is_empty ? 0 : count;
}

std::optional<Array> array_of(const TensorProto& tensor) {
  Array array;
  const auto count = read_extents(tensor, array);
  if (!count) return std::nullopt;
  const auto read = [&](auto& values, const auto& list, auto make) {
    return read_values(tensor, list, *count, values, make);
  };
  bool is_whole = false;
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      is_whole = read(array.reals, tensor.float_data(), to_real<float>);
      break;
    case TensorProto::DOUBLE:
      is_whole = read(array.reals, tensor.double_data(), to_real<double>);
      break;
    case TensorProto::INT64:
    case TensorProto::INT32:
    case TensorProto::BOOL:
      array.type = tensor.data_type();
      if (*count > kMostNumbers) return std::nullopt;
      is_whole = array.type == TensorProto::INT64
                     ? read(array.integers, tensor.int64_data(), to_extent<std::int64_t>)
                 : array.type == TensorProto::INT32
                     ? read(array.integers, tensor.int32_data(), to_extent<std::int32_t>)
                     : read(array.integers, tensor.int32_data(), to_extent<std::uint8_t>);
      break;
    default:
      return std::nullopt;
  }
  if (!is_whole) return std::nullopt;
  return array;
}

std::optional<Array> levels_of(const TensorProto& tensor) {
  Array array;
  const auto count = read_extents(tensor, array);
  if (!count) return std::nullopt;
  const auto read = [&](auto make) {
    return read_values(tensor, tensor.int32_data(), *count, array.reals, make);
  };
  bool is_whole = false;
  switch (tensor.data_type()) {
    case TensorProto::INT8:
      is_whole = read(to_real<std::int8_t>);
      break;
    case TensorProto::UINT8:
      is_whole = read(to_real<std::uint8_t>);
      break;
    case TensorProto::INT16:
      is_whole = read(to_real<std::int16_t>);
      break;
    case TensorProto::UINT16:
      is_whole = read(to_real<std::uint16_t>);
      break;
    case TensorProto::INT32:
      is_whole = read(to_real<std::int32_t>);
      break;
    default:
      break;
  }
  if (!is_whole) return std::nullopt;
  return array;
}

TensorProto tensor_of(const Array& array, const std::string& name) {
  TensorProto tensor;
  tensor.set_name(name);
  for (const std::int64_t extent : array.extents) tensor.add_dims(extent);
  if (array.is_real()) {
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.set_raw_data(array.reals.data(), array.reals.size() * sizeof(float));
    return tensor;
  }
  tensor.set_data_type(array.type);
  for (const Extent& value : array.integers) {
    if (array.type == TensorProto::INT64) {
      tensor.add_int64_data(value.value);
    } else {
      tensor.add_int32_data(static_cast<std::int32_t>(value.value));
    }
  }
  return tensor;
}

Array values_at(const Array& array, std::span<const std::int64_t> at,
                std::vector<std::int64_t> extents) {
  Array found{.type = array.type, .extents = std::move(extents)};
  if (array.is_real()) found.reals.reserve(at.size());
  if (!array.is_real()) found.integers.reserve(at.size());
  for (const std::int64_t place : at) {
    const auto index = static_cast<std::size_t>(place);
    if (array.is_real()) found.reals.push_back(array.reals[index]);
    if (!array.is_real()) found.integers.push_back(array.integers[index]);
  }
  return found;
}

std::vector<std::int64_t> steps_of(std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> steps(extents.size(), 1);
  for (std::size_t axis = extents.size(); axis > 1; --axis) {
    steps[axis - 2] = steps[axis - 1] * extents[axis - 1];
  }
  return steps;
}

std::vector<std::int64_t> places(std::span<const std::int64_t> extents,
                                 std::span<const std::int64_t> steps, std::int64_t first) {
  const auto count = count_of(extents).value_or(0);
  std::vector<std::int64_t> found;
  found.reserve(static_cast<std::size_t>(count));
  std::vector<std::int64_t> index(extents.size(), 0);
  std::int64_t place = first;
  for (std::int64_t i = 0; i < count; ++i) {
    found.push_back(place);
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      place += steps[axis];
      if (++index[axis] < extents[axis]) break;
      place -= steps[axis] * extents[axis];
      index[axis] = 0;
    }
  }
  return found;
}

bool is_permutation(std::span<const int> axes, std::size_t rank) {
  std::vector<bool> seen(rank, false);
  for (const int axis : axes) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank) return false;
    if (seen[static_cast<std::size_t>(axis)]) return false;
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return axes.size() == rank;
}

Array transposed(const Array& array, std::span<const int> permutation) {
  const std::vector<std::int64_t> steps = steps_of(array.extents);
  std::vector<std::int64_t> extents, along;
  for (const int axis : permutation) {
    extents.push_back(array.extents[static_cast<std::size_t>(axis)]);
    along.push_back(steps[static_cast<std::size_t>(axis)]);
  }
  return values_at(array, places(extents, along), extents);
}

std::optional<std::vector<std::int64_t>> broadcast(std::span<const std::int64_t> a,
                                                   std::span<const std::int64_t> b) {
  std::vector<std::int64_t> extents(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 1; i <= extents.size(); ++i) {
    const std::int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    extents[extents.size() - i] = x == 1 ? y : x;
  }
  return extents;
}

Array broadcast_to(const Array& array, const std::vector<std::int64_t>& extents) {
  if (array.extents == extents) return array;
  const std::vector<std::int64_t> steps = steps_of(array.extents);
  std::vector<std::int64_t> along(extents.size(), 0);
  for (std::size_t i = 1; i <= array.extents.size(); ++i) {
    if (array.extents[array.extents.size() - i] != 1) {
      along[extents.size() - i] = steps[array.extents.size() - i];
    }
  }
  return values_at(array, places(extents, along), extents);
}

}  // namespace weft::models::simplify
