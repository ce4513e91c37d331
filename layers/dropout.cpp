// SPDX-License-Identifier: MIT
#include "layers/dropout.h"

#include "kernels/dropout/dropout.h"

namespace weft::layers {

Dropout::Dropout(std::string name, float p) : Layer(std::move(name)), p_(p) {
  if (!(p >= 0 && p < 1)) {
    throw Error(ErrorKind::usage, str(this->name(), ": Dropout expects 0 <= p < 1, found ", p));
  }
}

void Dropout::apply(float* y, ConstFloatView x, const LayerContext& context,
                    const Stream& stream) const {
  if (context.step == nullptr) {
    throw Error(ErrorKind::usage, str(name(), ": Dropout in training expects a step counter"));
  }
  if (x.elements() == 0) return;  // a rank without rows of a batch
  const kernels::DropoutKey key{context.seed, context.layer_index, context.step,
                                context.first_row * x.shape.elements() / x.shape[0]};
  kernels::dropout(y, x.data, x.elements(), p_, key, GradientMode::overwrite, stream);
}

void Dropout::do_forward(const ForwardCall& call) const {
  const auto& [y, x, epilogue, context, stream] = call;
  if (context.phase == Phase::training) {
    apply(y.data, x, context, stream);
  } else if (y.data != x.data) {
    copy_bytes(y.data, y.device, x.data, x.device,
               static_cast<std::size_t>(x.elements()) * sizeof(float), stream);
  }
}

void Dropout::do_backward(const BackwardCall& call) const {
  if (call.dx.data != nullptr) apply(call.dx.data, call.dy, call.context, call.stream);
}

}  // namespace weft::layers
