// SPDX-License-Identifier: MIT
// One matrix product for the harness and for cuBLAS.
#pragma once

#include "kernels/gemm/gemm.h"
#include "measure/by_hand.h"
#include "measure/harness.h"

namespace weft::measure {

// What the product of a linear layer does besides.
enum class LayerPass {
  none,
  forward,       // adds a bias
  forward_relu,  // and applies a ReLU
  data,          // masks by the ReLU of the layer before
  weights        // sums the rows of A for the bias
};

struct GemmProblem {
  kernels::GemmDims dims;
  kernels::GemmStorage storage = kernels::GemmStorage::fp32;
  bool fast_only = false;  // leave out the lower rungs, which are measured on other problems
  int strip_width = 0;     // of the strip rungs, which then run alone; or 0
  int strip_results = 4;
  std::string_view layer = {};  // "mlp fc1": measured in cache, as a training step leaves it
  LayerPass pass = LayerPass::none;
};

class GemmWork final : public Work {
 public:
  GemmWork(const GemmProblem& made_of, const Context& context);

  bool can_run(std::string_view variant) const override;
  std::vector<Variant> further_variants() const override;
  void call(std::string_view variant, int set) override;
  bool takes_flag(std::string_view flag, std::string_view variant) const override;
  std::string_view configured_rung(std::string_view variant) const override;
  bool takes_block() const override { return problem_.strip_width > 0; }
  void reset() override { c_.clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  double error(int set) override;
  std::vector<Fact> facts(std::string_view variant) const override {
    const std::vector<std::int64_t>& tile = context.parameters.tile;
    return gemm_facts(problem_.dims, variant,
                      {.side = tile.empty() ? 0 : tile[0],
                       .strip_width = problem_.strip_width > 0 ? problem_.strip_width : 128,
                       .strip_results = problem_.strip_results});
  }
  std::vector<Bytes> written(int set) override { return {c_.bytes(set)}; }

  const kernels::GemmDims& dims() const { return problem_.dims; }
  LayerPass pass() const { return problem_.pass; }
  const float* bias() { return bias_[0]; }  // (n,), of layers
  // Does what a layer's backward pass asks for besides the product, for a library that has not.
  void finish_layer(int set);
  kernels::GemmStorage storage() const { return problem_.storage; }
  // Floats, or bfloat16.
  void* c(int set) { return c_[set]; }        // (m, n)
  const void* a(int set) { return a_[set]; }  // (m, k), or (k, m) when transposed
  const void* b(int set) { return b_[set]; }  // (k, n), or (n, k) when transposed

 private:
  bool bf16() const { return problem_.storage == kernels::GemmStorage::bf16; }

  bool is_layer() const { return problem_.pass != LayerPass::none; }
  int sets_of(const Context& made_with) const;
  // What a layer does to the product for (i, j), which is sum.
  double finished(std::int64_t i, std::int64_t j, double sum) const;
  void check_row_sums(Comparison& comparison, double unit) const;

  // A sample of the products in double, the same for all variants: for 8192 cubed, of columns that
  // are far apart in memory, this takes longer than the kernels.
  struct Exact {
    std::int64_t at;
    double sum, squares, magnitude;  // of the terms; of their absolute values
  };
  void compute_exact();
  double result_of(const std::vector<std::uint8_t>& found, std::int64_t at) const;

  const GemmProblem problem_;
  std::vector<float> host_a_, host_b_, host_bias_, host_mask_;  // as the device has them
  Rotated<std::uint8_t> a_, b_, c_;
  Rotated<float> bias_, mask_, row_sums_;  // of layers; else empty
  std::vector<Exact> exact_;               // computed when first needed
};

}  // namespace weft::measure
