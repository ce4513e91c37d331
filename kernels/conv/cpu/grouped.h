// SPDX-License-Identifier: MIT
// A convolution in groups on the CPU, on any scalar type. In double it is the tests' oracle.
//
// As in templates.h the taps are the outer loops, and a row of outputs is the inner one, cut to the
// part that reads inside the image. A thread owns a plane, or the gradients of a filter.
#pragma once

#include <cstdint>

#include "kernels/conv/cpu/templates.h"
#include "kernels/conv/grouped.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace grouped {

// The outputs that tap (r, s) gives something, and where the first value of a row of x is.
struct Tap {
  direct::Range rows, columns;
  std::int64_t row, column;  // of the input, under output (0, 0)

  Tap(const GroupedConvDims& d, std::int64_t r, std::int64_t s)
      : rows(direct::inside(r * d.dilation_h, d.pad_h, d.stride_h, d.h, d.oh())),
        columns(direct::inside(s * d.dilation_w, d.pad_w, d.stride_w, d.w, d.ow())),
        row(r * d.dilation_h - d.pad_h),
        column(s * d.dilation_w - d.pad_w) {}
};

inline bool worth_threads(const GroupedConvDims& d) {
  return 2 * d.n * d.oc * d.oh() * d.ow() * d.group_channels() * d.kh * d.kw > 1000000;
}

}  // namespace grouped

template <class T>
void grouped_conv2d_forward(T* y, const T* x, const T* w, const T* bias, const GroupedConvDims& d,
                            Epilogue epilogue) {
  const std::int64_t oh = d.oh(), ow = d.ow(), channels = d.group_channels();
#pragma omp parallel for schedule(static) if (grouped::worth_threads(d))
  for (std::int64_t plane = 0; plane < d.n * d.oc; ++plane) {
    const std::int64_t i = plane / d.oc, o = plane % d.oc;
    const std::int64_t first = o / d.group_filters() * channels;
    T* out = y + plane * oh * ow;
    for (std::int64_t e = 0; e < oh * ow; ++e) out[e] = bias != nullptr ? bias[o] : T(0);
    for (std::int64_t at = 0; at < channels * d.kh * d.kw; ++at) {
      const std::int64_t c = at / (d.kh * d.kw);
      const grouped::Tap tap(d, at / d.kw % d.kh, at % d.kw);
      const T* in = x + (i * d.c + first + c) * d.h * d.w;
      const T weight = w[o * channels * d.kh * d.kw + at];
      for (std::int64_t p = tap.rows.begin; p < tap.rows.end; ++p) {
        const T* in_row = in + (p * d.stride_h + tap.row) * d.w + tap.column;
        T* out_row = out + p * ow;
#pragma omp simd
        for (std::int64_t q = tap.columns.begin; q < tap.columns.end; ++q) {
          out_row[q] += weight * in_row[q * d.stride_w];
        }
      }
    }
    for (std::int64_t e = 0; e < oh * ow; ++e) out[e] = apply_epilogue(epilogue, out[e]);
  }
}

template <class T>
void grouped_conv2d_backward_data(T* dx, const T* dy, const T* w, const GroupedConvDims& d,
                                  GradientMode mode) {
  const std::int64_t oh = d.oh(), ow = d.ow(), channels = d.group_channels();
  const std::int64_t taps = d.kh * d.kw;
#pragma omp parallel for schedule(static) if (grouped::worth_threads(d))
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    const std::int64_t i = plane / d.c, group = plane % d.c / channels, c = plane % channels;
    T* in = dx + plane * d.h * d.w;
    if (mode == GradientMode::overwrite) {
      for (std::int64_t e = 0; e < d.h * d.w; ++e) in[e] = T(0);
    }
    for (std::int64_t at = 0; at < d.group_filters() * taps; ++at) {
      const std::int64_t o = group * d.group_filters() + at / taps;
      const grouped::Tap tap(d, at / d.kw % d.kh, at % d.kw);
      const T* out = dy + (i * d.oc + o) * oh * ow;
      const T weight = w[(o * channels + c) * taps + at % taps];
      for (std::int64_t p = tap.rows.begin; p < tap.rows.end; ++p) {
        T* in_row = in + (p * d.stride_h + tap.row) * d.w + tap.column;
        const T* out_row = out + p * ow;
#pragma omp simd
        for (std::int64_t q = tap.columns.begin; q < tap.columns.end; ++q) {
          in_row[q * d.stride_w] += weight * out_row[q];
        }
      }
    }
  }
}

template <class T>
void grouped_conv2d_backward_weights(T* dw, const T* dy, const T* x, const GroupedConvDims& d,
                                     GradientMode mode) {
  const std::int64_t oh = d.oh(), ow = d.ow(), channels = d.group_channels();
  const std::int64_t taps = d.kh * d.kw;
#pragma omp parallel for schedule(static) if (grouped::worth_threads(d))
  for (std::int64_t o = 0; o < d.oc; ++o) {
    const std::int64_t first = o / d.group_filters() * channels;
    for (std::int64_t at = 0; at < channels * taps; ++at) {
      const grouped::Tap tap(d, at / d.kw % d.kh, at % d.kw);
      T sum = 0;
      for (std::int64_t i = 0; i < d.n; ++i) {
        const T* in = x + (i * d.c + first + at / taps) * d.h * d.w;
        T of_image = 0;
        for (std::int64_t p = tap.rows.begin; p < tap.rows.end; ++p) {
          const T* in_row = in + (p * d.stride_h + tap.row) * d.w + tap.column;
          const T* out_row = dy + ((i * d.oc + o) * oh + p) * ow;
#pragma omp simd reduction(+ : of_image)
          for (std::int64_t q = tap.columns.begin; q < tap.columns.end; ++q) {
            of_image += out_row[q] * in_row[q * d.stride_w];
          }
        }
        sum += of_image;
      }
      T& out = dw[o * channels * taps + at];
      out = mode == GradientMode::accumulate ? out + sum : sum;
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
