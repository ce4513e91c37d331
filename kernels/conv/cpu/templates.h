// SPDX-License-Identifier: MIT
// Direct convolution on the CPU: the sums as the contract writes them, on any scalar type. In
// double it is the tests' oracle.
//
// The taps (c, r, s) are the outer loops and a row of outputs is the inner one, cut to the part
// that reads inside the image, so that no element needs a bounds test and the row vectorises.
#pragma once

#include <cstdint>

#include "engine/extent.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/cpu/templates.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace direct {

struct Range {
  std::int64_t begin, end;
};

// The output positions of one axis whose input position, output * stride + tap - pad, is inside.
inline Range inside(std::int64_t tap, std::int64_t pad, std::int64_t stride, std::int64_t in,
                    std::int64_t out) {
  const std::int64_t low = pad - tap;        // output * stride >= low
  const std::int64_t high = in + pad - tap;  // output * stride < high
  const std::int64_t begin = low > 0 ? divide_up(low, stride) : 0;
  const std::int64_t end = high > 0 ? divide_up(high, stride) : 0;
  return {begin, end < out ? end : out};
}

// Small work is not worth waking the other threads for.
inline bool worth_threads(const ConvDims& d) {
  return 2 * d.n * d.oc * d.oh() * d.ow() * d.c * d.kh * d.kw > 1000000;
}

}  // namespace direct

template <class T>
void conv2d_forward_direct(T* y, const T* x, const T* w, const T* bias, const ConvDims& d,
                           Epilogue epilogue) {
  const std::int64_t oh = d.oh(), ow = d.ow();
#pragma omp parallel for schedule(static) if (direct::worth_threads(d))
  for (std::int64_t plane = 0; plane < d.n * d.oc; ++plane) {
    const std::int64_t i = plane / d.oc, o = plane % d.oc;
    T* out = y + plane * oh * ow;
    for (std::int64_t e = 0; e < oh * ow; ++e) out[e] = bias != nullptr ? bias[o] : T(0);
    for (std::int64_t c = 0; c < d.c; ++c) {
      const T* in = x + (i * d.c + c) * d.h * d.w;
      for (std::int64_t r = 0; r < d.kh; ++r) {
        const direct::Range rows = direct::inside(r, d.pad_h, d.stride_h, d.h, oh);
        for (std::int64_t s = 0; s < d.kw; ++s) {
          const direct::Range columns = direct::inside(s, d.pad_w, d.stride_w, d.w, ow);
          const T weight = w[((o * d.c + c) * d.kh + r) * d.kw + s];
          for (std::int64_t p = rows.begin; p < rows.end; ++p) {
            const T* in_row = in + (p * d.stride_h + r - d.pad_h) * d.w;
            for (std::int64_t q = columns.begin; q < columns.end; ++q) {
              out[p * ow + q] += weight * in_row[q * d.stride_w + s - d.pad_w];
            }
          }
        }
      }
    }
    for (std::int64_t e = 0; e < oh * ow; ++e) out[e] = apply_epilogue(epilogue, out[e]);
  }
}

template <class T>
void conv2d_backward_data_direct(T* dx, const T* dy, const T* w, const ConvDims& d,
                                 GradientMode mode) {
  const std::int64_t oh = d.oh(), ow = d.ow();
#pragma omp parallel for schedule(static) if (direct::worth_threads(d))
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    const std::int64_t i = plane / d.c, c = plane % d.c;
    T* in = dx + plane * d.h * d.w;
    if (mode == GradientMode::overwrite) {
      for (std::int64_t e = 0; e < d.h * d.w; ++e) in[e] = T(0);
    }
    for (std::int64_t o = 0; o < d.oc; ++o) {
      const T* out = dy + (i * d.oc + o) * oh * ow;
      for (std::int64_t r = 0; r < d.kh; ++r) {
        const direct::Range rows = direct::inside(r, d.pad_h, d.stride_h, d.h, oh);
        for (std::int64_t s = 0; s < d.kw; ++s) {
          const direct::Range columns = direct::inside(s, d.pad_w, d.stride_w, d.w, ow);
          const T weight = w[((o * d.c + c) * d.kh + r) * d.kw + s];
          for (std::int64_t p = rows.begin; p < rows.end; ++p) {
            T* in_row = in + (p * d.stride_h + r - d.pad_h) * d.w;
            for (std::int64_t q = columns.begin; q < columns.end; ++q) {
              in_row[q * d.stride_w + s - d.pad_w] += weight * out[p * ow + q];
            }
          }
        }
      }
    }
  }
}

// One thread owns the gradients of a filter, so the order of its sums is fixed.
template <class T>
void conv2d_backward_weights_direct(T* dw, T* db, const T* dy, const T* x, const ConvDims& d,
                                    GradientMode mode) {
  const std::int64_t oh = d.oh(), ow = d.ow();
  const bool add = mode == GradientMode::accumulate;
#pragma omp parallel for schedule(static) if (direct::worth_threads(d))
  for (std::int64_t o = 0; o < d.oc; ++o) {
    for (std::int64_t tap = 0; tap < d.c * d.kh * d.kw; ++tap) {
      const std::int64_t c = tap / (d.kh * d.kw), r = tap / d.kw % d.kh, s = tap % d.kw;
      const direct::Range rows = direct::inside(r, d.pad_h, d.stride_h, d.h, oh);
      const direct::Range columns = direct::inside(s, d.pad_w, d.stride_w, d.w, ow);
      T sum = 0;
      for (std::int64_t i = 0; i < d.n; ++i) {
        T image_sum = 0;
        for (std::int64_t p = rows.begin; p < rows.end; ++p) {
          const T* out_row = dy + ((i * d.oc + o) * oh + p) * ow;
          const T* in_row = x + ((i * d.c + c) * d.h + p * d.stride_h + r - d.pad_h) * d.w;
          for (std::int64_t q = columns.begin; q < columns.end; ++q) {
            image_sum += out_row[q] * in_row[q * d.stride_w + s - d.pad_w];
          }
        }
        sum += image_sum;
      }
      T& out = dw[o * d.c * d.kh * d.kw + tap];
      out = add ? out + sum : sum;
    }
    if (db == nullptr) continue;
    T sum = 0;
    for (std::int64_t i = 0; i < d.n; ++i) {
      T image_sum = 0;
      for (std::int64_t e = 0; e < oh * ow; ++e) image_sum += dy[(i * d.oc + o) * oh * ow + e];
      sum += image_sum;
    }
    db[o] = add ? db[o] + sum : sum;
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
