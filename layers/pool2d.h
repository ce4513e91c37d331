// SPDX-License-Identifier: MIT
// MaxPool2d and AvgPool2d: one value for each window of a plane.
//
//   x (N, C, H, W)   y (N, C, P, Q)
#pragma once

#include "kernels/pool/pool.h"
#include "layers/registry/registry.h"
#include "layers/window.h"

namespace weft::layers {

class Pool2d : public Layer {
 public:
  const Window& window() const { return window_; }
  OnnxNode onnx(const Shape& input) const override;

  std::string_view type() const override { return type_; }
  std::string describe() const override {
    return str(type_, "(", to_string(window_), counts_padding_ ? ")" : ", padding not counted)");
  }
  double forward_flops(const Shape& input) const override;
  LayerTraits traits() const override { return {.backward_reads_output = false}; }

 protected:
  // Throws usage unless the window is valid and padded by at most half its size.
  Pool2d(std::string name, const char* type, const Window& window, bool counts_padding = true);

  Shape do_output_shape(const Shape& input) const override;
  kernels::PoolDims dims(const Shape& input) const;

 private:
  const char* type_;
  Window window_;
  bool counts_padding_;
};

// The largest value of each window; padding is -infinity. In training the place of each maximum is
// cached as int32, so that backward needs neither x nor y.
class MaxPool2d final : public Pool2d {
 public:
  MaxPool2d(std::string name, const Window& window)
      : Pool2d(std::move(name), "MaxPool2d", window) {}
  static LayerText read(Words& words);
  static LayerText read_global(Words& words);  // over the whole plane
  static OnnxWords from_onnx(OnnxReader& node);
  std::size_t cache_bytes(const Shape& input) const override;

 protected:
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;
};

// The mean of each window, padding counted as zeros (PyTorch's default) or not counted. What a
// window with `ceil` has beyond the padding never counts.
class AvgPool2d final : public Pool2d {
 public:
  AvgPool2d(std::string name, const Window& window, bool counts_padding = true)
      : Pool2d(std::move(name), "AvgPool2d", window, counts_padding) {}
  static LayerText read(Words& words);
  static LayerText read_global(Words& words);
  static OnnxWords from_onnx(OnnxReader& node);
  static OnnxWords from_reduce_mean(OnnxReader& node);  // PyTorch's way to write a global one

 protected:
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;
};

}  // namespace weft::layers
