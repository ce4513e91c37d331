// SPDX-License-Identifier: MIT
// The families activation, softmax, loss and dropout.
#include "kernels/activation/activation.h"
#include "kernels/dropout/dropout.h"
#include "kernels/loss/loss.h"
#include "kernels/softmax/softmax.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

constexpr Named<kernels::Activation> kActivations[] = {{"relu", kernels::Activation::relu},
                                                       {"sigmoid", kernels::Activation::sigmoid},
                                                       {"tanh", kernels::Activation::tanh}};

Result activation(const Array& x, const std::string& kind, const std::string& variant,
                  const nb::object& out) {
  const kernels::Activation function = row_named(kActivations, "activation", kind).value;
  Call call("activation");
  const auto in = call.input<float>("x", x);
  float* y = call.output<float>(in.shape, out, true);
  call.run([&](const Stream& on) {
    kernels::activation_forward(y, in.data, in.n(), function, variant, on);
  });
  return call.result();
}

Result activation_backward(const Array& dy, const Array& y, const std::string& kind,
                           const std::string& variant, const nb::object& out) {
  const kernels::Activation function = row_named(kActivations, "activation", kind).value;
  Call call("activation_backward");
  const auto result = call.input<float>("y", y);
  const auto gradient = call.input<float>("dy", dy, result.shape);
  float* dx = call.output<float>(result.shape, out, true);
  call.run([&](const Stream& on) {
    kernels::activation_backward(dx, gradient.data, result.data, result.n(), function, kOverwrite,
                                 variant, on);
  });
  return call.result();
}

Result softmax(const Array& x, const std::string& variant, const nb::object& out) {
  Call call("softmax");
  const auto in = call.input<float>("x", x, 2);
  float* y = call.output<float>(in.shape, out);
  call.run(
      [&](const Stream& on) { kernels::softmax_forward(y, in.data, in[0], in[1], variant, on); });
  return call.result();
}

Result softmax_backward(const Array& dy, const Array& y, const std::string& variant) {
  Call call("softmax_backward");
  const auto result = call.input<float>("y", y, 2);
  const auto gradient = call.input<float>("dy", dy, result.shape);
  float* dx = call.output<float>(result.shape);
  call.run([&](const Stream& on) {
    kernels::softmax_backward(dx, gradient.data, result.data, result[0], result[1], kOverwrite,
                              variant, on);
  });
  return call.result();
}

// Throws ValueError for a label that is no class. Waits for the labels.
void require_classes(Call& call, const Array& labels, const View<const std::int32_t>& view,
                     std::int64_t classes) {
  if (view.n() == 0) return;
  const auto [least, greatest] = extremes(call, labels, view);
  call.require(least >= 0 && greatest < classes, "labels holds ", least < 0 ? least : greatest,
               ", expected classes from 0 to ", classes - 1);
}

ResultsOf<3> softmax_cross_entropy(const Array& x, const Array& labels, float scale,
                                   float smoothing, const std::string& variant) {
  Call call("softmax_cross_entropy");
  const auto in = call.input<float>("x", x, 2);
  const auto truth = call.input<std::int32_t>("labels", labels, Shape{in[0]});
  require_classes(call, labels, truth, in[1]);
  float* loss = call.output<float>({in[0]});
  float* dx = call.output<float>(in.shape);
  auto* prediction = call.output<std::int32_t>({in[0]});
  call.run([&](const Stream& on) {
    kernels::softmax_cross_entropy(loss, dx, prediction, in.data, truth.data, scale, smoothing,
                                   in[0], in[1], variant, on);
  });
  return call.results();
}

ResultsOf<2> mean_squared_error(const Array& y, const Array& target, float scale,
                                const std::string& variant) {
  Call call("mean_squared_error");
  const auto in = call.input<float>("y", y, 2);
  const auto wanted = call.input<float>("target", target, in.shape);
  float* loss = call.output<float>({in[0]});
  float* dy = call.output<float>(in.shape);
  call.run([&](const Stream& on) {
    kernels::mean_squared_error(loss, dy, in.data, wanted.data, scale, in[0], in[1], variant, on);
  });
  return call.results();
}

Result dropout(const Array& x, float p, std::uint64_t seed, std::uint32_t layer, std::int64_t step,
               const std::string& variant, const nb::object& out) {
  Call call("dropout");
  const auto in = call.input<float>("x", x);
  float* y = call.output<float>(in.shape, out, true);
  const kernels::DropoutKey key{seed, layer, call.constant(step)};
  call.run([&](const Stream& on) {
    kernels::dropout(y, in.data, in.n(), p, key, kOverwrite, variant, on);
  });
  return call.result();
}

}  // namespace

void bind_rows(nb::module_& m) {
  m.def("activation", &activation, "x"_a, "kind"_a = "relu", nb::kw_only(),
        "variant"_a = "automatic", "out"_a = nb::none(),
        "relu, sigmoid or tanh of each element. x: any shape, float32. out: may be x.");
  m.def("activation_backward", &activation_backward, "dy"_a, "y"_a, "kind"_a = "relu",
        nb::kw_only(), "variant"_a = "automatic", "out"_a = nb::none(),
        "The gradient of activation. dy: that of its output y, of the same shape. out: may be dy.");
  m.def("softmax", &softmax, "x"_a, nb::kw_only(), "variant"_a = "automatic", "out"_a = nb::none(),
        with_rungs("The softmax of each row. x: (rows, cols), float32.", "softmax").c_str());
  m.def("softmax_backward", &softmax_backward, "dy"_a, "y"_a, nb::kw_only(),
        "variant"_a = "automatic",
        "The gradient of softmax. dy, y: (rows, cols), the gradient of its output and the output.");
  m.def("softmax_cross_entropy", &softmax_cross_entropy, "x"_a, "labels"_a, nb::kw_only(),
        "scale"_a = 1.0f, "smoothing"_a = 0.0f, "variant"_a = "automatic",
        "The cross-entropy of logits: (loss, dx, prediction).\n\n"
        "x: (rows, cols), float32. labels: (rows,), int32. loss: (rows,). dx: (rows, cols), its\n"
        "gradient times `scale`. prediction: (rows,), int32. smoothing: the share of each label\n"
        "that is spread over all classes, in the gradient only. A label that is no column of x "
        "raises\n"
        "ValueError; for that, a call on a GPU waits for its labels.");
  m.def("mean_squared_error", &mean_squared_error, "y"_a, "target"_a, nb::kw_only(),
        "scale"_a = 1.0f, "variant"_a = "automatic",
        "The mean of the squared differences of each row: (loss, dy).\n\n"
        "y, target: (rows, cols), float32. loss: (rows,). dy: (rows, cols), the gradient times\n"
        "`scale`.");
  m.def("dropout", &dropout, "x"_a, "p"_a = 0.5f, nb::kw_only(), "seed"_a = 0, "layer"_a = 0,
        "step"_a = 0, "variant"_a = "automatic", "out"_a = nb::none(),
        "Zeroes each element with probability p in [0, 1), and divides the others by 1 - p.\n\n"
        "x: any shape, float32. Which ones depends on (seed, layer, step) and the place alone, so\n"
        "the same call on a gradient is the backward pass. out: may be x.");
}

}  // namespace weft::python
