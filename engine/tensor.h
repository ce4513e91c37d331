// SPDX-License-Identifier: MIT
// Shape, DType, Tensor (owns) and TensorView (borrows), all row-major and dense.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/device.h"
#include "engine/error.h"
#include "engine/stream.h"

namespace weft {

// The extents of a dense row-major array, outermost first. Rank 0 to kMaxRank; extents >= 0;
// their product must fit in 63 bits, which the constructor checks.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;  // rank 0: a scalar, one element
  Shape(std::initializer_list<std::int64_t> extents)
      : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const {  // throws usage unless 0 <= axis < rank()
    if (axis < 0 || axis >= rank_) throw_no_axis(axis);
    return extents_[static_cast<std::size_t>(axis)];
  }
  std::int64_t elements() const { return elements_; }
  std::span<const std::int64_t> extents() const {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  Shape with_batch(std::int64_t batch) const;  // the same shape with another outermost extent

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.extents_ == b.extents_;
  }

 private:
  [[noreturn]] void throw_no_axis(int axis) const;

  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
  std::int64_t elements_ = 1;
};

std::string to_string(const Shape& shape);  // "(64, 1, 28, 28)"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

enum class DType : std::uint8_t { f32, f64, i32, i64, u8 };

std::size_t size_of(DType dtype);
const char* name_of(DType dtype);  // "f32"
// Bytes of a dense array; throws usage when they do not fit in 63 bits.
std::size_t bytes_of(const Shape& shape, DType dtype);

template <class T>
constexpr DType dtype_of() {
  using V = std::remove_const_t<T>;
  if constexpr (std::is_same_v<V, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<V, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<V, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<V, std::int64_t>)
    return DType::i64;
  else {
    static_assert(std::is_same_v<V, std::uint8_t>, "not an element type of Weft");
    return DType::u8;
  }
}

// Borrowed elements of a Tensor, or of a slice of one. Never owns, never outlives what it views.
template <class T>
struct TensorView {
  T* data = nullptr;
  Shape shape{0};
  Device device;

  std::int64_t elements() const { return shape.elements(); }
  // The same elements under another shape of the same size.
  TensorView reshaped(const Shape& other) const {
    if (other.elements() != shape.elements()) {
      throw Error(ErrorKind::usage, str("cannot view ", shape, " as ", other));
    }
    return {data, other, device};
  }
  operator TensorView<const T>() const requires(!std::is_const_v<T>) {
    return {data, shape, device};
  }
};

// Owns dense memory on one device. Move-only: copies between tensors are explicit calls below.
// The elements of a new tensor are uninitialised. One that was moved from has shape (0,).
class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&& other) noexcept : Tensor() { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  Tensor(const Shape& shape, DType dtype, const Stream& stream)
      : shape_(shape),
        dtype_(dtype),
        device_(stream.device()),
        buffer_(bytes_of(shape, dtype), stream) {}

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const { return buffer_.bytes(); }
  void* raw() const { return buffer_.data(); }

  template <class T>
  T* data() {
    return static_cast<T*>(checked(dtype_of<T>()));
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(checked(dtype_of<T>()));
  }
  template <class T>
  TensorView<T> view() {
    return {data<T>(), shape_, device_};
  }
  template <class T>
  TensorView<const T> view() const {
    return {data<T>(), shape_, device_};
  }

 private:
  void* checked(DType wanted) const;  // throws usage when the dtype is another
  void swap(Tensor& other) noexcept {
    std::swap(shape_, other.shape_);
    std::swap(dtype_, other.dtype_);
    std::swap(device_, other.device_);
    std::swap(buffer_, other.buffer_);
  }

  Shape shape_{0};
  DType dtype_ = DType::f32;
  Device device_;
  Buffer buffer_;
};

// Host to device. Blocks until `src` may be reused.
template <class T>
void copy_from_host(TensorView<T> dst, std::span<const std::type_identity_t<T>> src,
                    const Stream& stream) {
  if (static_cast<std::int64_t>(src.size()) != dst.elements()) {
    throw Error(ErrorKind::usage,
                str("copy_from_host: ", src.size(), " elements for shape ", dst.shape));
  }
  copy_bytes(dst.data, dst.device, src.data(), Device::cpu(), src.size_bytes(), stream);
  stream.synchronize();
}

// Device to host. Blocks until the values are there.
template <class T>
std::vector<std::remove_const_t<T>> to_host(TensorView<T> src, const Stream& stream) {
  std::vector<std::remove_const_t<T>> out(static_cast<std::size_t>(src.elements()));
  copy_bytes(out.data(), Device::cpu(), src.data, src.device, out.size() * sizeof(T), stream);
  stream.synchronize();
  return out;
}

template <class T>
Tensor tensor_from_host(const Shape& shape, std::span<const T> src, const Stream& stream) {
  Tensor out(shape, dtype_of<T>(), stream);
  copy_from_host(out.view<T>(), src, stream);
  return out;
}

}  // namespace weft
