// SPDX-License-Identifier: MIT
// The arithmetic of inline PTX. The approximate functions are exact here to the rounding of the
// host's library.
#pragma once

#include <math.h>

#include <cstdint>
#include <type_traits>

#include "host_cuda/language/half_bits.h"
#include "host_cuda/language/intrinsics.h"

namespace weft::host_cuda::lab::ptx {

struct Half {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};
struct Tf32 {
  std::uint32_t bits;
};
template <class T>
inline T add(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
inline T sub(T a, T b) {
  return static_cast<T>(a - b);
}
template <class T>
inline T mul(T a, T b) {
  return static_cast<T>(a * b);
}
template <class T>
inline auto wide(T value) {
  if constexpr (sizeof(T) == 2) {
    return std::conditional_t<std::is_signed_v<T>, int, unsigned>(value);
  } else {
    static_assert(sizeof(T) == 4, "mul.wide multiplies 16 or 32 bits");
    return std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>(value);
  }
}
template <class T>
inline T mul_hi(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
}
template <class T>
inline T mad(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(::fma(a, b, c));
  else
    return static_cast<T>(a * b + c);
}
template <>
inline float mad<float>(float a, float b, float c) {
  return fmaf(a, b, c);
}
template <class T>
inline T mad_hi(T a, T b, T c) {
  return static_cast<T>(mul_hi(a, b) + c);
}
template <class T>
inline T fma(T a, T b, T c) {
  return mad<T>(a, b, c);
}
template <class T>
inline T div(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return b == 0 ? static_cast<T>(-1) : static_cast<T>(a / b);
  else
    return a / b;
}
template <class T>
inline T rem(T a, T b) {
  return b == 0 ? a : static_cast<T>(a % b);
}
// The minimum of a number and a NaN is the number.
template <class T>
inline T min(T a, T b) {
  if (a != a) return b;
  return b < a ? b : a;
}
template <class T>
inline T max(T a, T b) {
  if (a != a) return b;
  return a < b ? b : a;
}
template <class T>
inline T neg(T a) {
  return static_cast<T>(-a);
}
template <class T>
inline T abs(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return std::is_same_v<T, float> ? fabsf(a) : fabs(a);
  else
    return a < 0 ? static_cast<T>(-a) : a;
}
template <class T>
inline T copysign(T sign, T size) {
  return static_cast<T>(::copysign(size, sign));
}
template <class T>
inline T bit_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
inline T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
inline T bit_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
inline T bit_not(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
template <class T>
inline T shl(T a, unsigned by) {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << by);
}
template <class T>
inline T shr(T a, unsigned by) {
  const unsigned most = 8 * sizeof(T) - 1;
  if (by > most) return std::is_signed_v<T> ? static_cast<T>(a >> most) : T{0};
  return static_cast<T>(a >> by);
}
template <class T>
inline unsigned popc(T a) {
  return static_cast<unsigned>(__builtin_popcountll(static_cast<std::make_unsigned_t<T>>(a)));
}
template <class T>
inline unsigned clz(T a) {
  const std::uint64_t bits = static_cast<std::make_unsigned_t<T>>(a);
  return bits == 0 ? 8 * sizeof(T)
                   : static_cast<unsigned>(__builtin_clzll(bits)) - (64 - 8 * sizeof(T));
}
template <class T>
inline T brev(T a) {
  T out = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) {
    out = static_cast<T>(out << 1 | (a >> i & 1));
  }
  return out;
}
template <class T>
inline T bfe(T a, unsigned begin, unsigned bits) {
  begin &= 255u;
  bits &= 255u;
  const unsigned most = 8 * sizeof(T);
  if (bits == 0) return 0;
  if (begin >= most) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  if (begin + bits > most) bits = most - begin;
  return shr<T>(shl<T>(a, most - begin - bits), most - bits);
}
template <class T>
inline T bfi(T piece, T into, unsigned begin, unsigned bits) {
  begin &= 255u;
  bits &= 255u;
  const unsigned most = 8 * sizeof(T);
  if (bits == 0 || begin >= most) return into;
  const T mask =
      shl<T>(bits >= most ? static_cast<T>(-1) : static_cast<T>(shl<T>(1, bits) - 1), begin);
  return static_cast<T>((into & ~mask) | (shl<T>(piece, begin) & mask));
}
inline unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned out = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((table >> i & 1u) == 0) continue;
    out |= ((i & 4u) != 0 ? a : ~a) & ((i & 2u) != 0 ? b : ~b) & ((i & 1u) != 0 ? c : ~c);
  }
  return out;
}
template <class T>
inline T prmt(T a, T b, T selector) {
  return static_cast<T>(__byte_perm(a, b, selector));
}
#define WEFT_PTX_FUNCTION(name, expression) \
  template <class T>                        \
  inline T name(T x) {                      \
    return static_cast<T>(expression);      \
  }
WEFT_PTX_FUNCTION(sqrt, ::sqrt(x))
WEFT_PTX_FUNCTION(rcp, 1 / x)
WEFT_PTX_FUNCTION(rsqrt, 1 / ::sqrt(x))
WEFT_PTX_FUNCTION(ex2, ::exp2(x))
WEFT_PTX_FUNCTION(lg2, ::log2(x))
WEFT_PTX_FUNCTION(sin, ::sin(x))
WEFT_PTX_FUNCTION(cos, ::cos(x))
WEFT_PTX_FUNCTION(tanh, ::tanh(x))
#undef WEFT_PTX_FUNCTION

inline float number(Half x) {
  return float_of_half(x.bits);
}
inline float number(Bf16 x) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
}
inline float number(Tf32 x) {
  return __builtin_bit_cast(float, x.bits);
}
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
inline T number(T x) {
  return x;
}
template <class To, class From>
inline To convert(From from) {
  const auto value = number(from);
  if constexpr (std::is_same_v<To, Half>)
    return {half_bits(static_cast<float>(value))};
  else if constexpr (std::is_same_v<To, Bf16>)
    return {weft::host_cuda::bfloat16_bits(static_cast<float>(value))};
  else if constexpr (std::is_same_v<To, Tf32>)
    return {to_tf32(static_cast<float>(value))};
  else
    return static_cast<To>(value);
}
// To an integer, or to a number without a fraction. Beyond the range it is the nearest, of a NaN 0.
template <class To, class From>
inline To in_range(From value) {
  if constexpr (std::is_integral_v<To>) {
    if (value != value) return 0;
    const To lowest = std::is_signed_v<To> ? static_cast<To>(To{1} << (8 * sizeof(To) - 1)) : To{0};
    const To highest = static_cast<To>(~lowest);
    if (value <= static_cast<From>(lowest)) return lowest;
    if (value >= static_cast<From>(highest)) return highest;
  }
  return static_cast<To>(value);
}
template <class To, class From>
inline To to_integer_rni(From from) {
  return in_range<To>(::nearbyint(number(from)));
}
template <class To, class From>
inline To to_integer_rzi(From from) {
  return in_range<To>(::trunc(number(from)));
}
template <class To, class From>
inline To to_integer_rmi(From from) {
  return in_range<To>(::floor(number(from)));
}
template <class To, class From>
inline To to_integer_rpi(From from) {
  return in_range<To>(::ceil(number(from)));
}

}  // namespace weft::host_cuda::lab::ptx
