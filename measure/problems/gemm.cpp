// SPDX-License-Identifier: MIT
#include "measure/problems/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "engine/error.h"
#include "kernels/activation/activation.h"

namespace weft::measure {
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
std::vector<float> random_matrix(const GemmProblem& p, std::int64_t elements, std::uint64_t seed,
                                 double spread) {
  std::vector<float> values = spread_values(elements, seed, spread);
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

// Ways of calling gemm() that are no rungs: the choice, and what overlapping is worth.
struct NamedOptions {
  std::string_view name;
  kernels::GemmOptions options;
};
constexpr NamedOptions kCalls[] = {
    {"cluster_tf32, no overlap",
     {.variant = "cluster_tf32", .mode = kernels::ComputeMode::tf32, .overlap = false}},
    {"automatic", {}},
    {"automatic tf32", {.mode = kernels::ComputeMode::tf32}},
    {"automatic bf16", {.mode = kernels::ComputeMode::bf16}},
};

kernels::GemmOptions options_of(std::string_view variant) {
  for (const NamedOptions& call : kCalls) {
    if (call.name == variant) return call.options;
  }
  const kernels::Rung* rung = kernels::gemm_rungs().find(variant);
  return {.variant = variant,
          .mode = rung != nullptr ? mode_of(*rung) : kernels::ComputeMode::fp32};
}

std::string_view describe(LayerPass pass) {
  switch (pass) {
    case LayerPass::forward:
      return " forward, bias";
    case LayerPass::forward_relu:
      return " forward, bias, ReLU";
    case LayerPass::data:
      return " backward data, mask";
    case LayerPass::weights:
      return " backward weights, row sums";
    default:
      return "";
  }
}

}  // namespace

int GemmWork::sets_of(const Context& made_with) const {
  return is_layer() ? 1 : sets_for(footprint(problem_), made_with.stream.device());
}

GemmWork::GemmWork(const GemmProblem& made_of, const Context& made_with)
    : Work(made_with),
      problem_(made_of),
      host_a_(random_matrix(made_of, made_of.dims.m * made_of.dims.k, made_with.seed,
                            made_with.spread)),
      host_b_(random_matrix(made_of, made_of.dims.k * made_of.dims.n, made_with.seed + 1,
                            made_with.spread)),
      host_bias_(random_values(is_layer() ? made_of.dims.n : 0, made_with.seed + 2)),
      host_mask_(
          random_values(is_layer() ? made_of.dims.m * made_of.dims.n : 0, made_with.seed + 3)),
      a_(stored(made_of, host_a_), sets_of(made_with), made_with.stream),
      b_(stored(made_of, host_b_), sets_of(made_with), made_with.stream),
      c_(made_of.dims.m * made_of.dims.n * element_bytes(made_of), sets_of(made_with),
         made_with.stream),
      bias_(host_bias_, 1, made_with.stream),
      mask_(host_mask_, 1, made_with.stream),
      row_sums_(is_layer() ? made_of.dims.m : 0, 1, made_with.stream) {
  const kernels::GemmDims& d = problem_.dims;
  problem = str(d.m, " x ", d.n, " x ", d.k, d.transpose_a ? ", A^T" : "",
                d.transpose_b ? ", B^T" : "", bf16() ? ", bfloat16" : "");
  if (is_layer()) problem = str(problem_.layer, describe(problem_.pass), ": ", problem);
  if (problem_.strip_width > 0) {
    table = str(problem, ", TFLOP/s by SIMD width, ", problem_.strip_results, " results");
    column = str(problem_.strip_width);
    problem += str(", width ", problem_.strip_width, ", ", problem_.strip_results, " results");
  }
  bytes = footprint(problem_);
  flops = 2.0 * static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k);
  by_flops = true;
  sets = sets_of(made_with);
}

