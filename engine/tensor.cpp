// SPDX-License-Identifier: MIT
#include "engine/tensor.h"

namespace weft {

Shape::Shape(std::span<const std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  if (extents.size() > kMaxRank) {
    throw Error(ErrorKind::usage, str("a shape has at most ", kMaxRank, " axes, found ", rank_));
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t extent = extents[axis];
    if (extent < 0) throw Error(ErrorKind::usage, str("negative extent ", extent, " in a shape"));
    extents_[axis] = extent;
    if (__builtin_mul_overflow(elements_, extent, &elements_)) {
      throw Error(ErrorKind::usage, "a shape with more than 2^63 elements");
    }
  }
}

void Shape::throw_no_axis(int axis) const {
  throw Error(ErrorKind::usage, str("shape ", *this, " has no axis ", axis));
}

Shape Shape::with_batch(std::int64_t batch) const {
  if (rank_ == 0) throw Error(ErrorKind::usage, "a scalar has no batch axis");
  std::array<std::int64_t, kMaxRank> extents = extents_;
  extents[0] = batch;
  return Shape(std::span<const std::int64_t>(extents.data(), static_cast<std::size_t>(rank_)));
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << to_string(shape);
}

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::i32:
      return 4;
    case DType::i64:
      return 8;
    case DType::u8:
      return 1;
  }
  throw Error(ErrorKind::usage, "unknown dtype");
}

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  throw Error(ErrorKind::usage, "unknown dtype");
}

std::size_t bytes_of(const Shape& shape, DType dtype) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.elements(), static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    throw Error(ErrorKind::usage, str("a tensor ", shape, " of ", name_of(dtype), " is too large"));
  }
  return static_cast<std::size_t>(bytes);
}

void* Tensor::checked(DType wanted) const {
  if (wanted != dtype_) {
    throw Error(ErrorKind::usage, str("tensor ", shape_, " holds ", name_of(dtype_), ", asked for ",
                                      name_of(wanted)));
  }
  return buffer_.data();
}

}  // namespace weft
