// SPDX-License-Identifier: MIT
// The end of a classifier in training, in one call: its last linear layer, softmax with
// cross-entropy, and the gradient of the layer's input.
//
//   logits[r,c]   = b[c] + sum over i of x[r,i] w[c,i]
//   loss, prediction, dlogits of row r as in softmax_cross_entropy() (softmax.h)
//   dx[r,i]       = sum over c of dlogits[r,c] w[c,i]; with `mask`, 0 where x[r,i] is not above 0
//
// What belongs to one row stays in one warp: three kernels that wait for memory become one.
// Products and sums are fp32. FLOPs 4 rows in classes; least traffic 8 rows in bytes.
#pragma once

#include "kernels/common.h"

namespace weft::kernels {

struct ClassifierDims {
  std::int64_t rows = 0, in = 0, classes = 0;
};

struct ClassifierOutputs {
  float* logits = nullptr;             // (rows, classes)
  float* dlogits = nullptr;            // (rows, classes)
  float* loss = nullptr;               // (rows,) or null
  std::int32_t* prediction = nullptr;  // (rows,) or null
  float* dx = nullptr;                 // (rows, in) or null
};

struct ClassifierOptions {
  float scale = 1;      // of the gradients
  float smoothing = 0;  // of the target, 0 <= smoothing < 1
  bool mask = false;    // x is the output of a ReLU, whose backward dx passes through as well
};

// Does this device have a kernel for it? x, w and dx then start on 16-byte boundaries. Otherwise
// the three calls do the same.
bool classifier_fits(const ClassifierDims& dims, Device device);

// Throws usage unless classifier_fits().
void classifier_forward_backward(const ClassifierOutputs& outputs,
                                 const float* x,              // (rows, in)
                                 const float* w,              // (classes, in)
                                 const float* bias,           // (classes,) or null
                                 const std::int32_t* labels,  // (rows,)
                                 const ClassifierDims& dims, const ClassifierOptions& options,
                                 const Stream& stream);

}  // namespace weft::kernels