std::vector<Variant> GemmWork::further_variants() const {
  std::vector<Variant> variants;
  if (!is_layer()) return variants;
  const Device device = context.stream.device();
  for (const auto& [name, options] : kCalls) {
    std::string_view rung = options.variant;
    if (rung == kernels::kAutomatic) {
      rung = kernels::gemm_choice({problem_.dims, problem_.storage, options.mode}, device).rung;
    }
    const auto arithmetic = kernels::gemm_rungs().find(rung)->arithmetic.in(options.mode);
    variants.push_back(
        {std::string(name), options.variant,
         device.is_cpu() ? Arithmetic::fp32 : arithmetic.value_or(Arithmetic::fp32)});
  }
  return variants;
}

bool GemmWork::can_run(std::string_view variant) const {
  const Device device = context.stream.device();
  const kernels::GemmOptions options = options_of(variant);
  const kernels::GemmProblem asked{problem_.dims, problem_.storage, options.mode};
  if (!kernels::gemm_takes(options.variant, asked, device)) return false;
  for (const NamedOptions& call : kCalls) {
    if (call.name == variant) return true;
  }
  const kernels::GemmTraits traits = kernels::gemm_traits(variant);
  if (problem_.strip_width > 0) return traits.strip;
  if (is_layer() && device.is_cuda()) return traits.for_layers;
  if (traits.longest_k > 0 && problem_.dims.k > traits.longest_k && !is_layer()) return false;
  if (problem_.fast_only) {
    const kernels::Rung* rung = kernels::gemm_rungs().find(variant);
    return arithmetic_of(*rung) != Arithmetic::fp32 || traits.fast || bf16();
  }
  return !takes_minutes(kernels::gemm_rungs(), variant, flops, device);
}

bool GemmWork::takes_flag(std::string_view flag, std::string_view variant) const {
  const kernels::GemmTraits traits = kernels::gemm_traits(variant);
  return flag == "--transpose" || (flag == "--results" && traits.results) ||
         (flag == "--tile" && traits.any_side);
}

std::string_view GemmWork::configured_rung(std::string_view variant) const {
  const kernels::GemmTraits traits = kernels::gemm_traits(variant);
  const std::vector<std::int64_t>& tile = context.parameters.tile;
  if (traits.side == 0 || tile.empty()) return Work::configured_rung(variant);
  // A rung that was found by its side, or the one with the side that was asked for.
  if (!traits.any_side || tile[0] == traits.side) return variant;
  for (const kernels::Rung& rung : kernels::gemm_rungs()) {
    if (kernels::gemm_traits(rung.name).side == tile[0]) return rung.name;
  }
  return "";
}

void GemmWork::call(std::string_view variant, int set) {
  kernels::GemmOptions options = options_of(variant);
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
  const LayerPass pass = problem_.pass;
  const bool adds = pass == LayerPass::forward || pass == LayerPass::forward_relu;
  if (pass == LayerPass::forward_relu) options.epilogue = kernels::Epilogue::relu;
  if (pass == LayerPass::data) options.relu_mask = mask_[0];
  if (pass == LayerPass::weights) options.row_sums = row_sums_[0];
  kernels::gemm(static_cast<float*>(c(set)), static_cast<const float*>(a(set)),
                static_cast<const float*>(b(set)), adds ? bias_[0] : nullptr, problem_.dims,
                options, context.stream);
}

void GemmWork::finish_layer(int set) {
  const kernels::GemmDims& d = problem_.dims;
  auto* result = static_cast<float*>(c(set));
  if (problem_.pass == LayerPass::data) {
    kernels::activation_backward(result, result, mask_[0], d.m * d.n, kernels::Activation::relu,
                                 kernels::GradientMode::overwrite, context.stream);
  } else if (problem_.pass == LayerPass::weights) {
    kernels::bias_backward(row_sums_[0], static_cast<const float*>(a(set)), d.k, d.m, 1,
                           kernels::GradientMode::overwrite, context.stream);
  }
}

double GemmWork::finished(std::int64_t i, std::int64_t j, double sum) const {
  const auto bias = [&] { return static_cast<double>(host_bias_[static_cast<std::size_t>(j)]); };
  switch (problem_.pass) {
    case LayerPass::forward:
      return sum + bias();
    case LayerPass::forward_relu:
      return std::max(sum + bias(), 0.0);
    case LayerPass::data:
      return host_mask_[static_cast<std::size_t>(i * problem_.dims.n + j)] > 0 ? sum : 0;
    default:
      return sum;
  }
}

