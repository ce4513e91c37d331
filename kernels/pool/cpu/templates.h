// SPDX-License-Identifier: MIT
// Pooling on the CPU. One thread owns a plane, so backward may scatter inside it in a fixed order.
// The 2x2 window of stride 2 that most networks use has a backward path that vectorises; forward in
// floats see halved.h.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/pool/pool.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

inline bool halves_planes(const PoolDims& d) {
  return d.kh == 2 && d.kw == 2 && d.stride_h == 2 && d.stride_w == 2 && d.pad_h == 0 &&
         d.pad_w == 0 && d.more_h == 0 && d.more_w == 0;
}

// The part of window p along one axis that lies inside [0, size).
struct Span {
  std::int64_t begin, end;
};

inline Span window_span(std::int64_t p, std::int64_t stride, std::int64_t pad, std::int64_t kernel,
                        std::int64_t size) {
  const std::int64_t begin = p * stride - pad, end = begin + kernel;
  return {begin < 0 ? 0 : begin, end > size ? size : end};
}

// How many elements of window p count along one axis, where `edge` of padding on each side does.
inline std::int64_t counted(std::int64_t p, std::int64_t stride, std::int64_t pad,
                            std::int64_t kernel, std::int64_t size, std::int64_t edge) {
  const std::int64_t begin = p * stride - pad, end = begin + kernel;
  return (end > size + edge ? size + edge : end) - (begin < -edge ? -edge : begin);
}

// What the sum over window (p, q) is multiplied by.
template <class T>
T mean_weight(const PoolDims& d, std::int64_t p, std::int64_t q) {
  if (d.count == PoolCount::window) return T(1) / static_cast<T>(d.kh * d.kw);
  const bool padded = d.count == PoolCount::padded;
  return T(1) / static_cast<T>(counted(p, d.stride_h, d.pad_h, d.kh, d.h, padded ? d.pad_h : 0) *
                               counted(q, d.stride_w, d.pad_w, d.kw, d.w, padded ? d.pad_w : 0));
}

// Does `value` replace `best`? The first NaN does and stays; of equal values the first stays.
template <class T>
bool replaces(T value, T best) {
  return !(value <= best) & (best == best);
}

template <class T>
void max_plane(T* y, std::int32_t* argmax, const T* x, const PoolDims& d) {
  const std::int64_t oh = d.oh(), ow = d.ow();
  for (std::int64_t p = 0; p < oh; ++p) {
    const Span rows = window_span(p, d.stride_h, d.pad_h, d.kh, d.h);
    for (std::int64_t q = 0; q < ow; ++q) {
      const Span cols = window_span(q, d.stride_w, d.pad_w, d.kw, d.w);
      std::int64_t best_index = rows.begin * d.w + cols.begin;
      T best = x[best_index];
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        for (std::int64_t j = cols.begin; j < cols.end; ++j) {
          if (!replaces(x[i * d.w + j], best)) continue;
          best_index = i * d.w + j;
          best = x[best_index];
        }
      }
      y[p * ow + q] = best;
      if (argmax != nullptr) argmax[p * ow + q] = static_cast<std::int32_t>(best_index);
    }
  }
}

template <class T>
void zero(T* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) x[i] = 0;
}

