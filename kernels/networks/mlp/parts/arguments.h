// SPDX-License-Identifier: MIT
// What the kernels of fused_mlp exchange, and where it lies in the workspace.
#pragma once

#include "engine/extent.h"
#include "kernels/batch/parts/draw.h"
#include "kernels/bfloat16.h"
#include "kernels/networks/mlp/fused_mlp.h"

namespace weft::kernels::fused_mlp {

constexpr int kSide = 64;         // of a tile, and of a chunk along k
constexpr int kMostClasses = 16;  // two tiles of mma.sync
constexpr int kMostHidden = 512;
constexpr int kMostInputs = 4096;

// Rows of x, h1 and h2 end with a 1: the gradient of a bias is that of its weight. Their number is
// rounded up to whole tiles. Rows start on 128 bytes, a line of the L2 cache: many blocks read the
// same rows at once, which is faster by whole lines (networks/cnn/NOTES.md).
struct Exchange {
  Bfloat16* x[2];           // (rows, pitch_x): of even steps and of odd ones, as are labels
  Bfloat16 *h1, *h2;        // (rows, pitch of each): behind ReLU
  Bfloat16 *g1, *g2;        // (rows, hidden): gradients in front of ReLU
  Bfloat16* g3;             // (rows, kSide): of the logits, zeros behind the classes
  Bfloat16 *w1, *w2, *w3;   // (out, in); w1 (out, pitch_w1)
  std::int32_t* labels[2];  // (rows,)
  float* loss;              // (rows,)
  std::int32_t* hit;        // (rows,)
  std::int64_t pitch_x, pitch1, pitch2, pitch_w1;
};

// Lays the exchange out from `base` on (null: nowhere) and returns its size in bytes.
std::size_t lay_out(Exchange& exchange, char* base, const FusedMlpDims& dims, std::int64_t rows);

struct Training {
  FusedMlpState state;
  std::int64_t ahead;  // steps since *state.step was written
  BatchOrder order;
  Augmentation augmentation;
  draw::Line line;
  bool distort;
  SgdOptions sgd;
  float label_smoothing;
  Exchange exchange;
  int rows, height, width, inputs, hidden1, hidden2, classes;

  WEFT_HOST_DEVICE std::int64_t weight2() const { return std::int64_t{hidden1} * (inputs + 1); }
  WEFT_HOST_DEVICE std::int64_t weight3() const {
    return weight2() + std::int64_t{hidden2} * (hidden1 + 1);
  }
};

}  // namespace weft::kernels::fused_mlp
