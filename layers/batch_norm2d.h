// SPDX-License-Identifier: MIT
// BatchNorm2d: normalises each channel of NCHW images over batch and plane, or each feature of rows
// (N, C) over the batch, as PyTorch's BatchNorm2d and BatchNorm1d do.
//
// Parameters weight (gamma) and bias (beta), buffers running_mean and running_var, (C,) each.
// A training forward uses the batch's statistics and updates the buffers; inference reads them.
// PyTorch's num_batches_tracked is not kept: it only matters without a momentum.
// With LayerContext::sum_over_ranks the statistics are those of the rows of all ranks.
#pragma once

#include "kernels/batch_norm/over_ranks.h"
#include "layers/registry/registry.h"

namespace weft::layers {

class BatchNorm2d final : public Layer {
 public:
  static constexpr float kEps = 1e-5f;  // that of ONNX and PyTorch, too
  BatchNorm2d(std::string name, std::int64_t channels, float eps = kEps, float momentum = 0.1f);
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);

  float eps() const { return eps_; }

  std::string_view type() const override { return "BatchNorm2d"; }
  std::string describe() const override { return str("BatchNorm2d(", channels_, ")"); }
  std::size_t cache_bytes(const Shape& input) const override;
  std::size_t workspace_bytes(const Shape& input, const KernelChoice& kernels, Device device,
                              Phase phase) const override;
  double forward_flops(const Shape& input) const override;
  OnnxNode onnx(const Shape&) const override { return {"BatchNormalization", {{"epsilon", eps_}}}; }
  LayerTraits traits() const override {
    return {.masks_input_gradient = true,
            .backward_reads_output = false,
            .takes_batch_statistics = true};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  kernels::BatchNormDims dims(const Shape& input) const;
  void forward_over_ranks(const ForwardCall& call) const;
  void backward_over_ranks(const BackwardCall& call) const;

  std::int64_t channels_;
  float eps_, momentum_;
};

}  // namespace weft::layers
