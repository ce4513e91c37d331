// SPDX-License-Identifier: MIT
// GroupNorm and LayerNorm: each input is normalised alone, in training and in inference.
//
//   GroupNorm   x (N, C, H, W), whose channels are split into groups; weight and bias (C,)
//   LayerNorm   x (N, C, H, W) or (N, C), all values of an input together; weight and bias of the
//               extents behind the batch
// Formulas are in kernels/batch_norm/group_norm.h, and eps is PyTorch's.
#pragma once

#include "kernels/batch_norm/group_norm.h"
#include "layers/registry/registry.h"

namespace weft::layers {

class NormLayer : public Layer {
 public:
  static constexpr float kEps = 1e-5f;

  std::size_t cache_bytes(const Shape& input) const override;
  std::size_t workspace_bytes(const Shape& input, const KernelChoice&, Device,
                              Phase phase) const override;
  double forward_flops(const Shape& input) const override;
  LayerTraits traits() const override { return {.backward_reads_output = false}; }

 protected:
  NormLayer(std::string name, const Shape& weight, float eps);

  float eps() const { return eps_; }
  virtual kernels::GroupNormDims dims(const Shape& input) const = 0;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  float eps_;
};

class GroupNorm final : public NormLayer {
 public:
  // Throws usage unless the groups divide the channels.
  GroupNorm(std::string name, std::int64_t channels, std::int64_t groups, float eps = kEps);
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);
  static OnnxWords from_instance_norm(OnnxReader& node);  // a group for each channel

  std::string_view type() const override { return "GroupNorm"; }
  std::string describe() const override;
  OnnxNode onnx(const Shape&) const override;

 protected:
  Shape do_output_shape(const Shape& input) const override;
  kernels::GroupNormDims dims(const Shape& input) const override;

 private:
  std::int64_t channels_, groups_;
};

class LayerNorm final : public NormLayer {
 public:
  // `values`: the extents of an input without the batch.
  LayerNorm(std::string name, const Shape& values, float eps = kEps);
  static LayerText read(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);

  std::string_view type() const override { return "LayerNorm"; }
  std::string describe() const override;
  OnnxNode onnx(const Shape&) const override {
    return {"LayerNormalization", {{"axis", std::int64_t{1}}, {"epsilon", eps()}}};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  kernels::GroupNormDims dims(const Shape& input) const override;

 private:
  Shape values_;
};

}  // namespace weft::layers
