// SPDX-License-Identifier: MIT
// CUDA's complex numbers: pairs of a real and an imaginary part. Quotients and absolute values are
// scaled, so that no square overflows.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

#include "host_cuda/language/macros_hidden.inc"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

#define WEFT_COMPLEX(Number, Pair, make, real, imaginary, conjugate, add, subtract, multiply, \
                     divide, absolute, hypotenuse, fused)                                     \
  inline Pair make(Number r, Number i) {                                                      \
    Pair z;                                                                                   \
    z.x = r;                                                                                  \
    z.y = i;                                                                                  \
    return z;                                                                                 \
  }                                                                                           \
  inline Number real(Pair z) {                                                                \
    return z.x;                                                                               \
  }                                                                                           \
  inline Number imaginary(Pair z) {                                                           \
    return z.y;                                                                               \
  }                                                                                           \
  inline Pair conjugate(Pair z) {                                                             \
    return make(z.x, -z.y);                                                                   \
  }                                                                                           \
  inline Pair add(Pair a, Pair b) {                                                           \
    return make(a.x + b.x, a.y + b.y);                                                        \
  }                                                                                           \
  inline Pair subtract(Pair a, Pair b) {                                                      \
    return make(a.x - b.x, a.y - b.y);                                                        \
  }                                                                                           \
  inline Pair multiply(Pair a, Pair b) {                                                      \
    return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                \
  }                                                                                           \
  inline Pair divide(Pair a, Pair b) {                                                        \
    const Number scale = Number(1) / (fabs(b.x) + fabs(b.y));                                 \
    const Number ar = a.x * scale, ai = a.y * scale, br = b.x * scale, bi = b.y * scale;      \
    const Number over = Number(1) / (br * br + bi * bi);                                      \
    return make((ar * br + ai * bi) * over, (ai * br - ar * bi) * over);                      \
  }                                                                                           \
  inline Number absolute(Pair z) {                                                            \
    return hypotenuse(z.x, z.y);                                                              \
  }                                                                                           \
  inline Pair fused(Pair a, Pair b, Pair c) {                                                 \
    return make(a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x);                    \
  }
WEFT_COMPLEX(float, cuFloatComplex, make_cuFloatComplex, cuCrealf, cuCimagf, cuConjf, cuCaddf,
             cuCsubf, cuCmulf, cuCdivf, cuCabsf, hypotf, cuCfmaf)
WEFT_COMPLEX(double, cuDoubleComplex, make_cuDoubleComplex, cuCreal, cuCimag, cuConj, cuCadd,
             cuCsub, cuCmul, cuCdiv, cuCabs, hypot, cuCfma)
#undef WEFT_COMPLEX

inline cuComplex make_cuComplex(float r, float i) {
  return make_cuFloatComplex(r, i);
}
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
  return make_cuDoubleComplex(static_cast<double>(z.x), static_cast<double>(z.y));
}
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return make_cuFloatComplex(static_cast<float>(z.x), static_cast<float>(z.y));
}

#include "host_cuda/language/macros_shown.inc"
