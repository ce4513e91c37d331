// SPDX-License-Identifier: MIT
// nvcuda::wmma as far as the catalogue uses it: tf32 fragments of 16 x 16 x 8, rows along memory.
// Which lane holds what is open to an implementation; here it is as of two mma.m16n8k8.
#pragma once

#include <cuda_runtime.h>

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
enum layout_t { mem_row_major };
namespace precision {
struct tf32;
}

template <class Use, int kM, int kN, int kK, class T, class Layout = void>
struct fragment;
template <>
struct fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> {
  float x[4];
};
template <>
struct fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> {
  float x[2][2];
};
template <>
struct fragment<accumulator, 16, 16, 8, float> {
  float x[2][4];
};
using Left = fragment<matrix_a, 16, 16, 8, precision::tf32, row_major>;
using Right = fragment<matrix_b, 16, 16, 8, precision::tf32, row_major>;
using Sum = fragment<accumulator, 16, 16, 8, float>;

inline void fill_fragment(Sum& sum, float value) {
  for (float(&half)[4] : sum.x) {
    for (float& x : half) x = value;
  }
}

inline void load_matrix_sync(Left& to, const float* from, unsigned stride) {
  const int group = weft::host_cuda::lane() / 4, member = weft::host_cuda::lane() % 4;
  for (int i = 0; i < 4; ++i) {
    to.x[i] = from[(group + i % 2 * 8) * stride + member + i / 2 * 4];
  }
}
inline void load_matrix_sync(Right& to, const float* from, unsigned stride) {
  const int group = weft::host_cuda::lane() / 4, member = weft::host_cuda::lane() % 4;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 2; ++i) {
      to.x[half][i] = from[(member + 4 * i) * stride + 8 * half + group];
    }
  }
}

inline void store_matrix_sync(float* to, const Sum& sum, unsigned stride, layout_t) {
  const int group = weft::host_cuda::lane() / 4, member = weft::host_cuda::lane() % 4;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) {
      to[(group + i / 2 * 8) * stride + 8 * half + 2 * member + i % 2] = sum.x[half][i];
    }
  }
}

inline void mma_sync(Sum& d, const Left& a, const Right& b, const Sum& c) {
  for (int half = 0; half < 2; ++half) {
    const float4 sum = weft::host_cuda::mma_m16n8k8_tf32(
        {c.x[half][0], c.x[half][1], c.x[half][2], c.x[half][3]},
        {__float_as_uint(a.x[0]), __float_as_uint(a.x[1]), __float_as_uint(a.x[2]),
         __float_as_uint(a.x[3])},
        {__float_as_uint(b.x[half][0]), __float_as_uint(b.x[half][1])});
    d.x[half][0] = sum.x;
    d.x[half][1] = sum.y;
    d.x[half][2] = sum.z;
    d.x[half][3] = sum.w;
  }
}

}  // namespace nvcuda::wmma
