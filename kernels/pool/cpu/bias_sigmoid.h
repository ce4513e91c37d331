// SPDX-License-Identifier: MIT
// Average pooling with bias and sigmoid on the CPU. One thread owns a channel, so that its bias
// gradient is added up in a fixed order.
#pragma once

#include "kernels/pool/cpu/templates.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

template <class T>
void avg_pool2d_bias_sigmoid_forward(T* y, const T* x, const T* bias, const PoolDims& d) {
  const std::int64_t out = d.oh() * d.ow();
  avg_pool2d_forward(y, x, d);
#pragma omp parallel for schedule(static) if (d.n * d.c * out >= kParallelElements)
  for (std::int64_t plane = 0; plane < d.n * d.c; ++plane) {
    for (std::int64_t i = plane * out; i < (plane + 1) * out; ++i) {
      y[i] = sigmoid_of(y[i] + bias[plane % d.c]);
    }
  }
}

template <class T>
void avg_pool2d_bias_sigmoid_backward(T* dx, T* dbias, const T* dy, const T* y, const PoolDims& d,
                                      GradientMode mode) {
  const std::int64_t in = d.h * d.w, oh = d.oh(), ow = d.ow();
  const T weight = T(1) / static_cast<T>(d.kh * d.kw);
#pragma omp parallel for schedule(static) if (d.n * d.c * in >= kParallelElements)
  for (std::int64_t c = 0; c < d.c; ++c) {
    T total = 0;
    for (std::int64_t plane = c; plane < d.n * d.c; plane += d.c) {
      if (mode == GradientMode::overwrite) detail::zero(dx + plane * in, in);
      for (std::int64_t o = 0; o < oh * ow; ++o) {
        const std::int64_t at = plane * oh * ow + o;
        const T dz = dy[at] * y[at] * (T(1) - y[at]);
        total += dz;
        const detail::Span rows = detail::window_span(o / ow, d.stride_h, d.pad_h, d.kh, d.h);
        const detail::Span cols = detail::window_span(o % ow, d.stride_w, d.pad_w, d.kw, d.w);
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          T* row = dx + plane * in + i * d.w;
          for (std::int64_t j = cols.begin; j < cols.end; ++j) row[j] += dz * weight;
        }
      }
    }
    dbias[c] = mode == GradientMode::overwrite ? total : dbias[c] + total;
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
