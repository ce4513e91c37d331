// SPDX-License-Identifier: MIT
// One matrix product for the harness and for cuBLAS.
#pragma once

#include "bench/harness.h"
#include "kernels/gemm/gemm.h"

namespace weft::bench {

class GemmWork final : public Work {
 public:
  GemmWork(const kernels::GemmDims& dims, const Context& context);

  bool can_run(std::string_view variant) const override;
  void call(std::string_view variant, int set) override;
  void reset() override { c_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Fact> facts(std::string_view variant) const override {
    return gemm_facts(dims, variant);
  }
  std::vector<Bytes> written(int set) override { return {c_.bytes(set)}; }

  const kernels::GemmDims dims;
  float* c(int set) { return c_[set]; }        // (m, n)
  const float* a(int set) { return a_[set]; }  // (m, k), or (k, m) when transposed
  const float* b(int set) { return b_[set]; }  // (k, n), or (n, k) when transposed

 private:
  std::vector<float> host_a_, host_b_;
  Rotated<float> a_, b_, c_;
};

}  // namespace weft::bench
