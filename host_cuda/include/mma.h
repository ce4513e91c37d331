// SPDX-License-Identifier: MIT
// nvcuda::wmma. Which lane holds what is open to an implementation. In tf32 fragments of
// 16 x 16 x 8 with rows along memory, which the catalogue uses, it is as of two mma.m16n8k8; in all
// others lane l has the elements l, l + 32, and so on, of the matrix by rows.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

#include "host_cuda/language/macros_hidden.inc"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

namespace detail {
template <class T>
struct Stored {
  using type = T;
};
template <>
struct Stored<precision::tf32> {
  using type = float;
};
template <class Use, int kM, int kN, int kK>
inline constexpr int kRows = std::is_same_v<Use, matrix_b> ? kK : kM;
template <class Use, int kM, int kN, int kK>
inline constexpr int kColumns = std::is_same_v<Use, matrix_a> ? kK : kN;
}  // namespace detail

template <class Use, int kM, int kN, int kK, class T, class Layout = void>
struct fragment {
  using element_type = typename detail::Stored<T>::type;
  using storage_element_type = element_type;
  static constexpr int kRows = detail::kRows<Use, kM, kN, kK>;
  static constexpr int kColumns = detail::kColumns<Use, kM, kN, kK>;
  static constexpr int num_elements = kRows * kColumns / 32;
  element_type x[num_elements];
  // Where element e of a lane is in the matrix by rows.
  static int place(int lane, int e) { return e * 32 + lane; }
};
namespace detail {
template <int kTheRows, int kTheColumns>
struct Floats {
  using element_type = float;
  using storage_element_type = float;
  static constexpr int kRows = kTheRows, kColumns = kTheColumns;
  static constexpr int num_elements = kRows * kColumns / 32;
  float x[num_elements];
};
}  // namespace detail
template <>
struct fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> : detail::Floats<16, 8> {
  static int place(int lane, int e) {
    return (lane / 4 + e % 2 * 8) * kColumns + lane % 4 + e / 2 * 4;
  }
};
template <>  // two halves of 8 columns
struct fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> : detail::Floats<8, 16> {
  static int place(int lane, int e) {
    return (lane % 4 + e % 2 * 4) * kColumns + e / 2 * 8 + lane / 4;
  }
};
template <>
struct fragment<accumulator, 16, 16, 8, float> : detail::Floats<16, 16> {
  static int place(int lane, int e) {
    return (lane / 4 + e % 4 / 2 * 8) * kColumns + e / 4 * 8 + lane % 4 * 2 + e % 2;
  }
};
using Left = fragment<matrix_a, 16, 16, 8, precision::tf32, row_major>;
using Right = fragment<matrix_b, 16, 16, 8, precision::tf32, row_major>;
using Sum = fragment<accumulator, 16, 16, 8, float>;

inline void fill_fragment(Sum& sum, float value) {
  for (float& x : sum.x) x = value;
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
      to.x[2 * half + i] = from[(member + 4 * i) * stride + 8 * half + group];
    }
  }
}

inline float __float_to_tf32(float x) {
  return __uint_as_float(weft::host_cuda::to_tf32(x));
}

template <class Use, int kM, int kN, int kK, class T, class Layout, class Value>
void fill_fragment(fragment<Use, kM, kN, kK, T, Layout>& to, const Value& value) {
  for (auto& x : to.x) x = value;
}
namespace detail {
template <class Fragment, class Visit>
void visit_elements(bool by_rows, unsigned stride, Visit visit) {
  for (int e = 0; e < Fragment::num_elements; ++e) {
    const int i = Fragment::place(weft::host_cuda::lane(), e);
    const int row = i / Fragment::kColumns, column = i % Fragment::kColumns;
    visit(e, by_rows ? row * stride + column : column * stride + row);
  }
}
}  // namespace detail
inline void store_matrix_sync(float* to, const Sum& sum, unsigned stride, layout_t layout) {
  if (layout == mem_col_major) {
    return detail::visit_elements<Sum>(false, stride,
                                       [&](int e, std::size_t at) { to[at] = sum.x[e]; });
  }
  const int group = weft::host_cuda::lane() / 4, member = weft::host_cuda::lane() % 4;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; i += 2) {
      float* const at = to + (group + i / 2 * 8) * stride + 8 * half + 2 * member;
      const float2 pair = {sum.x[4 * half + i], sum.x[4 * half + i + 1]};
      if (reinterpret_cast<std::uintptr_t>(at) % 8 == 0) {
        *reinterpret_cast<float2*>(at) = pair;
      } else {
        at[0] = pair.x;
        at[1] = pair.y;
      }
    }
  }
}