void GemmWork::check_row_sums(Comparison& comparison, double unit) const {
  const kernels::GemmDims& d = problem_.dims;
  const std::vector<float> found = row_sums_.host(0);
  for (std::int64_t i = 0; i < d.m; ++i) {
    double sum = 0, squares = 0;
    for (std::int64_t p = 0; p < d.k; ++p) {
      const auto at = static_cast<std::size_t>(d.transpose_a ? p * d.m + i : i * d.k + p);
      const double value = static_cast<double>(host_a_[at]);
      sum += value;
      squares += value * value;
    }
    const double bound =
        6 * unit * std::sqrt(squares) +
        4 * std::ldexp(1.0, -23) * (std::fabs(sum) + std::sqrt(squares * static_cast<double>(d.k)));
    comparison.add(static_cast<double>(found[static_cast<std::size_t>(i)]), sum, bound);
  }
}

void GemmWork::compute_exact() {
  const kernels::GemmDims& d = problem_.dims;
  const std::int64_t step_a = d.transpose_a ? d.m : 1, step_b = d.transpose_b ? 1 : d.n;
  std::vector<std::int64_t> sample = sample_indices(d.m * d.n, 1024, context.seed);
  if (bf16() && d.n > 1) sample.push_back(1);  // so that the first word is compared as a whole
  for (const std::int64_t at : sample) {
    const std::int64_t i = at / d.n, j = at % d.n;
    const float* left = host_a_.data() + (d.transpose_a ? i : i * d.k);
    const float* right = host_b_.data() + (d.transpose_b ? j * d.k : j);
    double sum = 0, squares = 0, magnitude = 0;
    for (std::int64_t p = 0; p < d.k; ++p) {
      const double product =
          static_cast<double>(left[p * step_a]) * static_cast<double>(right[p * step_b]);
      sum += product;
      squares += product * product;
      magnitude += std::fabs(product);
    }
    exact_.push_back({at, sum, squares, magnitude});
  }
}

double GemmWork::result_of(const std::vector<std::uint8_t>& found, std::int64_t at) const {
  const std::uint8_t* from = found.data() + at * element_bytes(problem_);
  float value;
  Bfloat16 narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  if (bf16()) return static_cast<double>(kernels::to_float(narrow));
  std::memcpy(&value, from, sizeof(value));
  return static_cast<double>(value);
}

double GemmWork::error(int set) {
  if (is_layer()) return -1;
  const std::vector<std::uint8_t> found = c_.host(set);
  if (exact_.empty()) compute_exact();
  double worst = 0;
  for (const Exact& one : exact_) {
    const double off = std::fabs(result_of(found, one.at) - one.sum);
    if (std::isnan(off)) return HUGE_VAL;
    if (one.magnitude > 0) worst = std::max(worst, off / one.magnitude);
  }
  return std::ldexp(worst, 24);
}

Verdict GemmWork::check(int set, Arithmetic arithmetic) {
  const kernels::GemmDims& d = problem_.dims;
  const std::vector<std::uint8_t> found = c_.host(set);
  // Products of two bfloat16 are exact; the result is rounded once.
  const double relative = bf16() ? std::ldexp(1.0, -8) * 1.001 : 0;
  if (bf16()) arithmetic = Arithmetic::fp32;
  if (exact_.empty()) compute_exact();
  Comparison comparison;
  for (const auto& [at, sum, squares, magnitude] : exact_) {
    const std::int64_t i = at / d.n, j = at % d.n;
    // Independent errors of the products, and rounding of the running fp32 sum.
    const double bound = 6 * product_error(arithmetic) * std::sqrt(squares) +
                         4 * std::ldexp(1.0, -23) *
                             (std::fabs(sum) + std::sqrt(squares * static_cast<double>(d.k))) +
                         relative * std::fabs(sum);
    comparison.add(result_of(found, at), finished(i, j, sum), bound);
  }
  if (problem_.pass == LayerPass::weights) {
    check_row_sums(comparison, product_error(arithmetic));
  }
  return comparison.verdict();
}

}  // namespace weft::measure
