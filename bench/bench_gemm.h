// SPDX-License-Identifier: MIT
// One matrix product for the harness and for cuBLAS.
#pragma once

#include "bench/by_hand.h"
#include "bench/harness.h"
#include "kernels/gemm/gemm.h"

namespace weft::bench {

struct GemmProblem {
  kernels::GemmDims dims;
  kernels::GemmStorage storage = kernels::GemmStorage::fp32;
  bool tensor_cores_only = false;  // leave out what is measured on other problems
  int strip_width = 0;             // of the strip rungs, which then run alone; or 0
  int strip_results = 4;
};

class GemmWork final : public Work {
 public:
  GemmWork(const GemmProblem& made_of, const Context& context);

  bool can_run(std::string_view variant) const override;
  void call(std::string_view variant, int set) override;
  void reset() override { c_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Fact> facts(std::string_view variant) const override {
    return gemm_facts(problem_.dims, variant);
  }
  std::vector<Bytes> written(int set) override { return {c_.bytes(set)}; }

  const kernels::GemmDims& dims() const { return problem_.dims; }
  kernels::GemmStorage storage() const { return problem_.storage; }
  // Floats, or bfloat16.
  void* c(int set) { return c_[set]; }        // (m, n)
  const void* a(int set) { return a_[set]; }  // (m, k), or (k, m) when transposed
  const void* b(int set) { return b_[set]; }  // (k, n), or (n, k) when transposed

 private:
  bool bf16() const { return problem_.storage == kernels::GemmStorage::bf16; }

  const GemmProblem problem_;
  std::vector<float> host_a_, host_b_;  // as the device has them
  Rotated<std::uint8_t> a_, b_, c_;
};

}  // namespace weft::bench
