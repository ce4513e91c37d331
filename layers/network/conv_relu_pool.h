// SPDX-License-Identifier: MIT
// ConvReluPool: Conv2d, ReLU and MaxPool2d in one kernel, made by a Plan where the three follow
// each other. The map between them is not stored; what backward needs of it is a byte for each
// output.
//
//   x (N, C, H, W)   weight (O, C, kH, kW)   bias (O,)   y (N, O, P, Q)
//
// With a stem, a Conv2d of one channel and its ReLU ahead of these three, the map between the two
// convolutions is not stored either. x is then the stem's, and its parameters come first. Backward
// gives no gradient of x, so it is made for the first layers of a network alone.
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
  ConvReluPool(const Conv2d& conv, const MaxPool2d& pool, const Conv2d* stem = nullptr);

  // Can these layers be joined so, and is it expected to pay for this input on this device?
  static bool joins(const Layer& first, const Layer& second, const Layer& third, const Shape& input,
                    const KernelChoice& kernels, Device device);
  // The same for these, of which the first two are the stem and its ReLU.
  static bool joins_stem(std::span<const std::unique_ptr<Layer>, 5> layers, const Shape& input,
                         const KernelChoice& kernels, Device device);

  std::string_view type() const override { return "ConvReluPool"; }
  std::string describe() const override;
  std::size_t cache_bytes(const Shape& input) const override;
  std::size_t workspace_bytes(const Shape& input, const KernelChoice& kernels, Device device,
                              Phase phase) const override;
  double forward_flops(const Shape& input) const override;
  LayerTraits traits() const override {
    return {.masks_input_gradient = true,
            .forks_backward = stem_ != nullptr,
            .backward_reads_output = false};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override;
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;

 private:
  kernels::ReluPoolDims dims(const Shape& input) const;
  Shape conv_input(const Shape& input) const;  // of the stem, or the input itself
  // For the size of a workspace, and for a call.
  kernels::ReluPoolOptions options_of(const KernelChoice& kernels) const;
  kernels::ReluPoolOptions options_of(const LayerContext& context, const ConstFloatView& x) const;

  const Conv2d& conv_;
  const MaxPool2d& pool_;
  const Conv2d* stem_;  // or null
  std::size_t first_;   // of the parameters of `conv`
};

}  // namespace weft::layers
