// SPDX-License-Identifier: MIT
#include "layers/losses/mean_squared_error.h"

#include "kernels/loss/loss.h"
#include "layers/losses/loss_check.h"

namespace weft::layers {

void mean_squared_error(const RegressionOutputs& outputs, ConstFloatView y, ConstFloatView target,
                        float scale, const Stream& stream) {
  constexpr std::string_view kLoss = "mean squared error";
  if (y.shape.rank() != 2) {
    throw Error(ErrorKind::usage, str(kLoss, " expects y (N, columns), found ", y.shape));
  }
  const std::int64_t rows = y.shape[0], cols = y.shape[1];
  const Device device = stream.device();
  check_operand(kLoss, "y", y, y.shape, device);
  check_operand(kLoss, "target", target, y.shape, device);
  if (outputs.loss.data != nullptr) check_operand(kLoss, "loss", outputs.loss, {rows}, device);
  if (outputs.gradient.data != nullptr) {
    check_operand(kLoss, "gradient", outputs.gradient, y.shape, device);
  }
  kernels::mean_squared_error(outputs.loss.data, outputs.gradient.data, y.data, target.data, scale,
                              rows, cols, stream);
}

}  // namespace weft::layers
