// SPDX-License-Identifier: MIT
#include "bench/bench_gemm.h"

#include <cmath>
#include <cstring>

#include "bench/families.h"

namespace weft::bench {
namespace {

using kernels::Bfloat16;
using kernels::GemmStorage;

std::int64_t element_bytes(const GemmProblem& p) {
  return p.storage == GemmStorage::bf16 ? sizeof(Bfloat16) : sizeof(float);
}

double footprint(const GemmProblem& p) {
  const double m = static_cast<double>(p.dims.m), n = static_cast<double>(p.dims.n);
  const double k = static_cast<double>(p.dims.k);
  return static_cast<double>(element_bytes(p)) * (m * k + k * n + m * n);
}

// Random values that the storage can hold.
std::vector<float> random_matrix(const GemmProblem& p, std::int64_t elements, std::uint64_t seed) {
  std::vector<float> values = random_values(elements, seed);
  if (p.storage == GemmStorage::bf16) {
    for (float& value : values) value = kernels::to_float(kernels::to_bfloat16(value));
  }
  return values;
}

std::vector<std::uint8_t> stored(const GemmProblem& p, const std::vector<float>& values) {
  std::vector<std::uint8_t> bytes(values.size() * static_cast<std::size_t>(element_bytes(p)));
  if (p.storage == GemmStorage::fp32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Bfloat16 value = kernels::to_bfloat16(values[i]);
    std::memcpy(&bytes[i * sizeof(value)], &value, sizeof(value));
  }
  return bytes;
}

bool starts_with_strip(std::string_view variant) {
  return variant.substr(0, 5) == "strip";
}

}  // namespace

GemmWork::GemmWork(const GemmProblem& made_of, const Context& made_with)
    : Work(made_with),
      problem_(made_of),
      host_a_(random_matrix(made_of, made_of.dims.m * made_of.dims.k, made_with.seed)),
      host_b_(random_matrix(made_of, made_of.dims.k * made_of.dims.n, made_with.seed + 1)),
      a_(stored(made_of, host_a_), sets_for(footprint(made_of), made_with.stream.device()),
         made_with.stream),
      b_(stored(made_of, host_b_), sets_for(footprint(made_of), made_with.stream.device()),
         made_with.stream),
      c_(made_of.dims.m * made_of.dims.n * element_bytes(made_of),
         sets_for(footprint(made_of), made_with.stream.device()), made_with.stream) {
  const kernels::GemmDims& d = problem_.dims;
  problem = str(d.m, " x ", d.n, " x ", d.k, d.transpose_a ? ", A^T" : "",
                d.transpose_b ? ", B^T" : "", bf16() ? ", bfloat16" : "");
  if (problem_.strip_width > 0) {
    table = str(problem, ", TFLOP/s by SIMD width, ", problem_.strip_results, " results");
    column = str(problem_.strip_width);
    problem += str(", width ", problem_.strip_width, ", ", problem_.strip_results, " results");
  }
  bytes = footprint(problem_);
  flops = 2.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k);
  by_flops = true;
  sets = sets_for(footprint(problem_), made_with.stream.device());
}

bool GemmWork::can_run(std::string_view variant) const {
  const Device device = context.stream.device();
  if (!kernels::gemm_runs_on(kernels::parse_gemm_variant(variant), problem_.storage, device)) {
    return false;
  }
  const kernels::GemmDims& d = problem_.dims;
  const std::int64_t row_a = d.transpose_a ? d.m : d.k, row_b = d.transpose_b ? d.k : d.n;
  if (variant == "wgmma_bf16" && (row_a % 8 != 0 || row_b % 8 != 0)) return false;
  if (problem_.strip_width > 0) return starts_with_strip(variant);
  if (problem_.tensor_cores_only) return variant.find("f32") != std::string_view::npos || bf16();
  // The triple loop on a CPU takes minutes where others take a second.
  return device.is_cuda() || variant != "naive" || flops <= 5e9;
}

void GemmWork::call(std::string_view variant, int set) {
  kernels::GemmOptions options;
  options.variant = kernels::parse_gemm_variant(variant);
  if (problem_.strip_width > 0) {
    options.strip_width = problem_.strip_width;
    options.strip_results = problem_.strip_results;
  }
  if (bf16()) {
    kernels::gemm(static_cast<Bfloat16*>(c(set)), static_cast<const Bfloat16*>(a(set)),
                  static_cast<const Bfloat16*>(b(set)), nullptr, problem_.dims, options,
                  context.stream);
    return;
  }
  if (arithmetic_of(variant) == Arithmetic::tf32) options.mode = kernels::ComputeMode::tf32;
  kernels::gemm(static_cast<float*>(c(set)), static_cast<const float*>(a(set)),
                static_cast<const float*>(b(set)), nullptr, problem_.dims, options, context.stream);
}

