// SPDX-License-Identifier: MIT
#include "bench/bench_gemm.h"

#include <cmath>

#include "bench/families.h"

namespace weft::bench {
namespace {

double footprint(const kernels::GemmDims& d) {
  const double m = static_cast<double>(d.m), n = static_cast<double>(d.n);
  const double k = static_cast<double>(d.k);
  return 4 * (m * k + k * n + m * n);
}

}  // namespace

GemmWork::GemmWork(const kernels::GemmDims& d, const Context& made_with)
    : Work(made_with),
      dims(d),
      host_a_(random_values(d.m * d.k, made_with.seed)),
      host_b_(random_values(d.k * d.n, made_with.seed + 1)),
      a_(host_a_, sets_for(footprint(d), made_with.stream.device()), made_with.stream),
      b_(host_b_, sets_for(footprint(d), made_with.stream.device()), made_with.stream),
      c_(d.m * d.n, sets_for(footprint(d), made_with.stream.device()), made_with.stream) {
  problem =
      str(d.m, " x ", d.n, " x ", d.k, d.transpose_a ? ", A^T" : "", d.transpose_b ? ", B^T" : "");
  bytes = footprint(d);
  flops = 2.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k);
  by_flops = true;
  sets = sets_for(footprint(d), made_with.stream.device());
}

bool GemmWork::can_run(std::string_view variant) const {
  // The triple loop on a CPU takes minutes where others take a second.
  const bool slow = context.stream.device().is_cpu() && variant == "naive" && flops > 5e9;
  return !slow && kernels::gemm_runs_on(kernels::parse_gemm_variant(variant),
                                        kernels::GemmStorage::fp32, context.stream.device());
}

void GemmWork::call(std::string_view variant, int set) {
  kernels::GemmOptions options;
  options.variant = kernels::parse_gemm_variant(variant);
  const Arithmetic arithmetic = arithmetic_of(variant);
  if (arithmetic == Arithmetic::tf32) options.mode = kernels::ComputeMode::tf32;
  if (arithmetic == Arithmetic::bf16) options.mode = kernels::ComputeMode::bf16;
  kernels::gemm(c_[set], a_[set], b_[set], nullptr, dims, options, context.stream);
}

Verdict GemmWork::check(int set, Arithmetic arithmetic) {
  const std::vector<float> found = c_.host(set);
  const std::int64_t step_a = dims.transpose_a ? dims.m : 1, step_b = dims.transpose_b ? 1 : dims.n;
  Comparison comparison;
  for (const std::int64_t at : sample_indices(dims.m * dims.n, 1024, context.seed)) {
    const std::int64_t i = at / dims.n, j = at % dims.n;
    const float* a = host_a_.data() + (dims.transpose_a ? i : i * dims.k);
    const float* b = host_b_.data() + (dims.transpose_b ? j * dims.k : j);
    double sum = 0, squares = 0;
    for (std::int64_t p = 0; p < dims.k; ++p) {
      const double product =
          static_cast<double>(a[p * step_a]) * static_cast<double>(b[p * step_b]);
      sum += product;
      squares += product * product;
    }
    // Independent errors of the products, and rounding of the running fp32 sum.
    const double bound = 6 * product_error(arithmetic) * std::sqrt(squares) +
                         4 * std::ldexp(1.0, -23) *
                             (std::fabs(sum) + std::sqrt(squares * static_cast<double>(dims.k)));
    comparison.add(found[static_cast<std::size_t>(at)], sum, bound);
  }
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<GemmWork>(kernels::GemmDims{.m = size, .n = size, .k = size}, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<kernels::GemmDims> shapes;
  const auto cubes = device.is_cuda() ? std::vector<std::int64_t>{1024, 2048, 4096, 8192}
                                      : std::vector<std::int64_t>{256, 1024};
  for (const std::int64_t n : cubes) shapes.push_back({.m = n, .n = n, .k = n});
  // The first layer of the MLP: forward, and its weight gradient.
  shapes.push_back({.m = 256, .n = 512, .k = 784, .transpose_b = true});
  shapes.push_back({.m = 512, .n = 784, .k = 256, .transpose_a = true});
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  for (const kernels::GemmDims& dims : shapes) {
    all.push_back([dims](const Context& c) { return std::make_unique<GemmWork>(dims, c); });
  }
  return all;
}

}  // namespace

extern const FamilyBench gemm_bench = {
    "gemm", "rows and columns of square matrices", 512, 32768, sized, problems};

}  // namespace weft::bench
