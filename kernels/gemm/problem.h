// SPDX-License-Identifier: MIT
// One matrix product as tests and benchmarks ask for it.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/problem.h"

namespace weft::problems {

// What the product of a linear layer does besides.
enum class LayerPass {
  none,
  forward,       // adds a bias
  forward_relu,  // and applies a ReLU
  data,          // masks by the ReLU of the layer before
  weights        // sums the rows of A for the bias
};

struct Gemm {
  static constexpr bool kByFlops = true;

  kernels::GemmDims dims;
  kernels::GemmStorage storage = kernels::GemmStorage::fp32;
  bool fast_only = false;  // leave out the lower rungs, which are measured on other problems
  int strip_width = 0;     // of the strip rungs, which then run alone; or 0
  int strip_results = 4;
  std::string_view layer = {};  // "mlp fc1": measured in cache, as a training step leaves it
  LayerPass pass = LayerPass::none;

  bool bf16() const { return storage == kernels::GemmStorage::bf16; }
  bool is_layer() const { return pass != LayerPass::none; }
  bool adds_bias() const { return pass == LayerPass::forward || pass == LayerPass::forward_relu; }
  std::int64_t element_bytes() const { return bf16() ? 2 : 4; }
  std::string shape() const {
    const kernels::GemmDims& d = dims;
    return str(d.m, " x ", d.n, " x ", d.k, d.transpose_a ? ", A^T" : "",
               d.transpose_b ? ", B^T" : "", bf16() ? ", bfloat16" : "");
  }
  std::string text() const {
    constexpr std::string_view kPasses[] = {"", " forward, bias", " forward, bias, ReLU",
                                            " backward data, mask", " backward weights, row sums"};
    if (is_layer()) return str(layer, kPasses[static_cast<int>(pass)], ": ", shape());
    if (strip_width == 0) return shape();
    return str(shape(), ", width ", strip_width, ", ", strip_results, " results");
  }
  std::string table() const {
    if (strip_width == 0) return "";
    return str(shape(), ", TFLOP/s by SIMD width, ", strip_results, " results");
  }
  std::string column() const { return strip_width == 0 ? "" : str(strip_width); }
  double bytes() const {
    const double m = static_cast<double>(dims.m), n = static_cast<double>(dims.n);
    const double k = static_cast<double>(dims.k);
    return static_cast<double>(element_bytes()) * (m * k + k * n + m * n);
  }
  double footprint() const { return is_layer() ? HUGE_VAL : bytes(); }
  double flops() const {
    return 2.0 * static_cast<double>(dims.m) * static_cast<double>(dims.n) *
           static_cast<double>(dims.k);
  }

  // Elements of A and B that product p of the element (i, j) of C multiplies.
  std::int64_t at_a(std::int64_t i, std::int64_t p) const {
    return dims.transpose_a ? p * dims.m + i : i * dims.k + p;
  }
  std::int64_t at_b(std::int64_t p, std::int64_t j) const {
    return dims.transpose_b ? j * dims.k + p : p * dims.n + j;
  }
  // What a layer does to the product for (i, j), which is sum.
  double finished(double sum, double bias, double mask) const {
    switch (pass) {
      case LayerPass::forward:
        return sum + bias;
      case LayerPass::forward_relu:
        return std::max(sum + bias, 0.0);
      case LayerPass::data:
        return mask > 0 ? sum : 0;
      default:
        return sum;
    }
  }
};

}  // namespace weft::problems
