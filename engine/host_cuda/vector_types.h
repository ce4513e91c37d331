// SPDX-License-Identifier: MIT
// float4 and its relatives, with CUDA's alignments.
#pragma once

#include "engine/host_cuda/language.h"

#define WEFT_VECTOR_TYPES(Name, T, kAlign2, kAlign4)     \
  struct alignas(kAlign2) Name##2 {                      \
    T x, y;                                              \
  };                                                     \
  struct alignas(kAlign4) Name##4 {                      \
    T x, y, z, w;                                        \
  };                                                     \
  constexpr Name##2 make_##Name##2(T x, T y) {           \
    return {x, y};                                       \
  }                                                      \
  constexpr Name##4 make_##Name##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                                 \
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
WEFT_VECTOR_TYPES(longlong, long long, 16, 16)
WEFT_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
WEFT_VECTOR_TYPES(float, float, 8, 16)
WEFT_VECTOR_TYPES(double, double, 16, 16)
WEFT_VECTOR_OF_THREE(uchar, unsigned char)
WEFT_VECTOR_OF_THREE(int, int)
WEFT_VECTOR_OF_THREE(float, float)
WEFT_VECTOR_OF_THREE(double, double)

#undef WEFT_VECTOR_TYPES
#undef WEFT_VECTOR_OF_THREE

constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
  return {x, y, z};
}
