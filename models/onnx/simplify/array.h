// SPDX-License-Identifier: MIT
// What a graph is known to hold before any picture is there: extents, and the values of constants.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::models::simplify {

// A whole number of a shape. The number of images in a batch may be open, so it is a kind of its
// own.
struct Extent {
  enum class Kind { unknown, number, batches };
  Kind kind = Kind::unknown;
  std::int64_t value = 0;  // the number, or how many times the number of images

  static Extent number(std::int64_t value) { return {Kind::number, value}; }
  static Extent batches(std::int64_t times = 1) { return {Kind::batches, times}; }
  bool is_number() const { return kind == Kind::number; }
  bool is(std::int64_t other) const { return is_number() && value == other; }
  bool operator==(const Extent&) const = default;
};

using Extents = std::vector<Extent>;

// Are both known, and the same?
bool same(const Extent& a, const Extent& b);
bool same(const Extents& a, const Extents& b);
bool all_numbers(const Extents& extents);

// Each is unknown where a number would overflow or depend on more than the batch.
Extent sum(const Extent& a, const Extent& b);
Extent difference(const Extent& a, const Extent& b);
Extent product(const Extent& a, const Extent& b);
Extent product(std::span<const Extent> extents);
Extent quotient(const Extent& a, const Extent& b);  // rounded towards 0

// Constants of a graph have at most so many dimensions, and whole numbers at most so many values.
inline constexpr int kMostRank = 8;
inline constexpr std::int64_t kMostNumbers = 1 << 16;

// The product of extents. Nothing where one is negative, or where those above 0 would overflow.
std::optional<std::int64_t> count_of(std::span<const std::int64_t> extents);

// A constant: floats, or whole numbers some of which may depend on the batch.
struct Array {
  int type = onnx::TensorProto::FLOAT;
  std::vector<std::int64_t> extents = {};
  std::vector<float> reals = {};
  std::vector<Extent> integers = {};

  bool is_real() const { return type == onnx::TensorProto::FLOAT; }
  std::int64_t count() const {
    return static_cast<std::int64_t>(is_real() ? reals.size() : integers.size());
  }
  bool is_written() const { return is_real() || all_numbers(integers); }  // could a file hold it?
};

// Nothing for a tensor that is damaged, has its values elsewhere or is of a type that is none of
// FLOAT, DOUBLE, INT64, INT32 and BOOL. DOUBLE becomes FLOAT.
std::optional<Array> array_of(const onnx::TensorProto& tensor);
// Whole numbers of at most 32 bits as reals, where array_of() gives nothing for another type.
std::optional<Array> levels_of(const onnx::TensorProto& tensor);
onnx::TensorProto tensor_of(const Array& array, const std::string& name);

// The values at these places of an array.
Array values_at(const Array& array, std::span<const std::int64_t> places,
                std::vector<std::int64_t> extents);
// The places that steps along each axis lead to, the last axis first.
std::vector<std::int64_t> places(std::span<const std::int64_t> extents,
                                 std::span<const std::int64_t> steps, std::int64_t first = 0);
std::vector<std::int64_t> steps_of(std::span<const std::int64_t> extents);

// numpy.transpose; the permutation is checked by is_permutation().
Array transposed(const Array& array, std::span<const int> permutation);
bool is_permutation(std::span<const int> axes, std::size_t rank);
// numpy.broadcast_shapes; nothing where the two do not fit.
std::optional<std::vector<std::int64_t>> broadcast(std::span<const std::int64_t> a,
                                                   std::span<const std::int64_t> b);
// An array as one of these extents, to which broadcast() led.
Array broadcast_to(const Array& array, const std::vector<std::int64_t>& extents);

}  // namespace weft::models::simplify
