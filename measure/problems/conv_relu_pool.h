// SPDX-License-Identifier: MIT
// Convolution with ReLU and max pooling for the harness, fused and as separate layers.
#pragma once

#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "measure/harness.h"

namespace weft::measure {

class ReluPoolWork final : public Work {
 public:
  // What lies ahead of the layer: unknown; a ReLU, whose mask backward data applies; a stem, which
  // is computed with it, and whose gradient backward data is.
  enum class Ahead { unknown, relu, stem };
  ReluPoolWork(const kernels::ReluPoolDims& dims, kernels::ConvPass pass, const Context& context,
               Ahead ahead = Ahead::unknown);

  bool can_run(std::string_view variant) const override;
  // "separate_layers": conv2d_forward with its choice of rung, then max_pool2d_forward, in each
  // mode; and rungs in bf16.
  std::vector<Variant> further_variants() const override;
  kernels::Arithmetic arithmetic_of(const kernels::Rung& rung) const override;
  void call(std::string_view variant, int set) override;
  void reset() override { output().clear(); }
  Verdict check(int set, Arithmetic arithmetic) override;
  std::vector<Bytes> written(int set) override { return {output().bytes(set)}; }

  const kernels::ReluPoolDims dims;
  const kernels::ConvPass pass;
  const Ahead ahead;

 private:
  bool has_stem() const { return ahead == Ahead::stem; }
  Rotated<float>& output();
  template <class Visit>
  void each_x(const Visit& visit) const;
  void make_x();  // host_x_ from the stem
  std::vector<double> stem_gradient() const;
  kernels::Workspace scratch(std::size_t bytes);

  std::vector<float> host_x_, host_y_, host_w_;
  std::vector<std::uint8_t> host_argmax_;  // of the backward passes: any is as good
  Rotated<float> x_, y_, w_;               // or the gradients of x, y and w
  Rotated<std::uint8_t> argmax_;
  std::vector<float> host_mask_, host_image_, host_stem_;  // empty without
  Rotated<float> mask_, image_, stem_, stem_gradient_;
  Tensor map_, scratch_;  // the map that separate layers store
};

}  // namespace weft::measure