// Windows do not overlap, so each dx is written once; a last odd row or column gets zeros.
template <class T>
void max_plane_halved_backward(T* dx, const T* dy, const std::int32_t* argmax, const PoolDims& d) {
  const std::int32_t w = static_cast<std::int32_t>(d.w);
  const std::int32_t ow = static_cast<std::int32_t>(d.ow());
  for (std::int64_t p = 0; p < d.oh(); ++p) {
    T* top = dx + 2 * p * d.w;
    T* bottom = top + d.w;
    const std::int32_t first = static_cast<std::int32_t>(2 * p * d.w);
    const T* dy_row = dy + p * ow;
    const std::int32_t* argmax_row = argmax + p * ow;
#pragma omp simd
    for (std::int32_t q = 0; q < ow; ++q) {
      const std::int32_t offset = argmax_row[q] - first - 2 * q;
      top[2 * q] = offset == 0 ? dy_row[q] : T(0);
      top[2 * q + 1] = offset == 1 ? dy_row[q] : T(0);
      bottom[2 * q] = offset == w ? dy_row[q] : T(0);
      bottom[2 * q + 1] = offset == w + 1 ? dy_row[q] : T(0);
    }
    for (std::int64_t j = 2 * d.ow(); j < d.w; ++j) top[j] = bottom[j] = 0;
  }
  zero(dx + 2 * d.oh() * d.w, (d.h - 2 * d.oh()) * d.w);
}

}  // namespace detail

template <class T>
void max_pool2d_forward(T* y, std::int32_t* argmax, const T* x, const PoolDims& d) {
  const std::int64_t in = d.h * d.w, out = d.oh() * d.ow();
#pragma omp parallel for schedule(static) if (d.n * d.c * in >= kParallelElements)
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    detail::max_plane(y + plane * out, argmax == nullptr ? nullptr : argmax + plane * out,
                      x + plane * in, d);
  }
}

template <class T>
void max_pool2d_backward(T* dx, const T* dy, const std::int32_t* argmax, const PoolDims& d,
                         GradientMode mode) {
  const std::int64_t in = d.h * d.w, out = d.oh() * d.ow();
  const bool overwrite = mode == GradientMode::overwrite;
  const bool halved = detail::halves_planes(d) && overwrite;
#pragma omp parallel for schedule(static) if (d.n * d.c * in >= kParallelElements)
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    T* to = dx + plane * in;
    const T* from = dy + plane * out;
    const std::int32_t* indices = argmax + plane * out;
    if (halved) {
      detail::max_plane_halved_backward(to, from, indices, d);
      continue;
    }
    if (overwrite) detail::zero(to, in);
    for (std::int64_t o = 0; o < out; ++o) to[indices[o]] += from[o];
  }
}

template <class T>
void avg_pool2d_forward(T* y, const T* x, const PoolDims& d) {
  const std::int64_t in = d.h * d.w, oh = d.oh(), ow = d.ow();
#pragma omp parallel for schedule(static) if (d.n * d.c * in >= kParallelElements)
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    for (std::int64_t p = 0; p < oh; ++p) {
      const detail::Span rows = detail::window_span(p, d.stride_h, d.pad_h, d.kh, d.h);
      for (std::int64_t q = 0; q < ow; ++q) {
        const detail::Span cols = detail::window_span(q, d.stride_w, d.pad_w, d.kw, d.w);
        T sum = 0;
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          const T* row = x + plane * in + i * d.w;
          for (std::int64_t j = cols.begin; j < cols.end; ++j) sum += row[j];
        }
        y[(plane * oh + p) * ow + q] = sum * detail::mean_weight<T>(d, p, q);
      }
    }
  }
}

template <class T>
void avg_pool2d_backward(T* dx, const T* dy, const PoolDims& d, GradientMode mode) {
  const std::int64_t in = d.h * d.w, oh = d.oh(), ow = d.ow();
#pragma omp parallel for schedule(static) if (d.n * d.c * in >= kParallelElements)
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    if (mode == GradientMode::overwrite) detail::zero(dx + plane * in, in);
    for (std::int64_t p = 0; p < oh; ++p) {
      const detail::Span rows = detail::window_span(p, d.stride_h, d.pad_h, d.kh, d.h);
      for (std::int64_t q = 0; q < ow; ++q) {
        const detail::Span cols = detail::window_span(q, d.stride_w, d.pad_w, d.kw, d.w);
        const T share = dy[(plane * oh + p) * ow + q] * detail::mean_weight<T>(d, p, q);
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          T* row = dx + plane * in + i * d.w;
          for (std::int64_t j = cols.begin; j < cols.end; ++j) row[j] += share;
        }
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