template <class Use, int kM, int kN, int kK, class T, class Layout, class Element>
void load_matrix_sync(fragment<Use, kM, kN, kK, T, Layout>& to, const Element* from,
                      unsigned stride) {
  detail::visit_elements<fragment<Use, kM, kN, kK, T, Layout>>(
      std::is_same_v<Layout, row_major>, stride,
      [&](int e, std::size_t at) { to.x[e] = from[at]; });
}
template <int kM, int kN, int kK, class T>
void load_matrix_sync(fragment<accumulator, kM, kN, kK, T>& to, const T* from, unsigned stride,
                      layout_t layout) {
  detail::visit_elements<fragment<accumulator, kM, kN, kK, T>>(
      layout == mem_row_major, stride, [&](int e, std::size_t at) { to.x[e] = from[at]; });
}
template <int kM, int kN, int kK, class T>
void store_matrix_sync(T* to, const fragment<accumulator, kM, kN, kK, T>& from, unsigned stride,
                       layout_t layout) {
  detail::visit_elements<fragment<accumulator, kM, kN, kK, T>>(
      layout == mem_row_major, stride, [&](int e, std::size_t at) { to[at] = from.x[e]; });
}

namespace detail {
inline double number(float x) {
  return x;
}
inline double number(double x) {
  return x;
}
inline double number(__half x) {
  return float(x);
}
inline double number(__nv_bfloat16 x) {
  return float(x);
}
inline double number(int x) {
  return x;
}
// To fp32 a sum is cut, as tensor cores do; see language/tensor_core.h.
inline void result(float& to, double sum) {
  const auto nearest = static_cast<float>(sum);
  const bool away = fabs(static_cast<double>(nearest)) > fabs(sum);
  to = away && !isinf(nearest)
           ? __builtin_bit_cast(float, __builtin_bit_cast(unsigned, nearest) - 1)
           : nearest;
}
inline void result(double& to, double sum) {
  to = sum;
}
inline void result(__half& to, double sum) {
  to = __half(static_cast<float>(sum));
}
inline void result(int& to, double sum) {
  to = static_cast<int>(sum);
}

template <class D, class A, class B>
struct Operands {
  D* d;
  const A* a;
  const B* b;
  const D* c;

  static void compute(void* const* lanes) {
    const auto of = [&](int lane) { return static_cast<const Operands*>(lanes[lane]); };
    constexpr int kDepth = A::kColumns;
    static double left[A::kRows * A::kColumns], right[B::kRows * B::kColumns];
    static double sums[D::kRows * D::kColumns];
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < A::num_elements; ++e) left[A::place(lane, e)] = number(of(lane)->a->x[e]);
      for (int e = 0; e < B::num_elements; ++e)
        right[B::place(lane, e)] = number(of(lane)->b->x[e]);
      for (int e = 0; e < D::num_elements; ++e) sums[D::place(lane, e)] = number(of(lane)->c->x[e]);
    }
    for (int i = 0; i < D::kRows * D::kColumns; ++i) {
      for (int k = 0; k < kDepth; ++k) {
        sums[i] += left[i / D::kColumns * kDepth + k] * right[k * D::kColumns + i % D::kColumns];
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < D::num_elements; ++e) result(of(lane)->d->x[e], sums[D::place(lane, e)]);
    }
  }
};
}  // namespace detail

template <int kM, int kN, int kK, class T, class L, class R, class Sums>
[[gnu::noinline]] void mma_sync(fragment<accumulator, kM, kN, kK, Sums>& d,
                                const fragment<matrix_a, kM, kN, kK, T, L>& a,
                                const fragment<matrix_b, kM, kN, kK, T, R>& b,
                                const fragment<accumulator, kM, kN, kK, Sums>& c) {
  using Call = detail::Operands<std::remove_reference_t<decltype(d)>, std::decay_t<decltype(a)>,
                                std::decay_t<decltype(b)>>;
  Call mine{&d, &a, &b, &c};
  weft::host_cuda::warp_function(Call::compute, &mine, "mma_sync", __builtin_return_address(0));
}

inline void mma_sync(Sum& d, const Left& a, const Right& b, const Sum& c) {
  for (int half = 0; half < 2; ++half) {
    const float* const from = c.x + 4 * half;
    const float4 sum = weft::host_cuda::mma_m16n8k8_tf32(
        {from[0], from[1], from[2], from[3]},
        {__float_as_uint(a.x[0]), __float_as_uint(a.x[1]), __float_as_uint(a.x[2]),
         __float_as_uint(a.x[3])},
        {__float_as_uint(b.x[2 * half]), __float_as_uint(b.x[2 * half + 1])});
    float* const to = d.x + 4 * half;
    to[0] = sum.x;
    to[1] = sum.y;
    to[2] = sum.z;
    to[3] = sum.w;
  }
}

}  // namespace nvcuda::wmma

#include "host_cuda/language/macros_shown.inc"
