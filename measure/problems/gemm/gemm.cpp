// SPDX-License-Identifier: MIT
#include "measure/problems/gemm/gemm.h"

#include <algorithm>
#include <cstring>

#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using kernels::Bfloat16;
using problems::LayerPass;
using problems::Terms;

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

// Elements are floats or bfloat16, as bytes.
class GemmWork final : public ProblemWork<problems::Gemm> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    const kernels::GemmOptions options = options_of(variant);
    const kernels::GemmProblem asked{p.dims, p.storage, options.mode};
    if (!kernels::gemm_takes(options.variant, asked, device())) return false;
    for (const NamedOptions& call : kCalls) {
      if (call.name == variant) return true;
    }
    const kernels::GemmTraits traits = kernels::gemm_traits(variant);
    if (p.strip_width > 0) return traits.strip;
    if (p.is_layer() && device().is_cuda()) return traits.for_layers;
    if (traits.longest_k > 0 && p.dims.k > traits.longest_k && !p.is_layer()) return false;
    if (p.fast_only) {
      const kernels::Rung* rung = kernels::gemm_rungs().find(variant);
      return arithmetic_of(*rung) != Arithmetic::fp32 || traits.fast || p.bf16();
    }
    return !takes_minutes(kernels::gemm_rungs(), variant, flops, device());
  }
  std::vector<Variant> further_variants() const override {
    std::vector<Variant> variants;
    if (!p.is_layer()) return variants;
    for (const auto& [name, options] : kCalls) {
      std::string_view rung = options.variant;
      if (rung == kernels::kAutomatic) {
        rung = kernels::gemm_choice({p.dims, p.storage, options.mode}, device()).rung;
      }
      const auto arithmetic = kernels::gemm_rungs().find(rung)->arithmetic.in(options.mode);
      variants.push_back(
          {std::string(name), options.variant,
           device().is_cpu() ? Arithmetic::fp32 : arithmetic.value_or(Arithmetic::fp32)});
    }
    return variants;
  }
  bool takes_flag(std::string_view flag, std::string_view variant) const override {
    const kernels::GemmTraits traits = kernels::gemm_traits(variant);
    return flag == "--transpose" || (flag == "--results" && traits.results) ||
           (flag == "--tile" && traits.any_side);
  }
  std::string_view configured_rung(std::string_view variant) const override {
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
  bool takes_block() const override { return p.strip_width > 0; }
  std::vector<Fact> facts(std::string_view variant) const override {
    const std::vector<std::int64_t>& tile = context.parameters.tile;
    return gemm_facts(p.dims, variant,
                      {.side = tile.empty() ? 0 : tile[0],
                       .strip_width = p.strip_width > 0 ? p.strip_width : 128,
                       .strip_results = p.strip_results});
  }
  void call(std::string_view variant, int set) override {
    kernels::GemmOptions options = options_of(variant);
    if (p.strip_width > 0) {
      options.strip_width = p.strip_width;
      options.strip_results = p.strip_results;
    }
    if (p.pass == LayerPass::forward_relu) options.epilogue = kernels::Epilogue::relu;
    if (p.pass == LayerPass::data) options.relu_mask = mask_[set];
    if (p.pass == LayerPass::weights) options.row_sums = row_sums_[set];
    const auto multiply = [&](auto* c, const auto* a, const auto* b) {
      kernels::gemm(c, a, b, p.adds_bias() ? bias_[set] : nullptr, p.dims, options, context.stream);
    };
    if (p.bf16()) {
      multiply(reinterpret_cast<Bfloat16*>(c_[set]), reinterpret_cast<const Bfloat16*>(a_[set]),
               reinterpret_cast<const Bfloat16*>(b_[set]));
    } else {
      multiply(reinterpret_cast<float*>(c_[set]), reinterpret_cast<const float*>(a_[set]),
               reinterpret_cast<const float*>(b_[set]));
    }
  }
  double error(int set) override {
    if (p.is_layer()) return -1;
    const std::vector<std::uint8_t> found = c_.found(set);
    double worst = 0;
    for (const auto& [at, terms] : exact()) worst = std::max(worst, terms.error(value(found, at)));
    return worst;
  }

 private:
  // Random values that the storage can hold.
  std::vector<std::uint8_t> matrix(std::int64_t elements, std::uint64_t more) const {
    const std::vector<float> values = spread_values(elements, seed() + more, context.spread);
    std::vector<std::uint8_t> bytes_of(values.size() * static_cast<std::size_t>(p.element_bytes()));
    if (!p.bf16()) {
      std::memcpy(bytes_of.data(), values.data(), bytes_of.size());
      return bytes_of;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Bfloat16 narrow = kernels::to_bfloat16(values[i]);
      std::memcpy(&bytes_of[i * sizeof(narrow)], &narrow, sizeof(narrow));
    }
    return bytes_of;
  }
  double value(const std::vector<std::uint8_t>& of, std::int64_t at) const {
    const std::uint8_t* from = of.data() + at * p.element_bytes();
    float wide;
    Bfloat16 narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    if (p.bf16()) return static_cast<double>(kernels::to_float(narrow));
    std::memcpy(&wide, from, sizeof(wide));
    return static_cast<double>(wide);
  }

  // A sample of the products in double, the same for all variants: for 8192 cubed, of columns that
  // are far apart in memory, this takes longer than the kernels.
  struct Sample {
    std::int64_t at;
    Terms terms;
  };
  const std::vector<Sample>& exact() {
    if (!exact_.empty()) return exact_;
    std::vector<std::int64_t> sample = sample_indices(p.dims.m * p.dims.n, 1024, seed());
    // So that the first word is compared as a whole.
    if (p.bf16() && p.dims.n > 1) sample.push_back(1);
    exact_.resize(sample.size());
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < sample.size(); ++i) {
      Sample& one = exact_[i];
      one.at = sample[i];
      for (std::int64_t k = 0; k < p.dims.k; ++k) {
        one.terms.add(value(a_.host, p.at_a(one.at / p.dims.n, k)) *
                      value(b_.host, p.at_b(k, one.at % p.dims.n)));
      }
    }
    return exact_;
  }
  void compare(Comparison& comparison, int set, Arithmetic arithmetic) override {
    const std::vector<std::uint8_t> found = c_.found(set);
    // Products of two bfloat16 are exact; the result is rounded once.
    const double relative = p.bf16() ? std::ldexp(1.0, -8) * 1.001 : 0;
    const double unit = product_error(p.bf16() ? Arithmetic::fp32 : arithmetic);
    for (const auto& [at, terms] : exact()) {
      const double expected = p.finished(terms.sum, p.is_layer() ? bias_(at % p.dims.n) : 0,
                                         p.is_layer() ? mask_(at) : 0);
      comparison.add(value(found, at), expected,
                     terms.bound(unit) + relative * std::fabs(terms.sum));
    }
    if (p.pass != LayerPass::weights) return;
    compare_each(comparison, row_sums_, set, [&](std::int64_t i) {
      Terms terms;
      for (std::int64_t k = 0; k < p.dims.k; ++k) terms.add(value(a_.host, p.at_a(i, k)));
      return Exact{terms.sum, terms.bound(unit)};
    });
  }
  std::int64_t of_layer(std::int64_t n) const {
    return p.is_layer() ? n : 0;
  }

  Array<std::uint8_t>& a_ = input("a", matrix(p.dims.m* p.dims.k, 0));
  Array<std::uint8_t>& b_ = input("b", matrix(p.dims.k* p.dims.n, 1));
  Array<std::uint8_t>& c_ = output<std::uint8_t>("c", p.dims.m* p.dims.n* p.element_bytes());
  Array<float>& bias_ = input("bias", random_values(of_layer(p.dims.n), seed() + 2), 1);
  Array<float>& mask_ = input("mask", random_values(of_layer(p.dims.m* p.dims.n), seed() + 3), 1);
  Array<float>& row_sums_ =
      updated("row_sums", std::vector<float>(static_cast<std::size_t>(of_layer(p.dims.m))), 1);
  std::vector<Sample> exact_;  // computed when first needed
};

}  // namespace

MakeWork gemm_work(const problems::Gemm& p) {
  return made<GemmWork>(p);
}

}  // namespace weft::measure
