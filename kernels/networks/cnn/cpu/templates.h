// SPDX-License-Identifier: MIT
// The network layer by layer on the CPU, on any scalar type: the templates of the families that the
// layers belong to, in their order. In double it is the tests' oracle.
#pragma once

#include "engine/extent.h"
#include "kernels/batch/cpu/templates.h"
#include "kernels/conv_relu_pool/cpu/templates.h"
#include "kernels/linear_cpu.h"
#include "kernels/loss/cpu/templates.h"
#include "kernels/networks/cnn/fused_cnn.h"
#include "kernels/optimizer/cpu/templates.h"
#include "kernels/softmax/cpu/templates.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// Everything that a step computes for `rows` rows, cut out of one piece of memory.
template <class T>
struct FusedCnnMemory {
  T *x{}, *y1{}, *y2{}, *h1{}, *h2{}, *logits{}, *loss{};
  T *dy1{}, *dy2{}, *dh1{}, *dh2{}, *dlogits{}, *gradients{};
  std::int32_t *labels{}, *predictions{};
  std::uint8_t *argmax1{}, *argmax2{};

  // Returns the bytes that it takes; with base == null it only counts.
  std::size_t cut(void* base, const FusedCnnDims& d, std::int64_t rows) {
    std::size_t bytes = 0;
    const auto take = [&]<class Value>(Value*& pointer, std::int64_t count) {
      if (base != nullptr) {
        pointer = reinterpret_cast<Value*>(static_cast<char*>(base) + bytes);
      }
      bytes += round_up(static_cast<std::size_t>(count) * sizeof(Value), 64);
    };
    const std::int64_t maps1 = d.filters1 * d.height1() * d.width1();
    take(x, rows * d.height * d.width);
    take(y1, rows * maps1);
    take(dy1, rows * maps1);
    take(y2, rows * d.features());
    take(dy2, rows * d.features());
    take(h1, rows * d.hidden1);
    take(dh1, rows * d.hidden1);
    take(h2, rows * d.hidden2);
    take(dh2, rows * d.hidden2);
    take(logits, rows * d.classes);
    take(dlogits, rows * d.classes);
    take(loss, rows);
    take(gradients, d.parameters());
    take(labels, rows);
    take(predictions, rows);
    take(argmax1, rows * maps1);
    take(argmax2, rows * d.features());
    return bytes;
  }
};

// A T for each parameter: the weights, or their gradients.
template <class T>
struct FusedCnnSlices {
  T *conv1, *conv1_bias, *conv2, *conv2_bias, *fc1, *fc1_bias, *fc2, *fc2_bias, *fc3, *fc3_bias;

  FusedCnnSlices(T* flat, const FusedCnnDims& d) {
    const auto take = [&](T*& pointer, std::int64_t count) {
      pointer = flat;
      flat += count;
    };
    take(conv1, d.filters1 * d.kernel1 * d.kernel1);
    take(conv1_bias, d.filters1);
    take(conv2, d.filters2 * d.filters1 * d.kernel2 * d.kernel2);
    take(conv2_bias, d.filters2);
    take(fc1, d.hidden1 * d.features());
    take(fc1_bias, d.hidden1);
    take(fc2, d.hidden2 * d.hidden1);
    take(fc2_bias, d.hidden2);
    take(fc3, d.classes * d.hidden2);
    take(fc3_bias, d.classes);
  }
};

namespace detail {

inline ReluPoolDims fused_cnn_conv1(const FusedCnnDims& d, std::int64_t rows) {
  return {{rows, 1, d.height, d.width, d.filters1, d.kernel1, d.kernel1, 1, 1, d.pad1, d.pad1}};
}
inline ReluPoolDims fused_cnn_conv2(const FusedCnnDims& d, std::int64_t rows) {
  return {{rows, d.filters1, d.height1(), d.width1(), d.filters2, d.kernel2, d.kernel2, 1, 1,
           d.pad2, d.pad2}};
}

}  // namespace detail

// m.x to m.logits.
template <class T>
void fused_cnn_forward(const FusedCnnMemory<T>& m, const T* parameters, const FusedCnnDims& d,
                       std::int64_t rows) {
  const FusedCnnSlices<const T> p(parameters, d);
  conv2d_relu_pool_forward(m.y1, m.argmax1, m.x, p.conv1, p.conv1_bias,
                           detail::fused_cnn_conv1(d, rows));
  conv2d_relu_pool_forward(m.y2, m.argmax2, m.y1, p.conv2, p.conv2_bias,
                           detail::fused_cnn_conv2(d, rows));
  linear_forward(m.h1, m.y2, p.fc1, p.fc1_bias, rows, d.hidden1, d.features(), Epilogue::relu);
  linear_forward(m.h2, m.h1, p.fc2, p.fc2_bias, rows, d.hidden2, d.hidden1, Epilogue::relu);
  linear_forward(m.logits, m.h2, p.fc3, p.fc3_bias, rows, d.classes, d.hidden2, Epilogue::none);
}

