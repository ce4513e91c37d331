// SPDX-License-Identifier: MIT
// The network layer by layer on the CPU, on any scalar type. In bf16 values are rounded to bfloat16
// where the GPU's are: images, activations, gradients of activations, and weights for products. In
// double it is the tests' oracle.
#pragma once

#include <algorithm>

#include "engine/extent.h"
#include "kernels/batch/cpu/templates.h"
#include "kernels/bfloat16.h"
#include "kernels/linear_cpu.h"
#include "kernels/loss/cpu/templates.h"
#include "kernels/networks/mlp/fused_mlp.h"
#include "kernels/optimizer/cpu/templates.h"
#include "kernels/softmax/cpu/templates.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// Everything that a step computes for `rows` rows, cut out of one piece of memory.
template <class T>
struct FusedMlpMemory {
  T *x{}, *h1{}, *h2{}, *logits{}, *loss{};
  T *g1{}, *g2{}, *g3{}, *weights{}, *gradients{};
  std::int32_t *labels{}, *predictions{};

  // Returns the bytes that it takes; with base == null it only counts.
  std::size_t cut(void* base, const FusedMlpDims& d, std::int64_t rows) {
    std::size_t bytes = 0;
    const auto take = [&]<class Value>(Value*& pointer, std::int64_t count) {
      if (base != nullptr) {
        pointer = reinterpret_cast<Value*>(static_cast<char*>(base) + bytes);
      }
      bytes += round_up(static_cast<std::size_t>(count) * sizeof(Value), 64);
    };
    take(x, rows * d.inputs());
    for (T** h : {&h1, &g1}) take(*h, rows * d.hidden1);
    for (T** h : {&h2, &g2}) take(*h, rows * d.hidden2);
    for (T** h : {&logits, &g3}) take(*h, rows * d.classes);
    take(loss, rows);
    take(weights, d.parameters());
    take(gradients, d.parameters());
    take(labels, rows);
    take(predictions, rows);
    return bytes;
  }
};

// A layer's weights and bias in flat parameters.
template <class T>
struct FusedMlpLayer {
  T *weight, *bias;
  std::int64_t in, out;

  FusedMlpLayer(T* flat, const FusedMlpDims& d, int layer)
      : in(layer == 0   ? d.inputs()
           : layer == 1 ? d.hidden1
                        : d.hidden2),
        out(layer == 0   ? d.hidden1
            : layer == 1 ? d.hidden2
                         : d.classes) {
    if (layer > 0) flat += d.hidden1 * (d.inputs() + 1);
    if (layer > 1) flat += d.hidden2 * (d.hidden1 + 1);
    weight = flat, bias = flat + out * in;
  }
};

// Copies, and rounds in bf16.
template <class T>
void rounded(T* to, const T* from, std::int64_t count, ComputeMode mode) {
  if (mode != ComputeMode::bf16) {
    if (to != from) std::copy_n(from, count, to);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(to_float(to_bfloat16(static_cast<float>(from[i]))));
  }
}

// m.x to m.logits and, from m.g3, to m.gradients.
template <class T>
void fused_mlp_forward(const FusedMlpMemory<T>& m, const T* parameters, const FusedMlpDims& d,
                       std::int64_t rows) {
  rounded(m.weights, parameters, d.parameters(), d.mode);
  T* const values[] = {m.x, m.h1, m.h2, m.logits};
  for (int layer = 0; layer < 3; ++layer) {
    const FusedMlpLayer<const T> exact(parameters, d, layer);
    const FusedMlpLayer<T> factors(m.weights, d, layer);
    T* const y = values[layer + 1];
    linear_forward(y, static_cast<const T*>(values[layer]), static_cast<const T*>(factors.weight),
                   exact.bias, rows, exact.out, exact.in,
                   layer < 2 ? Epilogue::relu : Epilogue::none);
    if (layer < 2) rounded(y, y, rows * exact.out, d.mode);
  }
}
template <class T>
void fused_mlp_backward(const FusedMlpMemory<T>& m, const FusedMlpDims& d, std::int64_t rows) {
  T* const inputs[] = {m.x, m.h1, m.h2};
  T* const gradients[] = {m.g1, m.g2, m.g3};
  rounded(m.g3, m.g3, rows * d.classes, d.mode);
  for (int layer = 2; layer >= 0; --layer) {
    const FusedMlpLayer<T> g(m.gradients, d, layer), w(m.weights, d, layer);
    T* const before = layer > 0 ? gradients[layer - 1] : m.x;  // nobody asks for the image's
    linear_backward(g.weight, g.bias, before, static_cast<const T*>(gradients[layer]),
                    static_cast<const T*>(inputs[layer]), static_cast<const T*>(w.weight), rows,
                    g.out, g.in);
    rounded(before, before, rows * g.in, d.mode);
  }
}

template <class T>
void fused_mlp_train(T* parameters, T* velocity, MetricTotals* totals, std::int64_t* step,
                     const std::uint8_t* images, const std::int32_t* labels, const T* lr,
                     std::int64_t rows, std::int64_t steps, const FusedMlpDims& d,
                     const FusedMlpOptions& options, draw::Line line, void* workspace) {
  FusedMlpMemory<T> m;
  m.cut(workspace, d, rows);
  for (std::int64_t i = 0; i < steps; ++i, ++*step) {
    gather_batch(m.x, m.labels, static_cast<std::int64_t*>(nullptr), images, labels, rows,
                 {1, d.height, d.width}, step, options.order, options.augmentation, {{line}});
    rounded(m.x, m.x, rows * d.inputs(), d.mode);
    fused_mlp_forward(m, static_cast<const T*>(parameters), d, rows);
    softmax_cross_entropy(m.loss, m.g3, m.predictions, m.logits, m.labels,
                          T(1) / static_cast<T>(rows), rows, d.classes,
                          static_cast<T>(options.label_smoothing));
    fused_mlp_backward(m, d, rows);
    if (totals != nullptr) accumulate_totals(totals, m.loss, m.predictions, m.labels, rows);
    sgd_update(parameters, velocity, m.gradients, d.parameters(), lr, step, options.sgd);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
