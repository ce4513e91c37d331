// SPDX-License-Identifier: MIT
// Neighbours that are one layer.
#pragma once

#include "models/onnx/simplify/graph_edit.h"
#include "models/onnx/simplify/neighbours.h"

namespace weft::models::simplify {

// Several nodes that compute a function of one value become the operator of that function:
// x sigmoid(x) is a Swish, and x (1 + erf(x / sqrt(2))) / 2 a Gelu.
void fuse_activations(Graph& graph);

// Exponentials over their sum become a Softmax, and the logarithm of that a LogSoftmax.
void fuse_softmax(Graph& graph);

// (of - mean) / sqrt(variance + epsilon), with the mean and the variance along `axes`, which are
// sorted.
struct Normalised {
  std::string of;
  std::vector<std::int64_t> axes;
  double epsilon = 0;
};
// What the last of several nodes normalises; nothing for another node.
std::optional<Normalised> normalised_by(const onnx::NodeProto& node, Graph& graph,
                                        const Neighbours& neighbours);

// A normalisation that is written as several nodes becomes one, and takes the factors behind it.
void fuse_norms(Graph& graph);

// A Pad by zeros becomes padding of the layer behind it, which may be more on one side.
void fuse_pads(Graph& graph);

// Factors, sums and normalisations of channels become a part of the layer in front of them, else of
// the linear layer behind them, else a batch normalisation.
void fuse_scales(Graph& graph);

}  // namespace weft::models::simplify
