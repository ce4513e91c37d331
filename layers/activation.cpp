// SPDX-License-Identifier: MIT
#include "layers/activation.h"

namespace weft::layers {

void ActivationLayer::do_forward(const ForwardCall& call) const {
  kernels::activation_forward(call.y.data, call.x.data, call.x.elements(), kind_, call.stream);
}

void ActivationLayer::do_backward(const BackwardCall& call) const {
  if (call.dx.data == nullptr) return;
  kernels::activation_backward(call.dx.data, call.dy.data, call.y.data, call.y.elements(), kind_,
                               GradientMode::overwrite, call.stream);
}

}  // namespace weft::layers
