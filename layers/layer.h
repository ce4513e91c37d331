// SPDX-License-Identifier: MIT
// Layer: one differentiable operation of a network.
//
// A layer is immutable after construction and holds no memory: parameters, gradients, buffers,
// cache and workspace are lent to each call through LayerContext, so one layer object can serve
// several plans and devices. The public functions validate once (shapes and device, with both in
// the message) and call the virtual do_* functions, which hold only calls to kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.h"
#include "kernels/common.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "layers/registry/onnx_operator.h"

namespace weft::layers {

using kernels::Epilogue;
using kernels::GradientMode;
using kernels::Workspace;
using FloatView = TensorView<float>;
using ConstFloatView = TensorView<const float>;

enum class Phase { inference, training };

// How the kernels of a plan are chosen; from --precision and --impl.
struct KernelChoice {
  kernels::ComputeMode mode = kernels::ComputeMode::fp32;
  // Rungs.
  std::string gemm{kernels::kAutomatic};
  std::string conv{kernels::kAutomatic};
  std::string conv_relu_pool{kernels::kAutomatic};
  // Layers may be joined into one kernel, convolutions only where no rung is named for them.
  bool fuse = true;
  // In inference an input has the same bits whatever else is in the batch. On a GPU this takes
  // kernels in fp32 that do not look at the size of the batch, and joins no convolution with its
  // pooling; on a CPU it is so anyway.
  bool batch_invariant = false;
};

// A trainable tensor of a layer. Names and layouts are PyTorch's: "weight", "bias".
struct ParameterSpec {
  std::string name;
  Shape shape;
  float init_bound = 0;  // initial values are uniform in +- init_bound around init_center
  float init_center = 0;
};

// A tensor that is part of the model but not trained by gradients: "running_mean".
struct BufferSpec {
  std::string name;
  Shape shape;
  float initial = 0;
};

// values[i] = the sum of values[i] over all ranks: (n,) in device memory, in stream order, the same
// bits on every rank. All ranks call it the same number of times. It may be captured in a Graph.
using SumOverRanks = std::function<void(float* values, std::int64_t n, const Stream& stream)>;

// What a call may use besides its activations; the order of spans is that of parameters() and
// buffers().
struct LayerContext {
  std::span<const FloatView> parameters;
  std::span<const FloatView> gradients;  // empty in inference
  std::span<const FloatView> buffers;
  void* cache = nullptr;  // cache_bytes(): written by forward, read by backward
  Workspace workspace;    // at least workspace_bytes()
  KernelChoice kernels;
  Phase phase = Phase::inference;
  std::uint64_t seed = 0;
  std::uint32_t layer_index = 0;
  const std::int64_t* step = nullptr;  // device memory: the training step, for dropout
  std::int64_t first_row = 0;  // of this part of a batch, for dropout; see Plan::take_share()
  // True when x is the output of a ReLU whose backward this call applies as well: dx is 0 where x
  // is not above 0.
  bool mask_input_gradient = false;
  // The parameters stay as they are: backward may leave out their gradients, which nobody reads.
  bool frozen = false;
  Branch* branch = nullptr;  // where backward may compute parameter gradients; or null
  ConstFloatView other;      // the second operand at an end of a block; see residual.h
  FloatView other_gradient;  // where a Concat writes that of its second operand; may be null
  // In training, for layers whose rows influence each other: where the batch is a slice of one with
  // `all_rows` rows, which lies on several ranks. Null: the batch is all there is.
  const SumOverRanks* sum_over_ranks = nullptr;
  std::int64_t all_rows = 0;
};

// The ends of a block, which `add` and `concat` close; see residual.h.
enum class Junction { none, fork, shortcut, add, concat };
constexpr bool closes_block(Junction junction) {
  return junction == Junction::add || junction == Junction::concat;
}

// What a Plan may do with a layer. The defaults are always safe.
struct LayerTraits {
  bool fuses_relu = false;            // forward() applies Epilogue::relu to its own output
  bool masks_input_gradient = false;  // backward() does LayerContext::mask_input_gradient
  // backward() uses LayerContext::branch: x, y and dy stay untouched until it is joined.
  bool forks_backward = false;
  bool view = false;  // the output is the input under another shape: a Plan calls nothing
  // y may be x, and dx be dy: an element-wise layer whose backward needs only y.
  bool in_place = false;
  bool backward_reads_output = true;  // if not, what follows may overwrite y
  bool relu = false;
  bool identity_in_inference = false;
  bool takes_batch_statistics = false;  // in training a row's output depends on the others
  Junction junction = Junction::none;
};

struct ForwardCall {
  FloatView y;
  ConstFloatView x;
  Epilogue epilogue;
  const LayerContext& context;
  const Stream& stream;
};

struct BackwardCall {
  FloatView dx;  // its data is null when the input needs no gradient
  ConstFloatView dy, x, y;
  GradientMode parameter_mode;
  const LayerContext& context;
  const Stream& stream;
};

class Layer {
 public:
  explicit Layer(std::string name, std::vector<ParameterSpec> parameters = {},
                 std::vector<BufferSpec> buffers = {})
      : name_(std::move(name)), parameters_(std::move(parameters)), buffers_(std::move(buffers)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& name() const { return name_; }  // "conv1"
  virtual std::string_view type() const = 0;         // "Conv2d"
  virtual std::string describe() const = 0;          // "Conv2d(1, 6, kernel 5x5, padding 2)"

  // The output's shape for an input of this shape (axis 0 is the batch); throws usage with the
  // expected and the found shape when the layer cannot take it.
  Shape output_shape(const Shape& input) const;

  // The shape that the second operand of a layer that closes a block needs, for that of the first.
  virtual Shape other_shape(const Shape& input) const { return input; }

  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  const std::vector<BufferSpec>& buffers() const { return buffers_; }
  virtual std::size_t cache_bytes(const Shape& input) const;  // 0 unless overridden
  virtual std::size_t workspace_bytes(const Shape& input, const KernelChoice& kernels,
                                      Device device, Phase phase) const;  // 0 unless overridden
  // Multiply and add count as two; one per output element unless overridden.
  virtual double forward_flops(const Shape& input) const;

  virtual LayerTraits traits() const { return {}; }
  // The operator that computes it in inference; throws usage unless overridden.
  virtual OnnxNode onnx(const Shape& input) const;

  void forward(FloatView y, ConstFloatView x, Epilogue epilogue, const LayerContext& context,
               const Stream& stream) const;
  // Writes dx (unless dx.data is null: the input needs no gradient) and adds to or overwrites the
  // parameter gradients. x and y are those of the matching forward().
  void backward(FloatView dx, ConstFloatView dy, ConstFloatView x, ConstFloatView y,
                GradientMode parameter_mode, const LayerContext& context,
                const Stream& stream) const;

 protected:
  virtual Shape do_output_shape(const Shape& input) const = 0;
  virtual void do_forward(const ForwardCall& call) const = 0;
  virtual void do_backward(const BackwardCall& call) const = 0;

  // Throws usage: "conv1: Conv2d(...) expects input (N, 1, H, W), found (64, 784)".
  [[noreturn]] void reject_input(std::string_view expected, const Shape& found) const;
  // Throws usage, naming the role, for another shape or device and for no memory.
  void check_view(std::string_view role, const ConstFloatView& view, const Shape& expected,
                  Device device) const;

 private:
  void check_context(const LayerContext& context, const Shape& input, Device device) const;

  std::string name_;
  std::vector<ParameterSpec> parameters_;
  std::vector<BufferSpec> buffers_;
};

}  // namespace weft::layers
