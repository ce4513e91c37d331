// SPDX-License-Identifier: MIT
// One pass of a convolution layer as tests and benchmarks ask for it, with its oracle.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/problem.h"

namespace weft::problems {

inline const char* name_of(kernels::ConvPass pass) {
  return pass == kernels::ConvPass::forward         ? "forward"
         : pass == kernels::ConvPass::backward_data ? "backward data"
                                                    : "backward weights";
}

// Two of x (n, c, h, w), y (n, oc, oh, ow) and w (oc, c, kh, kw) are read, and the third is
// written.
struct Conv {
  static constexpr bool kByFlops = true;

  kernels::ConvDims dims;
  kernels::ConvPass pass = kernels::ConvPass::forward;
  bool few = false;  // only the variants that automatic chooses among for such a shape

  std::int64_t inputs() const { return dims.n * dims.c * dims.h * dims.w; }
  std::int64_t outputs() const { return dims.n * dims.oc * dims.oh() * dims.ow(); }
  std::int64_t weights() const { return dims.oc * dims.c * dims.kh * dims.kw; }
  std::string text() const {
    return str(name_of(pass), " ", dims.n, " x ", dims.c, " x ", dims.h, " x ", dims.w, ", ",
               dims.oc, " filters ", dims.kh, "x", dims.kw);
  }
  double bytes() const { return 4.0 * static_cast<double>(inputs() + outputs() + weights()); }
  double flops() const {
    return 2.0 * static_cast<double>(outputs()) * static_cast<double>(dims.c * dims.kh * dims.kw);
  }

  // The terms of element `at` of what is written, by the formula.
  Terms expected(std::int64_t at, const float* x, const float* y, const float* w) const {
    const kernels::ConvDims& d = dims;
    const std::int64_t oh = d.oh(), ow = d.ow();
    Terms terms;
    // Tap (r, s) of filter o in channel c, at the window (p, q) of image n.
    const auto add = [&](std::int64_t n, std::int64_t o, std::int64_t c, std::int64_t p,
                         std::int64_t q, std::int64_t r, std::int64_t s) {
      const std::int64_t i = p * d.stride_h + r - d.pad_h, j = q * d.stride_w + s - d.pad_w;
      if (i < 0 || i >= d.h || j < 0 || j >= d.w) return;
      const float* of_x = x + ((n * d.c + c) * d.h + i) * d.w + j;
      const float* of_y = y + ((n * d.oc + o) * oh + p) * ow + q;
      const float* of_w = w + ((o * d.c + c) * d.kh + r) * d.kw + s;
      const float* a = pass == kernels::ConvPass::forward ? of_x : of_y;
      const float* b = pass == kernels::ConvPass::backward_weights ? of_x : of_w;
      terms.add(static_cast<double>(*a) * static_cast<double>(*b));
    };
    if (pass == kernels::ConvPass::backward_weights) {
      const std::int64_t s = at % d.kw, r = at / d.kw % d.kh, c = at / (d.kw * d.kh) % d.c;
      const std::int64_t o = at / (d.kw * d.kh * d.c);
      for (std::int64_t n = 0; n < d.n; ++n) {
        for (std::int64_t k = 0; k < oh * ow; ++k) add(n, o, c, k / ow, k % ow, r, s);
      }
      return terms;
    }
    const bool forward = pass == kernels::ConvPass::forward;
    const std::int64_t width = forward ? ow : d.w, height = forward ? oh : d.h;
    const std::int64_t channels = forward ? d.oc : d.c, summed = forward ? d.c : d.oc;
    const std::int64_t column = at % width, row = at / width % height;
    const std::int64_t channel = at / (width * height) % channels;
    const std::int64_t n = at / (width * height * channels);
    for (std::int64_t k = 0; k < summed * d.kh * d.kw; ++k) {
      const std::int64_t s = k % d.kw, r = k / d.kw % d.kh, other = k / (d.kw * d.kh);
      if (forward) {
        add(n, channel, other, row, column, r, s);
        continue;
      }
      const std::int64_t p = row + d.pad_h - r, q = column + d.pad_w - s;
      if (p < 0 || q < 0 || p % d.stride_h != 0 || q % d.stride_w != 0) continue;
      if (p / d.stride_h >= oh || q / d.stride_w >= ow) continue;
      add(n, other, channel, p / d.stride_h, q / d.stride_w, r, s);
    }
    return terms;
  }
};

}  // namespace weft::problems
