// SPDX-License-Identifier: MIT
#include "layers/activation.h"

namespace weft::layers {

void ActivationLayer::do_forward(FloatView y, ConstFloatView x, Epilogue, const LayerContext&,
                                 const Stream& stream) const {
  kernels::activation_forward(y.data, x.data, x.elements(), kind_, stream);
}

void ActivationLayer::do_backward(FloatView dx, ConstFloatView dy, ConstFloatView, ConstFloatView y,
                                  GradientMode, const LayerContext&, const Stream& stream) const {
  if (dx.data == nullptr) return;
  kernels::activation_backward(dx.data, dy.data, y.data, y.elements(), kind_,
                               GradientMode::overwrite, stream);
}

}  // namespace weft::layers
