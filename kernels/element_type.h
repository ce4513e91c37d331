// SPDX-License-Identifier: MIT
// The element types of the families that take several, by name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels {

enum class ElementType { i32, i64, f32, f64 };

template <class T>
constexpr ElementType kElementType = T::not_an_element_type;
template <>
inline constexpr ElementType kElementType<std::int32_t> = ElementType::i32;
template <>
inline constexpr ElementType kElementType<std::int64_t> = ElementType::i64;
template <>
inline constexpr ElementType kElementType<float> = ElementType::f32;
template <>
inline constexpr ElementType kElementType<double> = ElementType::f64;

constexpr std::size_t bytes_of(ElementType type) {
  return type == ElementType::i32 || type == ElementType::f32 ? 4 : 8;
}

// Calls run(T()) with the type.
template <class Run>
void with_type(ElementType type, Run run) {
  switch (type) {
    case ElementType::i32:
      return run(std::int32_t());
    case ElementType::i64:
      return run(std::int64_t());
    case ElementType::f32:
      return run(float());
    case ElementType::f64:
      return run(double());
  }
}

}  // namespace weft::kernels
