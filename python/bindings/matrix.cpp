// SPDX-License-Identifier: MIT
// The families gemm and transpose.
#include "kernels/gemm/gemm.h"
#include "kernels/transpose/transpose.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

Result gemm(const Array& a, const Array& b, const OptionalArray& bias, bool transpose_a,
            bool transpose_b, bool relu, float alpha, const std::string& variant,
            const std::string& mode, const nb::object& out) {
  Call call("gemm");
  const auto left = call.input<float>("a", a, 2);
  const auto right = call.input<float>("b", b, 2);
  kernels::GemmDims dims;
  dims.transpose_a = transpose_a;
  dims.transpose_b = transpose_b;
  dims.m = left[transpose_a ? 1 : 0];
  dims.k = left[transpose_a ? 0 : 1];
  dims.n = right[transpose_b ? 0 : 1];
  const std::int64_t rows = right[transpose_b ? 1 : 0];
  call.require(rows == dims.k, "a ", left.shape, transpose_a ? " transposed" : "", " and b ",
               right.shape, transpose_b ? " transposed" : "", " do not fit: a has ", dims.k,
               " columns and b has ", rows, " rows");
  const float* bias_data = call.optional_input<float>("bias", bias, {dims.n});
  float* c = call.output<float>({dims.m, dims.n}, out);
  kernels::GemmOptions options;
  options.variant = variant;
  options.mode = parse_mode(mode);
  options.alpha = alpha;
  options.epilogue = relu ? kernels::Epilogue::relu : kernels::Epilogue::none;
  call.run([&](const Stream& stream) {
    kernels::gemm(c, left.data, right.data, bias_data, dims, options, stream);
  });
  return call.result();
}

kernels::GemmOptions linear_options(const std::string& variant, const std::string& mode) {
  kernels::GemmOptions options;
  options.variant = variant;
  options.mode = parse_mode(mode);
  return options;
}

Result linear(const Array& x, const Array& w, const OptionalArray& bias, bool relu,
              const std::string& variant, const std::string& mode, const nb::object& out) {
  Call call("linear");
  const auto rows = call.input<float>("x", x, 2);
  const auto weights = call.input<float>("w", w, 2);
  call.require(rows[1] == weights[1], "x ", rows.shape, " has ", rows[1], " features and w ",
               weights.shape, " takes ", weights[1]);
  const float* bias_data = call.optional_input<float>("bias", bias, {weights[0]});
  float* y = call.output<float>({rows[0], weights[0]}, out);
  kernels::GemmOptions options = linear_options(variant, mode);
  options.epilogue = relu ? kernels::Epilogue::relu : kernels::Epilogue::none;
  call.run([&](const Stream& stream) {
    kernels::gemm(y, rows.data, weights.data, bias_data,
                  {.m = rows[0], .n = weights[0], .k = rows[1], .transpose_b = true}, options,
                  stream);
  });
  return call.result();
}

ResultsOf<3> linear_backward(const Array& dy, const Array& x, const Array& w,
                             const std::string& variant, const std::string& mode) {
  Call call("linear_backward");
  const auto rows = call.input<float>("x", x, 2);
  const auto weights = call.input<float>("w", w, 2);
  call.require(rows[1] == weights[1], "x ", rows.shape, " has ", rows[1], " features and w ",
               weights.shape, " takes ", weights[1]);
  const std::int64_t n = rows[0], in = rows[1], out = weights[0];
  const float* gradient = call.input<float>("dy", dy, {n, out}).data;
  float* dx = call.output<float>(rows.shape);
  float* dw = call.output<float>(weights.shape);
  float* db = call.output<float>({out});
  const kernels::GemmOptions options = linear_options(variant, mode);
  kernels::GemmOptions with_bias = options;
  with_bias.row_sums = db;
  call.run([&](const Stream& stream) {
    kernels::gemm(dw, gradient, rows.data, nullptr,
                  {.m = out, .n = in, .k = n, .transpose_a = true}, with_bias, stream);
    kernels::gemm(dx, gradient, weights.data, nullptr, {.m = n, .n = in, .k = out}, options,
                  stream);
  });
  return call.results();
}

Result transpose(const Array& x, const std::string& variant, const nb::object& out) {
  Call call("transpose");
  const auto in = call.input<float>("x", x, 2);
  float* y = call.output<float>({in[1], in[0]}, out);
  call.run([&](const Stream& stream) {
    kernels::transpose(y, in.data, {in[0], in[1]}, variant, stream);
  });
  return call.result();
}

}  // namespace

void bind_matrix(nb::module_& m) {
  m.def("gemm", &gemm, "a"_a, "b"_a, "bias"_a = nb::none(), nb::kw_only(), "transpose_a"_a = false,
        "transpose_b"_a = false, "relu"_a = false, "alpha"_a = 1.0f, "variant"_a = "automatic",
        "mode"_a = "fp32", "out"_a = nb::none(),
        with_rungs(
            "The matrix product alpha * a b + bias, with ReLU where `relu` is set.\n\n"
            "a: (m, k), or (k, m) with transpose_a. b: (k, n), or (n, k) with transpose_b.\n"
            "bias: (n,), added to each row. All are float32. mode: fp32, tf32 or bf16, the\n"
            "precision of the products on a GPU. out: (m, n), may not overlap an input. Returns\n"
            "(m, n).",
            "gemm")
            .c_str());
  m.def("linear", &linear, "x"_a, "w"_a, "bias"_a = nb::none(), nb::kw_only(), "relu"_a = false,
        "variant"_a = "automatic", "mode"_a = "fp32", "out"_a = nb::none(),
        "x w^T + bias, as torch.nn.functional.linear, with ReLU where `relu` is set.\n\n"
        "x: (n, in). w: (out, in). bias: (out,). All are float32. variant, mode: as in gemm.\n"
        "Returns (n, out).");
  m.def("linear_backward", &linear_backward, "dy"_a, "x"_a, "w"_a, nb::kw_only(),
        "variant"_a = "automatic", "mode"_a = "fp32",
        "The gradients of linear: (dx, dw, db).\n\n"
        "dy: (n, out), the gradient of its output. dx: (n, in). dw: (out, in). db: (out,).");
  m.def("transpose", &transpose, "x"_a, nb::kw_only(), "variant"_a = "automatic",
        "out"_a = nb::none(),
        with_rungs("The transpose of a matrix. x: (rows, cols), float32. Returns (cols, rows).",
                   "transpose")
            .c_str());
}

}  // namespace weft::python
