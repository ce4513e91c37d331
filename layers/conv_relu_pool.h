// SPDX-License-Identifier: MIT
// ConvReluPool: Conv2d, ReLU and MaxPool2d in one kernel, made by a Plan where the three follow
// each other. The map between them is not stored; what backward needs of it is a byte for each
// output.
//
//   x (N, C, H, W)   weight (O, C, kH, kW)   bias (O,)   y (N, O, P, Q)
// Formulas, forward and backward, are in kernels/conv_relu_pool/conv_relu_pool.h.
#pragma once

#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "layers/conv2d.h"
#include "layers/pool2d.h"

namespace weft::layers {

class ConvReluPool final : public Layer {
 public:
  // Throws usage unless the windows of `pool` lie side by side without padding and have at most 255
  // elements. The parameters are those of `conv`; both must outlive this layer.
  ConvReluPool(const Conv2d& conv, const MaxPool2d& pool);

  // Can these layers be joined so, and is it expected to pay for this input on this device?
  static bool joins(const Layer& first, const Layer& second, const Layer& third, const Shape& input,
                    const KernelChoice& kernels, Device device);

  std::string_view type() const override { return "ConvReluPool"; }
  std::string describe() const override;
  std::size_t cache_bytes(const Shape& input) const override;
  std::size_t workspace_bytes(const Shape& input, const KernelChoice& kernels, Device device,
                              Phase phase) const override;
  double forward_flops(const Shape& input) const override;
  LayerTraits traits() const override {
    return {.masks_input_gradient = true, .backward_reads_output = false};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  kernels::ReluPoolDims dims(const Shape& input) const;

  const Conv2d& conv_;
  const MaxPool2d& pool_;
};

}  // namespace weft::layers
