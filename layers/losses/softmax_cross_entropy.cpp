// SPDX-License-Identifier: MIT
#include "layers/losses/softmax_cross_entropy.h"

#include "kernels/softmax/softmax.h"
#include "layers/losses/loss_check.h"

namespace weft::layers {

void softmax_cross_entropy(const ClassificationOutputs& outputs, ConstFloatView logits,
                           TensorView<const std::int32_t> labels, float scale,
                           const Stream& stream) {
  constexpr std::string_view kLoss = "softmax cross-entropy";
  if (logits.shape.rank() != 2) {
    throw Error(ErrorKind::usage, str(kLoss, " expects logits (N, classes), found ", logits.shape));
  }
  const std::int64_t rows = logits.shape[0], classes = logits.shape[1];
  const Device device = stream.device();
  check_operand(kLoss, "logits", logits, logits.shape, device);
  check_operand(kLoss, "labels", labels, {rows}, device);
  if (outputs.loss.data != nullptr) check_operand(kLoss, "loss", outputs.loss, {rows}, device);
  if (outputs.gradient.data != nullptr) {
    check_operand(kLoss, "gradient", outputs.gradient, logits.shape, device);
  }
  if (outputs.prediction.data != nullptr) {
    check_operand(kLoss, "prediction", outputs.prediction, {rows}, device);
  }
  kernels::softmax_cross_entropy(outputs.loss.data, outputs.gradient.data, outputs.prediction.data,
                                 logits.data, labels.data, scale, rows, classes, stream);
}

}  // namespace weft::layers
