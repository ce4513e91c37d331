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
        "The matrix product alpha * a b + bias, with ReLU where `relu` is set.\n\n"
        "a: (m, k), or (k, m) with transpose_a. b: (k, n), or (n, k) with transpose_b.\n"
        "bias: (n,), added to each row. All are float32. mode: fp32, tf32 or bf16, the precision\n"
        "of the products on a GPU. out: (m, n), may not overlap an input. Returns (m, n).");
  m.def("transpose", &transpose, "x"_a, nb::kw_only(), "variant"_a = "automatic",
        "out"_a = nb::none(),
        "The transpose of a matrix. x: (rows, cols), float32. Returns (cols, rows).");
}

}  // namespace weft::python
