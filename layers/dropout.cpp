// SPDX-License-Identifier: MIT
#include "layers/dropout.h"

#include "kernels/dropout/dropout.h"

namespace weft::layers {

Dropout::Dropout(std::string name, float p) : Layer(std::move(name)), p_(p) {
  if (!(p >= 0 && p < 1)) {
    throw Error(ErrorKind::usage, str(this->name(), ": Dropout expects 0 <= p < 1, found ", p));
  }
}

LayerText Dropout::read(Words& words) {
  for (const auto& [word, share] : {std::pair{"rate", 1.0f}, {"rate/2", 0.5f}}) {
    if (!words.accept(word)) continue;
    const auto make = [part = share](const LayerSite& site) -> std::unique_ptr<Layer> {
      if (part * site.dropout <= 0) return nullptr;
      return std::make_unique<Dropout>(site.name, part * site.dropout);
    };
    return {make, true};
  }
  const float share = words.real("a share from 0 to less than 1, or rate, or rate/2", 0, 1);
  return {[share](const LayerSite& site) { return std::make_unique<Dropout>(site.name, share); }};
}

OnnxWords Dropout::from_onnx(OnnxReader& node) {
  float rate = node.real("ratio", 0.5f);
  node.ignore("seed");
  if (node.has_input(1)) {
    const std::vector<float> values = node.few_reals(1);
    if (values.size() != 1) node.fail(str("expected one ratio, found ", values.size()));
    rate = values[0];
  }
  return {.words = "dropout " + number_text(rate)};
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
