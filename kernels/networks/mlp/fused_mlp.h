// SPDX-License-Identifier: MIT
// Training steps of a multilayer perceptron with two hidden layers, in four kernels a step. sm_90a.
// In bf16 what layers exchange lies in memory as bfloat16, and the parameters are fp32 with a copy
// in bfloat16 that the update writes. In fp32 values lie in two parts of fp16 (device/halves.cuh),
// and products are as accurate as in fp32. They are summed in fp32.
//
//   Flatten, Linear(inputs, hidden1), ReLU, Linear(hidden1, hidden2), ReLU,
//   Linear(hidden2, classes), softmax cross-entropy
//
// Flat parameters: weight (out, in) and bias (out,) of each Linear in turn.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ladder.h"
#include "kernels/loss/loss.h"
#include "kernels/optimizer/optimizer.h"

namespace weft::kernels {

struct FusedMlpDims {
  std::int64_t height = 0, width = 0;  // of an image
  std::int64_t hidden1 = 0, hidden2 = 0, classes = 0;
  ComputeMode mode = ComputeMode::fp32;  // tf32 is computed as fp32 is

  std::int64_t inputs() const { return height * width; }
  std::int64_t parameters() const;
};

struct FusedMlpOptions {
  BatchOrder order;           // order.batch: images in a full batch
  Augmentation augmentation;  // only its warp; Error{usage} for others
  Normalization normalization;
  SgdOptions sgd;
  float label_smoothing = 0;
};

// On a GPU: sm_90a, hidden layers of multiples of 64 up to 512, inputs of a multiple of 8 up to
// 4096 in rows of even width, at most 16 classes.
bool fused_mlp_supports(const FusedMlpDims& dims, Device device);

// Scratch for training on so many rows.
std::size_t fused_mlp_workspace_bytes(const FusedMlpDims& dims, std::int64_t rows, Device device);

// What training reads and writes.
struct FusedMlpState {
  float* parameters;           // (dims.parameters(),)
  float* velocity;             // the same, or null when momentum == 0
  MetricTotals* totals;        // or null
  std::int64_t* step;          // (1,)
  const std::uint8_t* images;  // (order.count, height, width)
  const std::int32_t* labels;  // (order.count,)
  const float* lr;             // one rate for each step of the run
};

// Makes the workspace ready: before the first step, and whenever somebody else wrote the parameters
// or the step.
void fused_mlp_prepare(const FusedMlpState& state, std::int64_t rows, const FusedMlpDims& dims,
                       const FusedMlpOptions& options, Workspace workspace, const Stream& stream);

// `steps` steps of `rows` images each: row r of step t is row r of the batch that gather_batch()
// makes at *step + t, so rows < order.batch is the tail of an epoch. The gradient is that of the
// mean over `rows`. totals += the losses and hits of all rows; *step += steps. A label outside
// [0, classes) makes the loss and the parameters NaN.
// usage, from both: dims that are not supported here, rows < 1 or > order.batch, momentum without a
// velocity, a workspace that is too small, what is not aligned: parameters and velocity to 16
// bytes, images to 8, the workspace to 256.
void fused_mlp_train(const FusedMlpState& state, std::int64_t rows, std::int64_t steps,
                     const FusedMlpDims& dims, const FusedMlpOptions& options, Workspace workspace,
                     const Stream& stream);

Rungs fused_mlp_rungs();

}  // namespace weft::kernels
