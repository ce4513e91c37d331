// SPDX-License-Identifier: MIT
// Mean squared error: per-row loss and gradient.
//
//   loss_r = mean over c of (y_rc - target_rc)^2   dy_rc = scale * 2 (y_rc - target_rc) / columns
//
// With scale = 1 / batch the gradient is that of the batch's mean loss.
#pragma once

#include "layers/layer.h"

namespace weft::layers {

// What is wanted; a view whose data is null is not computed.
struct RegressionOutputs {
  FloatView loss;      // (N,)
  FloatView gradient;  // (N, columns), of y
};

void mean_squared_error(const RegressionOutputs& outputs,
                        ConstFloatView y,       // (N, columns)
                        ConstFloatView target,  // (N, columns)
                        float scale, const Stream& stream);

}  // namespace weft::layers
