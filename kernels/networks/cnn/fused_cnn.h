// SPDX-License-Identifier: MIT
// A small convolutional network trained and asked as a whole: one or two kernels per step, or one
// for many steps.
//
//   x    = (byte / 255 - mean) / stddev of an image (height, width), drawn as in kernels/batch
//   y1   = max_pool2(relu(conv1(x)))        kernel1 x kernel1, stride 1, padding pad1
//   y2   = max_pool2(relu(conv2(y1)))       kernel2 x kernel2, stride 1, padding pad2
//   h1   = relu(fc1(y2 flat)), h2 = relu(fc2(h1)), logits = fc3(h2)
//   loss = mean over the rows of the cross-entropy of softmax(logits) and the label
//
// and a step is gradient, then kernels/optimizer's update with lr[*step], then *step += 1. Pooling,
// NaN and ties are those of kernels/conv_relu_pool/conv_relu_pool.h, the loss that of
// kernels/softmax. Parameters lie one after the other as PyTorch orders them: conv1.weight
// (filters1, 1, kernel1, kernel1), conv1.bias, conv2.weight (filters2, filters1, kernel2, kernel2),
// conv2.bias, fc1.weight (hidden1, features), fc1.bias, fc2.weight, fc2.bias, fc3.weight (classes,
// hidden2), fc3.bias.
//
// On a GPU there is a kernel for a few shapes only: fused_cnn_supports() tells, and callers go
// layer by layer where it says no. fp32 throughout. Two variants give the same bits, and so do n
// steps at once and n times one step.
#pragma once

#include "kernels/all_reduce/all_reduce.h"
#include "kernels/batch/batch.h"
#include "kernels/ladder.h"
#include "kernels/loss/loss.h"
#include "kernels/optimizer/optimizer.h"

namespace weft::kernels {

struct FusedCnnDims {
  std::int64_t height = 0, width = 0;  // of an image, one channel
  std::int64_t filters1 = 0, kernel1 = 0, pad1 = 0;
  std::int64_t filters2 = 0, kernel2 = 0, pad2 = 0;
  std::int64_t hidden1 = 0, hidden2 = 0, classes = 0;

  // Extents of y1 and y2.
  std::int64_t height1() const { return (height + 2 * pad1 - kernel1 + 1) / 2; }
  std::int64_t width1() const { return (width + 2 * pad1 - kernel1 + 1) / 2; }
  std::int64_t height2() const { return (height1() + 2 * pad2 - kernel2 + 1) / 2; }
  std::int64_t width2() const { return (width1() + 2 * pad2 - kernel2 + 1) / 2; }
  std::int64_t features() const { return filters2 * height2() * width2(); }
  std::int64_t parameters() const;

  friend bool operator==(const FusedCnnDims&, const FusedCnnDims&) = default;
};

// LeNet-5 as models/ trains it on 28 x 28 images.
constexpr FusedCnnDims lenet5_dims(std::int64_t classes) {
  return {28, 28, 6, 5, 2, 16, 5, 0, 120, 84, classes};
}

struct FusedCnnOptions {
  BatchOrder order;           // order.batch: images in a full batch
  Augmentation augmentation;  // only its warp
  Normalization normalization;
  SgdOptions sgd;
  float label_smoothing = 0;              // as in softmax.h
  std::string_view variant = kAutomatic;  // of those that train
  const PeerGroup* peers = nullptr;       // this rank and the others, on GPUs (all_reduce.h)
  std::int64_t global_rows = 0;           // with peers: the rows of all ranks
};

// Can this device train such a network? On a GPU it needs a kernel of that shape, and shared memory
// for it: 227 KiB for LeNet-5, which sm_90 has.
bool fused_cnn_supports(const FusedCnnDims& dims, Device device);

// Scratch for training on so many rows, and for asking.
std::size_t fused_cnn_workspace_bytes(const FusedCnnDims& dims, std::int64_t rows, Device device);

// `steps` steps of `rows` images each: row r of step t is row r of the batch that gather_batch()
// makes at *step + t, so rows < order.batch is the tail of an epoch. The gradient is that of the
// mean over `rows`. totals += the losses and hits of all rows. A label outside [0, classes) makes
// the loss and the parameters NaN.
//
// With peers every rank calls it with the same steps and options, but for its share of the rows,
// which may be none; order.first says where the share starts. Each step is an exchange: the ranks'
// gradients, of the mean over global_rows, are added in the order of the ranks, so parameters and
// velocity have the same bits on all of them. totals count this rank's rows. The group's capacity
// is dims.parameters() or more. Rank 0 and a kernel without peers agree to rounding, and a group of
// one to the bit.
// usage: dims that are not supported here, an augmentation besides the warp, rows > order.batch,
// label_smoothing outside [0, 1), momentum without a velocity, parameters that are not aligned to
// 16 bytes, a workspace that is too small; peers on a CPU, with two_kernels, or with more
// parameters than words.
void fused_cnn_train(float* parameters,           // (dims.parameters(),)
                     float* velocity,             // the same, or null when momentum == 0
                     MetricTotals* totals,        // or null
                     std::int64_t* step,          // advanced by `steps`
                     const std::uint8_t* images,  // (order.count, height, width)
                     const std::int32_t* labels,  // (order.count,)
                     const float* lr,             // one rate for each step of the run
                     std::int64_t rows, std::int64_t steps, const FusedCnnDims& dims,
                     const FusedCnnOptions& options, Workspace workspace, const Stream& stream);

// Forward only, of images [0, rows) in their order.
void fused_cnn_infer(float* logits,               // (rows, classes) or null
                     std::int32_t* predictions,   // (rows,) argmax, ties low, or null
                     MetricTotals* totals,        // or null; += losses and hits against labels
                     const float* parameters,     // (dims.parameters(),)
                     const std::uint8_t* images,  // (rows, height, width)
                     const std::int32_t* labels,  // (rows,), or null when totals is
                     std::int64_t rows, const FusedCnnDims& dims,
                     const Normalization& normalization, Workspace workspace, const Stream& stream);

// Training in whole steps, or inference.
enum class FusedCnnOperation { train, infer };
std::optional<FusedCnnOperation> fused_cnn_operation(std::string_view rung);  // empty: no such rung
bool fused_cnn_counts_cycles(std::string_view rung);  // Does fused_cnn_train_timed() time it?
Rungs fused_cnn_rungs();                              // in teaching order

}  // namespace weft::kernels
