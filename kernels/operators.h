// SPDX-License-Identifier: MIT
// The operators of reduce and scan, for host and device code.
//
// An operator is a type with `T operator()(T a, T b) const`, associative, and a static
// `T identity()` with op(identity, a) == a == op(a, identity). It need not commute: kernels combine
// elements in order where they say so. Integers wrap around; a NaN stays in every result.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

// Always inlined, so that no copy compiled for another instruction set can be linked in its place.
#ifdef __CUDACC__
#define WEFT_OPERATOR __host__ __device__ __forceinline__
#else
#define WEFT_OPERATOR inline __attribute__((always_inline))
#endif

namespace weft::kernels {

namespace detail {

// The type in which arithmetic on T is defined for all values: overflow wraps around.
template <class T>
struct Arithmetic {
  using type = T;
};
template <>
struct Arithmetic<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct Arithmetic<std::int64_t> {
  using type = std::uint64_t;
};

template <class T>
struct Extremes {
  static constexpr T kHighest = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::max();
  static constexpr T kLowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();
};

template <class T>
WEFT_OPERATOR bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value != value;
  } else {
    return false;
  }
}

}  // namespace detail

template <class T>
struct Sum {
  static WEFT_OPERATOR T identity() { return T(0); }
  WEFT_OPERATOR T operator()(T a, T b) const {
    using A = typename detail::Arithmetic<T>::type;
    return static_cast<T>(static_cast<A>(a) + static_cast<A>(b));
  }
};

template <class T>
struct Product {
  static WEFT_OPERATOR T identity() { return T(1); }
  WEFT_OPERATOR T operator()(T a, T b) const {
    using A = typename detail::Arithmetic<T>::type;
    return static_cast<T>(static_cast<A>(a) * static_cast<A>(b));
  }
};

template <class T>
struct Min {
  static WEFT_OPERATOR T identity() { return detail::Extremes<T>::kHighest; }
  WEFT_OPERATOR T operator()(T a, T b) const { return a <= b || detail::is_nan(a) ? a : b; }
};

template <class T>
struct Max {
  static WEFT_OPERATOR T identity() { return detail::Extremes<T>::kLowest; }
  WEFT_OPERATOR T operator()(T a, T b) const { return a >= b || detail::is_nan(a) ? a : b; }
};

// A value and where it was found.
template <class T>
struct Indexed {
  T value;
  std::int64_t index;  // -1: nothing was found
};

// The first of the largest values, as argmax wants it; a NaN counts as larger than any number.
template <class T>
struct FirstMax {
  static WEFT_OPERATOR Indexed<T> identity() { return {detail::Extremes<T>::kLowest, -1}; }
  WEFT_OPERATOR Indexed<T> operator()(const Indexed<T>& a, const Indexed<T>& b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    const bool a_nan = detail::is_nan(a.value), b_nan = detail::is_nan(b.value);
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
  }
};

}  // namespace weft::kernels
