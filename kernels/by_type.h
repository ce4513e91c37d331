// SPDX-License-Identifier: MIT
// One table of functions per element type, for families that are templates on it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft::kernels {

template <template <class> class Functions>
struct ByType {
  Functions<std::int32_t> i32;
  Functions<std::int64_t> i64;
  Functions<float> f32;
  Functions<double> f64;

  template <class T>
  const Functions<T>& of() const {
    if constexpr (std::is_same_v<T, std::int32_t>) {
      return i32;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return i64;
    } else if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      static_assert(std::is_same_v<T, double>, "not an element type of these families");
      return f64;
    }
  }
};

}  // namespace weft::kernels
