// SPDX-License-Identifier: MIT
// A pass of a convolution with ReLU and max pooling as tests and benchmarks ask for it.
#pragma once

#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/conv_relu_pool/cpu/templates.h"
#include "kernels/problem.h"

namespace weft::problems {

// What lies ahead of the layer: unknown; a ReLU, whose mask backward data applies; a stem, which is
// computed with it, and whose gradient backward data is.
enum class Ahead { unknown, relu, stem };

struct ReluPool {
  static constexpr bool kByFlops = true;
  static constexpr std::int64_t kTaps = 9;  // of a stem

  kernels::ReluPoolDims dims;
  kernels::ConvPass pass = kernels::ConvPass::forward;
  Ahead ahead = Ahead::unknown;

  bool has_stem() const { return ahead == Ahead::stem; }
  std::int64_t inputs() const { return dims.conv.n * dims.conv.c * dims.conv.h * dims.conv.w; }
  std::int64_t outputs() const { return dims.conv.n * dims.conv.oc * dims.rows() * dims.columns(); }
  std::int64_t weights() const { return dims.conv.oc * dims.conv.c * taps(); }
  std::int64_t taps() const { return dims.conv.kh * dims.conv.kw; }
  std::int64_t pixels() const { return dims.conv.n * (dims.conv.h + 2) * (dims.conv.w + 2); }
  std::string text() const {
    const kernels::ConvDims& d = dims.conv;
    const char* name = pass == kernels::ConvPass::forward            ? ", forward "
                       : pass == kernels::ConvPass::backward_weights ? ", backward weights "
                       : has_stem()                                  ? ", backward stem "
                                                                     : ", backward data ";
    return str("with ReLU and max pooling", has_stem() ? " behind a stem" : "", name, d.n, " x ",
               d.c, " x ", d.h, " x ", d.w, ", ", d.oc, " filters ", d.kh, "x", d.kw,
               ahead == Ahead::relu ? ", masked" : "");
  }
  // A window has its output and the byte of its argmax.
  double footprint() const {
    return 4.0 * static_cast<double>(inputs() + weights()) + 5.0 * static_cast<double>(outputs());
  }
  double bytes() const {
    const std::int64_t more = ahead == Ahead::relu ? inputs()
                              : has_stem()         ? pixels() - inputs()
                                                   : 0;
    return footprint() + 4.0 * static_cast<double>(more);
  }
  // Forward all products of a window, backward those of the element that was chosen.
  double flops() const {
    const std::int64_t computed = pass == kernels::ConvPass::forward ? dims.ph * dims.pw : 1;
    return 2.0 * static_cast<double>(outputs() * computed) *
           static_cast<double>(dims.conv.c * taps());
  }
  ReluPool one_image() const {
    ReluPool one = *this;
    one.dims.conv.n = 1;
    return one;
  }

  // Calls visit(place in x, weights of its channel, pixel of the image under tap t) for all of x
  // that a stem computes from `pixels_of` (n, h + 2, w + 2).
  template <class Visit>
  void each_x(const float* pixels_of, const Visit& visit) const {
    const kernels::ConvDims& d = dims.conv;
    const std::int64_t wide = d.w + 2;
    std::size_t i = 0;
    for (std::int64_t n = 0; n < d.n; ++n) {
      for (std::int64_t c = 0; c < d.c; ++c) {
        for (std::int64_t at = 0; at < d.h * d.w; ++at, ++i) {
          const float* corner = pixels_of + (n * (d.h + 2) + at / d.w) * wide + at % d.w;
          visit(i, c * kTaps, [=](std::int64_t t) { return corner[t / 3 * wide + t % 3]; });
        }
      }
    }
  }
};

}  // namespace weft::problems
