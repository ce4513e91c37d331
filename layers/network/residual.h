// SPDX-License-Identifier: MIT
// A block is a stretch of a Sequential between two layers: Fork, which sends its input two ways,
// and one that closes it with what arrives. Add adds it, which makes a residual block, and Concat
// (concat.h) puts its channels behind each other.
//
//   fork -> conv bn relu ... ------------> add        the shortcut is the input of the block
//   fork -> conv bn relu ... shortcut conv -> add     the shortcut has layers of its own
//
// In front of the layers of a shortcut stands the layer Shortcut, whose output is the output of its
// Fork. Blocks may lie in each other. Sequential checks that they are closed and that the shapes
// meet. The second operand of Fork, Add and Concat is LayerContext::other, which a Plan sets.
// Forward of Fork and backward of Add copy nothing in place; the sums cannot be in place.
#pragma once

#include <vector>

#include "layers/layer.h"

namespace weft::layers {

// The layers that a layer of a list reads, by their places; -1 is the input of the network.
struct Wires {
  int input = -1;
  // What closes a block has its Fork, and a second operand, which is the Fork without a shortcut.
  int fork = -1, other = -1;

  bool has_shortcut() const { return other != fork; }  // whose Shortcut stands behind `input`
};

// Follows a list of layers. Nothing else looks for the ends of blocks in it.
class Wiring {
 public:
  // Says what the next layer reads. Throws usage for one that needs an open Fork and finds none.
  Wires add(const Layer& layer);
  // What the next layer would read if it closed a block; inputs of -1 where none is open.
  Wires closing() const;
  void finish() const;  // throws usage for a Fork that nothing closes

 private:
  struct Block {
    std::string fork_name;
    int fork = -1;
    int sum = -1;  // the last of the block's layers, once its shortcut has begun
  };
  std::vector<Block> blocks_;  // that are open
  int next_ = 0;
};

// y = x. Backward: dx = dy + other, where `other` is the gradient that came back by the shortcut.
class Fork final : public Layer {
 public:
  explicit Fork(std::string name) : Layer(std::move(name)) {}

  std::string_view type() const override { return "Fork"; }
  std::string describe() const override { return "Fork"; }
  double forward_flops(const Shape&) const override { return 0; }
  OnnxNode onnx(const Shape&) const override { return {}; }
  LayerTraits traits() const override {
    return {.in_place = true, .backward_reads_output = false, .junction = Junction::fork};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;
};

// Where the shortcut begins. Nothing is called for it.
class Shortcut final : public Layer {
 public:
  explicit Shortcut(std::string name) : Layer(std::move(name)) {}

  std::string_view type() const override { return "Shortcut"; }
  std::string describe() const override { return "Shortcut"; }
  double forward_flops(const Shape&) const override { return 0; }
  OnnxNode onnx(const Shape&) const override { return {}; }
  LayerTraits traits() const override { return {.junction = Junction::shortcut}; }

 protected:
  Shape do_output_shape(const Shape& input) const override { return input; }
  // Throws usage: a Plan never calls it.
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;
};

// y = x + other, where x is the output of the block's layers and `other` that of the shortcut.
// Backward: dx = dy, which is the gradient of both.
class Add final : public Layer {
 public:
  explicit Add(std::string name) : Layer(std::move(name)) {}

  std::string_view type() const override { return "Add"; }
  std::string describe() const override { return "Add"; }
  OnnxNode onnx(const Shape&) const override { return {"Add"}; }
  LayerTraits traits() const override {
    return {.in_place = true, .backward_reads_output = false, .junction = Junction::add};
  }

 protected:
  Shape do_output_shape(const Shape& input) const override { return input; }
  void do_forward(const ForwardCall& call) const override;
  void do_backward(const BackwardCall& call) const override;
};

}  // namespace weft::layers
