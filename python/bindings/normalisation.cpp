// SPDX-License-Identifier: MIT
// The family batch_norm.
#include "kernels/batch_norm/batch_norm.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

// x is (n, c, ...): what follows the channels is one extent.
kernels::BatchNormDims norm_dims(const Call& call, const Shape& x) {
  call.require(x.rank() >= 2, "x has shape ", x, ", expected (n, c) or (n, c, ...)");
  std::int64_t inner = 1;
  for (int axis = 2; axis < x.rank(); ++axis) inner *= x[axis];
  return {x[0], x[1], inner};
}

ResultsOf<3> batch_norm(const Array& x, const Array& gamma, const Array& beta,
                        const Writable& running_mean, const Writable& running_var, float eps,
                        float momentum, const std::string& variant) {
  Call call("batch_norm");
  const auto in = call.input<float>("x", x);
  const kernels::BatchNormDims dims = norm_dims(call, in.shape);
  const Shape channels{dims.c};
  const float* g = call.input<float>("gamma", gamma, channels).data;
  const float* b = call.input<float>("beta", beta, channels).data;
  float* averages = call.in_place<float>("running_mean", running_mean, channels);
  float* variances = call.in_place<float>("running_var", running_var, channels);
  float* y = call.output<float>(in.shape);
  float* mean = call.output<float>(channels);
  float* inv_std = call.output<float>(channels);
  const auto workspace =
      call.workspace(kernels::batch_norm_workspace_bytes(dims, call.stream().device()));
  call.run([&](const Stream& on) {
    kernels::batch_norm_forward(y, mean, inv_std, averages, variances, in.data, g, b, eps, momentum,
                                dims, {variant, false}, workspace, on);
  });
  return call.results();
}

Result batch_norm_inference(const Array& x, const Array& gamma, const Array& beta,
                            const Array& running_mean, const Array& running_var, float eps) {
  Call call("batch_norm_inference");
  const auto in = call.input<float>("x", x);
  const kernels::BatchNormDims dims = norm_dims(call, in.shape);
  const Shape channels{dims.c};
  const float* mean = call.input<float>("running_mean", running_mean, channels).data;
  const float* variance = call.input<float>("running_var", running_var, channels).data;
  const float* g = call.input<float>("gamma", gamma, channels).data;
  const float* b = call.input<float>("beta", beta, channels).data;
  float* y = call.output<float>(in.shape);
  call.run([&](const Stream& on) {
    kernels::batch_norm_inference(y, in.data, mean, variance, g, b, eps, dims, on);
  });
  return call.result();
}

ResultsOf<3> batch_norm_backward(const Array& dy, const Array& x, const Array& gamma,
                                 const Array& mean, const Array& inv_std,
                                 const std::string& variant) {
  Call call("batch_norm_backward");
  const auto in = call.input<float>("x", x);
  const kernels::BatchNormDims dims = norm_dims(call, in.shape);
  const Shape channels{dims.c};
  const float* gradient = call.input<float>("dy", dy, in.shape).data;
  const float* g = call.input<float>("gamma", gamma, channels).data;
  const float* average = call.input<float>("mean", mean, channels).data;
  const float* scale = call.input<float>("inv_std", inv_std, channels).data;
  float* dx = call.output<float>(in.shape);
  float* dgamma = call.output<float>(channels);
  float* dbeta = call.output<float>(channels);
  const auto workspace =
      call.workspace(kernels::batch_norm_workspace_bytes(dims, call.stream().device()));
  call.run([&](const Stream& on) {
    kernels::batch_norm_backward(dx, dgamma, dbeta, gradient, in.data, g, average, scale, dims,
                                 kOverwrite, kOverwrite, {variant, false}, workspace, on);
  });
  return call.results();
}

}  // namespace

void bind_normalisation(nb::module_& m) {
  m.def("batch_norm", &batch_norm, "x"_a, "gamma"_a, "beta"_a, "running_mean"_a, "running_var"_a,
        nb::kw_only(), "eps"_a = 1e-5f, "momentum"_a = 0.1f, "variant"_a = "automatic",
        with_rungs("Batch normalisation in training: (y, mean, inv_std), the latter for the "
                   "backward pass.\n\n"
                   "x: (n, c) or (n, c, ...), float32, with more than one value in each channel. "
                   "gamma, beta:\n"
                   "(c,). running_mean, running_var: (c,), updated in place. mean, inv_std: (c,).",
                   "batch_norm")
            .c_str());
  m.def("batch_norm_inference", &batch_norm_inference, "x"_a, "gamma"_a, "beta"_a, "running_mean"_a,
        "running_var"_a, nb::kw_only(), "eps"_a = 1e-5f,
        "Batch normalisation with the running statistics. Shapes as in batch_norm.");
  m.def(
      "batch_norm_backward", &batch_norm_backward, "dy"_a, "x"_a, "gamma"_a, "mean"_a, "inv_std"_a,
      nb::kw_only(), "variant"_a = "automatic",
      "The gradients of batch_norm: (dx, dgamma, dbeta). dy: the shape of x. mean, inv_std: (c,),\n"
      "as batch_norm returned them.");
}

}  // namespace weft::python
