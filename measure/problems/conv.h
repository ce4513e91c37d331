// SPDX-License-Identifier: MIT
// One pass of a convolution layer for the harness and for cuDNN.
#pragma once

#include "kernels/conv/conv.h"
#include "measure/families.h"

namespace weft::measure {

class ConvWork final : public Work {
 public:
  // few: only the variants that automatic chooses among for such a shape.
  ConvWork(const kernels::ConvDims& dims, kernels::ConvPass pass, const Context& context,
           bool few = false);

  bool can_run(std::string_view variant) const override;
  Arithmetic arithmetic_of(const kernels::Rung& rung) const override;
  std::vector<Variant> further_variants() const override;
  void call(std::string_view variant, int set) override;
  void reset() override;
  Verdict check(int set, Arithmetic arithmetic) override;
  double error(int set) override;
  std::vector<Bytes> written(int set) override { return {output().bytes(set)}; }

  const kernels::ConvDims dims;
  const kernels::ConvPass pass;
  // The tensors of the pass: two are read and the third is written.
  float* x(int set) { return x_[set]; }  // (n, c, h, w), or its gradient
  float* y(int set) { return y_[set]; }  // (n, oc, oh, ow), or its gradient
  float* w(int set) { return w_[set]; }  // (oc, c, kh, kw), or its gradient

 private:
  Rotated<float>& output();
  // The terms of one output: their sum, that of their squares and of their absolute values, and
  // their number.
  struct Terms {
    double sum = 0, squares = 0, magnitude = 0, count = 0;
  };
  Terms expected(std::int64_t at) const;

  const bool few_;
  std::vector<float> host_x_, host_y_, host_w_;
  Rotated<float> x_, y_, w_;
  Tensor scratch_;
};

// The layer of a --size: images, or images, channels, height, width, filters and the side of their
// kernels.
kernels::ConvDims layer_of(std::span<const std::int64_t> size);
// What `choice` says for each mode and pass.
std::vector<NamedChoice> choices_by_mode_and_pass(
    const std::function<kernels::Choice(kernels::ConvPass, kernels::ComputeMode)>& choice);

}  // namespace weft::measure
