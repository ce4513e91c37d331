// SPDX-License-Identifier: MIT
// BatchNorm2d: normalises each channel of NCHW images over batch and plane, as in PyTorch.
//
// Parameters weight (gamma) and bias (beta), buffers running_mean and running_var, (C,) each.
// A training forward uses the batch's statistics and updates the buffers; inference reads them.
// PyTorch's num_batches_tracked is not kept: it only matters without a momentum.
#pragma once

#include "kernels/batch_norm/batch_norm.h"
#include "layers/layer.h"

namespace weft::layers {

class BatchNorm2d final : public Layer {
 public:
  BatchNorm2d(std::string name, std::int64_t channels, float eps = 1e-5f, float momentum = 0.1f);

  std::string_view type() const override { return "BatchNorm2d"; }
  std::string describe() const override { return str("BatchNorm2d(", channels_, ")"); }
  std::size_t cache_bytes(const Shape& input) const override;
  std::size_t workspace_bytes(const Shape& input, const KernelChoice& kernels, Device device,
                              Phase phase) const override;
  double forward_flops(const Shape& input) const override;
  bool backward_reads_output() const override { return false; }
  bool can_mask_input_gradient() const override { return true; }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
                  const Stream& stream) const override;
  void do_backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                   GradientMode parameter_mode, const LayerContext& context,
                   const Stream& stream) const override;

 private:
  kernels::BatchNormDims dims(const Shape& input) const;

  std::int64_t channels_;
  float eps_, momentum_;
};

}  // namespace weft::layers
