// SPDX-License-Identifier: MIT
// float4 and its relatives, with CUDA's alignments.
//
// A pointer's target may be assigned a list, *p = {x, y, z, w}. The assignment is defined for lists
// so that it stores the value as a whole, in one access of 8 or 16 bytes: g++ stores what a struct
// is built from member by member.
#pragma once

#include <initializer_list>

#include "host_cuda/language/language.h"

namespace weft::host_cuda {

template <class T>
constexpr T element(std::initializer_list<T> list, std::size_t i) {
  return i < list.size() ? list.begin()[i] : T{};
}

}  // namespace weft::host_cuda

#define WEFT_VECTOR_TYPES(Name, T, kAlign2, kAlign4)                                             \
  struct Name##1 {                                                                               \
    T x;                                                                                         \
  };                                                                                             \
  struct alignas(kAlign2) Name##2 {                                                              \
    T x, y;                                                                                      \
    constexpr Name##2 & operator=(std::initializer_list<T> list) {                               \
      const Name##2 value{weft::host_cuda::element(list, 0), weft::host_cuda::element(list, 1)}; \
      return *this = value;                                                                      \
    }                                                                                            \
  };                                                                                             \
  struct alignas(kAlign4) Name##4 {                                                              \
    T x, y, z, w;                                                                                \
    constexpr Name##4 & operator=(std::initializer_list<T> list) {                               \
      const Name##4 value{weft::host_cuda::element(list, 0), weft::host_cuda::element(list, 1),  \
                          weft::host_cuda::element(list, 2), weft::host_cuda::element(list, 3)}; \
      return *this = value;                                                                      \
    }                                                                                            \
  };                                                                                             \
  constexpr Name##1 make_##Name##1(T x) {                                                        \
    return {x};                                                                                  \
  }                                                                                              \
  constexpr Name##2 make_##Name##2(T x, T y) {                                                   \
    return {x, y};                                                                               \
  }                                                                                              \
  constexpr Name##4 make_##Name##4(T x, T y, T z, T w) {                                         \
    return {x, y, z, w};                                                                         \
  }

#define WEFT_VECTOR_OF_THREE(Name, T)               \
  struct Name##3 {                                  \
    T x, y, z;                                      \
  };                                                \
  constexpr Name##3 make_##Name##3(T x, T y, T z) { \
    return {x, y, z};                               \
  }

WEFT_VECTOR_TYPES(char, signed char, 2, 4)
WEFT_VECTOR_TYPES(uchar, unsigned char, 2, 4)
WEFT_VECTOR_TYPES(short, short, 4, 8)
WEFT_VECTOR_TYPES(ushort, unsigned short, 4, 8)
WEFT_VECTOR_TYPES(int, int, 8, 16)
WEFT_VECTOR_TYPES(uint, unsigned, 8, 16)
WEFT_VECTOR_TYPES(long, long, 16, 16)
WEFT_VECTOR_TYPES(ulong, unsigned long, 16, 16)
WEFT_VECTOR_TYPES(longlong, long long, 16, 16)
WEFT_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
WEFT_VECTOR_TYPES(float, float, 8, 16)
WEFT_VECTOR_TYPES(double, double, 16, 16)
WEFT_VECTOR_OF_THREE(char, signed char)
WEFT_VECTOR_OF_THREE(uchar, unsigned char)
WEFT_VECTOR_OF_THREE(short, short)
WEFT_VECTOR_OF_THREE(ushort, unsigned short)
WEFT_VECTOR_OF_THREE(int, int)
WEFT_VECTOR_OF_THREE(long, long)
WEFT_VECTOR_OF_THREE(ulong, unsigned long)
WEFT_VECTOR_OF_THREE(longlong, long long)
WEFT_VECTOR_OF_THREE(ulonglong, unsigned long long)
WEFT_VECTOR_OF_THREE(float, float)
WEFT_VECTOR_OF_THREE(double, double)

#undef WEFT_VECTOR_TYPES
#undef WEFT_VECTOR_OF_THREE

constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
  return {x, y, z};
}