Verdict GemmWork::check(int set, Arithmetic arithmetic) {
  const kernels::GemmDims& d = problem_.dims;
  const std::vector<std::uint8_t> found = c_.host(set);
  const auto result = [&](std::int64_t at) {
    const std::uint8_t* from = found.data() + at * element_bytes(problem_);
    float value;
    Bfloat16 narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    if (bf16()) return kernels::to_float(narrow);
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  // Products of two bfloat16 are exact; the result is rounded once.
  const double relative = bf16() ? std::ldexp(1.0, -8) * 1.001 : 0;
  if (bf16()) arithmetic = Arithmetic::fp32;
  const std::int64_t step_a = d.transpose_a ? d.m : 1, step_b = d.transpose_b ? 1 : d.n;
  Comparison comparison;
  std::vector<std::int64_t> sample = sample_indices(d.m * d.n, 1024, context.seed);
  if (bf16() && d.n > 1) sample.push_back(1);  // so that the first word is compared as a whole
  for (const std::int64_t at : sample) {
    const std::int64_t i = at / d.n, j = at % d.n;
    const float* left = host_a_.data() + (d.transpose_a ? i : i * d.k);
    const float* right = host_b_.data() + (d.transpose_b ? j * d.k : j);
    double sum = 0, squares = 0;
    for (std::int64_t p = 0; p < d.k; ++p) {
      const double product =
          static_cast<double>(left[p * step_a]) * static_cast<double>(right[p * step_b]);
      sum += product;
      squares += product * product;
    }
    // Independent errors of the products, and rounding of the running fp32 sum.
    const double bound = 6 * product_error(arithmetic) * std::sqrt(squares) +
                         4 * std::ldexp(1.0, -23) *
                             (std::fabs(sum) + std::sqrt(squares * static_cast<double>(d.k))) +
                         relative * std::fabs(sum);
    comparison.add(static_cast<double>(result(at)), sum, bound);
  }
  return comparison.verdict();
}

namespace {

// A variant that takes bfloat16 on this device asks for matrices of that.
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  GemmProblem problem{.dims = {.m = size, .n = size, .k = size}};
  if (context.variant.find("bf16") != std::string_view::npos) problem.storage = GemmStorage::bf16;
  return std::make_unique<GemmWork>(problem, context);
}

std::vector<GemmProblem> gpu_problems() {
  std::vector<GemmProblem> all;
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) all.push_back({{.m = n, .n = n, .k = n}});
  // The first layer of the MLP: forward, and its weight gradient.
  all.push_back({{.m = 256, .n = 512, .k = 784, .transpose_b = true}});
  all.push_back({{.m = 512, .n = 784, .k = 256, .transpose_a = true}});
  const kernels::GemmDims square{.m = 4096, .n = 4096, .k = 4096};
  kernels::GemmDims nt = square, tn = square;
  nt.transpose_b = true;
  tn.transpose_a = true;
  for (const kernels::GemmDims& dims : {nt, tn}) {
    all.push_back({.dims = dims, .tensor_cores_only = true});
  }
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) {
    all.push_back({{.m = n, .n = n, .k = n}, GemmStorage::bf16});
  }
  for (const kernels::GemmDims& dims : {nt, tn}) all.push_back({dims, GemmStorage::bf16});
  // The tables of the course: every strip rung with every width.
  for (const int results : {2, 4}) {
    for (const int width : {32, 64, 128, 256}) {
      all.push_back({.dims = {.m = 2048, .n = 2048, .k = 2048},
                     .strip_width = width,
                     .strip_results = results});
    }
  }
  return all;
}

std::vector<GemmProblem> cpu_problems() {
  return {{{.m = 256, .n = 256, .k = 256}},
          {{.m = 1024, .n = 1024, .k = 1024}},
          {{.m = 256, .n = 512, .k = 784, .transpose_b = true}},
          {{.m = 512, .n = 784, .k = 256, .transpose_a = true}}};
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  for (const GemmProblem& one : device.is_cuda() ? gpu_problems() : cpu_problems()) {
    all.push_back([one](const Context& c) { return std::make_unique<GemmWork>(one, c); });
  }
  return all;
}

}  // namespace

extern const FamilyBench gemm_bench = {
    "gemm", "rows and columns of square matrices", 512, 32768, sized, problems};

}  // namespace weft::bench