// m.dlogits to m.gradients.
template <class T>
void fused_cnn_backward(const FusedCnnMemory<T>& m, const T* parameters, const FusedCnnDims& d,
                        std::int64_t rows) {
  const FusedCnnSlices<const T> p(parameters, d);
  const FusedCnnSlices<T> g(m.gradients, d);
  linear_backward(g.fc3, g.fc3_bias, m.dh2, m.dlogits, m.h2, p.fc3, rows, d.classes, d.hidden2);
  linear_backward(g.fc2, g.fc2_bias, m.dh1, m.dh2, m.h1, p.fc2, rows, d.hidden2, d.hidden1);
  linear_backward(g.fc1, g.fc1_bias, m.dy2, m.dh1, m.y2, p.fc1, rows, d.hidden1, d.features());
  const ReluPoolDims conv1 = detail::fused_cnn_conv1(d, rows);
  const ReluPoolDims conv2 = detail::fused_cnn_conv2(d, rows);
  conv2d_relu_pool_backward_weights(g.conv2, g.conv2_bias, m.dy2, m.argmax2, m.y1, conv2,
                                    GradientMode::overwrite);
  conv2d_relu_pool_backward_data(m.dy1, m.dy2, m.argmax2, p.conv2, conv2, GradientMode::overwrite);
  conv2d_relu_pool_backward_weights(g.conv1, g.conv1_bias, m.dy1, m.argmax1, m.x, conv1,
                                    GradientMode::overwrite);
}

template <class T>
void fused_cnn_train(T* parameters, T* velocity, MetricTotals* totals, std::int64_t* step,
                     const std::uint8_t* images, const std::int32_t* labels, const T* lr,
                     std::int64_t rows, std::int64_t steps, const FusedCnnDims& d,
                     const BatchOrder& order, const Augmentation& augmentation, draw::Line line,
                     const SgdOptions& sgd, float label_smoothing, void* workspace) {
  FusedCnnMemory<T> m;
  m.cut(workspace, d, rows);
  for (std::int64_t i = 0; i < steps; ++i, ++*step) {
    gather_batch(m.x, m.labels, static_cast<std::int64_t*>(nullptr), images, labels, rows,
                 {1, d.height, d.width}, step, order, augmentation, {{line}});
    fused_cnn_forward(m, static_cast<const T*>(parameters), d, rows);
    softmax_cross_entropy(m.loss, m.dlogits, m.predictions, m.logits, m.labels,
                          T(1) / static_cast<T>(rows), rows, d.classes,
                          static_cast<T>(label_smoothing));
    fused_cnn_backward(m, static_cast<const T*>(parameters), d, rows);
    if (totals != nullptr) accumulate_totals(totals, m.loss, m.predictions, m.labels, rows);
    sgd_update(parameters, velocity, m.gradients, d.parameters(), lr, step, sgd);
  }
}

template <class T>
void fused_cnn_infer(T* logits, std::int32_t* predictions, MetricTotals* totals,
                     const T* parameters, const std::uint8_t* images, const std::int32_t* labels,
                     std::int64_t rows, const FusedCnnDims& d, draw::Line line, void* workspace) {
  FusedCnnMemory<T> m;
  m.cut(workspace, d, rows);
  const BatchOrder in_order{rows, 1, rows, false, 0};
  const std::int64_t step = 0;
  gather_batch(m.x, labels != nullptr ? m.labels : nullptr, static_cast<std::int64_t*>(nullptr),
               images, labels, rows, {1, d.height, d.width}, &step, in_order, Augmentation{},
               {{line}});
  fused_cnn_forward(m, parameters, d, rows);
  for (std::int64_t i = 0; labels == nullptr && i < rows; ++i) m.labels[i] = -1;
  softmax_cross_entropy(m.loss, static_cast<T*>(nullptr), m.predictions, m.logits, m.labels, T(1),
                        rows, d.classes);
  if (totals != nullptr) accumulate_totals(totals, m.loss, m.predictions, m.labels, rows);
  for (std::int64_t i = 0; logits != nullptr && i < rows * d.classes; ++i) logits[i] = m.logits[i];
  for (std::int64_t i = 0; predictions != nullptr && i < rows; ++i) {
    predictions[i] = m.predictions[i];
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu
