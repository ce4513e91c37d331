// SPDX-License-Identifier: MIT
// Convolution with ReLU and max pooling on the CPU, on any scalar type: the sums as the contract
// writes them. In double it is the tests' oracle.
//
// Only the argmax of a window has a gradient, so the backward passes do 1 / (ph pw) of the work of
// a convolution's. One thread owns an image (data) or a filter (weights): the order of sums is
// fixed.
#pragma once

#include <cstdint>

#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/isa.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace relu_pool {

inline bool worth_threads(const ReluPoolDims& d) {
  return d.conv.n * d.conv.oc * d.rows() * d.columns() * d.conv.c * d.conv.kh * d.conv.kw > 500000;
}

// Calls visit(index in the image, index in the filter) for what z[p, q] reads of channel c.
template <class Visit>
void visit_window(const ConvDims& d, std::int64_t c, std::int64_t p, std::int64_t q, Visit visit) {
  for (std::int64_t r = 0; r < d.kh; ++r) {
    const std::int64_t i = p * d.stride_h + r - d.pad_h;
    if (i < 0 || i >= d.h) continue;
    for (std::int64_t s = 0; s < d.kw; ++s) {
      const std::int64_t j = q * d.stride_w + s - d.pad_w;
      if (j >= 0 && j < d.w) visit((c * d.h + i) * d.w + j, (c * d.kh + r) * d.kw + s);
    }
  }
}

}  // namespace relu_pool

template <class T>
void conv2d_relu_pool_forward(T* y, std::uint8_t* argmax, const T* x, const T* w, const T* bias,
                              const ReluPoolDims& dims) {
  const ConvDims& d = dims.conv;
  const std::int64_t rows = dims.rows(), columns = dims.columns(), filter = d.c * d.kh * d.kw;
#pragma omp parallel for schedule(static) if (relu_pool::worth_threads(dims))
  for (std::int64_t plane = 0; plane < d.n * d.oc; ++plane) {
    const T* image = x + plane / d.oc * d.c * d.h * d.w;
    const T* weights = w + plane % d.oc * filter;
    const T offset = bias != nullptr ? bias[plane % d.oc] : T(0);
    for (std::int64_t at = 0; at < rows * columns; ++at) {
      T best = 0;
      std::int64_t best_index = 0;
      for (std::int64_t index = 0; index < dims.ph * dims.pw; ++index) {
        const std::int64_t p = at / columns * dims.ph + index / dims.pw;
        const std::int64_t q = at % columns * dims.pw + index % dims.pw;
        T sum = offset;
        for (std::int64_t c = 0; c < d.c; ++c) {
          relu_pool::visit_window(d, c, p, q, [&](std::int64_t from, std::int64_t tap) {
            sum += image[from] * weights[tap];
          });
        }
        // The first NaN wins and stays; of equal values the first stays.
        if (index == 0 || (!(sum <= best) && best == best)) {
          best = sum;
          best_index = index;
        }
      }
      y[plane * rows * columns + at] = best < 0 ? T(0) : best;
      if (argmax != nullptr) {
        argmax[plane * rows * columns + at] =
            best > 0 ? static_cast<std::uint8_t>(best_index) : kReluPoolCut;
      }
    }
  }
}

template <class T>
void conv2d_relu_pool_backward_data(T* dx, const T* dy, const std::uint8_t* argmax, const T* w,
                                    const ReluPoolDims& dims, GradientMode mode) {
  const ConvDims& d = dims.conv;
  const std::int64_t rows = dims.rows(), columns = dims.columns(), image = d.c * d.h * d.w;
#pragma omp parallel for schedule(static) if (relu_pool::worth_threads(dims))
  for (std::int64_t n = 0; n < d.n; ++n) {
    T* to = dx + n * image;
    if (mode == GradientMode::overwrite) {
      for (std::int64_t e = 0; e < image; ++e) to[e] = T(0);
    }
    for (std::int64_t e = 0; e < d.oc * rows * columns; ++e) {
      const std::int64_t at = n * d.oc * rows * columns + e, index = argmax[at];
      if (index == kReluPoolCut) continue;
      const std::int64_t p = e / columns % rows * dims.ph + index / dims.pw;
      const std::int64_t q = e % columns * dims.pw + index % dims.pw;
      const T* weights = w + e / (rows * columns) * d.c * d.kh * d.kw;
      for (std::int64_t c = 0; c < d.c; ++c) {
        relu_pool::visit_window(d, c, p, q, [&](std::int64_t into, std::int64_t tap) {
          to[into] += dy[at] * weights[tap];
        });
      }
    }
  }
}

template <class T>
void conv2d_relu_pool_backward_weights(T* dw, T* db, const T* dy, const std::uint8_t* argmax,
                                       const T* x, const ReluPoolDims& dims, GradientMode mode) {
  const ConvDims& d = dims.conv;
  const std::int64_t rows = dims.rows(), columns = dims.columns(), filter = d.c * d.kh * d.kw;
  const bool add = mode == GradientMode::accumulate;
#pragma omp parallel for schedule(static) if (relu_pool::worth_threads(dims))
  for (std::int64_t o = 0; o < d.oc; ++o) {
    T* to = dw + o * filter;
    for (std::int64_t e = 0; !add && e < filter; ++e) to[e] = T(0);
    T bias_sum = 0;
    for (std::int64_t e = 0; e < d.n * rows * columns; ++e) {
      const std::int64_t n = e / (rows * columns);
      const std::int64_t at = (n * d.oc + o) * rows * columns + e % (rows * columns);
      const std::int64_t index = argmax[at];
      if (index == kReluPoolCut) continue;
      const std::int64_t p = e / columns % rows * dims.ph + index / dims.pw;
      const std::int64_t q = e % columns * dims.pw + index % dims.pw;
      bias_sum += dy[at];
      for (std::int64_t c = 0; c < d.c; ++c) {
        relu_pool::visit_window(d, c, p, q, [&](std::int64_t from, std::int64_t tap) {
          to[tap] += dy[at] * x[n * d.c * d.h * d.w + from];
        });
      }
    }
    if (db != nullptr) db[o] = add ? db[o] + bias_sum : bias_sum;
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
