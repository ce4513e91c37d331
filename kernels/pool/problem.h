// SPDX-License-Identifier: MIT
// The passes of pooling as tests and benchmarks ask for them, with their oracles.
#pragma once

#include <cmath>

#include "kernels/pool/cpu/bias_sigmoid.h"
#include "kernels/pool/cpu/templates.h"
#include "kernels/pool/pool.h"
#include "kernels/problem.h"

namespace weft::problems {

enum class PoolPass { max, max_backward, average, average_backward, bias_sigmoid };

struct Pool {
  kernels::PoolDims dims;
  PoolPass pass = PoolPass::max;  // forward without the argmax

  std::int64_t inputs() const { return dims.n * dims.c * dims.h * dims.w; }
  std::int64_t outputs() const { return dims.n * dims.c * dims.oh() * dims.ow(); }
  bool backward() const {
    return pass == PoolPass::max_backward || pass == PoolPass::average_backward;
  }
  std::string text() const {
    const bool max = pass == PoolPass::max || pass == PoolPass::max_backward;
    return str(max ? "max " : "average ", backward() ? "backward " : "", dims.kh, "x", dims.kw,
               pass == PoolPass::bias_sigmoid ? " with bias and sigmoid" : "", " of ", dims.n,
               " x ", dims.c, " x ", dims.h, " x ", dims.w);
  }
  double bytes() const {
    const std::int64_t more = pass == PoolPass::max_backward   ? outputs()  // the argmax
                              : pass == PoolPass::bias_sigmoid ? dims.c
                                                               : 0;
    return 4.0 * static_cast<double>(inputs() + outputs() + more);
  }
  double flops() const {
    const std::int64_t window = pass == PoolPass::max_backward   ? 1
                                : pass == PoolPass::bias_sigmoid ? dims.kh * dims.kw + 4
                                                                 : dims.kh * dims.kw;
    return static_cast<double>(outputs() * window);
  }

  // One plane of what the pass writes from that plane of what it reads.
  void expect_plane(double* out, const double* in, const std::int32_t* argmax, double bias) const {
    kernels::PoolDims plane = dims;
    plane.n = plane.c = 1;
    constexpr auto kOverwrite = kernels::GradientMode::overwrite;
    switch (pass) {
      case PoolPass::max:
        return kernels::cpu::max_pool2d_forward<double>(out, nullptr, in, plane);
      case PoolPass::max_backward:
        return kernels::cpu::max_pool2d_backward<double>(out, in, argmax, plane, kOverwrite);
      case PoolPass::average:
        return kernels::cpu::avg_pool2d_forward<double>(out, in, plane);
      case PoolPass::average_backward:
        return kernels::cpu::avg_pool2d_backward<double>(out, in, plane, kOverwrite);
      case PoolPass::bias_sigmoid:
        return kernels::cpu::avg_pool2d_bias_sigmoid_forward<double>(out, in, &bias, plane);
    }
  }
  // The error of the sum of a window, and of the exponential function and a division.
  double bound() const {
    const std::int64_t more = pass == PoolPass::bias_sigmoid ? 4 : 0;
    return pass == PoolPass::max
               ? 0
               : std::ldexp(1.0, -23) * static_cast<double>(dims.kh * dims.kw + more);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Pool& p) {
  const kernels::PoolDims& d = p.dims;
  return out << p.text() << ", stride " << d.stride_h << "x" << d.stride_w << ", pad " << d.pad_h
             << "x" << d.pad_w;
}

}  // namespace weft::problems
