// SPDX-License-Identifier: MIT
// Softmax with cross-entropy: from logits and labels to loss, gradient and prediction in one pass.
//
//   loss_r = log(sum over c of exp(x_rc)) - x_r,label   dx_rc = scale (softmax(x)_rc - [c ==
//   label])
//
// With scale = 1 / batch the gradient is that of the batch's mean loss. No layer of a Sequential:
// it ends one, reading Plan::output() and writing Plan::output_gradient().
#pragma once

#include "layers/layer.h"

namespace weft::layers {

// What is wanted; a view whose data is null is not computed.
struct ClassificationOutputs {
  FloatView loss;                       // (N,)
  FloatView gradient;                   // (N, classes), of the logits
  TensorView<std::int32_t> prediction;  // (N,) the class with the largest logit, ties low
};

// A label outside [0, classes) gives a NaN loss and gradient row and is never predicted.
void softmax_cross_entropy(const ClassificationOutputs& outputs,
                           ConstFloatView logits,                  // (N, classes)
                           TensorView<const std::int32_t> labels,  // (N,)
                           float scale, const Stream& stream);

}  // namespace weft::layers
