// SPDX-License-Identifier: MIT
// GEMM and convolution by their definitions, in double: a second oracle, which shares no code with
// the library. It walks over single products and asks for each index whether it is inside, where
// the CPU versions walk over rows that were cut to fit before.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"

namespace weft::test::definition {

using Values = std::vector<double>;

inline double& at(Values& values, std::int64_t index) {
  return values.at(static_cast<std::size_t>(index));
}
inline double at(const Values& values, std::int64_t index) {
  return values.at(static_cast<std::size_t>(index));
}

// C after the call, (m, n) with leading dimension ldc, from what was there before. A sum of outer
// products: k is the outermost loop. Leading dimensions of 0 are dense. `bias` may be empty.
inline Values gemm(const Values& before, const Values& a, const Values& b, const Values& bias,
                   const kernels::GemmDims& d, double alpha, double beta, bool relu) {
  const std::int64_t lda = d.lda != 0 ? d.lda : d.transpose_a ? d.m : d.k;
  const std::int64_t ldb = d.ldb != 0 ? d.ldb : d.transpose_b ? d.k : d.n;
  const std::int64_t ldc = d.ldc != 0 ? d.ldc : d.n;
  Values sums(static_cast<std::size_t>(d.m * d.n)), c = before;
  for (std::int64_t t = 0; t < d.k; ++t) {
    for (std::int64_t column = 0; column < d.n; ++column) {
      const double right = at(b, d.transpose_b ? column * ldb + t : t * ldb + column);
      for (std::int64_t row = 0; row < d.m; ++row) {
        const double left = at(a, d.transpose_a ? t * lda + row : row * lda + t);
        at(sums, row * d.n + column) += left * right;
      }
    }
  }
  for (std::int64_t row = 0; row < d.m; ++row) {
    for (std::int64_t column = 0; column < d.n; ++column) {
      double& out = at(c, row * ldc + column);
      const double kept = beta == 0 ? 0 : beta * out;  // beta == 0 does not read C
      out = kept + alpha * at(sums, row * d.n + column);
      if (!bias.empty()) out += at(bias, column);
      if (relu && out < 0) out = 0;
    }
  }
  return c;
}

// How many times a window fits: counted, not computed.
inline std::int64_t positions(std::int64_t in, std::int64_t pad, std::int64_t window,
                              std::int64_t stride) {
  std::int64_t count = 0;
  for (std::int64_t first = -pad; first + window <= in + pad; first += stride) ++count;
  return count;
}

// Calls body(y, x, w) with the flat indices of each product y[n,o,p,q] += x[n,c,i,j] w[o,c,r,s]
// whose input lies inside the image. All three passes are sums over these products.
template <class Body>
void for_each_product(const kernels::ConvDims& d, const Body& body) {
  const std::int64_t oh = positions(d.h, d.pad_h, d.kh, d.stride_h);
  const std::int64_t ow = positions(d.w, d.pad_w, d.kw, d.stride_w);
  for (std::int64_t w = 0; w < d.oc * d.c * d.kh * d.kw; ++w) {
    const std::int64_t s = w % d.kw, r = w / d.kw % d.kh, c = w / (d.kw * d.kh) % d.c;
    const std::int64_t o = w / (d.kw * d.kh * d.c);
    for (std::int64_t n = 0; n < d.n; ++n) {
      for (std::int64_t p = 0; p < oh; ++p) {
        const std::int64_t i = p * d.stride_h + r - d.pad_h;
        if (i < 0 || i >= d.h) continue;
        for (std::int64_t q = 0; q < ow; ++q) {
          const std::int64_t j = q * d.stride_w + s - d.pad_w;
          if (j < 0 || j >= d.w) continue;
          body(((n * d.oc + o) * oh + p) * ow + q, ((n * d.c + c) * d.h + i) * d.w + j, w);
        }
      }
    }
  }
}

// y, (n, oc, oh, ow).
inline Values conv_forward(const Values& x, const Values& w, const Values& bias,
                           const kernels::ConvDims& d, bool relu) {
  const std::int64_t pixels =
      positions(d.h, d.pad_h, d.kh, d.stride_h) * positions(d.w, d.pad_w, d.kw, d.stride_w);
  Values y(static_cast<std::size_t>(d.n * d.oc * pixels));
  for_each_product(d, [&](std::int64_t out, std::int64_t in, std::int64_t weight) {
    at(y, out) += at(x, in) * at(w, weight);
  });
  for (std::int64_t e = 0; e < d.n * d.oc * pixels; ++e) {
    double& out = at(y, e);
    out += at(bias, e / pixels % d.oc);
    if (relu && out < 0) out = 0;
  }
  return y;
}

// dx after the call, from what was there before: zeros where a call overwrites.
inline Values conv_backward_data(Values dx, const Values& dy, const Values& w,
                                 const kernels::ConvDims& d) {
  for_each_product(d, [&](std::int64_t out, std::int64_t in, std::int64_t weight) {
    at(dx, in) += at(dy, out) * at(w, weight);
  });
  return dx;
}

inline Values conv_backward_weights(Values dw, const Values& dy, const Values& x,
                                    const kernels::ConvDims& d) {
  for_each_product(d, [&](std::int64_t out, std::int64_t in, std::int64_t weight) {
    at(dw, weight) += at(dy, out) * at(x, in);
  });
  return dw;
}

inline Values conv_backward_bias(Values db, const Values& dy, const kernels::ConvDims& d) {
  const std::int64_t pixels =
      positions(d.h, d.pad_h, d.kh, d.stride_h) * positions(d.w, d.pad_w, d.kw, d.stride_w);
  for (std::int64_t e = 0; e < d.n * d.oc * pixels; ++e) at(db, e / pixels % d.oc) += at(dy, e);
  return db;
}

}  // namespace weft::test::definition
