// SPDX-License-Identifier: MIT
// The cases of GEMM: comparison with the double oracle on every device and variant, and benchmarks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gemm/problem.h"

namespace weft::test {

struct GemmCase {
  kernels::GemmDims dims;
  float alpha = 1, beta = 0;
  bool bias = false;
  kernels::Epilogue epilogue = kernels::Epilogue::none;

  double flops() const { return problems::Gemm{dims}.flops(); }
  std::string name() const {
    return str("m", dims.m, " n", dims.n, " k", dims.k, dims.transpose_a ? " A^T" : "",
               dims.transpose_b ? " B^T" : "", " ld(", dims.lda, ",", dims.ldb, ",", dims.ldc,
               ") alpha", alpha, " beta", beta, bias ? " bias" : "",
               epilogue == kernels::Epilogue::relu ? " relu" : "");
  }
};

// The matrix products of the built-in networks: forward, input and weight gradients.
inline std::vector<GemmCase> network_gemm_cases(std::int64_t batch = 64) {
  std::vector<GemmCase> cases;
  struct Linear {
    std::int64_t in, out;
  };
  for (const auto [in, out] : {Linear{784, 512},
                               {512, 512},
                               {512, 10},  // mlp
                               {400, 120},
                               {120, 84},
                               {84, 10},  // lenet5
                               {9216, 128},
                               {128, 10}}) {  // convnet
    const auto relu = out == 10 ? kernels::Epilogue::none : kernels::Epilogue::relu;
    cases.push_back({{batch, out, in, false, true}, 1, 0, true, relu});
    cases.push_back({{batch, in, out, false, false}});
    cases.push_back({{out, in, batch, true, false}, 1, 1});
  }
  return cases;
}

// For sanitizer runs: every transpose with and without aligned rows, edges in all directions. k is
// longer than any ring of stages, of which the longest on floats without wgmma has 128.
inline std::vector<GemmCase> few_gemm_cases(std::int64_t k = 265) {
  std::vector<GemmCase> cases;
  constexpr std::int64_t m = 40, n = 75;
  for (int i = 0; i < 8; ++i) {
    GemmCase c{{m, n, k, (i & 1) != 0, (i & 2) != 0}, 2, static_cast<float>(i % 2), i % 3 != 0};
    c.epilogue = i % 3 == 1 ? kernels::Epilogue::relu : kernels::Epilogue::none;
    if (i >= 4) {
      c.dims.lda = ((c.dims.transpose_a ? m : k) + 7) / 8 * 8;
      c.dims.ldb = ((c.dims.transpose_b ? k : n) + 7) / 8 * 8;
      c.dims.ldc = (n + 7) / 8 * 8;
    }
    cases.push_back(c);
  }
  return cases;
}

inline std::vector<GemmCase> gemm_cases() {
  std::vector<GemmCase> cases;
  // Every transpose, alpha and beta in {0, 1, 2}, bias and ReLU, in turn over many small shapes.
  int turn = 0;
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    for (int transposes = 0; transposes < 4; ++transposes, ++turn) {
      GemmCase c{{m, n, k, (transposes & 1) != 0, (transposes & 2) != 0}};
      c.alpha = static_cast<float>((turn / 3 + 1) % 3);
      c.beta = static_cast<float>(turn % 3);
      c.bias = turn % 2 == 1 || c.alpha == 0;
      c.epilogue = turn % 5 == 4 ? kernels::Epilogue::relu : kernels::Epilogue::none;
      if (turn % 4 == 3) {  // leading dimensions longer than the rows
        c.dims.lda = (c.dims.transpose_a ? m : k) + 3;
        c.dims.ldb = (c.dims.transpose_b ? k : n) + 5;
        c.dims.ldc = n + 7;
      }
      cases.push_back(c);
    }
  };
  for (const std::int64_t m : {1, 5, 33}) {
    for (const std::int64_t n : {1, 5, 33}) {
      for (const std::int64_t k : {1, 5, 33}) add(m, n, k);
    }
  }
  // Around the sides of register tiles, warps and blocks.
  for (const std::int64_t side : {11, 12, 13, 15, 16, 17, 31, 32, 63, 64, 65, 127, 128, 129}) {
    add(side, 19, 8);
    add(10, side, 16);
    add(side, side, side);
  }
  add(127, 131, 139);
  add(2, 3, 1031);   // more than one block of k
  add(37, 2051, 9);  // more than one block of columns, and the same transposed
  add(2051, 37, 9);
  add(251, 241, 1033);
  for (const GemmCase& c : network_gemm_cases(16)) cases.push_back(c);
  for (const GemmCase& c : few_gemm_cases()) cases.push_back(c);
  return cases;
}

}  // namespace weft::test
